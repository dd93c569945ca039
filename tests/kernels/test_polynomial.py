"""Powers of inner products, of numbers of any size."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.kernel_formulas import pixels, two_sets

from bayespoint.exceptions import KernelError
from bayespoint.kernels import PolynomialKernel
from bayespoint.kernels.polynomial import integer_power
from bayespoint.spaces import DualSpace
from bayespoint.tools.threads import thread_pool

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
SEEDS = st.integers(0, 2**32 - 1)


def all_rows(space):
    """The kernel rows that an engine sees, of the training points as they were given."""
    with thread_pool() as pool:
        cache = space.rows(100.0, pool)
        cache.load(np.arange(space.n_points), np.array([], dtype=np.int64))
        place = np.argsort(cache.order)
        return cache.values[cache.slot_of][np.ix_(place, place)]


def test_pixels_at_degree_9_keep_their_ratios_in_float32():
    X = pixels()
    space = DualSpace(PolynomialKernel(degree=9, coef0=1.0)).fit(X.astype(np.float32))
    exact = [[(int(a @ b) + 1) ** 9 for b in X] for a in X]  # Python's integers, of any size
    assert max(map(max, exact)) > 1e50  # float32 ends at 3e38
    unit = 2 ** int(space.points.log_unit)
    np.testing.assert_allclose(
        all_rows(space), [[value / unit for value in row] for row in exact], rtol=1e-4
    )
    # New points are also divided by their own length.
    divided = [[value / math.isqrt(unit * row[i]) for value in row] for i, row in enumerate(exact)]
    new = np.asarray(space.transform(X.astype(np.float32)))
    np.testing.assert_allclose(new, divided, rtol=1e-4)
    assert space.points.norm.max() <= 1


@pytest.mark.parametrize("normalize", [False, True])
def test_degree_200_neither_overflows_nor_vanishes(normalize):
    """1e1500 is beyond float64; the logarithm of the unit is not."""
    X = pixels()
    space = DualSpace(PolynomialKernel(degree=200, normalize=normalize)).fit(X.astype(float))
    rows = all_rows(space)
    assert np.isfinite(rows).all()
    exact = [[int(a @ b) for b in X] for a in X]
    i, j = 3, 4
    expected = 200 * math.log2(exact[i][j])
    if normalize:
        expected -= 100 * (math.log2(exact[i][i]) + math.log2(exact[j][j]))
    assert np.log2(rows[i, j]) + space.points.log_unit == pytest.approx(expected, abs=1e-8)


@DTYPES
def test_plain_values_that_overflow_are_an_error(dtype):
    X = pixels().astype(dtype)
    degree = {np.float32: 9, np.float64: 60}[dtype]
    kernel = PolynomialKernel(degree=degree)
    name = np.dtype(dtype).name
    with pytest.raises(KernelError, match=rf"overflow {name}.*normalize=True.*lower the degree"):
        kernel(X, X)
    apart = np.array([[1, 0], [0, 1]], dtype=dtype) * dtype(np.finfo(dtype).max ** 0.51)
    with pytest.raises(KernelError, match=f"overflow {name}"):  # also where some values are 0
        PolynomialKernel(degree=2)(apart, apart)
    assert np.isfinite(PolynomialKernel(degree=degree, normalize=True)(X, X)).all()


def test_features_below_all_normal_numbers_count_as_zero():
    X = np.array([[1e-310, 0.0], [1.0, 1.0]])  # 1 / 1e-310 would overflow
    np.testing.assert_allclose(PolynomialKernel(normalize=True)(X, X), [[0, 0], [0, 1]], rtol=1e-15)
    np.testing.assert_allclose(PolynomialKernel()(X[:1], X), [[0, 0]], atol=1e-300)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, exponent=st.integers(-60, 60), degree=st.integers(1, 6))
def test_scaling_by_a_power_of_two_rounds_nothing(seed, exponent, degree):
    A, B = two_sets(seed=seed)
    kernel = PolynomialKernel(degree=degree)
    scaled = kernel(np.ldexp(A, exponent), B)
    assert np.array_equal(scaled, np.ldexp(kernel(A, B), exponent * degree))


@pytest.mark.parametrize("exponent", range(1, 18))
def test_integer_power(exponent):
    base = np.array([[0.0, 1.0, -1.0, 2.0, -3.0, 7.0]])
    expected = [[int(value) ** exponent for value in base[0]]]  # below 2**53, so exact
    assert np.array_equal(integer_power(base.copy(), exponent), expected)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, scale=st.floats(1e-100, 1e100))
def test_normalised_linear_kernel_does_not_see_lengths(seed, scale):
    A, B = two_sets(seed=seed)
    kernel = PolynomialKernel(normalize=True)
    each = np.random.default_rng(seed).uniform(0.1, 10, len(A))[:, None]
    np.testing.assert_allclose(kernel(scale * each * A, B), kernel(A, B), rtol=1e-13)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, gamma=st.floats(1e-6, 1e6))
def test_gamma_scales_the_points_of_poly(seed, gamma):
    A, B = two_sets(seed=seed)
    root = np.sqrt(gamma)
    scaled = PolynomialKernel(degree=3, coef0=1.0)(root * A, root * B)
    kernel = PolynomialKernel(degree=3, gamma=gamma, coef0=1.0)
    np.testing.assert_allclose(kernel(A, B), scaled, rtol=1e-12)
