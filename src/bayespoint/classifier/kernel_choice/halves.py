"""Two random halves of the training points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIGITS = 1e6  # inverse of the distance at which points are taken for copies


def split(points: NDArray, codes: NDArray, seed: int) -> list[NDArray[np.intp]]:
    """Two halves of the points, each in random order and with half of each class.

    The halves depend on what the points are, not on their order, and copies stay together. So a
    fit does not change if points are permuted, and a point of weight 2 is as good as two points.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Points of unit variance.
    codes : ndarray of shape (n,)
        Class of each point.
    seed : int
        Of the order.

    Returns
    -------
    list of two ndarrays
        Positions of the points.
    """
    direction = np.random.default_rng(seed).normal(size=points.shape[1])
    place = np.round(DIGITS * (points @ direction)).astype(np.int64).view(np.uint64)
    key = scrambled(place + np.uint64(seed))
    order = np.lexsort((key, codes))  # class by class
    is_new = np.append(True, np.diff(key[order]) != 0) | np.append(True, np.diff(codes[order]) != 0)
    side = np.cumsum(is_new) % 2
    halves = [order[side == which] for which in (0, 1)]
    return [half[np.argsort(key[half], kind="stable")] for half in halves]


def scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Integers in no apparent order: the finaliser of the generator SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
