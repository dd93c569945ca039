"""Choosing a batch: each point counts for the information that earlier ones do not give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bayespoint.tools.numbers import TINY

SLACK = 0.03  # noise added to any answer, so that few samples do not explain everything
SHORT = 20  # candidates considered at first, for each point to choose
SAME = 1e-9  # relative difference below which two gains are equal up to rounding


class Committee:
    r"""Classifiers drawn from the posterior, and the variance of their answers given some labels.

    Let :math:`A_j` be the centred answers of the classifiers on point j, one row for each class,
    divided by the square root of their number. Then :math:`A_i A_j^T` is the posterior covariance
    of two answers. Given the label of point i, which is its answer plus noise of covariance N, the
    covariance is

    .. math:: A_j \left( I - A_i^T (A_i A_i^T + N)^{-1} A_i \right) A_k^T

    This has the same form, with new vectors: with the singular value decomposition
    :math:`N^{-1/2} A_i = U S V^T` the bracket is the square of
    :math:`I - V (1 - (1 + S^2)^{-1/2}) V^T` (the square root form of the Kalman filter). So the
    greedy choice takes one pass over the vectors for each point.

    Parameters
    ----------
    answers : ndarray of shape (n_classifiers, n_points, n_classes)
        Probabilities p(y | x, w), or votes, 0 or 1. The variance of a label given w is p (1 - p).
    """

    def __init__(self, answers: NDArray) -> None:
        # Of two classes, one determines the other.
        answers = answers[..., 1:] if answers.shape[2] == 2 else answers
        centred = (answers - answers.mean(axis=0)) / np.sqrt(len(answers))
        self._vectors = np.ascontiguousarray(np.moveaxis(centred, 0, 2))
        variance = np.square(self._vectors).sum(axis=2)
        self._noise = (answers * (1.0 - answers)).mean(axis=0) + SLACK * variance
        self._variance = variance.sum(axis=1)

    def tell(self, point: int) -> None:
        """Condition on the label of a point."""
        noise = self._noise[point]
        # An answer without noise is the same for all classifiers, and has no information.
        is_open = noise > TINY
        precision = np.divide(1.0, noise, out=np.zeros_like(noise), where=is_open)
        seen = np.sqrt(precision)[:, None] * self._vectors[point]
        _, s, V = np.linalg.svd(seen, full_matrices=False)
        flat = self._vectors.reshape(-1, V.shape[1])
        flat -= (flat @ V.T * (1 - 1 / np.sqrt(1 + s**2))) @ V

    def left(self) -> NDArray[np.float64]:
        """Remaining share of the variance of each point's answer."""
        variance = np.einsum("jyn,jyn->j", self._vectors, self._vectors)
        return np.divide(
            variance, self._variance, out=np.ones_like(variance), where=self._variance > 0
        )


def choose(
    worth: NDArray, n: int, committee: Committee | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], float]:
    """The n points of a greedy choice by gain, and the last gain.

    The gain of a point is its worth times the remaining share of the variance of its answer, given
    the points chosen before. Without a committee it is the worth. Ties are broken by ``rng``.
    """
    chosen: list[int] = []
    gain = worth.copy()
    while True:
        best = gain.max()
        i = int(rng.choice(np.flatnonzero(gain >= (1 - SAME) * best)))
        chosen.append(i)
        if len(chosen) == n:
            return np.array(chosen, dtype=np.intp), best
        if committee is not None:
            committee.tell(i)
            gain = worth * committee.left()
        gain[chosen] = -1


def choose_lazily(
    worth: NDArray,
    candidates: NDArray[np.intp],
    n: int,
    answers_on: Callable[[NDArray[np.intp]], NDArray] | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """The choice of :func:`choose`, without computing answers on points that cannot be chosen.

    A gain is never larger than the worth. So if the n-th gain among the points of largest worth is
    not below the worth of any other point, the choice is final. Otherwise more points are added.

    Parameters
    ----------
    worth : ndarray of shape (n_points,)
        Worth of each single point of the pool, not negative.
    candidates : ndarray of int
        Points that may be chosen.
    n : int
        Number of points to choose.
    answers_on : callable or None
        Returns the answers of the same classifiers on given points, as :class:`Committee` takes
        them. None treats points as independent.
    rng : Generator
        Random generator that breaks ties.
    """
    order = rng.permutation(candidates)
    order = order[np.argsort(-worth[order], kind="stable")]
    answers: list[NDArray] = []
    done, end = 0, SHORT * n
    while True:
        committee = None
        if answers_on is not None:
            answers.append(answers_on(order[done:end]))
            committee = Committee(np.concatenate(answers, axis=1))
        chosen, last_gain = choose(worth[order[:end]], n, committee, rng)
        if end >= len(order) or last_gain >= worth[order[end]]:
            return order[chosen]
        done, end = end, 4 * end


def kinds(points: Any) -> NDArray[np.intp]:
    """An integer for each point, the same for equal points; dense or sparse rows."""
    if issparse(points):
        points = points.copy()
        points.sum_duplicates()  # and sorts
        points.eliminate_zeros()
        ends = points.indptr[1:-1]
        parts = np.split(points.indices, ends), np.split(points.data, ends)
        keys = [(i.tobytes(), x.tobytes()) for i, x in zip(*parts, strict=True)]
    else:
        dense = np.ascontiguousarray(points + 0.0)  # turns -0.0 into 0.0, whose bytes differ
        keys = [row.tobytes() for row in dense]
    known: dict[Any, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
