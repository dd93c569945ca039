"""Functions and matrices as kernels, and those that are no kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel
from tests.helpers.kernel_formulas import two_sets

from bayespoint.exceptions import KernelError
from bayespoint.kernels import FunctionKernel, PrecomputedKernel
from bayespoint.spaces import DualSpace

SEEDS = st.integers(0, 2**32 - 1)


def test_precomputed_values_are_looked_up():
    K = linear_kernel(*two_sets(width=20))[:, :13]
    gram = K @ K.T
    kernel = PrecomputedKernel()
    np.testing.assert_allclose(kernel(gram, gram), gram, rtol=1e-15)
    np.testing.assert_allclose(kernel.diag(gram), np.diag(gram), rtol=1e-15)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, size=st.integers(1, 10**6))
def test_integer_values_stay_integers(seed, size):
    """The units of a function's values and of a matrix are powers of two with whole roots."""
    G = np.random.default_rng(seed).integers(-3, 4, (6, 3)).astype(float)
    K = size * (G @ G.T)
    assert np.array_equal(PrecomputedKernel()(K, K), K)
    assert np.array_equal(FunctionKernel(lambda A, B: size * (A @ B.T))(G, G), K)
    points = PrecomputedKernel().prepare(K, training=True)
    assert points.norm.max() <= 1


def test_function_of_the_wrong_shape():
    X = np.ones((3, 2))
    kernel = FunctionKernel(lambda A, B: A @ B[0])
    with pytest.raises(KernelError, match=r"returned shape \(3,\) for 3 and 3.*must .*\(3, 3\)"):
        kernel(X, X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_function_that_is_not_finite(value):
    X = np.ones((3, 2))
    kernel = FunctionKernel(lambda A, B: np.full((len(A), len(B)), value))
    with pytest.raises(KernelError, match="returned NaN or infinity; it must return real"):
        kernel(X, X)


@pytest.mark.parametrize("dtype", [complex, object])
def test_functions_return_real_numbers(dtype):
    kernel = FunctionKernel(lambda A, B: (A @ B.T).astype(dtype))
    with pytest.raises(KernelError, match="it must return real numbers"):
        kernel.prepare(np.ones((3, 2)))


def test_function_with_a_negative_diagonal_names_the_point():
    X = np.arange(-2.0, 2)[:, None]
    with pytest.raises(KernelError, match=r"k\(x, x\) must not be negative\. Got -2 at row 0"):
        FunctionKernel(lambda A, B: A + B.T + 2)(X, X)


def test_precomputed_must_be_square():
    with pytest.raises(KernelError, match=r"must be square.*Got shape \(3, 4\): pass k\(x_i, x_j"):
        PrecomputedKernel().prepare(np.ones((3, 4)), training=True)


@pytest.mark.parametrize("size", [5, 1500])  # one chunk, and several
def test_precomputed_must_be_symmetric_and_the_entry_is_named(size):
    K = np.eye(size)
    K[1, size - 2] = K[size - 2, 1] = 0.5
    PrecomputedKernel().prepare(K, training=True)
    K[size - 2, 1] += 1e-6  # as rounding in float32 might
    PrecomputedKernel().prepare(K, training=True)
    K[size - 2, 1] = 0.25
    named = rf"K\[1, {size - 2}\] = 0\.5 but K\[{size - 2}, 1\] = 0\.25"
    with pytest.raises(KernelError, match=rf"must be symmetric\. Got {named}"):
        PrecomputedKernel().prepare(K, training=True)


def test_precomputed_with_a_negative_diagonal_names_the_point():
    with pytest.raises(KernelError, match=r"Got -0\.5 at row 2: the kernel is not positive"):
        PrecomputedKernel().prepare(np.diag([1.0, 2.0, -0.5]), training=True)


def test_precomputed_cannot_be_normalised():
    with pytest.raises(KernelError, match=r"k\(x, x\) of new rows.*Divide the matrix by"):
        PrecomputedKernel(normalize=True).fitted(np.eye(3))


def test_new_points_of_a_precomputed_kernel_count_as_long_as_the_training_points():
    K = np.diag([1.0, 4.0, 4.0, 7.0])  # root mean square length: 2
    space = DualSpace(PrecomputedKernel().fitted(K)).fit(K)
    unit = np.exp2(space.points.log_unit / 2)
    rows = np.array([[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_allclose(np.asarray(space.transform(rows)), rows / 2 / unit, rtol=1e-15)


def test_the_matrix_of_one_training_set_does_not_change_the_kernel():
    kernel = PrecomputedKernel()
    assert kernel.fitted(4 * np.eye(3)).typical_length_ == 2
    assert kernel.typical_length_ == 1


def test_what_is_not_a_function():
    with pytest.raises(ValueError, match=r"'function' parameter of FunctionKernel .*Got 3 instead"):
        FunctionKernel(3).check()


def test_a_function_must_not_change_the_points():
    def changing(A, B):
        A += 1
        return A @ B.T

    X = np.eye(3)
    with pytest.raises(KernelError, match="changes its arguments"):
        FunctionKernel(changing)(X, X)
    assert np.array_equal(X, np.eye(3))
