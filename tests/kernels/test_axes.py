"""The exponential kernel: its formula, slopes, roughness, ranks, model files, ONNX."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh
from sklearn.datasets import load_iris
from tests.helpers.kernel_formulas import normal_points

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.exceptions import KernelError
from bayespoint.kernels import (
    AdditiveKernel,
    ExponentialKernel,
    RadialKernel,
    make_kernel,
)
from bayespoint.kernels.axes import APART, Ranks

GAMMA = np.array([0.2, 0.5, 1.0])
KERNELS = pytest.mark.parametrize(
    "kernel",
    [
        ExponentialKernel(gamma=GAMMA),
        ExponentialKernel(gamma=3 * GAMMA, ranks=True),
        AdditiveKernel(gamma=GAMMA),
    ],
    ids=["features", "ranks", "additive"],
)


def test_the_formula_with_a_width_for_each_feature():
    A, B = normal_points(9), normal_points(7, seed=1)
    found = ExponentialKernel(gamma=GAMMA).fitted(A)(A, B)
    expected = [[np.exp(-sum(GAMMA * abs(a - b))) for b in B] for a in A]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_monotone_changes_of_a_feature_do_not_matter_to_ranks():
    X, new = normal_points(30), normal_points(5, seed=1)
    new[:, 1] = X[:5, 1]
    one = ExponentialKernel(ranks=True)
    for kernel in (one, AdditiveKernel()):
        plain = kernel.fitted(X)(X[7:], X)
        bent = kernel.fitted(np.exp(X))(np.exp(X[7:]), np.exp(X))
        np.testing.assert_allclose(plain, bent, atol=1e-12)
    assert not np.allclose(ExponentialKernel()(X, X), ExponentialKernel()(np.exp(X), np.exp(X)))


@KERNELS
def test_slopes_by_the_gamma_of_each_feature_against_differences(kernel):
    X, gamma, h = normal_points(8), kernel.gamma, 1e-5
    pull = np.random.default_rng(0).normal(size=(8, 8))

    def value(log_gamma):
        changed = kernel.fitted(X).set_params(gamma=np.exp(log_gamma))
        return np.vdot(pull, changed(X, X))

    fitted = kernel.fitted(X)
    points = fitted.prepare(X)
    slopes = fitted.slope(points, points, "gamma", pull)
    for j in range(3):
        step = h * np.eye(3)[j]
        change = value(np.log(gamma) + step) - value(np.log(gamma) - step)
        assert slopes[j] == pytest.approx(change / (2 * h), abs=1e-7)


@KERNELS
def test_matrices_are_positive_definite(kernel):
    X = normal_points(60)
    values = eigvalsh(kernel.fitted(X)(X, X))
    assert values[0] > -1e-12
    assert (kernel.fitted(X).diag(X) == 1).all()


def test_a_single_feature_that_is_constant():
    X = np.full((5, 1), 1.5)
    with np.errstate(all="raise"):
        for kernel in (ExponentialKernel(ranks=True), AdditiveKernel()):
            values = kernel.fitted(X)(X + 1, X)
            assert np.isfinite(values).all() and np.ptp(values) == 0


def test_functions_are_rougher_than_gaussian_ones():
    X = np.linspace(0, 3, 40)[:, None]
    assert eigvalsh(ExponentialKernel()(X, X))[0] > 1e-3 > eigvalsh(RadialKernel()(X, X))[0]


def test_gamma_by_name_and_far_points():
    X = 100.0 * normal_points(40)
    scale = ExponentialKernel(gamma="scale").fitted(X).gamma
    assert scale == pytest.approx(1 / (3 * X.std()))
    assert make_kernel("exponential", gamma="features").fitted(X).gamma == pytest.approx(1 / 3)
    with pytest.raises(KernelError, match="overflow float32"):
        ExponentialKernel(gamma=1e30)(X[:2].astype(np.float32) * 1e10, X.astype(np.float32))
    with pytest.raises(ValueError, match="'ranks' parameter of ExponentialKernel must be"):
        ExponentialKernel(ranks="yes").fitted(X)


@pytest.mark.parametrize("name", ["exponential", "additive"])
@pytest.mark.parametrize("engine", ["ep", "laplace", "perceptron", "gibbs"])
def test_a_classifier_learns_and_is_stored(name, engine, tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel=name, engine=engine, random_state=0)
    clf.fit(X[::2], y[::2] > 0)
    assert clf.score(X[1::2], y[1::2] > 0) > 0.95
    bayespoint.save(clf, tmp_path / "model.bpm")
    again = bayespoint.load(tmp_path / "model.bpm")
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def test_the_evidence_of_an_additive_target_prefers_the_additive_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 6))
    y = (np.sin(6 * X).sum(axis=1) > 0.5) ^ (rng.random(200) < 0.05)
    clf = BayesPointClassifier(kernel="additive").fit(X, y)
    whole = BayesPointClassifier(kernel=ExponentialKernel(gamma=1.0, ranks=True)).fit(X, y)
    assert clf.log_evidence_[0] > whole.log_evidence_[0]


def test_ranks_are_those_of_the_plain_formula():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), np.ones(60), rng.integers(0, 4, 60)])
    new = np.vstack([X, 3 * rng.normal(size=(40, 3)), [[1e300] * 3, [-1e300] * 3]])
    ranks = Ranks.of(X)
    for j, column in enumerate(new.T):
        own = ranks.knots // APART == j
        place = APART * j + (column - ranks.low[j]) / ranks.width[j]
        expected = np.interp(place, ranks.knots[own], ranks.ranks[own])
        np.testing.assert_allclose(ranks.transform(new)[:, j], expected, atol=1e-14)
    np.testing.assert_array_equal(Ranks.of(X[:, 1:2]).transform(new[:, 1:2]), 0.5)
