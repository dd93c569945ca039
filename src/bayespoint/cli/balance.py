"""Remarks on classes of few rows."""

from __future__ import annotations

from typing import Any

from bayespoint import BayesPointClassifier
from bayespoint.cli.output.messages import FEW, Notes, share
from bayespoint.cli.training import engine_of

RARE = 0.5  # of the share that a class would have if all were equally frequent
SELDOM = 0.5  # share of its rows below which a class is seldom found
WITHOUT_WEIGHTS = ("billiard", "perceptron")  # engines that take no weights as they are


def say_balance(found: dict[str, Any], machine: BayesPointClassifier, notes: Notes) -> None:
    """Name ``class_weight`` where rare classes are seldom found."""
    if machine.class_weight is not None or engine_of(machine).alias in WITHOUT_WEIGHTS:
        return
    total, fair = found["rows"], 1 / len(found["classes"])
    rare = [
        f"{label!r} ({share(n / total)} of the rows, {share(found['training_recall'][label])} of "
        "them found)"
        for label, n in found["classes"].items()
        if 0 < n / total < RARE * fair and found["training_recall"][label] < SELDOM
    ]
    if rare:
        more = f" and {len(rare) - FEW} more" if rare[FEW:] else ""
        notes.add(
            f"rare classes are seldom predicted: {', '.join(rare[:FEW])}{more}; --param "
            "class_weight=balanced finds more of them, with more mistakes in other classes, and "
            "probabilities as if all classes were equally frequent"
        )
