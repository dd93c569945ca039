"""An evaluation as tables for the terminal, and the options of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType

from bayespoint.cli import guarantees
from bayespoint.cli.models import Model
from bayespoint.cli.output.errors import bad_usage, printable
from bayespoint.cli.output.messages import count, listed
from bayespoint.cli.output.printing import facts, numbers_table
from bayespoint.cli.tables.columns import CATEGORY, NUMBER
from bayespoint.cli.tables.writing import check_place
from bayespoint.reports import METRICS, Evaluation
from bayespoint.reports.decisions import cost_words, has_own_costs
from bayespoint.tools.extras import require

RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
WIDEST = 8  # classes up to which the confusion fits on a terminal


def check_report(report: Path | None, *inputs: Path) -> None:
    """End the command now if the page could not be written later."""
    if report is None:
        return
    check_place(report, "--report", *inputs)
    require("matplotlib", "plot", "--report")


def tables(found: Evaluation) -> list[RenderableType]:
    """Metrics, confusion and rejection as tables for the terminal."""
    numbers = [
        (
            metric.name, metric.show(value), " to ".join(map(metric.show, interval or [])),
            metric.show(found.baseline[name]),
        )
        for (name, metric), (value, interval) in zip(
            METRICS.items(), found.metrics.values(), strict=True
        )
    ]  # fmt: skip
    labels = [str(label) for label in found.classes]
    parts: list[RenderableType] = [
        facts([("rows", str(found.n))]),
        numbers_table(["", "", "95 % interval", "baseline"], numbers),
    ]
    if len(labels) <= WIDEST:
        cells = [
            [label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)
        ]
        parts.append(numbers_table(["true class \\ predicted", *labels], cells))
    rows = [
        (f"{rate:.0%}", f"{error:.1%}")
        for rate, error in zip(RATES, found.rejection.error_at(RATES), strict=True)
    ]
    parts.append(numbers_table(["rejected", "error on the rest"], rows))
    return [*parts, *refusals(found), *cost_table(found)]


def cost_table(found: Evaluation) -> list[RenderableType]:
    """What answers cost, if costs were given."""
    if not has_own_costs(found):
        return []
    rows = [
        (way.words, f"{way.cost:.4g}", " to ".join(f"{end:.4g}" for end in way.interval or []))
        for way in found.expected_costs
    ]
    return [
        numbers_table(["answers", "mean cost", "95 % interval"], rows, caption=cost_words(found))
    ]


def parse_costs(given: Sequence[str], classes: NDArray) -> NDArray[np.float64] | None:
    """The costs of options such as sick:well=10; ends the command where one is wrong."""
    if not given:
        return None
    places = {str(label): place for place, label in enumerate(classes)}
    costs = 1 - np.eye(len(classes))
    for option in given:
        pair, sign, value = option.rpartition("=")
        found = [
            (places[true], places[answer])
            for true in places
            for answer in places
            if pair == f"{true}:{answer}"
        ]
        if not sign or len(found) != 1:
            bad_usage(
                f"--cost wants TRUE:ANSWER=C with classes of the model, {listed(classes, 8)}; not "
                f"{option!r}"
            )
        try:
            costs[found[0]] = float(value)
        except ValueError:
            bad_usage(f"--cost {option}: {value!r} is no number")
    if not np.isfinite(costs).all():
        bad_usage("--cost must be finite")
    return costs


def preparation(model: Model) -> list[str]:
    """What was done to the columns before the training."""
    kinds = list(model.kinds.values())
    sentences = []
    if NUMBER in kinds:
        sentences.append(
            f"{count(kinds.count(NUMBER), 'column')} of numbers: missing values are filled in with "
            "the median, and all are scaled to mean 0 and variance 1"
        )
    if CATEGORY in kinds:
        sentences.append(
            f"{count(kinds.count(CATEGORY), 'column')} of categories: a feature of 0 or 1 for each "
            "category"
        )
    notes = model.summary.get("notes", [])
    return [*sentences, *(printable(str(note)) for note in notes)]


def refusals(found: Evaluation) -> list[RenderableType]:
    """What a model with a threshold rejects, and what it guarantees."""
    chosen = found.selective
    if chosen is None:
        return []
    lines = [("rejected", f"{chosen.rejected:.1%} by the threshold of the model")]
    if chosen.accuracy is not None:
        lines.append(("error", f"{1 - chosen.accuracy:.2%} on the accepted rows"))
    return [facts([*lines, *guarantees.lines(chosen.guarantee)])]
