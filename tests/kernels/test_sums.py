"""Sums of kernels: values, units, names of parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel
from tests.helpers.kernel_formulas import pixels, triangle

from bayespoint.kernels import (
    ConstantKernel,
    FunctionKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)

SINGLE = st.one_of(
    st.builds(RadialKernel, gamma=st.floats(0.01, 10)),
    st.builds(
        PolynomialKernel,
        degree=st.integers(1, 4),
        gamma=st.floats(0.01, 10),
        coef0=st.sampled_from([0.0, 0.3, 4.0]),
        normalize=st.booleans(),
    ),
    st.builds(ConstantKernel),
    st.builds(FunctionKernel, st.just(triangle), normalize=st.booleans()),
)


def sums_of(kernels):
    """Up to four terms with weights of any size."""
    return st.lists(st.tuples(st.floats(1e-3, 1e3), kernels), min_size=1, max_size=4).flatmap(
        lambda pairs: st.builds(
            SumKernel,
            st.just([term for _, term in pairs]),
            weights=st.just([weight for weight, _ in pairs]),
            normalize=st.booleans(),
        )
    )


SUMS = sums_of(st.one_of(SINGLE, sums_of(SINGLE)))
SEEDS = st.integers(0, 2**32 - 1)


def two_sets(seed, dtype=np.float64):
    """Two sets of points, one at the origin among them; the third feature is 0 in the second."""
    A, B = (np.random.default_rng([seed, i]).uniform(0, 2, (n, 3)) for i, n in enumerate((9, 12)))
    A[0], B[:, 2] = 0, 0
    return A.astype(dtype), B.astype(dtype)


def plain_sum(kernel, A, B):
    """The terms' own plain values, added up and divided by the lengths one by one."""
    weights = [1.0] * len(kernel.terms) if kernel.weights is None else kernel.weights
    values, left, right = (
        sum(weight * of(term) for weight, term in zip(weights, kernel.terms, strict=True))
        for of in (lambda k: k(A, B), lambda k: k.diag(A), lambda k: k.diag(B))
    )
    if kernel.normalize:
        both = np.sqrt(np.outer(left, right))
        values = np.divide(values, both, out=np.zeros_like(values), where=both > 0)
        left = np.where(left > 0, 1.0, 0.0)
    return values, left


