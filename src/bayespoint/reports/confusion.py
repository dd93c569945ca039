"""The confusion of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint.reports.evaluation import Evaluation
from bayespoint.reports.examples import short
from bayespoint.reports.formats import amount
from bayespoint.reports.html import Cell, table

MOST_CLASSES = 30  # in a confusion matrix; of more, the commonest mistakes are listed
N_MISTAKES = 20  # of them
FULL_SHADE = 0.45  # of the fullest cell of the confusion matrix: ink stays readable on it


def confusion(evaluation: Evaluation) -> str:
    """The confusion matrix, or the commonest mistakes where there are too many classes."""
    if len(evaluation.classes) > MOST_CLASSES:
        return mistakes(evaluation)
    return (
        '<p class="quiet">True classes at the side, predicted ones above. Shade: share of the true '
        f"class.</p>{matrix(evaluation)}"
    )


def mistakes(evaluation: Evaluation) -> str:
    """The commonest mistakes."""
    wrong = evaluation.confusion - np.diag(np.diag(evaluation.confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:N_MISTAKES]
    names = [short(label) for label in evaluation.classes]
    rows = [
        [names[i], names[j], amount(wrong[i, j])]
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j] > 0
    ]
    if not rows:
        return "<p>None: all answers are right.</p>"
    shown = table(["true", "predicted", "points"], rows, label="Commonest mistakes")
    return f'<p class="quiet">The commonest mistakes.</p>{shown}'


def matrix(evaluation: Evaluation) -> str:
    """Counts, shaded by their share of the true class."""
    sizes = evaluation.confusion.sum(axis=1, keepdims=True)
    shares = evaluation.confusion / np.where(sizes > 0, sizes, 1)
    names = [short(label) for label in evaluation.classes]
    rows = []
    for i, name in enumerate(names):
        row: list[Any] = [name]
        for j, count in enumerate(evaluation.confusion[i]):
            kind = "hit" if i == j else ("" if count else "quiet")
            row.append(Cell(amount(count), f"shaded {kind}".strip(), FULL_SHADE * shares[i, j]))
        rows.append(row)
    return table(["true", *names], rows, label="Confusion matrix")
