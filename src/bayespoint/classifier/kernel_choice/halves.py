"""Random halves and other parts of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIGITS = 1e6  # inverse of the distance at which points are taken for copies


def split(
    points: NDArray, codes: NDArray, groups: NDArray[np.intp] | None = None, n_parts: int = 2
) -> list[NDArray[np.intp]]:
    """Parts of the rows, halves by default, each in random order and with its share of each class.

    The parts depend on what the rows are, not on their order, and copies stay together. So a
    fit does not change if rows are permuted, and a row of weight 2 is as good as two rows.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Rows of unit variance.
    codes : ndarray of shape (n,)
        Class of each row.
    groups : ndarray of int, shape (n,), optional
        Rows of a group stay together. Groups have the class of most of their rows.
    n_parts : int, default=2
        Number of parts; of more than two some may be empty.

    Returns
    -------
    list of ndarrays
        Positions of the rows.
    """
    direction = np.random.default_rng(0).normal(size=points.shape[1])
    place = np.round(DIGITS * (points @ direction)).astype(np.int64).view(np.uint64)
    key = scrambled(place)
    if groups is None:
        order = np.lexsort((key, codes))  # class by class
        is_new = np.append(True, (np.diff(key[order]) != 0) | (np.diff(codes[order]) != 0))
        side = np.cumsum(is_new) % n_parts
        parts = [order[side == which] for which in range(n_parts)]
    else:
        parts = of_groups(key, codes, groups, n_parts)
    return [part[np.argsort(key[part], kind="stable")] for part in parts]


def of_groups(
    key: NDArray[np.uint64], codes: NDArray, groups: NDArray[np.intp], n_parts: int
) -> list[NDArray[np.intp]]:
    """Parts of the groups, alike in class and size, as positions of their rows."""
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, codes), 1)
    name = np.zeros(len(counts), dtype=np.uint64)
    np.add.at(name, groups, key)  # of the group's points, in any order
    side = np.empty(len(counts), dtype=np.int64)
    side[np.lexsort((scrambled(name), counts.sum(axis=1), counts.argmax(axis=1)))] = (
        np.arange(len(counts)) % n_parts
    )
    return [np.flatnonzero(side[groups] == which) for which in range(n_parts)]


def scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Integers in no apparent order: the finaliser of the generator SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
