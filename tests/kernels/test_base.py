"""Every kernel against its formula, and what all kernels have in common."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import linear_kernel
from tests.helpers.kernel_formulas import KERNELS, two_sets

from bayespoint.kernels import FunctionKernel, PolynomialKernel, RadialKernel, make_kernel

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
ALL = pytest.mark.parametrize("name", KERNELS)
SEEDS = st.integers(0, 2**32 - 1)


@DTYPES
@pytest.mark.parametrize("normalize", [False, True])
@ALL
def test_values_and_diagonal_are_those_of_the_formula(name, normalize, dtype):
    parameters, formula = KERNELS[name]
    A, B = two_sets(dtype)
    kernel = make_kernel(**parameters, normalize=normalize).fitted(B)
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
    K = make_kernel(**KERNELS[name][0]).fitted(A)(A, A)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("normalize", [False, True])
@ALL
def test_features_that_are_zero_in_training_count_in_the_length_of_new_points(name, normalize):
    parameters, formula = KERNELS[name]
    A, B = two_sets()
    B[:, 2] = 0
    kernel = make_kernel(**parameters, normalize=normalize).fitted(B)
    expected, diagonal = formula(A, B), np.diag(formula(A, A))
    if normalize:
        both = np.sqrt(np.outer(diagonal, np.diag(formula(B, B))))
        expected = np.divide(expected, both, out=np.zeros_like(expected), where=both > 0)
        diagonal = np.ones(len(A))
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(A), diagonal, rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, name=st.sampled_from(sorted(KERNELS)), normalize=st.booleans())
def test_gram_matrix_is_positive_semi_definite(seed, name, normalize):
    X = np.random.default_rng(seed).uniform(0, 3, (12, 2))
    K = make_kernel(**KERNELS[name][0], normalize=normalize).fitted(X)(X, X)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-13 * values[-1]
    if normalize:
        np.testing.assert_allclose(K.diagonal(), 1, rtol=1e-13)


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


class Around(PolynomialKernel):
    """A kernel with another one as a parameter."""

    def __init__(self, *, inner, kind=RadialKernel, normalize=False):
        super().__init__(normalize=normalize)
        self.inner, self.kind = inner, kind


@pytest.mark.parametrize("deep", [False, True])
def test_parameters_are_those_that_scikit_learn_finds(deep):
    """It reads the constructor in every call; kernels remember the names."""
    kernels = [make_kernel(**parameters) for parameters, _ in KERNELS.values()]
    for kernel in [*kernels, FunctionKernel(linear_kernel), Around(inner=RadialKernel(gamma=3.0))]:
        if not hasattr(kernel, "terms"):
            found = kernel.get_params(deep)
            assert found == BaseEstimator.get_params(kernel, deep) and len(found) > 0
    assert Around(inner=RadialKernel(gamma=3.0)).get_params()["inner__gamma"] == 3.0
    changed = Around(inner=RadialKernel()).set_params(inner__gamma=7.0)
    assert changed.inner.gamma == 7.0
