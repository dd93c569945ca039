"""A guaranteed error on the accepted rows: its options, its calibration, and how it is shown."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from bayespoint.cli.errors import bad_data, bad_usage
from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import Guarantee, SelectiveClassifier

LEVEL, SHARE = 0.95, 0.3

MaxError = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Reject uncertain rows, so that the error on the accepted ones is at most R, from 0 "
        "to 1.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(metavar="C", help=f"Probability that --max-error is kept; {LEVEL} by default."),
]
HoldOut = Annotated[
    float | None,
    typer.Option(
        metavar="S", help=f"Share of the rows that --max-error holds out; {SHARE} by default."
    ),
]


def check_options(max_error: float | None, **others: float | None) -> None:
    """End the command if a share is invalid, or an option needs --max-error."""
    for name, value in {"max_error": max_error, **others}.items():
        option = f"--{name.replace('_', '-')}"
        if value is not None and not 0 < value < 1:
            bad_usage(f"{option} must be a number between 0 and 1, not {value:g}")
        if value is not None and max_error is None:
            bad_usage(f"{option} needs --max-error")


def selective(
    pipeline: Any, risk: float | None, level: float, **parameters: Any
) -> SelectiveClassifier:
    """The model with a threshold, to be set by `fit`, for its largest probability."""
    return SelectiveClassifier(
        pipeline, risk=risk, confidence_level=level, confidence="proba", **parameters
    )


def fit(model: SelectiveClassifier, X: Any, y: NDArray) -> SelectiveClassifier:
    """Fit a model; ends the command if no threshold guarantees the error."""
    try:
        return model.fit(X, y)
    except RiskNotReachedError as error:
        bad_data(str(error))


def lines(guarantee: Guarantee | None) -> list[tuple[str, str]]:
    """What is guaranteed, and by which numbers; nothing if there is no guarantee."""
    if guarantee is None:
        return []
    return [("guarantee", guarantee.summary), ("calibration", guarantee.details)]


def as_json(guarantee: Guarantee | None) -> dict[str, Any] | None:
    """The same, ready for JSON."""
    return None if guarantee is None else guarantee.to_dict()
