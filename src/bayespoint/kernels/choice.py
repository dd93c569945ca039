"""The kernel that a classifier's parameters name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.given import FunctionKernel, PrecomputedKernel
from bayespoint.kernels.polynomial import PolynomialKernel
from bayespoint.kernels.radial import RadialKernel

NAMES = ("linear", "poly", "rbf", "precomputed")


def make_kernel(
    kernel: str | Callable[[NDArray, NDArray], NDArray],
    X: NDArray,
    *,
    degree: int = 3,
    gamma: float | str = "scale",
    coef0: float = 1.0,
    normalize: bool = False,
    fit_intercept: bool = True,
) -> Kernel:
    """The kernel of a classifier's parameters; what depends on data is read off ``X``.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        Its name, or a function of two arrays of points.
    X : ndarray of shape (n_points, n_features)
        Training points: for ``gamma="scale"``, and to centre and leave out what is constant.
    degree, gamma, coef0, normalize
        As in :class:`bayespoint.BayesPointClassifier`.
    fit_intercept : bool, default=True
        Concerns the linear kernel alone: its constant feature. The polynomial kernel has one
        through ``coef0``, and the others need none.

    Returns
    -------
    Kernel
        Ready to be called.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import make_kernel
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> make_kernel("linear", X)(X, X)  # 1 is the constant feature's
    array([[ 6., 12.],
           [12., 26.]])
    """
    if callable(kernel):
        return FunctionKernel(kernel, normalize=normalize)
    if kernel == "linear":
        return PolynomialKernel(coef0=float(fit_intercept), normalize=normalize)
    if kernel == "precomputed":
        if normalize:
            raise KernelError(
                "normalize=True needs k(x, x) of new points, which a precomputed kernel does not "
                "tell. Divide the matrix by sqrt(k(x, x) k(x', x')) yourself."
            )
        return PrecomputedKernel()
    width = scale_gamma(X) if gamma == "scale" else 1 / X.shape[1] if gamma == "auto" else gamma
    if kernel == "rbf":
        centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return RadialKernel(gamma=float(width), centre=centre)
    constant = [True] if coef0 > 0 else []
    columns = np.flatnonzero(np.append(X.any(axis=0), constant))
    return PolynomialKernel(
        degree=degree, gamma=float(width), coef0=float(coef0), normalize=normalize,
        columns=columns if len(columns) < X.shape[1] + len(constant) else None,
    )  # fmt: skip


def scale_gamma(X: NDArray) -> float:
    """1 / (n_features * Var X), as scikit-learn's SVC; 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    with np.errstate(over="ignore"):
        variance = float(X.var(dtype=np.float64))
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            f"gamma='scale' is 1 / (n_features Var X), which is out of range for features as large "
            f"as {np.abs(X).max():.2g}. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)
