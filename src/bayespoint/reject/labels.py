"""Indices of labels, and the label of rejected rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def encode(labels: NDArray, classes: Sequence, name: str, remedy: str) -> NDArray[np.intp]:
    """Index of each label in `classes`; `name` and `remedy` are for the error message."""
    # Python's equality, not numpy's: 1 == 1.0 == True, but the string "1" is not the number 1.
    index = {label: column for column, label in enumerate(classes)}
    values = labels.tolist()
    unknown = [label for label in dict.fromkeys(values) if label not in index]
    if unknown:
        raise ValueError(
            f"{name} contains labels that are not among the classes: {unknown[:5]}. The classes "
            f"are {list(classes)}: {remedy}."
        )
    return np.array([index[label] for label in values], dtype=np.intp)


def column_labels(truth: NDArray, n_columns: int, classes: ArrayLike | None) -> list:
    """The label of each column of the outputs."""
    labels = np.unique(truth) if classes is None else np.asarray(classes)
    if labels.ndim != 1 or len(labels) != n_columns or len(set(labels.tolist())) != n_columns:
        source = "labels in y_true" if classes is None else "classes"
        raise ValueError(
            f"outputs have {n_columns} classes, but there are {labels.size} {source}: "
            f"{labels.tolist()}. Pass classes=estimator.classes_, one distinct label for each "
            "column of outputs."
        )
    return labels.tolist()


def default_reject_label(classes: NDArray) -> Any:
    """The default label of rejected rows, which is never one of the classes.

    Strings: "reject". Numbers and booleans: -1; if -1 is a class, 0; if both are, one less than the
    smallest class.
    """
    kind = classes.dtype.kind
    if kind in "biuf":
        taken = set(classes.tolist())
        free = next(label for label in (-1, 0, min(taken) - 1) if label not in taken)
        return float(free) if kind == "f" else int(free)
    if kind == "S":
        return b"reject"
    if kind == "U" or all(isinstance(label, str) for label in classes.tolist()):
        return "reject"
    raise ValueError(
        f"There is no default reject label for classes of type {classes.dtype}: set reject_label."
    )


def resolve_reject_label(reject_label: Any, classes: NDArray) -> Any:
    """The label of rejected rows: the default for "auto"; never one of the classes."""
    automatic = isinstance(reject_label, str) and reject_label == "auto"
    label = default_reject_label(classes) if automatic else reject_label
    if np.ndim(label) != 0:
        raise ValueError(
            "The 'reject_label' parameter of SelectiveClassifier must be a scalar. "
            f"Got {label!r} instead."
        )
    if label in classes.tolist():
        raise ValueError(
            f"The reject label {label!r} is one of the classes, {classes.tolist()}. Set "
            "reject_label to another value."
        )
    return label


def joint_dtype(classes: NDArray, label: Any) -> np.dtype:
    """A dtype that represents the classes and the reject label exactly."""
    other = np.asarray(label).dtype
    kinds = {classes.dtype.kind, other.kind}
    if kinds <= set("biu"):
        # Booleans and unsigned integers cannot represent -1.
        fits = int(classes.max()) <= np.iinfo(np.int64).max
        return np.dtype(np.int64 if fits else object)
    if kinds <= set("biuf") or kinds == {"U"} or kinds == {"S"}:
        return np.result_type(classes.dtype, other)  # the longer string: no label is cut
    return np.dtype(object)
