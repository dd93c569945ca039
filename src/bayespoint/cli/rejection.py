"""Thresholds below which ``predict`` rejects rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bayespoint.cli import guarantees, options
from bayespoint.cli.models import Model, read_labelled
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes
from bayespoint.reject import RejectionCurve, SelectiveClassifier
from bayespoint.reject import confidence as certainty


def calibrated(
    model: Model,
    table: Path | None,
    max_error: float | None,
    confidence: float | None,
    encoding: str,
    notes: Notes,
) -> SelectiveClassifier | None:
    """The model with the threshold that it has, or with one that is set on a table."""
    before = model.guarantee
    if table is None:
        if max_error is not None:
            bad_usage(
                "--max-error needs --calibrate FILE, a table with classes that the model was not "
                "trained on; or train the model with --max-error"
            )
        return model.selective
    if max_error is None and before is None:
        bad_usage("--calibrate needs --max-error, since the model was trained without it")
    if max_error is None and before is not None:
        max_error, confidence = before.risk, before.confidence_level
    notes.add(f"{table.name} sets the threshold; the model must not have been trained on its rows")
    _, X, y, _ = read_labelled(table, model, model.target or "", encoding, notes)
    level = options.LEVEL if confidence is None else confidence
    wrapped = guarantees.selective(model.pipeline, max_error, level, cv="prefit")
    return guarantees.fit(wrapped, X, y)


def check_share(option: str, share: float | None) -> None:
    """End the command unless this is a share."""
    if share is not None and not 0 <= share < 1:
        bad_usage(f"{option} must be a number from 0 to below 1, not {share:g}")


def rejected(p: NDArray, rate: float | None, below: float | None) -> NDArray[np.bool_]:
    """Rows whose largest probability is too small."""
    sure = certainty(p, "proba")
    if below is None:
        curve = RejectionCurve.from_confidence(sure, np.zeros(len(sure), dtype=bool))
        below = curve.at_rate(rate or 0.0).threshold
    return sure < below
