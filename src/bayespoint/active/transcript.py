"""What the oracle was asked, and what it said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.active.curve import LearningCurve

Oracle = Callable[[NDArray[np.intp]], ArrayLike | Iterator[Any]]


class Transcript:
    """Every label at the moment when it comes, so that an error afterwards loses none.

    Parameters
    ----------
    oracle : callable
        Takes indices; returns their labels, or an iterator that gives one after another.
    earlier : LearningCurve, optional
        A run to continue.
    """

    def __init__(self, oracle: Oracle, earlier: LearningCurve | None = None) -> None:
        self._oracle = oracle
        self._indices: list[int] = [] if earlier is None else earlier.indices.tolist()
        self._labels: list[Any] = [] if earlier is None else list(earlier.labels)
        self._skipped: list[int] = [] if earlier is None else earlier.skipped.tolist()

    def ask(self, indices: NDArray[np.intp]) -> None:
        """Ask for labels; None and NaN mean that the oracle cannot say."""
        answer = self._oracle(indices.copy())
        labels: Iterable[Any]
        if isinstance(answer, Iterator):
            labels = answer
        else:
            labels = np.asarray(answer)
            self._check_number(labels.shape, indices)
        waiting = list(indices.tolist())
        for label in labels:
            self._check_number((len(indices) + 1,) if not waiting else indices.shape, indices)
            self._note(waiting.pop(0), label)
        self._check_number((len(indices) - len(waiting),), indices)

    def _note(self, index: int, label: Any) -> None:
        if label is None or label != label:  # NaN does not equal itself
            self._skipped.append(index)
        else:
            self._indices.append(index)
            self._labels.append(label)

    @staticmethod
    def _check_number(shape: tuple[int, ...], indices: NDArray[np.intp]) -> None:
        if shape != indices.shape:
            raise ValueError(
                f"The oracle must return one label for each of the {len(indices)} indices. Got an "
                f"array of shape {shape} instead."
            )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._labels)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Points that have a label, in the order of the questions."""
        return np.array(self._indices, dtype=np.intp)

    @property
    def labels(self) -> NDArray:
        """Their labels."""
        return np.array(self._labels)

    @property
    def skipped(self) -> NDArray[np.intp]:
        """Points of which the oracle cannot say what they are."""
        return np.array(self._skipped, dtype=np.intp)

    @property
    def asked(self) -> NDArray[np.intp]:
        """All points that must not be asked for again."""
        return np.concatenate([self.indices, self.skipped])

    @property
    def has_two_classes(self) -> bool:
        """Whether a classifier can be fitted."""
        return self.n_labels > 0 and len(np.unique(self.labels)) > 1
