"""Kernels: inner products k(x, x') = <phi(x), phi(x')> of feature vectors.

A kernel prepares points once and then computes blocks of values between prepared points. Feature
vectors are scaled before powers are taken, to length 1 or by the longest of them, and the scale is
kept as a logarithm. So pixels of 0..255 at degree 9 neither overflow nor lose their ratios.

To add a kernel, write a file with a subclass of ``Kernel`` and list it in ``choice.py``.
"""

from bayespoint.kernels.base import Kernel, SumKernel
from bayespoint.kernels.choice import NAMES, STORED, make_kernel, positive_parameters
from bayespoint.kernels.constant import ConstantKernel
from bayespoint.kernels.custom import FunctionKernel, PrecomputedKernel
from bayespoint.kernels.points import Points, in_plain_units
from bayespoint.kernels.polynomial import PolynomialKernel
from bayespoint.kernels.radial import RadialKernel

__all__ = [
    "NAMES",
    "STORED",
    "ConstantKernel",
    "FunctionKernel",
    "Kernel",
    "Points",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RadialKernel",
    "SumKernel",
    "in_plain_units",
    "make_kernel",
    "positive_parameters",
]
