"""Kernels against scikit-learn's, against their formulas, and at the ends of the number range."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from bayespoint.exceptions import KernelError
from bayespoint.kernels import (
    FunctionKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    in_plain_units,
    make_kernel,
)
from bayespoint.kernels.polynomial import integer_power
from bayespoint.kernels.scaling import lengths, power_of_two
from bayespoint.spaces import DualSpace
from bayespoint.threads import thread_pool

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
SEEDS = st.integers(0, 2**32 - 1)


def triangle(A, B):
    """A kernel that is in no library: products of min(x, x')."""
    return np.minimum(A[:, None], B[None]).prod(axis=2)


# Name: the parameters of make_kernel, and the slow, obvious version.
KERNELS = {
    "linear": (
        {"kernel": "linear", "fit_intercept": False},
        linear_kernel,
    ),
    "linear with intercept": (
        {"kernel": "linear"},
        lambda A, B: linear_kernel(A, B) + 1,
    ),
    "poly": (
        {"kernel": "poly", "degree": 5, "gamma": 0.3, "coef0": 0.7},
        lambda A, B: polynomial_kernel(A, B, degree=5, gamma=0.3, coef0=0.7),
    ),
    "poly homogeneous": (
        {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 0.0},
        lambda A, B: polynomial_kernel(A, B, degree=2, gamma=2.0, coef0=0.0),
    ),
    "rbf": (
        {"kernel": "rbf", "gamma": 0.3},
        lambda A, B: rbf_kernel(A, B, gamma=0.3),
    ),
    "function": (
        {"kernel": triangle},
        lambda A, B: np.array([[np.prod(np.minimum(a, b)) for b in B] for a in A]),
    ),
}
ALL = pytest.mark.parametrize("name", KERNELS)


def two_sets(dtype=np.float64, seed=0, width=4):
    """Points with coordinates in (0.5, 2): no kernel value is near zero."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.5, 2, (n, width)).astype(dtype) for n in (13, 17))


@DTYPES
@pytest.mark.parametrize("normalize", [False, True])
@ALL
def test_values_and_diagonal_are_those_of_the_formula(name, normalize, dtype):
    parameters, formula = KERNELS[name]
    A, B = two_sets(dtype)
    kernel = make_kernel(X=B, **parameters, normalize=normalize)
    A64, B64 = A.astype(np.float64), B.astype(np.float64)
    expected, diagonal = formula(A64, B64), np.diag(formula(A64, A64))
    if normalize:
        expected /= np.sqrt(np.outer(diagonal, np.diag(formula(B64, B64))))
        diagonal = np.ones(len(A))
    values = kernel(A, B)
    assert values.dtype == dtype
    np.testing.assert_allclose(values, expected, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(kernel.diag(A), diagonal, rtol=TOLERANCE[dtype])


@DTYPES
@ALL
def test_values_are_symmetric_to_the_bit(name, dtype):
    A, _ = two_sets(dtype)  # so narrow that BLAS has one order of summation only
    K = make_kernel(X=A, **KERNELS[name][0])(A, A)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("normalize", [False, True])
@ALL
def test_features_that_are_zero_in_training_count_in_the_length_of_new_points(name, normalize):
    parameters, formula = KERNELS[name]
    A, B = two_sets()
    B[:, 2] = 0
    kernel = make_kernel(X=B, **parameters, normalize=normalize)
    expected, diagonal = formula(A, B), np.diag(formula(A, A))
    if normalize:
        both = np.sqrt(np.outer(diagonal, np.diag(formula(B, B))))
        expected = np.divide(expected, both, out=np.zeros_like(expected), where=both > 0)
        diagonal = np.ones(len(A))
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(A), diagonal, rtol=1e-12)


def test_precomputed_values_are_looked_up():
    K = linear_kernel(*two_sets(width=20))[:, :13]
    gram = K @ K.T
    kernel = PrecomputedKernel()
    np.testing.assert_allclose(kernel(gram, gram), gram, rtol=1e-15)
    np.testing.assert_allclose(kernel.diag(gram), np.diag(gram), rtol=1e-15)


# Numbers of any size ---------------------------------------------------------------------------


def pixels(n=30):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, 784)) * (rng.random((n, 784)) < 0.2)


def all_rows(space):
    """The kernel rows of the training points, as an engine sees them."""
    with thread_pool() as pool:
        cache = space.rows(100.0, pool)
        cache.load(np.arange(space.n_points), np.array([], dtype=np.int64))
        return cache.values[cache.slot_of]


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


@DTYPES
@pytest.mark.parametrize("kernel", [PolynomialKernel, RadialKernel])
def test_features_that_overflow_are_an_error(kernel, dtype):
    X = np.full((2, 3), np.finfo(dtype).max, dtype=dtype)
    with pytest.raises(KernelError, match=r"overflow\. Scale the features or lower gamma"):
        kernel(gamma=4.0)(X, X)


def test_features_below_all_normal_numbers_count_as_zero():
    X = np.array([[1e-310, 0.0], [1.0, 1.0]])  # 1 / 1e-310 would overflow
    np.testing.assert_allclose(PolynomialKernel(normalize=True)(X, X), [[0, 0], [0, 1]], rtol=1e-15)
    np.testing.assert_allclose(PolynomialKernel()(X[:1], X), [[0, 0]], atol=1e-300)


@DTYPES
def test_rbf_of_features_that_are_too_large_is_an_error(dtype):
    size = np.sqrt(np.finfo(dtype).max)
    X = np.array([[size], [-size]], dtype=dtype)
    with pytest.raises(KernelError, match=r"gamma \|x\|\^2 overflows .* at gamma=1\. Scale the f"):
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
    centred = make_kernel("rbf", X, gamma=0.05)(X, X)
    np.testing.assert_allclose(centred, expected, atol=2e-6)
    plain = RadialKernel(gamma=0.05)(X, X)
    assert np.abs(plain - expected).max() > 0.01  # the control: this is what centring is for


@pytest.mark.parametrize("train", [np.float32, np.float64])
@pytest.mark.parametrize("new", [np.float32, np.float64])
def test_rbf_of_points_of_another_precision_has_the_same_centre(train, new):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (40, 3)) + 1_000_000.0  # exact, but for its mean, in float32
    kernel = make_kernel("rbf", X.astype(train), gamma=0.05)
    expected = rbf_kernel(X, gamma=0.05)
    np.testing.assert_allclose(kernel(X.astype(new), X.astype(train)), expected, atol=5e-6)


# Scaling ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, exponent=st.integers(-60, 60), degree=st.integers(1, 6))
def test_scaling_by_a_power_of_two_rounds_nothing(seed, exponent, degree):
    A, B = two_sets(seed=seed)
    kernel = PolynomialKernel(degree=degree)
    scaled = kernel(np.ldexp(A, exponent), B)
    assert np.array_equal(scaled, np.ldexp(kernel(A, B), exponent * degree))


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


@given(st.floats(1e-300, 1e300))
def test_power_of_two_is_the_next_one(size):
    power = power_of_two(size)
    assert math.frexp(power)[0] == 0.5
    assert power / 2 < size <= power


def test_power_of_two_just_above_a_power():
    for exponent in (0, 1, 100, 1000, -1000):
        power = 2.0**exponent
        assert power_of_two(power) == power
        assert power_of_two(np.nextafter(power, np.inf)) == 2 * power
    assert power_of_two(0.0) == 1


@pytest.mark.parametrize("exponent", range(1, 18))
def test_integer_power(exponent):
    base = np.array([[0.0, 1.0, -1.0, 2.0, -3.0, 7.0]])
    expected = [[int(value) ** exponent for value in base[0]]]  # below 2**53, so exact
    assert np.array_equal(integer_power(base.copy(), exponent), expected)


def test_lengths_without_overflow_on_the_way():
    for scale in (1e-300, 1e-170, 1.0, 1e170, 1e300):
        np.testing.assert_allclose(lengths(scale * np.array([[3.0, 4.0]])), [5 * scale], rtol=1e-15)
    z = np.random.default_rng(0).normal(size=(2500, 3)).astype(np.float32)  # several chunks
    np.testing.assert_allclose(lengths(z), np.linalg.norm(z.astype(float), axis=1), rtol=1e-14)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, scale=st.floats(1e-100, 1e100))
def test_normalised_linear_kernel_does_not_see_lengths(seed, scale):
    A, B = two_sets(seed=seed)
    kernel = make_kernel("linear", B, fit_intercept=False, normalize=True)
    each = np.random.default_rng(seed).uniform(0.1, 10, len(A))[:, None]
    np.testing.assert_allclose(kernel(scale * each * A, B), kernel(A, B), rtol=1e-13)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, name=st.sampled_from(sorted(KERNELS)), normalize=st.booleans())
def test_gram_matrix_is_positive_semi_definite(seed, name, normalize):
    X = np.random.default_rng(seed).uniform(0, 3, (12, 2))
    K = make_kernel(X=X, **KERNELS[name][0], normalize=normalize)(X, X)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-13 * values[-1]
    if normalize:
        np.testing.assert_allclose(K.diagonal(), 1, rtol=1e-13)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, gamma=st.floats(1e-6, 1e6))
def test_gamma_scales_the_points_of_poly(seed, gamma):
    A, B = two_sets(seed=seed)
    root = np.sqrt(gamma)
    scaled = PolynomialKernel(degree=3, coef0=1.0)(root * A, root * B)
    kernel = PolynomialKernel(degree=3, gamma=gamma, coef0=1.0)
    np.testing.assert_allclose(kernel(A, B), scaled, rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, gamma=st.floats(1e-6, 10))
def test_gamma_scales_the_points_of_rbf(seed, gamma):
    A, B = two_sets(seed=seed)
    root = np.sqrt(gamma)
    scaled = RadialKernel(gamma=1.0)(root * A, root * B)
    np.testing.assert_allclose(RadialKernel(gamma=gamma)(A, B), scaled, rtol=1e-12)


@DTYPES
@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_gamma_from_the_data(scale, dtype):
    X = (scale * np.random.default_rng(0).normal(size=(50, 7))).astype(dtype)
    auto, by_scale = (make_kernel("rbf", X, gamma=gamma).gamma for gamma in ("auto", "scale"))
    assert auto == 1 / 7
    assert by_scale == pytest.approx(1 / (7 * X.astype(float).var()), rel=1e-12)
    assert make_kernel("poly", X, gamma="scale").gamma == by_scale


def test_gamma_of_constant_data_is_1():
    assert make_kernel("rbf", np.full((60, 2), 0.1)).gamma == 1


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_gamma_out_of_range_is_an_error(size):
    X = size * np.array([[1.0], [3.0]])
    with pytest.raises(KernelError, match=r"gamma='scale' .* as large as 3e[+-]200\. Scale the f"):
        make_kernel("rbf", X)


# Zero ------------------------------------------------------------------------------------------


@DTYPES
def test_zero_rows_give_zero_and_not_nan(dtype):
    X = np.array([[0, 0], [3, 4]], dtype=dtype)
    kernels = [PolynomialKernel(degree=2, normalize=flag) for flag in (False, True)]
    kernels += [FunctionKernel(linear_kernel, normalize=flag) for flag in (False, True)]
    for kernel in kernels:
        K = kernel(X, X)
        assert np.array_equal(K != 0, [[False, False], [False, True]])
        assert np.array_equal(kernel.diag(X) > 0, [False, True])
        assert np.isfinite(kernel(X[:1], X[:1])).all()


# Functions and matrices that are no kernels ----------------------------------------------------


def test_function_of_the_wrong_shape():
    X = np.ones((3, 2))
    kernel = FunctionKernel(lambda A, B: A @ B[0])
    with pytest.raises(KernelError, match=r"returned shape \(3,\) for 3 and 3.*must .*\(3, 3\)"):
        kernel(X, X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_function_that_is_not_finite(value):
    X = np.ones((3, 2))
    kernel = FunctionKernel(lambda A, B: np.full((len(A), len(B)), value))
    with pytest.raises(KernelError, match=r"returned NaN or infinity\. Scale the features, or"):
        kernel(X, X)


def test_function_with_a_negative_diagonal_names_the_point():
    X = np.arange(-2.0, 2)[:, None]
    with pytest.raises(KernelError, match=r"k\(x, x\) must not be negative\. Got -2 at point 0"):
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
    with pytest.raises(KernelError, match=r"Got -0\.5 at point 2: this is no positive semi-defin"):
        PrecomputedKernel().prepare(np.diag([1.0, 2.0, -0.5]), training=True)


def test_precomputed_cannot_be_normalised():
    with pytest.raises(KernelError, match=r"k\(x, x\) of new points.*Divide the matrix by"):
        make_kernel("precomputed", np.eye(3), normalize=True)


def test_new_points_of_a_precomputed_kernel_count_as_long_as_the_training_points():
    K = np.diag([1.0, 4.0, 4.0, 7.0])  # root mean square length: 2
    space = DualSpace(PrecomputedKernel()).fit(K)
    unit = np.exp2(space.points.log_unit / 2)
    rows = np.array([[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_allclose(np.asarray(space.transform(rows)), rows / 2 / unit, rtol=1e-15)


def test_plain_units_between_points_of_two_units():
    assert np.array_equal(in_plain_units(np.array([[3.0]]), 4.0, 2.0), [[24.0]])
