"""The Gaussian kernel, of numbers of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from tests.helpers.kernel_formulas import two_sets

from bayespoint.exceptions import KernelError
from bayespoint.kernels import RadialKernel

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
SEEDS = st.integers(0, 2**32 - 1)


@DTYPES
def test_rbf_of_features_that_are_too_large_is_an_error(dtype):
    size = np.sqrt(np.finfo(dtype).max)
    X = np.array([[size], [-size]], dtype=dtype)
    with pytest.raises(KernelError, match=r"Distances overflow .* at gamma=1\. Scale the f"):
        RadialKernel(gamma=1.0)(X, X)
    X /= dtype(4)  # the most that is allowed gives distances that do not overflow
    assert np.array_equal(RadialKernel(gamma=1.0)(X, X), np.eye(2))


def test_rounding_does_not_lift_rbf_above_1():
    X = 30 * np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    K = RadialKernel(gamma=1.0)(X, X)
    assert K.max() == 1
    assert K.diagonal().min() > 0.99


def test_rbf_with_a_large_common_offset_is_accurate_by_centring():
    rng = np.random.default_rng(0)
    X = (rng.integers(-8, 9, (40, 3)) + 20_000).astype(np.float32)  # exact in float32
    expected = rbf_kernel(X.astype(float), gamma=0.05)
    centred = RadialKernel(gamma=0.05).fitted(X)(X, X)
    np.testing.assert_allclose(centred, expected, atol=2e-6)
    plain = RadialKernel(gamma=0.05)(X, X)
    assert np.abs(plain - expected).max() > 0.01  # the control: this is what centring is for


@pytest.mark.parametrize("train", [np.float32, np.float64])
@pytest.mark.parametrize("new", [np.float32, np.float64])
def test_rbf_of_points_of_another_precision_has_the_same_centre(train, new):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (40, 3)) + 1_000_000.0  # exact, but for its mean, in float32
    kernel = RadialKernel(gamma=0.05).fitted(X.astype(train))
    expected = rbf_kernel(X, gamma=0.05)
    np.testing.assert_allclose(kernel(X.astype(new), X.astype(train)), expected, atol=5e-6)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, gamma=st.floats(1e-6, 10))
def test_gamma_scales_the_points_of_rbf(seed, gamma):
    A, B = two_sets(seed=seed)
    root = np.sqrt(gamma)
    scaled = RadialKernel(gamma=1.0)(root * A, root * B)
    np.testing.assert_allclose(RadialKernel(gamma=gamma)(A, B), scaled, rtol=1e-12)
