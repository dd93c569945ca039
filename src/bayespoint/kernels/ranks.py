"""Ranks of features among those of the training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.arrays import Array, beside, cast, float64, namespace, to_host
from bayespoint.tools.attributes import finite, need, shaped

MOST_KNOTS = 32  # of a feature; ranks between them are interpolated
APART = 2.0  # distance of the intervals [0, 1] of consecutive features on the common axis


@dataclass(frozen=True)
class Ranks:
    """A monotone map of each feature to its rank among its values, between 0 and 1.

    Of k different values the first has the rank 1 / 2k and the last 1 - 1 / 2k. How often each
    occurs does not matter, and two levels are always 1/2 apart. Between knots the map is linear,
    and beyond the first and the last it is constant. All features are searched at once: that of
    column j, scaled to [0, 1], lies at 2 j on a common axis.

    Attributes
    ----------
    low, width : ndarray of shape (n_features,)
        Smallest value and range of each feature; the range of a constant one is 1.
    knots, ranks : ndarray of shape (n_knots,)
        Places on the common axis, and the ranks there.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels.ranks import Ranks
    >>> ranks = Ranks.of(np.array([[1.0], [10.0], [10.0], [100.0], [1000.0]]))
    >>> ranks.transform(np.array([[-5.0], [1.0], [5.5], [2000.0]]))
    array([[0.125],
           [0.125],
           [0.25 ],
           [0.875]])
    """

    low: NDArray[np.float64]
    width: NDArray[np.float64]
    knots: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @classmethod
    def of(cls, X: Array) -> Ranks:
        """The ranks of these points."""
        X = to_host(X).astype(np.float64, copy=False)
        low, half = X.min(axis=0), X.max(axis=0) / 2 - X.min(axis=0) / 2  # ranges may overflow
        width = np.where(half > 0, half, 0.5) * 2.0
        columns = [knots_of(column, j) for j, column in enumerate(((X - low) / width).T)]
        return cls(low, width, *(np.concatenate(parts) for parts in zip(*columns, strict=True)))

    def transform(self, X: Array) -> Array:
        """The ranks of the features of new points, arrays or tensors."""
        xp, knots, ranks = namespace(X), beside(X, self.knots), beside(X, self.ranks)
        x = (float64(X) - beside(X, self.low)) / beside(X, self.width)
        x = xp.clip(x, 0.0, 1.0) + APART * xp.arange(X.shape[1], device=X.device)
        k = xp.clip(xp.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        gap = knots[k + 1] - knots[k]
        # A constant feature has one knot, 2 before the next feature's: there is no way from it.
        share = xp.clip((x - knots[k]) / gap, 0.0, 1.0) * (gap < 1.5)
        return cast(ranks[k] + share * (ranks[k + 1] - ranks[k]), X.dtype)

    def onnx_ranks(self, X: Any) -> Any:
        """The same as nodes of an ONNX graph: steps up from knot to knot, of each its share."""
        owner = (self.knots / APART).astype(np.int64)
        inside = np.flatnonzero(np.diff(owner) == 0)
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        steps = np.zeros((len(inside), len(self.low)))
        steps[np.arange(len(inside)), owner[inside]] = np.diff(self.ranks)[inside]
        x = (X - self.low) / self.width
        x = x.graph.add("Gather", x, owner[inside], axis=1) - (self.knots - APART * owner)[inside]
        share = (x / np.diff(self.knots)[inside]).at_least(0.0).at_most(1.0)
        return share @ steps + self.ranks[first]

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.low, "d")
        finite(self.width, "d", **sizes)
        need((self.width > 0).all(), "a range is not positive")
        sizes = shaped(self.knots, "f", "k")
        finite(self.ranks, "k", **sizes)
        need((np.diff(self.knots) > 0).all(), "knots are not in order")
        owner = np.unique(self.knots // APART)
        need(np.array_equal(owner, np.arange(len(self.low))), "a feature has no knot")


def knots_of(column: NDArray[np.float64], j: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Some of the values of feature j on the common axis, and their ranks."""
    values = np.unique(column + APART * j)  # values that rounding makes equal there are one
    rank = (np.arange(len(values)) + 0.5) / len(values)
    some = np.unique(np.linspace(0, len(values) - 1, MOST_KNOTS).round().astype(np.intp))
    return values[some], rank[some]
