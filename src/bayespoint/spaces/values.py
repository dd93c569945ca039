"""Kernel values at the points of a basis, as coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import ConstantKernel
from bayespoint.spaces.basis import ProcessSpace


class ValueSpace:
    r"""Kernel values :math:`k(x, x_p)` at the points of a basis, and k(x, x).

    Coordinates z of a basis take a triangular system for each new point. What Gaussian posteriors
    say of an output can be computed from the values themselves (see ``ValuePosterior``).

    Parameters
    ----------
    space : ProcessSpace
        With the basis, of a kernel that is not linear.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import ProcessSpace
    >>> from bayespoint.spaces.values import ValueSpace
    >>> space = ProcessSpace(RadialKernel(gamma=0.5)).fit(np.array([[0.0], [1.0]]))
    >>> ValueSpace(space).transform(np.array([[0.0], [9.0]]))[0].round(3)
    array([[1.   , 0.607],
           [0.   , 0.   ]])
    """

    def __init__(self, space: ProcessSpace) -> None:
        terms, points = space.kernel.weighted_terms(), space.basis
        parts = list(zip(terms, points.parts or (points,), strict=True))
        self._terms = [part for part in parts if not isinstance(part[0][1], ConstantKernel)]
        self._constant = sum(weight for weight, term in terms if isinstance(term, ConstantKernel))

    def transform(self, X: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of new points at those of the basis, and k(x, x)."""
        total: Any = None
        square = np.full(len(X), self._constant)
        for (weight, kernel), basis in self._terms:
            new = kernel.prepare(X)
            values = kernel.block(new, basis)
            values *= weight * np.exp2((new.log_unit + basis.log_unit) / 2)
            total = values if total is None else np.add(total, values, out=total)
            square += weight * np.exp2(new.log_unit) * new.norm**2
        total += self._constant
        return total, square
