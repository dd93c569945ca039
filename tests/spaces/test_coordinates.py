"""Training points that are read a part at a time."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Request
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient
from bayespoint.kernels import PolynomialKernel, RadialKernel
from bayespoint.spaces import BasisSpace, Coordinates, ProcessSpace, coordinates


@pytest.fixture(params=[np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def space(request, monkeypatch):
    monkeypatch.setattr(coordinates, "PART", 7)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    return Coordinates(request.param(Z))


def whole(space):
    return coordinates.dense(space.rows())


def test_parts_are_all_points_in_order(space):
    slices, parts = zip(*space.parts(), strict=True)
    assert [own.stop - own.start for own in slices] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(
        np.vstack([coordinates.dense(part) for part in parts]), whole(space)
    )
    np.testing.assert_array_equal(
        np.concatenate([np.arange(30)[own] for own in slices]), np.arange(30)
    )


def test_sums_over_parts_are_products_with_the_whole(space):
    Z, rng = whole(space), np.random.default_rng(1)
    assert (space.n_points, space.n_coordinates, space.largest) == (30, 4, np.abs(Z).max())
    for shape in ((), (3,)):
        weights, forces = rng.normal(size=(4, *shape)), rng.normal(size=(30, *shape))
        np.testing.assert_allclose(space.outputs(weights), Z @ weights, atol=1e-14)
        np.testing.assert_allclose(space.pull(forces), Z.T @ forces, atol=1e-14)
    np.testing.assert_allclose(space.gram(), Z @ Z.T, atol=1e-14)


@pytest.mark.parametrize("sign", ["positive", "negative", "mixed", "zero"])
def test_curvature_takes_rates_of_any_sign(space, sign):
    Z, rate = whole(space), np.random.default_rng(2).normal(size=30)
    rate[::4] = 0
    rate = {"positive": np.abs(rate), "negative": -np.abs(rate), "mixed": rate, "zero": 0 * rate}[
        sign
    ]
    found = space.curvature(rate)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, Z.T @ np.diag(rate) @ Z, atol=1e-13)


def test_no_points_and_no_features():
    assert Coordinates(np.empty((3, 0))).largest == 0
    assert Coordinates(np.empty((3, 0))).outputs(np.empty(0)).tolist() == [0, 0, 0]


def test_rows_are_not_copied():
    Z = np.ones((9, 2))
    assert all(np.shares_memory(rows, Z) for _, rows in Coordinates(Z).parts())


# Engines -----------------------------------------------------------------------------------------


COVARIANCE = np.diag([1.0, 2.0, 3.0]) + 0.5


def linear(X):
    return ProcessSpace(PolynomialKernel(degree=1)).fit(X)


@pytest.mark.parametrize(
    "engine",
    [
        ExpectationPropagation(prior_scale=1.0),
        ExpectationPropagation(prior_scale=1.0, schedule="rounds", label_noise=0.02),
        ExpectationPropagation(prior_scale=1.0, prior_covariance=COVARIANCE),
        LaplaceApproximation(prior_scale=1.0),
        LaplaceApproximation(prior_scale=1.0, prior_covariance=COVARIANCE),
    ],
    ids=str,
)
def test_engines_of_more_points_than_weights_read_them_in_parts(engine, monkeypatch):
    X, y = problem(500, 3)
    targets = y[:, None].astype(np.int8)

    def run():
        space = linear(X)
        posterior, _ = engine.run(space, targets, Request(n_jobs=1))
        names = () if engine.prior_covariance is not None else ("prior_scale",)
        return posterior, evidence_gradient(engine, space, X, targets, posterior, names)

    expected, gradient = run()
    sizes, rows = [], Coordinates.native_rows

    def watched(self, *which):
        found = rows(self, *which)
        sizes.append(found.shape[0])
        return found

    monkeypatch.setattr(coordinates, "PART", 64)
    monkeypatch.setattr(Coordinates, "native_rows", watched)
    posterior, same = run()
    assert max(sizes) == 64
    np.testing.assert_allclose(posterior.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(posterior.covariance, expected.covariance, atol=1e-9)
    assert same == pytest.approx(gradient, abs=1e-8)


@pytest.mark.parametrize("engine", [ExpectationPropagation(tol=1e-3), LaplaceApproximation()])
def test_no_copy_of_the_points_is_made(engine):
    X, y = problem(40_000, 80)
    space, targets = linear(X), y[:, None].astype(np.int8)
    engine.run(linear(X[:100]), targets[:100], Request())  # compiles
    tracemalloc.start()
    engine.run(space, targets, Request())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.7 * X.nbytes


# Kernels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_kernel_matrix_is_kept_where_it_has_full_rank(ridge):
    X, _ = problem(20, 3)
    K = rbf_kernel(X, gamma=0.5) + ridge * np.eye(20)
    kept = ProcessSpace(RadialKernel(gamma=0.5), ridge).fit(X)
    np.testing.assert_allclose(kept.gram(), K, atol=1e-15)
    np.testing.assert_array_equal(kept.gram(), kept.gram().T)
    np.testing.assert_allclose(BasisSpace(RadialKernel(gamma=0.5), ridge).fit(X).gram(), K)
    twice = ProcessSpace(RadialKernel(gamma=0.5), ridge).fit(np.vstack([X, X]))
    expected = rbf_kernel(np.vstack([X, X]), gamma=0.5) + ridge * np.eye(40)
    np.testing.assert_allclose(twice.gram(), expected, atol=1e-8)
    before = set(vars(kept))
    kept.forget()
    assert before - set(vars(kept)) == {"Z_", "_gram", "_private", "_last"}


def test_a_classifier_does_not_carry_its_kernel_matrix():
    X, y = problem(50, 3)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf").fit(X, y)
    sizes = [part.size for part in vars(clf.model_.space).values() if isinstance(part, np.ndarray)]
    assert sum(size >= 50**2 for size in sizes) == 1  # the triangle that new points need


@pytest.mark.parametrize("n", [1, coordinates.SMALL, coordinates.SMALL + 1, 300])
def test_a_triangle_is_inverted_by_parts(n):
    L = np.tril(np.random.default_rng(n).uniform(-1, 1, (n, n))) / n + np.eye(n)
    inverse = coordinates.inverse_lower(L)
    np.testing.assert_allclose(inverse @ L, np.eye(n), atol=1e-12)
    assert not np.triu(inverse, 1).any()
