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
    r"""The coordinates of several spaces, one after another: where several posteriors live.

    A classifier of one member of a mixture, or of one task that has a space of its own, has weights
    in the coordinates of its space and zeros elsewhere, so outputs are f = Z w as in any space.

    Parameters
    ----------
    spaces : sequence of spaces
        The fitted spaces.
    weights : sequence of float, optional
        Weights of the members of a mixture; by default each space is that of a task.

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

    def __init__(self, spaces: Sequence[Any], weights: Any = None) -> None:
        self.spaces = list(spaces)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    @property
    def kernel(self) -> Kernel:
        """The covariance of outputs before any label is seen, up to the scales of the priors."""
        weights = None if self.weights is None else self.weights.tolist()
        kernels = [space.kernel for space in self.spaces]
        return SumKernel(kernels, weights=weights, by_class=weights is None)

    @property
    def has_device_form(self) -> bool:
        """Whether ``transform`` takes points on a device."""
        kinds = (ProcessSpace, StackedSpace)
        return all(isinstance(one, kinds) and one.has_device_form for one in self.spaces)

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

    def check_state(self) -> None:
        """Raise an error unless there is a weight for each space, or none."""
        need(len(self.spaces) > 0, "it has no spaces")
        need(all(hasattr(space, "transform") for space in self.spaces), "a space cannot transform")
        if self.weights is not None:
            finite(self.weights, "k", k=len(self.spaces))
