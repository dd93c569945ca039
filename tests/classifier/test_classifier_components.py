"""Classifiers whose kernel works in a basis of some points (``n_components``)."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

from bayespoint import BayesPointClassifier, load, save
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
)

EP = ExpectationPropagation(prior_scale=2.0, tol=1e-11)
LAPLACE = LaplaceApproximation(prior_scale=2.0, tol=1e-11)
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.5},
    "normalised": {"kernel": "poly", "degree": 4, "gamma": 0.5, "normalize": True},
    "callable": {"kernel": lambda A, B: (1 + A @ B.T) ** 2},
}


def data(n=90, n_classes=2):
    """Points on a grid with several copies of each, so that kernel matrices have a small rank."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(n, 2)).astype(float)
    clean = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.normal(size=n)
    return X, np.digitize(clean, [0.0, 0.8][: n_classes - 1])


def new_points():
    return np.random.default_rng(1).normal(scale=2, size=(60, 2))


def machine(n_components=None, engine=EP, **settings):
    return BayesPointClassifier(engine=engine, n_components=n_components, **settings)


def assert_same(one, other, X=None, atol=1e-8):
    X = new_points() if X is None else X
    for method in ("predict_proba", "decision_function", "latent_mean_and_variance"):
        np.testing.assert_allclose(
            getattr(one, method)(X), getattr(other, method)(X), atol=atol, rtol=1e-7
        )
    np.testing.assert_allclose(one.log_evidence_, other.log_evidence_, atol=atol)
    np.testing.assert_allclose(
        one.posterior_.left_out_log_probability,
        other.posterior_.left_out_log_probability,
        atol=atol,
    )
    assert one.left_out_error_ == other.left_out_error_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("engine", [EP, LAPLACE], ids=["ep", "laplace"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_exact_when_the_basis_reaches_the_rank(kernel, engine, n_classes):
    X, y = data(n_classes=n_classes)
    whole = machine(None, engine, **KERNELS[kernel]).fit(X, y)
    rank = len(whole.model_.space._points)
    assert rank < 30
    for n_components in (rank, 60):
        some = machine(n_components, engine, **KERNELS[kernel]).fit(X, y)
        assert len(some.model_.space._points) == rank
        assert_same(some, whole)
    less = machine(rank - 1, engine, **KERNELS[kernel]).fit(X, y)
    with pytest.raises(AssertionError):
        assert_same(less, whole, atol=1e-6)


def test_exact_for_a_matrix_and_for_float32():
    X, y = data()
    whole = machine(None, kernel="rbf", gamma=1.0).fit(X, y)
    single = machine(30, kernel="rbf", gamma=1.0).fit(X.astype(np.float32), y)
    assert_same(single, whole)  # these points are the same in float32
    for dtype in (np.float64, np.float32):
        K, cross = rbf_kernel(X, gamma=1.0), rbf_kernel(new_points(), X, gamma=1.0)
        by_matrix = [machine(m, kernel="precomputed").fit(K.astype(dtype), y) for m in (None, 30)]
        np.testing.assert_allclose(
            by_matrix[0].predict_proba(cross), by_matrix[1].predict_proba(cross), atol=1e-5
        )
        atol = 1e-8 if dtype is np.float64 else 1e-3
        np.testing.assert_allclose(by_matrix[1].log_evidence_, whole.log_evidence_, atol=atol)


def test_points_of_weight_zero_are_no_columns_of_a_matrix():
    X, y = data()
    weight = np.tile([0.0, 1.0, 2.0], 30)
    K, cross = rbf_kernel(X, gamma=1.0), rbf_kernel(new_points(), X, gamma=1.0)
    expected = machine(9, kernel="rbf", gamma=1.0).fit(
        X[weight > 0], y[weight > 0], weight[weight > 0]
    )
    actual = machine(9, kernel="precomputed").fit(K, y, weight)
    np.testing.assert_allclose(actual.log_evidence_, expected.log_evidence_, atol=1e-8)
    mean, expected_mean = (
        clf.latent_mean_and_variance(Z)[0] for clf, Z in ((actual, cross), (expected, new_points()))
    )
    np.testing.assert_allclose(mean, expected_mean, atol=1e-7)


def test_the_order_of_the_points_does_not_matter_to_a_complete_basis():
    X, y = data()
    order = np.random.default_rng(2).permutation(len(X))
    one, other = (
        machine(40, kernel="rbf", gamma=1.0).fit(X[rows], y[rows])
        for rows in (np.arange(len(X)), order)
    )
    np.testing.assert_allclose(
        one.predict_proba(new_points()), other.predict_proba(new_points()), atol=1e-8
    )
    np.testing.assert_allclose(one.log_evidence_, other.log_evidence_, atol=1e-8)


def test_a_rotation_of_the_features_does_not_matter_to_a_radial_kernel():
    rng = np.random.default_rng(3)
    X, turn = rng.normal(size=(200, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    y = X[:, 0] * X[:, 1] > 0
    one, other = (machine(20, kernel="rbf", gamma=0.5).fit(points, y) for points in (X, X @ turn))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X @ turn), atol=1e-8)


def test_weight_two_is_a_copy():
    X, y = data()
    weight = np.random.default_rng(4).integers(1, 4, size=len(X))
    weighted = machine(40, kernel="rbf", gamma=1.0).fit(X, y, weight)
    copies = np.repeat(np.arange(len(X)), weight)
    copied = machine(40, kernel="rbf", gamma=1.0).fit(X[copies], y[copies])
    np.testing.assert_allclose(
        weighted.predict_proba(new_points()), copied.predict_proba(new_points()), atol=1e-7
    )
    np.testing.assert_allclose(weighted.log_evidence_, copied.log_evidence_, atol=1e-6)


def moons(n):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0


def test_a_larger_basis_comes_closer():
    X, y = moons(600)
    X_new, y_new = moons(1600)[0][600:], moons(1600)[1][600:]
    whole = machine(None, kernel="rbf", gamma=1.0).fit(X, y).predict_proba(X_new)
    some = [
        machine(m, kernel="rbf", gamma=1.0).fit(X, y).predict_proba(X_new) for m in (10, 30, 90)
    ]
    off = [np.abs(p - whole).mean() for p in some]
    assert off[0] > 3 * off[1] > 9 * off[2]
    assert log_loss(y_new, some[1]) < 1.1 * log_loss(y_new, whole)


def test_new_points_are_as_certain_as_left_out_ones():
    """Few components leave much of every point; to count that as unknown would be far too timid."""
    X, y = moons(1500)
    clf = machine(8, ExpectationPropagation(prior_scale=10.0), kernel="rbf", gamma=1.0)
    clf.fit(X[:1000], y[:1000])
    left_out = -clf.posterior_.left_out_log_probability.mean()
    assert log_loss(y[1000:], clf.predict_proba(X[1000:])) < 1.15 * left_out
    clf.model_.space.left = 0.0  # the variance of the process, all of it
    assert log_loss(y[1000:], clf.predict_proba(X[1000:])) > 1.15 * left_out


@pytest.mark.parametrize(
    "engine",
    [
        GibbsSampler(label_noise=0.1, n_samples=200),
        KnapsackPropagation(n_iter=10),
        BilliardSampler(n_samples=50),
    ],
    ids=lambda engine: engine.alias,
)
def test_other_engines_work_in_a_basis(engine):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    X = X[np.abs(X[:, 0]) > 0.3]
    y = X[:, 0] > 0
    clf = BayesPointClassifier(
        kernel="rbf", gamma=0.3, engine=engine, n_components=25, random_state=0
    ).fit(X, y)
    assert len(clf.posterior_.mean) == len(clf.model_.space._points) == 25
    assert clf.score(X, y) > 0.97


def test_perceptron_has_no_basis():
    X, y = data()
    few, all_points = (
        machine(n, "perceptron", kernel="rbf", ridge=1.0, random_state=0).fit(X, y)
        for n in (5, None)
    )
    assert np.array_equal(few.predict_proba(X), all_points.predict_proba(X))


def test_linear_features_are_their_own_basis():
    X, y = data()
    one, other = (machine(m, kernel="linear").fit(X, y) for m in (None, 1))
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True])
def test_invalid_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"'n_components' parameter .* must be None, 'auto' or"):
        machine(value, kernel="rbf").fit(*data())


