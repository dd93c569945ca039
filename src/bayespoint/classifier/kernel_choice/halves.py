"""Random halves and other parts of the training rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.problem import Problem
from bayespoint.tools.numbers import TINY

# Numbers of a column are equal if they differ by less than this share of its largest one, which is
# more than rounding errors. Simple fractions of the largest one are not at a border, as it is a
# power of 2.
RESOLUTION = 2.0**-20
CELLS = 2**20  # of the table that are scrambled at a time


def split(problem: Problem, n_parts: int = 2) -> list[NDArray[np.intp]]:
    """Parts of the rows, halves by default, each in random order and with its share of each class.

    The parts depend on what the rows are, not on their order or that of the columns, and copies
    stay together. So a fit does not change if rows or columns are permuted, and a row of weight 2
    is as good as two rows.

    Parameters
    ----------
    problem : Problem
        The rows, and their classes. Rows of a group stay together, and groups have the class of
        most of their rows.
    n_parts : int, default=2
        Number of parts; of more than two some may be empty.

    Returns
    -------
    list of ndarrays
        Positions of the rows.
    """
    key, codes = row_keys(problem), problem.codes
    if problem.groups is None:
        order = np.lexsort((key, codes))  # class by class
        is_new = np.append(True, (np.diff(key[order]) != 0) | (np.diff(codes[order]) != 0))
        side = np.cumsum(is_new) % n_parts
        parts = [order[side == which] for which in range(n_parts)]
    else:
        parts = of_groups(key, codes, problem.groups, n_parts)
    return [part[np.argsort(key[part], kind="stable")] for part in parts]


def row_keys(problem: Problem) -> NDArray[np.uint64]:
    """A random number for each row, equal for copies, whatever the order of rows and columns.

    A row begins with the sum of the random numbers of its cells, for which it does not matter in
    which column they are; :func:`refined` then finds out. If numbers are equal for rows that are
    not copies, as where each combination of some levels is there, the frequencies of all rows and
    their classes distinguish columns. If there is a symmetry even then, the order of the columns
    decides.
    """
    points, codes = problem.points, problem.codes
    rows, names = np.zeros((2, len(points)), dtype=np.uint64)
    rng = np.random.default_rng(0)
    for cells in random_cells(points):
        rows += cells.sum(axis=1)
        names += cells @ rng.integers(2**63, size=cells.shape[1], dtype=np.uint64)
    _, distinct, number = np.unique(names, return_index=True, return_inverse=True)
    keys = refined(points, rows, distinct)
    if len(np.unique(keys)) < len(distinct):
        copies = np.ones(len(codes)) if problem.weight is None else problem.weight
        frequency = np.zeros((len(distinct), codes.max() + 1))
        np.add.at(frequency, (number, codes), copies / copies.sum())
        steps = np.round(frequency / RESOLUTION).astype(np.uint64)
        classes = scrambled(steps + (np.arange(codes.max() + 1, dtype=np.uint64) << np.uint64(32)))
        keys = refined(points, scrambled(keys ^ classes.sum(axis=1)[number]), distinct)
    order = np.lexsort((names, keys))
    rank = np.append(0, np.cumsum(np.diff(names[order]) != 0))  # of the distinct row
    is_first = np.append(True, np.diff(keys[order]) != 0)
    first = np.maximum.accumulate(np.where(is_first, rank, 0))
    keys[order] += (rank - first).astype(np.uint64)
    return scrambled(keys)


def refined(
    points: NDArray, rows: NDArray[np.uint64], distinct: NDArray[np.intp]
) -> NDArray[np.uint64]:
    """Numbers of rows that also depend on which of their cells are in the same column.

    A column has the sum of random numbers that stand for a cell and its row, over distinct rows; a
    row then has the sum of random numbers that stand for a cell and its column.
    """
    keys = np.zeros(len(points), dtype=np.uint64)
    for cells in random_cells(points):
        columns = scrambled(cells[distinct] ^ rows[distinct, None]).sum(axis=0)
        keys += scrambled(cells ^ columns).sum(axis=1)
    return keys


def random_cells(points: NDArray) -> Iterator[NDArray[np.uint64]]:
    """Random numbers for the cells of some columns at a time, equal for equal numbers."""
    size = max(1, CELLS // len(points))
    for start in range(0, points.shape[1], size):
        part = points[:, start : start + size]
        largest = np.maximum(np.abs(part).max(axis=0), TINY)
        steps = np.round(part / largest / RESOLUTION).astype(np.int64)
        yield scrambled(steps.view(np.uint64))


def of_groups(
    key: NDArray[np.uint64], codes: NDArray, groups: NDArray[np.intp], n_parts: int
) -> list[NDArray[np.intp]]:
    """Parts of the groups, alike in class and size, as positions of their rows."""
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, codes), 1)
    name = np.zeros(len(counts), dtype=np.uint64)
    np.add.at(name, groups, key)  # of the group's points, in any order
    side = np.empty(len(counts), dtype=np.int64)
    order = np.lexsort((scrambled(name), counts.sum(axis=1), counts.argmax(axis=1)))
    side[order] = np.arange(len(counts)) % n_parts
    return [np.flatnonzero(side[groups] == which) for which in range(n_parts)]


def scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Integers in no apparent order: the finaliser of the generator SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
