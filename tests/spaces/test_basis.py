"""Coordinates of points in a basis, against kernel matrices."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.helpers.kernel_formulas import SPACES as KERNELS
from tests.helpers.kernel_formulas import normal_points as points
from tests.helpers.kernel_formulas import slow_inner

from bayespoint.exceptions import KernelError
from bayespoint.kernels import (
    ConstantKernel,
    FunctionKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
)
from bayespoint.spaces import BasisSpace, DualSpace

ALL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.mark.parametrize("ridge", [0.0, 0.7, "mean"])
@ALL
def test_coordinates_give_the_kernel_and_the_ridge_on_training_points_only(kernel, ridge):
    X, new = points(25), points(10, seed=1)
    space = BasisSpace(kernel, ridge).fit(X)
    K = kernel(X, X)
    slack = np.trace(K) / len(K) if ridge == "mean" else ridge
    np.testing.assert_allclose(space.Z_ @ space.Z_.T, K + slack * np.eye(25), atol=1e-10)
    np.testing.assert_allclose(space.transform(new) @ space.Z_.T, kernel(new, X), atol=1e-10)
    # A new point that equals a training point is a new point all the same.
    np.testing.assert_allclose(space.transform(X) @ space.Z_.T, K, atol=1e-10)
    if ridge == 0:
        np.testing.assert_allclose(space.transform(X), space.Z_, atol=1e-8)


@pytest.mark.parametrize("normalize", [False, True])
def test_linear_shortcut_is_the_kernel_route_up_to_a_rotation(normalize):
    X, new = points(25), points(10, seed=1)
    short = BasisSpace(PolynomialKernel(coef0=1.0, normalize=normalize)).fit(X)
    long = BasisSpace(FunctionKernel(slow_inner, normalize=normalize)).fit(X)
    assert short.Z_.shape == long.Z_.shape == (25, 4)
    if not normalize:
        assert np.array_equal(short.Z_, np.c_[X, np.ones(25)])
    both = [np.vstack([space.Z_, space.transform(new)]) for space in (short, long)]
    np.testing.assert_allclose(both[0] @ both[0].T, both[1] @ both[1].T, atol=1e-12)
    rotation = np.linalg.lstsq(both[0], both[1])[0]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-12)


def test_rank_is_that_of_the_data():
    X = points(5, d=2)
    repeated = np.vstack([X, X, X])
    assert BasisSpace(RadialKernel(gamma=1.0)).fit(repeated).Z_.shape == (15, 5)
    assert BasisSpace(FunctionKernel(slow_inner)).fit(repeated).Z_.shape == (15, 3)
    assert BasisSpace(RadialKernel(gamma=1.0), ridge=0.1).fit(repeated).Z_.shape == (15, 15)


def test_kernel_that_is_not_positive_semi_definite():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues -1 and 3
    expected = r"eigenvalue -1 beside the largest, 3\. Use another kernel, or a ridge of at least 1"
    with pytest.raises(KernelError, match=expected):
        BasisSpace(PrecomputedKernel()).fit(K)
    Z = BasisSpace(PrecomputedKernel(), ridge=1.5).fit(K).Z_
    np.testing.assert_allclose(Z @ Z.T, K + 1.5 * np.eye(2), atol=1e-12)


def test_coordinates_of_a_matrix_are_those_of_its_kernel():
    X, new = points(25), points(10, seed=1)
    kernel = RadialKernel(gamma=0.5)
    by_kernel = BasisSpace(kernel).fit(X)
    by_matrix = BasisSpace(PrecomputedKernel()).fit(7 * kernel(X, X))
    Z = by_matrix.transform(7 * kernel(new, X))
    expected = 7 * by_kernel.transform(new) @ by_kernel.transform(new).T
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8)


LINEAR = {
    "linear": PolynomialKernel(coef0=1.0),
    "scaled": PolynomialKernel(gamma=0.3, coef0=4.0),
    "sum": PolynomialKernel(gamma=0.1, coef0=1.0) + 0.2 * PolynomialKernel() + 3 * ConstantKernel(),
}


@pytest.mark.parametrize("ridge", [0.0, 0.5])  # by the shortcut, and by the kernel matrix
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kernel", LINEAR.values(), ids=LINEAR)
def test_primal_weights_give_the_outputs(kernel, normalize, ridge):
    X, new = points(25), points(10, seed=1)
    features = np.hstack([new, np.ones((10, 1))])
    if normalize:
        features /= np.sqrt(kernel.diag(new))[:, None]
    kernel = clone(kernel).set_params(normalize=normalize)
    space = BasisSpace(kernel, ridge).fit(X)
    weights = points(space.Z_.shape[1], d=2, seed=2)
    expected = space.transform(new) @ weights
    np.testing.assert_allclose(features @ space.primal(weights), expected, atol=1e-12)
    dual = DualSpace(kernel, ridge).fit(X)
    alpha = points(25, d=2, seed=3)
    outputs = dual.transform(new) @ alpha * np.sqrt(kernel.diag(new))[:, None]
    np.testing.assert_allclose(features @ dual.primal(alpha), outputs, atol=1e-12)


def test_features_have_names_where_each_coordinate_is_one_of_them():
    named = [PolynomialKernel(), PolynomialKernel(coef0=1.0), PolynomialKernel() + ConstantKernel()]
    assert all(BasisSpace(kernel).names_features for kernel in named)
    others = [*LINEAR.values(), RadialKernel(), ConstantKernel()]
    assert [BasisSpace(kernel).names_features for kernel in others[1:]] == [False] * 4
    assert not BasisSpace(named[0], ridge=1.0).names_features
    assert [BasisSpace(kernel).has_intercept for kernel in named] == [False, True, True]


@pytest.mark.parametrize("kernel", [*LINEAR.values(), PolynomialKernel(gamma=2.0)])
def test_sparse_features_are_the_dense_ones(kernel):
    X = points(25) * (points(25, seed=1) > 0)
    space = BasisSpace(kernel)
    dense = space.fit(X).Z_
    np.testing.assert_allclose(space.fit(sparse.csr_array(X)).Z_.toarray(), dense, rtol=1e-15)


def test_coordinates_are_float64_for_any_input():
    space = BasisSpace(RadialKernel(gamma=0.5)).fit(points(9, dtype=np.float32))
    assert space.Z_.dtype == space.transform(points(2, dtype=np.float32)).dtype == np.float64


@pytest.mark.parametrize("kernel", [RadialKernel(gamma=0.5), RadialKernel() + PolynomialKernel()])
def test_the_triangle_is_found_again_from_the_points(kernel):
    X, new = points(40), points(10, seed=1)
    space = BasisSpace(kernel).fit(X)
    expected, before = space.transform(new), space.lower
    space.forget_factor()
    assert space.lower is not before
    assert len(pickle.dumps(space)) < len(pickle.dumps(BasisSpace(kernel).fit(X)))
    again = pickle.loads(pickle.dumps(space))
    for one in (space, again):
        np.testing.assert_allclose(one.transform(new), expected, rtol=1e-8, atol=1e-8)
    assert np.array_equal(again.transform(new), space.transform(new))


def test_the_triangle_stays_where_points_do_not_tell_it():
    X = points(40)
    ridge = BasisSpace(RadialKernel(gamma=0.5), ridge=0.1).fit(X)
    matrix = BasisSpace(PrecomputedKernel()).fit(RadialKernel(gamma=0.5)(X, X))
    for space in (ridge, matrix):
        before = space.lower
        space.forget_factor()
        assert space.lower is before
