"""Kernels: inner products k(x, x') = <phi(x), phi(x')> of feature vectors.

A kernel prepares points once and then computes blocks of values between prepared points. Feature
vectors are scaled before powers are taken, to length 1 or by the longest of them, and the scale is
kept as a logarithm. Pixels of 0..255 at degree 9 therefore neither overflow nor lose their ratios.

To add a kernel, write a file with a subclass of ``Kernel`` and list it here: in ``KERNELS``, and
under a name, if it has one, in ``NAMES``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from functools import cache, partial
from typing import Any

from bayespoint.kernels.axes import AdditiveKernel, ExponentialKernel, Ranks
from bayespoint.kernels.base import Kernel, Points, in_plain_units
from bayespoint.kernels.custom import FunctionKernel, PrecomputedKernel
from bayespoint.kernels.matern import MaternKernel
from bayespoint.kernels.polynomial import PolynomialKernel
from bayespoint.kernels.radial import RadialKernel
from bayespoint.kernels.sums import ConstantKernel, SumKernel

__all__ = [
    "KERNELS",
    "NAMES",
    "STORED",
    "AdditiveKernel",
    "ConstantKernel",
    "ExponentialKernel",
    "FunctionKernel",
    "Kernel",
    "MaternKernel",
    "Points",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RadialKernel",
    "SumKernel",
    "in_plain_units",
    "make_kernel",
    "positive_parameters",
]


def linear_kernel(*, fit_intercept: bool = True, normalize: bool = False) -> PolynomialKernel:
    """The kernel named "linear": x.x', plus 1 if there is an intercept."""
    return PolynomialKernel(coef0=1.0 if fit_intercept else 0.0, normalize=normalize)


# Name -> function or class that takes the classifier's parameters of the same names.
NAMES: dict[str, Callable[..., Kernel]] = {
    "linear": linear_kernel,
    "poly": PolynomialKernel,
    "rbf": RadialKernel,
    "matern32": partial(MaternKernel, nu=1.5),
    "matern52": partial(MaternKernel, nu=2.5),
    "exponential": ExponentialKernel,
    "additive": AdditiveKernel,
    "precomputed": PrecomputedKernel,
}
KERNELS = (
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    FunctionKernel,
    MaternKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)
# Classes that model files may contain. FunctionKernel is not one of them: it holds code.
STORED = (Points, Ranks, *(kernel for kernel in KERNELS if kernel is not FunctionKernel))


def make_kernel(
    kernel: str | Kernel | Callable[..., Any],
    *,
    degree: int = 3,
    gamma: float | str = "scale",
    coef0: float = 1.0,
    normalize: bool = False,
    fit_intercept: bool = True,
) -> Kernel:
    """Make the kernel that a classifier's parameters specify, not yet fitted.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "matern32", "matern52", "exponential", "additive", \
            "precomputed"}, Kernel or callable
        Name of the kernel, a kernel, or a function of two arrays of points.
    degree, gamma, coef0
        As in :class:`bayespoint.BayesPointClassifier`, for the kernels that have
        such parameters.
    normalize : bool, default=False
        Whether to use the normalised form. A kernel that is normalised already stays so.
    fit_intercept : bool, default=True
        Whether the kernel named "linear" has a constant feature.

    Returns
    -------
    Kernel
        The kernel, to be fitted to the training points.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import make_kernel
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> make_kernel("linear")(X, X)  # the constant feature adds 1
    array([[ 6., 12.],
           [12., 26.]])
    >>> make_kernel("rbf").fitted(X)
    RadialKernel(gamma=0.4)
    """
    given = {
        "degree": degree,
        "gamma": gamma,
        "coef0": coef0,
        "normalize": normalize,
        "fit_intercept": fit_intercept,
    }
    if isinstance(kernel, str) and kernel in NAMES:
        make = NAMES[kernel]
        return make(**{name: given[name] for name in parameters_of(make) if name in given})
    if isinstance(kernel, Kernel):
        made = copy(kernel)
        made.normalize = normalize or kernel.normalize
    elif callable(kernel) and not isinstance(kernel, type):
        made = FunctionKernel(kernel, normalize=normalize)
    else:
        names = ", ".join(map(repr, ("auto", *NAMES)))
        raise ValueError(
            f"The 'kernel' parameter of BayesPointClassifier must be a str among {{{names}}}, a "
            f"kernel such as RadialKernel(), or a callable. Got {kernel!r} instead."
        )
    made.check()
    return made


@cache
def parameters_of(make: Callable[..., Kernel]) -> tuple[str, ...]:
    """Names of the parameters of a function that makes kernels."""
    return tuple(inspect.signature(make).parameters)


def positive_parameters(kernel: Any) -> dict[str, str]:
    """The classifier's names of the positive parameters of its kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The classifier's parameter.

    Returns
    -------
    dict of str to str
        Name in the classifier -> name in the kernel.

    Examples
    --------
    >>> from bayespoint.kernels import ConstantKernel, RadialKernel, positive_parameters
    >>> positive_parameters("poly")
    {'gamma': 'gamma', 'coef0': 'coef0'}
    >>> list(positive_parameters(RadialKernel() + ConstantKernel()))
    ['kernel__weights__0', 'kernel__terms__0__gamma', 'kernel__weights__1']
    """
    if isinstance(kernel, Kernel):
        return {f"kernel__{name}": name for name in kernel.positive_parameters}
    if not isinstance(kernel, str) or kernel not in NAMES:
        return {}
    make = NAMES[kernel]
    return {name: name for name in make().positive_parameters if name in parameters_of(make)}
