"""Prepared points whose rows stay in a file, for engines that ask for some of them at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Kernel, Points
from bayespoint.rows.arrays import ArrayBlocks
from bayespoint.spaces.coordinates import PART
from bayespoint.spaces.scaling import Scaling


@dataclass(frozen=True)
class StoredPoints(Points):
    """Points that are read, scaled and prepared when they are taken.

    Attributes
    ----------
    kernel : Kernel
        Prepares them.
    blocks : ArrayBlocks
        Where they are.
    where : ndarray of shape (n,)
        Their rows there.
    scaling : Scaling or None
        Of their features.
    longest : ndarray of shape (1, n_features)
        The longest of them. A kernel scales points by the longest one that it prepares, so it
        prepares this one with all others.
    """

    kernel: Kernel = None  # type: ignore[assignment]
    blocks: ArrayBlocks = None  # type: ignore[assignment]
    where: NDArray[np.int64] = None  # type: ignore[assignment]
    scaling: Scaling | None = None
    longest: NDArray = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.where)

    def take(self, which: Any) -> Points:
        """The chosen points, in memory."""
        chosen = self.where[which]
        points = prepare(self.kernel, self.blocks, chosen, self.scaling, self.longest)
        some = points.take(slice(len(chosen)))
        return Points(some.rows, some.norm, some.log_unit, self.index[which], some.side, some.parts)


def prepare(
    kernel: Kernel,
    blocks: ArrayBlocks,
    where: NDArray[np.int64],
    scaling: Scaling | None,
    longest: NDArray,
) -> Points:
    """Some points, and the longest of all as the last one."""
    return kernel.prepare(np.vstack([scaled_rows(blocks, where, scaling), longest]), training=True)


def scaled_rows(blocks: ArrayBlocks, where: NDArray[np.int64], scaling: Scaling | None) -> NDArray:
    """Features of some rows, as the kernel takes them."""
    X = blocks.take(where)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X if scaling is None else scaling.transform(X)


def stored_points(
    kernel: Kernel, blocks: ArrayBlocks, where: NDArray[np.int64], scaling: Scaling | None
) -> StoredPoints:
    """Points of a file, of which only the lengths are computed now."""
    size, longest = -1.0, np.empty(0)
    parts = [where[begin : begin + PART] for begin in range(0, len(where), PART)]
    for own in parts:
        X = scaled_rows(blocks, own, scaling)
        squares = np.einsum("nd,nd->n", X, X, dtype=np.float64)
        if squares.max() > size:
            size, longest = float(squares.max()), X[[int(squares.argmax())]]
    norms = []
    for own in parts:
        points = prepare(kernel, blocks, own, scaling, longest)
        norms.append(points.norm[: len(own)])
    return StoredPoints(
        points.rows[:0], np.concatenate(norms), points.log_unit, np.arange(len(where)),
        kernel=kernel, blocks=blocks, where=where, scaling=scaling, longest=longest,
    )  # fmt: skip
