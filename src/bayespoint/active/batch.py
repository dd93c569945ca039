"""Several points at once: each is worth what those chosen before do not tell already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SLACK = 0.03  # share of noise ascribed to any answer: a few samples must not explain everything
SAME = 1e-9  # worths that differ by less than this share are the same number, rounded


class Committee:
    r"""Classifiers from the posterior, and what is left open once some of their answers are known.

    Let :math:`A_j` hold the answers of the classifiers on point j, one row for each class, less
    their mean and over the square root of their number: :math:`A_i A_j^T` is the posterior
    covariance of two answers. To see the label of point i, which is its answer plus noise of
    covariance N, leaves the covariance

    .. math:: A_j \left( I - A_i^T (A_i A_i^T + N)^{-1} A_i \right) A_k^T

    which is again one of such vectors: with the singular values :math:`N^{-1/2} A_i = U S V^T` the
    bracket is the square of :math:`I - V (1 - (1 + S^2)^{-1/2}) V^T`. (This is the square root form
    of the Kalman filter.) So the greedy choice takes one pass over the vectors for each point.

    Parameters
    ----------
    answers : ndarray of shape (n_classifiers, n_points, n_classes)
        Probabilities p(y | x, w), or votes, 0 or 1. The variance of a label given w is p (1 - p).
    """

    def __init__(self, answers: NDArray) -> None:
        # Of two classes one tells all.
        answers = answers[..., 1:] if answers.shape[2] == 2 else answers
        centred = (answers - answers.mean(axis=0)) / np.sqrt(len(answers))
        self._vectors = np.ascontiguousarray(np.moveaxis(centred, 0, 2))
        variance = np.square(self._vectors).sum(axis=2)
        self._noise = (answers * (1.0 - answers)).mean(axis=0) + SLACK * variance
        self._variance = variance.sum(axis=1)

    def tell(self, point: int) -> None:
        """Let the label of a point be known."""
        noise = self._noise[point]
        # An answer without noise is the same for all classifiers, and tells nothing.
        precision = np.divide(1.0, noise, out=np.zeros_like(noise), where=noise > 0)
        seen = np.sqrt(precision)[:, None] * self._vectors[point]
        _, s, V = np.linalg.svd(seen, full_matrices=False)
        flat = self._vectors.reshape(-1, V.shape[1])
        flat -= (flat @ V.T * (1 - 1 / np.sqrt(1 + s**2))) @ V

    def left(self) -> NDArray[np.float64]:
        """Share of the variance of each point's answer that is still open."""
        variance = np.einsum("jyn,jyn->j", self._vectors, self._vectors)
        return np.divide(
            variance, self._variance, out=np.ones_like(variance), where=self._variance > 0
        )


def choose(
    worth: NDArray,
    n: int,
    taken: NDArray[np.bool_],
    kind: NDArray[np.intp],
    committee: Committee | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Indices of n points, the next always the one of largest worth times the share left open.

    Parameters
    ----------
    worth : ndarray of shape (n_points,)
        What each point is worth alone, not negative.
    n : int
        How many to choose.
    taken : ndarray of bool of shape (n_points,)
        Points that must not be chosen.
    kind : ndarray of int of shape (n_points,)
        The same number for equal points. Points equal to one taken or chosen wait until no others
        are left.
    committee : Committee or None
        Tells what is left open; None takes points for independent.
    rng : Generator
        Breaks ties.
    """
    chosen: list[int] = []
    gain, taken = worth, taken.copy()
    waits = np.isin(kind, kind[taken])
    for _ in range(n):
        if waits.all():
            waits = taken.copy()
        best = gain[~waits].max()
        i = int(rng.choice(np.flatnonzero(~waits & (gain >= (1 - SAME) * best))))
        chosen.append(i)
        taken[i] = True
        waits |= kind == kind[i]
        if committee is not None and len(chosen) < n:
            committee.tell(i)
            gain = worth * committee.left()
    return np.array(chosen, dtype=np.intp)


def kinds(points: NDArray) -> NDArray[np.intp]:
    """A number for each point, the same for equal ones."""
    known: dict[bytes, int] = {}
    rows = np.ascontiguousarray(points + 0.0)  # -0.0 becomes 0.0, which has other bytes
    return np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.intp)
