"""Results of a session: the rows with their labels, and tasks of Label Studio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.journal import Answers
from bayespoint.tools.version import __version__

VERSION = f"bayespoint {__version__}"  # of the model, as tasks name it


def label_column(answers: Answers, n_rows: int) -> NDArray[np.object_]:
    """The label of every row; None where there is none."""
    return np.array([answers.label(row) for row in range(n_rows)], dtype=object)


def label_studio(
    items: Items,
    answers: Answers,
    classes: Sequence[Any],
    shares: NDArray[np.float64] | None = None,
) -> list[dict[str, Any]]:
    """Tasks of Label Studio: data, annotations, and predictions of the model.

    The labels are choices: the labelling interface has a tag ``<Choices name="label"
    toName="item">``.

    Parameters
    ----------
    items : Items
        The rows.
    answers : Answers
        The answers.
    classes : sequence
        The classes of the model.
    shares : ndarray of shape (n_rows, n_classes), optional
        Probabilities of the classes, if there is a model.
    """
    skipped = answers.skipped()
    tasks = []
    for row, data in enumerate(items.records()):
        label, answer = answers.label(row), answers.of(row)
        annotations = []
        if label is not None or row in skipped:
            result = [] if label is None else [choice(label)]
            annotations.append({"result": result, "was_cancelled": label is None})
            if answer is not None:
                annotations[0]["created_at"] = answer.at
        predictions = []
        if shares is not None:
            best = int(shares[row].argmax())
            score, result = round(float(shares[row, best]), 6), [choice(str(classes[best]))]
            predictions.append({"model_version": VERSION, "score": score, "result": result})
        answered = {"annotations": annotations, "predictions": predictions}
        tasks.append({"id": row + 1, "data": data, **answered})
    return tasks


def choice(label: str) -> dict[str, Any]:
    """One chosen class."""
    names = {"from_name": "label", "to_name": "item", "type": "choices"}
    return {**names, "value": {"choices": [label]}}
