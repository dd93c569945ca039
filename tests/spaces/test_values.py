"""Kernel values at fixed points against those of prepared points."""

import numpy as np
import pytest

from bayespoint.exceptions import KernelError
from bayespoint.kernels import (
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    MaternKernel,
    PolynomialKernel,
    RadialKernel,
)
from bayespoint.spaces import values

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(30, 3)), np.vstack([RNG.normal(size=(20, 3)), np.full((1, 3), 40.0)])
WIDTHS = [0.1, 0.5, 2.0]
KERNELS = {
    "rbf": RadialKernel(gamma=WIDTHS),
    "matern": MaternKernel(nu=2.5, gamma=0.3),
    "exponential": ExponentialKernel(gamma=WIDTHS),
    "additive": AdditiveKernel(gamma=WIDTHS),
    "linear": PolynomialKernel(gamma=0.7, coef0=2.0),
    "linear sum": 3.0 * PolynomialKernel(gamma=0.7) + 0.1 * ConstantKernel(),
    "cubic": PolynomialKernel(degree=3, coef0=1.0),
    "constant": ConstantKernel(),
    "constants": ConstantKernel() + 2 * ConstantKernel(),
    "sum": 30.0 * RadialKernel(gamma=WIDTHS) + 3 * PolynomialKernel(gamma=0.3) + ConstantKernel(),
    "rough": 1e5 * ExponentialKernel(ranks=True) + AdditiveKernel() + 1e-3 * ConstantKernel(),
    "normal term": MaternKernel() + PolynomialKernel(coef0=1.0, normalize=True),
    "normal sum": (RadialKernel() + 5 * PolynomialKernel(coef0=1.0)).set_params(normalize=True),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", KERNELS)
def test_values_and_squares(name, dtype):
    kernel = KERNELS[name].fitted(X)
    points = kernel.prepare(X, training=True)
    new = NEW.astype(dtype)
    found, square = values.values_at(kernel, points)(new)
    expected = kernel(new.astype(np.float64), X)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(square, kernel.diag(new.astype(np.float64)), rtol=1e-12)
    one, _ = values.values_at(kernel, points)(new[3:4])
    np.testing.assert_allclose(one, expected[3:4], rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_weights_of_terms_matter():
    """The negative control: values of a sum with other weights."""
    kernel = KERNELS["rough"].fitted(X)
    points = kernel.prepare(X, training=True)
    kernel.weights = [1e5, 1.001, 1e-3]
    found, _ = values.values_at(kernel, points)(NEW)
    expected = KERNELS["rough"].fitted(X)(NEW, X)
    assert np.abs(found - expected).max() > 1e-12 * expected.max()


@pytest.mark.parametrize("name", ["rbf", "matern", "exponential", "linear", "sum"])
@pytest.mark.parametrize("size", [1e200, 1e308])
def test_overflow_is_that_of_prepared_points(name, size):
    """An error, or the same values where scaled features do not overflow."""
    kernel = KERNELS[name].fitted(X)
    points, far = kernel.prepare(X, training=True), np.vstack([NEW, np.full((1, 3), size)])
    quick = values.values_at(kernel, points)
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            expected = kernel.plain_block(far, points)
        except KernelError as error:
            with pytest.raises(KernelError, match=str(error)[:12]):
                quick(far)
        else:
            for found, value in zip(quick(far), expected, strict=True):
                np.testing.assert_allclose(found, value, rtol=1e-12)
