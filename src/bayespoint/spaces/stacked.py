"""Several spaces in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Kernel, SumKernel
from bayespoint.spaces.basis import ProcessSpace
from bayespoint.tools.arrays import namespace
from bayespoint.tools.attributes import finite, need


class StackedSpace:
    r"""The coordinates of several spaces, one after another: where a mixture of posteriors lives.

    A classifier of one member has weights in the coordinates of its own space and zeros elsewhere,
    so outputs are f = Z w as in any space.

    Parameters
    ----------
    spaces : sequence of spaces
        The fitted spaces.
    weights : sequence of float
        Weights of the members.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel, RadialKernel
    >>> from bayespoint.spaces import BasisSpace, StackedSpace
    >>> X = np.array([[0.0], [1.0]])
    >>> spaces = [BasisSpace(kernel).fit(X) for kernel in (PolynomialKernel(), RadialKernel())]
    >>> StackedSpace(spaces, [0.5, 0.5]).transform(X).round(2)
    array([[0.  , 1.  , 0.  ],
           [1.  , 0.37, 0.93]])
    """

    device_dtype = "float64"

    def __init__(self, spaces: Sequence[Any], weights: Sequence[float]) -> None:
        self.spaces = list(spaces)
        self.weights = np.asarray(weights, dtype=np.float64)

    @property
    def kernel(self) -> Kernel:
        """The covariance of outputs before any label is seen, up to the scales of the priors."""
        return SumKernel([space.kernel for space in self.spaces], weights=self.weights.tolist())

    @property
    def has_device_form(self) -> bool:
        """Whether ``transform`` takes points on a device."""
        return all(isinstance(one, ProcessSpace) and one.has_device_form for one in self.spaces)

    def device_chunk(self, n_features: int) -> int:
        """How many points to transform at a time on a device."""
        return min(space.device_chunk(n_features) for space in self.spaces)

    def transform(self, X: Any) -> Any:
        """Coordinates of new points in all spaces."""
        return namespace(X).concatenate([space.transform(X) for space in self.spaces], axis=1)

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), if all kernels are linear."""
        sizes = [len(weights) // len(self.spaces)] * (len(self.spaces) - 1)
        parts = np.split(weights, np.cumsum(sizes))
        return sum(space.primal(part) for space, part in zip(self.spaces, parts, strict=True))

    def forget(self) -> None:
        """Drop what only engines need; the spaces have done so."""

    def check_state(self) -> None:
        """Raise an error unless there is a weight for each space."""
        need(len(self.spaces) > 0, "it has no spaces")
        need(all(hasattr(space, "transform") for space in self.spaces), "a space cannot transform")
        finite(self.weights, "k", k=len(self.spaces))
