"""Gamma as a number, and read off the training points."""

import numpy as np
import pytest

from bayespoint.exceptions import KernelError
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@DTYPES
@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_gamma_from_the_data(scale, dtype):
    X = (scale * np.random.default_rng(0).normal(size=(50, 7))).astype(dtype)
    by_features, by_scale = (
        RadialKernel(gamma=gamma).fitted(X).gamma for gamma in ("features", "scale")
    )
    assert by_features == 1 / 7
    assert by_scale == pytest.approx(1 / (7 * X.astype(float).var()), rel=1e-12)
    assert PolynomialKernel(gamma="scale").fitted(X).gamma == by_scale


def test_gamma_of_constant_data_is_1():
    assert RadialKernel(gamma="scale").fitted(np.full((60, 2), 0.1)).gamma == 1


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_gamma_out_of_range_is_an_error(size):
    X = size * np.array([[1.0], [3.0]])
    with pytest.raises(KernelError, match=r"gamma='scale' .* as large as 3e[+-]200\. Scale the f"):
        RadialKernel(gamma="scale").fitted(X)


@pytest.mark.parametrize(
    "kernel",
    [
        RadialKernel(gamma="scale"),
        PolynomialKernel(gamma="features"),
        RadialKernel(gamma="scale") + ConstantKernel(),
    ],
)
def test_gamma_that_was_not_read_off_data_is_an_error(kernel):
    X = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(KernelError, match=r"on the training rows\. Call kernel.fitted\(X"):
        kernel(X, X)
    assert np.isfinite(kernel.fitted(X)(X, X)).all()


@pytest.mark.parametrize("kernel", [RadialKernel, PolynomialKernel])
@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, "wide", None, True])
def test_gamma_that_is_not_allowed(kernel, gamma):
    name = kernel.__name__
    with pytest.raises(
        ValueError, match=rf"'gamma' parameter of {name} must be 'scale', 'features'"
    ):
        kernel(gamma=gamma).fitted(np.eye(2))