@settings(deadline=None, max_examples=100)
@given(kernel=SUMS, seed=SEEDS)
def test_a_sum_equals_the_sum_of_its_terms(kernel, seed):
    A, B = two_sets(seed)
    kernel = kernel.fitted(B)
    expected, diagonal = plain_sum(kernel, A, B)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-11, atol=1e-13 * expected.max())
    np.testing.assert_allclose(kernel.diag(A), diagonal, rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(kernel=SUMS, seed=SEEDS, dtype=st.sampled_from([np.float32, np.float64]))
def test_a_sum_is_symmetric_and_positive_semi_definite(kernel, seed, dtype):
    X, _ = two_sets(seed, dtype)
    K = kernel.fitted(X)(X, X)
    assert K.dtype == dtype
    np.testing.assert_allclose(K, K.T, rtol=4 * np.finfo(dtype).eps)  # as its terms are
    values = np.linalg.eigvalsh(K.astype(np.float64))
    assert values[0] >= -50 * np.finfo(dtype).eps * values[-1]


@settings(deadline=None, max_examples=60)
@given(kernel=SUMS, seed=SEEDS, unit=st.booleans(), data=st.data())
def test_points_of_a_sum_are_prepared_and_taken_consistently(kernel, seed, unit, data):
    A, B = two_sets(seed)
    kernel = kernel.fitted(B)
    left, right = kernel.prepare(A, unit=unit), kernel.prepare(B, training=True)
    block = kernel.block(left, right)
    rows = data.draw(st.lists(st.integers(0, len(A) - 1), max_size=5))
    some = left.take(np.array(rows, dtype=int))
    assert len(some) == len(rows)
    taken = kernel.block(some, right.take(slice(2, 9, 3)))
    np.testing.assert_allclose(taken, block[rows][:, 2:9:3], rtol=1e-13, atol=1e-15)
    own = kernel.block(right, right).diagonal()
    np.testing.assert_allclose(right.norm**2, own, rtol=1e-12, atol=1e-300)
    assert max(left.norm.max(), right.norm.max()) <= 1
    if unit or kernel.normalize:
        assert left.log_unit == 0
        assert set(left.norm) <= {0.0, 1.0}
    left.check_state()


def test_terms_of_very_different_sizes():
    """Degree 9 on pixels is 1e60: beside it the Gaussian counts only where pixels are all 0."""
    X = np.vstack([pixels(5), np.zeros((1, 784))]).astype(np.float32)
    powers = PolynomialKernel(degree=9)
    kernel = SumKernel([powers, RadialKernel(gamma=1e-9)], weights=[1.0, 5.0]).fitted(X)
    points = kernel.prepare(X)
    assert points.log_unit > 150
    values = kernel.block(points, points)
    assert np.isfinite(values).all()
    alone = powers.prepare(X)
    expected = powers.block(alone, alone) * np.exp2(alone.log_unit - points.log_unit)
    np.testing.assert_allclose(values[:5, :5], expected[:5, :5], rtol=1e-5)
    cosines = clone(kernel).set_params(normalize=True)(X, X)
    np.testing.assert_allclose(cosines.diagonal(), 1, rtol=1e-5)  # the empty image, too


def test_zero_has_no_direction_in_a_sum():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    terms = [PolynomialKernel(degree=2), PolynomialKernel(degree=3)]
    for normalize in (False, True):
        K = SumKernel(terms, normalize=normalize)(X, X)
        assert np.array_equal(K != 0, [[False, False], [False, True]])


# Operators -------------------------------------------------------------------------------------


def test_operators_make_one_list_of_terms():
    a, b, c = RadialKernel(), PolynomialKernel(), ConstantKernel()
    kernel = 2 * a + (b + c) * 3 + c
    assert kernel.terms == [a, b, c, c]
    assert kernel.weights == [2.0, 3.0, 3.0, 1.0]
    assert (np.float64(0.5) * a).weights == (a * np.float32(0.5)).weights == [0.5]
    assert (0.5 * (2 * a)).weights == [1.0]


def test_a_normalised_sum_stays_one_term():
    inner = SumKernel([RadialKernel(), PolynomialKernel()], normalize=True)
    kernel = 2 * inner + ConstantKernel()
    assert kernel.terms[0] is inner
    X = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(kernel(X, X), 2 * inner(X, X) + 1, rtol=1e-13)


@pytest.mark.parametrize("other", [1.0, "rbf", None, linear_kernel])
def test_only_kernels_can_be_added(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        RadialKernel() + other


@pytest.mark.parametrize("factor", ["2", None, [2.0], RadialKernel()])
def test_only_numbers_can_be_factors(factor):
    with pytest.raises(TypeError):
        factor * RadialKernel()


# Parameters ------------------------------------------------------------------------------------


def test_names_of_parameters():
    kernel = SumKernel([RadialKernel(gamma="scale"), PolynomialKernel() + ConstantKernel()])
    params = kernel.get_params()
    assert params["weights"] is None
    assert params["weights__1"] == 1.0
    assert params["terms__0__gamma"] == "scale"
    assert params["terms__1__terms__0__coef0"] == 0.0
    assert params["terms__1__weights__1"] == 1.0
    assert kernel.positive_parameters == (
        "weights__0",
        "terms__0__gamma",
        "weights__1",
        "terms__1__weights__0",
        "terms__1__terms__0__gamma",
        "terms__1__terms__0__coef0",
        "terms__1__weights__1",
    )
    assert set(kernel.positive_parameters) <= set(params)


def test_parameters_are_set_by_name():
    kernel = SumKernel([RadialKernel(), PolynomialKernel() + ConstantKernel()])
    copy = clone(kernel)
    same = kernel.set_params(
        weights__1=3.0, terms__0__gamma=0.5, terms__1__weights__0=7.0, terms__1__terms__0__degree=2
    )
    assert same is kernel
    assert kernel.weights == [1.0, 3.0]
    assert kernel.terms[0].gamma == 0.5
    assert kernel.terms[1].weights == [7.0, 1.0]
    assert kernel.terms[1].terms[0].degree == 2
    assert repr(copy) == repr(SumKernel([RadialKernel(), PolynomialKernel() + ConstantKernel()]))
    kernel.set_params(terms__1=ConstantKernel(), weights=None, normalize=True)
    assert isinstance(kernel.terms[1], ConstantKernel)
    assert kernel.normalize and kernel.weights is None


@pytest.mark.parametrize(
    "name", ["gamma", "weights__2", "weights__x", "terms__0__degree", "terms__2", "weight__0"]
)
def test_names_that_are_not_there(name):
    kernel = RadialKernel() + ConstantKernel()
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}'|Invalid parameter 'weight'"):
        kernel.set_params(**{name: 1.0})


def test_reading_data_changes_no_parameter():
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel = 2 * RadialKernel(gamma="scale") + PolynomialKernel(degree=2, gamma="features")
    before = repr(kernel.get_params())
    fitted = kernel.fitted(X)
    assert repr(kernel.get_params()) == before
    assert fitted.terms[0].gamma == pytest.approx(1 / (3 * X.var()))
    assert fitted.terms[1].gamma == pytest.approx(1 / 3)
    assert fitted.terms[0].centre_ is not None and kernel.terms[0].centre_ is None


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"terms": []}, "'terms' parameter of SumKernel must be a non-empty list of kernels"),
        ({"terms": RadialKernel()}, "'terms' parameter of SumKernel must be a non-empty list"),
        ({"terms": [linear_kernel]}, "'terms' parameter of SumKernel must be a list of kernels of"),
        ({"terms": [PrecomputedKernel()]}, "sum kernel matrices yourself"),
        ({"terms": [RadialKernel(gamma=-1)]}, "'gamma' parameter of RadialKernel"),
        ({"weights": [1.0]}, "'weights' parameter of SumKernel must be None or 2 positive numbers"),
        ({"weights": [1.0, 0.0]}, "2 positive numbers"),
        ({"weights": [1.0, np.inf]}, "2 positive numbers"),
        ({"weights": [1.0, np.nan]}, "2 positive numbers"),
        ({"weights": "ab"}, "2 positive numbers"),
        ({"weights": 3.0}, "2 positive numbers"),
        ({"normalize": "yes"}, "'normalize' parameter of SumKernel must be a bool"),
    ],
)
def test_parameters_that_are_not_allowed(parameters, match):
    parameters = {"terms": [RadialKernel(), ConstantKernel()]} | parameters
    with pytest.raises(ValueError, match=match):
        SumKernel(**parameters).fitted(np.eye(3))


