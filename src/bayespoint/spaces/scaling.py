"""Features of mean 0 and variance 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.arrays import Array, beside, cast, float64, namespace, to_host
from bayespoint.tools.attributes import finite, need
from bayespoint.tools.numbers import TINY

RARE = 0.3  # least deviation of a feature of 0 and 1, as if a tenth were 1
SMALLEST = 1e-250  # scale; weights of features divide by it


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of the features of the training points.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        The scale of a constant feature is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.spaces.scaling import Scaling
    >>> scaling = Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scaling.transform(np.array([[4.0, 5.0]]))
    array([[2., 0.]])
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        X: NDArray,
        weight: NDArray[np.float64] | None = None,
        block: NDArray[np.intp] | None = None,
    ) -> Scaling:
        """The scaling of these points, of which some may count for several.

        ``block`` has the block of each feature, if there are any. The features of a block, the
        levels of a category, keep their place and have one scale, so that together they have the
        variance 1. Features of 0 and 1 that are seldom 1 (or seldom 0) count as if it were more
        often: divided by their small deviation, a rare level would be far away from all others.
        """
        largest = np.maximum(np.abs(X).max(axis=0), TINY).astype(np.float64)
        part = X / largest  # squares of this do not overflow
        mean = np.average(part, axis=0, weights=weight)
        scale = np.sqrt(np.average((part - mean) ** 2, axis=0, weights=weight))
        scale[scale <= 10 * np.finfo(X.dtype).eps] = 0.0
        step = np.where(((part == 0) | (part == 1)).all(axis=0), largest, 0.0)  # of 0 and c: c
        mean, scale = mean * largest, scale * largest
        is_constant = scale < SMALLEST
        if block is not None:
            several = (np.bincount(block) > 1)[block]
            whole = np.sqrt(np.bincount(block, np.where(several, scale, 0.0) ** 2))[block]
            mean, scale = np.where(several, 0.0, mean), np.where(several, whole, scale)
            step, is_constant = np.where(several, 1.0, step), is_constant & ~several
        return cls(mean, np.where(is_constant, 1.0, np.maximum(scale, RARE * step)))

    def transform(self, X: Array) -> Array:
        """Features less their mean, over their scale."""
        half = X * 0.5 - beside(X, self.mean) * 0.5  # a difference of large numbers may overflow
        return cast(half / (0.5 * beside(X, self.scale)), X.dtype)

    @staticmethod
    def deviations(X: Array) -> NDArray[np.float64]:
        """Standard deviation of each feature; squares do not overflow."""
        xp = namespace(X)
        size = xp.clip(float64(xp.amax(abs(X), axis=0)), TINY, None)
        return to_host(size * xp.std(X / size, axis=0, correction=0))

    def weights(self, coef: NDArray, intercept: NDArray) -> tuple[NDArray, NDArray]:
        """Weights of the given features, from those of the scaled ones."""
        coef = coef / self.scale
        return coef, intercept - coef @ self.mean

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.mean, "d")
        finite(self.scale, "d", **sizes)
        need((self.scale > 0).all(), "a scale is not positive")
