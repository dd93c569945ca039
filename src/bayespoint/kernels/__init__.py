"""Kernels: inner products k(x, x') = <phi(x), phi(x')> of feature vectors.

A kernel prepares points once and then gives blocks of values between prepared points. Feature
vectors are scaled before powers are taken, to length 1 or by the longest of them, and the scale is
kept as a logarithm: pixels of 0..255 at degree 9 neither overflow nor lose their ratios.
"""

from bayespoint.kernels.base import Kernel, Points, in_plain_units
from bayespoint.kernels.choice import NAMES, make_kernel
from bayespoint.kernels.given import FunctionKernel, PrecomputedKernel
from bayespoint.kernels.polynomial import PolynomialKernel
from bayespoint.kernels.radial import RadialKernel

__all__ = [
    "NAMES",
    "FunctionKernel",
    "Kernel",
    "Points",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RadialKernel",
    "in_plain_units",
    "make_kernel",
]