# Linear sums -----------------------------------------------------------------------------------


def test_which_kernels_are_linear():
    line, constant = PolynomialKernel(), ConstantKernel()
    linear = [line, PolynomialKernel(gamma=3.0, coef0=1.0, normalize=True), line + constant]
    linear += [2 * line, line + line, SumKernel([line, constant], normalize=True)]
    assert all(kernel.is_linear for kernel in linear)
    others = [RadialKernel(), constant, constant + constant, PolynomialKernel(degree=2)]
    others += [line + RadialKernel(), PolynomialKernel(normalize=True) + constant]
    others += [FunctionKernel(linear_kernel), PrecomputedKernel()]
    assert not any(kernel.is_linear for kernel in others)


def test_a_kernel_is_linear_once_its_coefficients_are_known():
    kernel = PolynomialKernel(gamma="scale") + ConstantKernel()
    assert not kernel.is_linear
    assert kernel.fitted(np.eye(3)).is_linear


def test_points_of_a_linear_sum_are_its_features():
    X = np.random.default_rng(0).normal(size=(6, 2))
    kernel = 2 * PolynomialKernel(gamma=0.5, coef0=3.0) + 3 * ConstantKernel()
    points = kernel.prepare(X)
    rows = points.rows * np.exp2(points.log_unit / 2)
    np.testing.assert_allclose(rows, np.c_[X, np.full(6, 3.0)], rtol=1e-15)
