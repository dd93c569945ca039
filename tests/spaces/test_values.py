"""Kernel values as coordinates."""

import numpy as np
import pytest

from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel
from bayespoint.spaces import ProcessSpace
from bayespoint.spaces.values import ValueSpace

X, NEW = np.random.default_rng(0).normal(size=(2, 12, 3))
KERNELS = [
    RadialKernel(gamma=0.5),
    PolynomialKernel(degree=2, gamma=3.0, coef0=1.0),
    2.5 * RadialKernel(gamma=0.2) + 1e6 * PolynomialKernel() + 0.5 * ConstantKernel(),
    ConstantKernel(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=range(4))
def test_values_are_those_of_the_kernel(kernel):
    space = ProcessSpace(kernel).fit(X)
    values, square = ValueSpace(space).transform(NEW)
    np.testing.assert_allclose(values, kernel(NEW, X[space.basis.index]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(square, kernel.diag(NEW), rtol=1e-12)
