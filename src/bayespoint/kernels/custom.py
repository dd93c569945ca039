"""Custom kernels: a function, or a kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel, Points, norms, positions
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, beside, chunks, float64, largest, namespace, to_host
from bayespoint.tools.attributes import number
from bayespoint.tools.validation import parameter_error

ASYMMETRY = 1e-5  # relative; a Gram matrix computed in float32 is symmetric to about 1e-6


@dataclass(eq=False, repr=False, kw_only=True)
class FunctionKernel(Kernel):
    """A kernel given by a function of two arrays of rows.

    Parameters
    ----------
    function : callable
        Takes arrays of m and n points, returns the kernel values, shape (m, n).
    normalize : bool, default=False
        Whether to divide by the lengths of the feature vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import FunctionKernel
    >>> smallest = FunctionKernel(lambda A, B: np.minimum(A, B.T))
    >>> smallest(np.array([[1.0], [2.0]]), np.array([[1.5]]))
    array([[1. ],
           [1.5]])
    """

    function: Callable[[NDArray, NDArray], NDArray] = field(kw_only=False)

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        if not callable(self.function):
            raise parameter_error(self, "function", "a function of two arrays of rows")

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Keep the inputs; ``side`` is the factor that scales phi(x)."""
        square = np.empty(len(X))
        for start in range(0, len(X), 64):  # small, since only the diagonal is kept
            part = slice(start, start + 64)
            square[part] = np.diagonal(self._values(X[part], X[part]))
        norm, log_unit = norms(square)
        if unit or self.normalize:
            scale = arrays.inverse(np.sqrt(square))
            norm, log_unit = (square > 0).astype(np.float64), 0.0
        else:
            scale = np.full_like(norm, np.exp2(-log_unit / 2))
        return Points(X, norm, log_unit, np.arange(len(X)), scale)

    def block(self, left: Points, right: Points) -> NDArray:
        """The scaled values of the function."""
        assert left.side is not None and right.side is not None
        values = self._values(left.rows, right.rows)
        scaled = values * left.side[:, None] * right.side
        return scaled.astype(left.rows.dtype, copy=False)

    def _values(self, A: NDArray, B: NDArray) -> NDArray:
        A, B = read_only(A), read_only(B)
        try:
            values = np.asarray(self.function(A, B))
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise KernelError(
                "The kernel function changes its arguments, which are rows of the user. It must "
                "copy them first, as in A = A.copy()."
            ) from error
        if values.shape != (len(A), len(B)):
            raise KernelError(
                f"The kernel function returned shape {values.shape} for {len(A)} and {len(B)} "
                f"rows; it must return the matrix of all pairs, shape {(len(A), len(B))}."
            )
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            wrong = "NaN or infinity" if values.dtype.kind in "biuf" else f"{values.dtype} values"
            raise KernelError(
                f"The kernel function returned {wrong}; it must return real numbers. Scale the "
                "features, or correct the function."
            )
        return values


def read_only(points: NDArray) -> NDArray:
    """The same points, which cannot be changed."""
    view = points.view()
    view.flags.writeable = False
    return view


class PrecomputedKernel(Kernel):
    """A precomputed kernel matrix: (m, m) for training, (n, m) for n new rows.

    k(x, x) of new points is unknown. Where the length of phi(x) is needed, it is the root mean
    square length of the training points.

    Parameters
    ----------
    normalize : bool, default=False
        Must be False.

    Attributes
    ----------
    typical_length_ : float
        Root mean square length of the training points. Set by :meth:`fitted`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PrecomputedKernel
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> kernel = PrecomputedKernel().fitted(K)
    >>> points = kernel.prepare(K, training=True)
    >>> kernel.block(points, points)  # in units of 2^2
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """

    typical_length_: float = 1.0
    is_precomputed = works_on_devices = True

    def check(self) -> None:
        """Raise a KernelError for ``normalize=True``."""
        super().check()
        if self.normalize:
            raise KernelError(
                "normalize=True needs k(x, x) of new rows, which a precomputed kernel does not "
                "contain. Divide the matrix by sqrt(k(x, x) k(x', x')) yourself."
            )

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        number(self.typical_length_, 0)

    def fitted(self, X: Array) -> PrecomputedKernel:
        """Return a new kernel with the length of the training points."""
        kernel = super().fitted(X)
        norm, log_unit = norms(to_host(float64(X.diagonal())))
        kernel.typical_length_ = float(np.sqrt((norm**2).mean()) * np.exp2(log_unit / 2)) or 1.0
        return kernel

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Check a training matrix and compute its unit; keep the rows of new points unchanged."""
        xp = namespace(X)
        scales = xp.ones(len(X), dtype=X.dtype, device=X.device)
        if not training:
            norm = xp.ones(len(X), dtype=xp.float64, device=X.device)
            side = scales * (1 / self.typical_length_) if unit else None
            return Points(X, norm, 0.0, positions(X), side)
        check_gram(X)
        norm, log_unit = norms(to_host(float64(X.diagonal())))
        side = scales * float(np.exp2(-log_unit / 2))
        return Points(X, beside(X, norm), log_unit, positions(X), side)

    def block(self, left: Points, right: Points) -> Array:
        """Columns of the matrix, scaled by ``side`` to the unit of the training points."""
        values = left.rows[:, right.index]
        for side in (right.side, None if left.side is None else left.side[:, None]):
            values = values if side is None else values * side
        return values


def check_square(K: Array) -> None:
    """Raise a :class:`KernelError` unless K has as many columns as rows."""
    if K.shape[0] != K.shape[1]:
        raise KernelError(
            f"A precomputed kernel must be square for training. Got shape {tuple(K.shape)}: pass "
            "k(x_i, x_j) between all training rows (and k(new, training) to predict)."
        )


def check_gram(K: Array) -> None:
    """Raise a :class:`KernelError` unless K is square and symmetric."""
    check_square(K)
    size = largest(K.diagonal())
    for part in chunks(K):
        difference = abs(K[part] - K[:, part].T)
        if float(difference.max()) > ASYMMETRY * max(size, largest(K[part])):
            i, j = divmod(int(difference.argmax()), len(K))
            i += part.start
            raise KernelError(
                f"A precomputed kernel must be symmetric. Got K[{i}, {j}] = {K[i, j]:.6g} but "
                f"K[{j}, {i}] = {K[j, i]:.6g}."
            )
