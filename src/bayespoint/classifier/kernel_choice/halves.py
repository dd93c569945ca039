"""Two random halves of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIGITS = 1e6  # inverse of the distance at which points are taken for copies


def split(
    points: NDArray, codes: NDArray, seed: int, groups: NDArray[np.intp] | None = None
) -> list[NDArray[np.intp]]:
    """Two halves of the rows, each in random order and with half of each class.

    The halves depend on what the rows are, not on their order, and copies stay together. So a
    fit does not change if rows are permuted, and a row of weight 2 is as good as two rows.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Rows of unit variance.
    codes : ndarray of shape (n,)
        Class of each row.
    seed : int
        Of the order.
    groups : ndarray of int, shape (n,), optional
        Rows of a group stay together. Groups have the class of most of their rows.

    Returns
    -------
    list of two ndarrays
        Positions of the rows.
    """
    direction = np.random.default_rng(seed).normal(size=points.shape[1])
    place = np.round(DIGITS * (points @ direction)).astype(np.int64).view(np.uint64)
    key = scrambled(place + np.uint64(seed))
    if groups is None:
        order = np.lexsort((key, codes))  # class by class
        is_new = np.append(True, (np.diff(key[order]) != 0) | (np.diff(codes[order]) != 0))
        side = np.cumsum(is_new) % 2
        halves = [order[side == which] for which in (0, 1)]
    else:
        halves = of_groups(key, codes, groups)
    return [half[np.argsort(key[half], kind="stable")] for half in halves]


def of_groups(
    key: NDArray[np.uint64], codes: NDArray, groups: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Two halves of the groups, alike in class and size, as positions of their rows."""
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, codes), 1)
    name = np.zeros(len(counts), dtype=np.uint64)
    np.add.at(name, groups, key)  # of the group's points, in any order
    side = np.empty(len(counts), dtype=np.int64)
    side[np.lexsort((scrambled(name), counts.sum(axis=1), counts.argmax(axis=1)))] = (
        np.arange(len(counts)) % 2
    )
    return [np.flatnonzero(side[groups] == which) for which in (0, 1)]


def scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Integers in no apparent order: the finaliser of the generator SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
