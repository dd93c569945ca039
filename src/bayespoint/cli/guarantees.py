"""A guaranteed error on the accepted rows: its calibration, and how it is shown."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bayespoint.cli.output.errors import bad_data
from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import Guarantee, SelectiveClassifier


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
