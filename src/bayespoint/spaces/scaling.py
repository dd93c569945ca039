"""Features of mean 0 and variance 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.arrays import Array, beside, cast, float64, namespace, to_host
from bayespoint.tools.attributes import finite, need
from bayespoint.tools.numbers import TINY

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
    def of(cls, X: NDArray, weight: NDArray[np.float64] | None = None) -> Scaling:
        """The scaling of these points, of which some may count for several."""
        largest = np.maximum(np.abs(X).max(axis=0), TINY).astype(np.float64)
        part = X / largest  # squares of this do not overflow
        mean = np.average(part, axis=0, weights=weight)
        scale = np.sqrt(np.average((part - mean) ** 2, axis=0, weights=weight))
        constant = (scale <= 10 * np.finfo(X.dtype).eps) | (scale * largest < SMALLEST)
        return cls(mean * largest, np.where(constant, 1.0, scale * largest))

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
