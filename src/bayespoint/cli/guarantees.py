"""A guaranteed error on accepted rows (--max-error): its options, calibration and lines."""

from __future__ import annotations

from typing import Any

from bayespoint.cli.options import LEVEL
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.pipelines import of_groups
from bayespoint.cli.tables.training import TrainingData
from bayespoint.reject import Guarantee, LabelSets, SelectiveClassifier


def check(max_error: float | None, **others: float | None) -> None:
    """End the command if a share is invalid, or an option needs --max-error."""
    for name, value in {"max_error": max_error, **others}.items():
        option = f"--{name.replace('_', '-')}"
        if value is not None and not 0 < value < 1:
            bad_usage(f"{option} must be a number between 0 and 1, not {value:g}")
        if value is not None and max_error is None:
            bad_usage(f"{option} needs --max-error")


def fit(
    model: Any, rows: TrainingData, risk: float | None, level: float | None, **parameters: Any
) -> SelectiveClassifier:
    """The model with a threshold for its largest probability; RiskNotReachedError without one."""
    level = LEVEL if level is None else level
    guarded = SelectiveClassifier(
        model, risk=risk, confidence_level=level, confidence="proba", **parameters
    )
    return guarded.fit(rows.X, rows.y, groups=rows.groups, **of_groups(rows.groups))


def lines(guarantee: Guarantee | None) -> list[tuple[str, str]]:
    """What is guaranteed, and by which numbers; nothing without a guarantee."""
    if guarantee is None:
        return []
    return [("guarantee", guarantee.summary), ("calibration", guarantee.details)]


def describe_sets(sets: LabelSets) -> dict[str, Any]:
    """Sets of labels in numbers, ready for JSON."""
    sizes = {"mean_size": float(sets.sizes.mean()), "one_label": float((sets.sizes == 1).mean())}
    return {"coverage": sets.coverage, "method": sets.method, "exact": sets.is_exact, **sizes}


def set_lines(sets: LabelSets | None) -> list[tuple[str, str]]:
    """The same in words; nothing without sets."""
    if sets is None:
        return []
    kind = "at least" if sets.is_exact else "about"
    one, size = (sets.sizes == 1).mean(), sets.sizes.mean()
    return [
        ("sets", f"{one:.0%} have one label, the mean size is {size:.2f}"),
        ("coverage", f"{kind} {sets.coverage:.4g}: compared with {sets.basis}"),
    ]