def test_a_stored_model_is_bounded_by_its_components(tmp_path):
    sizes = []
    for n in (500, 5000):
        X, y = moons(n)
        X = np.column_stack([X, np.zeros((n, 8))])
        clf = machine(30, clone(EP).set_params(tol=1e-4), kernel="rbf", gamma=0.3).fit(X, y)
        save(clf, tmp_path / "model.bpm")
        sizes.append((tmp_path / "model.bpm").stat().st_size)
        again = load(tmp_path / "model.bpm")
        assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert max(sizes) < 2 * 8 * (31 * 31 + 30 * 30 + 30 * 10) + 20_000
    assert sizes[1] < sizes[0] + 2000 + 8 * 2000  # leave-one-out probabilities of 2 000 points


def test_many_points_in_little_memory(monkeypatch):
    """200 000 points, refused without a basis, take 2 n M numbers with one."""
    monkeypatch.setattr(
        "bayespoint.tools.memory.available_memory", lambda: 2 * 8 * 200_000 * 20 + 1e6
    )
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    y = X[:, 0] > 0
    clf = machine(20, ExpectationPropagation(prior_scale=1.0, tol=1e-2), kernel="rbf")
    assert clf.fit(X, y).score(X[:1000], y[:1000]) > 0.97
    with pytest.raises(MemoryError, match="n_components"):
        clf.set_params(n_components=None).fit(X, y)
