"""The Matern kernels 3/2 and 5/2: scikit-learn's, slopes, eigenvalues, model files."""

import numpy as np
import pytest
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import Matern
from tests.helpers.kernel_formulas import normal_points

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.kernels import MaternKernel, RadialKernel, make_kernel
from bayespoint.selection import EvidenceSearch

SMOOTHNESS = pytest.mark.parametrize("nu", [1.5, 2.5])


@SMOOTHNESS
def test_the_formula_of_scikit_learn_with_a_length_for_each_feature(nu):
    A, B = normal_points(9), normal_points(7, seed=1)
    lengths = np.array([0.3, 1.0, 4.0])
    kernel = MaternKernel(nu=nu, gamma=1 / (2 * lengths**2)).fitted(A)
    np.testing.assert_allclose(kernel(A, B), Matern(lengths, nu=nu)(A, B), rtol=1e-12)
    same = kernel(A, A)
    assert (same == same.T).all() and (kernel.diag(A) == 1).all()


@SMOOTHNESS
def test_the_general_formula_by_a_bessel_function(nu):
    r = np.linspace(0.1, 5, 30)
    s = np.sqrt(2 * nu) * r
    expected = 2 ** (1 - nu) / gamma_function(nu) * s**nu * kv(nu, s)
    found = MaternKernel(nu=nu, gamma=0.5)(np.zeros((1, 1)), r[:, None])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@SMOOTHNESS
def test_slopes_by_the_gamma_of_each_feature_against_differences(nu):
    X, gamma, h = normal_points(8), np.array([0.2, 0.5, 1.0]), 1e-5
    pull = np.random.default_rng(0).normal(size=(8, 8))

    def value(log_gamma):
        return np.vdot(pull, MaternKernel(nu=nu, gamma=np.exp(log_gamma))(X, X))

    points = MaternKernel(nu=nu, gamma=gamma).prepare(X)
    slopes = MaternKernel(nu=nu, gamma=gamma).slope(points, points, "gamma", pull)
    for j in range(3):
        step = h * np.eye(3)[j]
        change = value(np.log(gamma) + step) - value(np.log(gamma) - step)
        assert slopes[j] == pytest.approx(change / (2 * h), abs=1e-7)


@SMOOTHNESS
def test_matrices_are_positive_definite_and_rougher_than_gaussian_ones(nu):
    X = np.linspace(0, 3, 40)[:, None]
    values = np.linalg.eigvalsh(MaternKernel(nu=nu, gamma=0.5)(X, X))
    smooth = np.linalg.eigvalsh(RadialKernel(gamma=0.5)(X, X))
    assert values[0] > 1e-8 > abs(smooth[0])  # eigenvalues fall by a power, not exponentially


def test_names_and_parameters():
    assert make_kernel("matern52", gamma=2.0).get_params() == {
        "gamma": 2.0,
        "normalize": False,
        "nu": 2.5,
    }
    for nu in (0.5, "1.5", None, np.array([1.5])):
        with pytest.raises(ValueError, match=r"must be 1.5 or 2.5"):
            MaternKernel(nu=nu).fitted(np.eye(2))


@pytest.mark.parametrize("engine", ["ep", "laplace", "perceptron", "gibbs"])
def test_a_classifier_learns_and_is_stored(engine, tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="matern32", engine=engine, random_state=0)
    clf.fit(X[::2], y[::2] > 0)
    assert clf.score(X[1::2], y[1::2] > 0) > 0.95
    bayespoint.save(clf, tmp_path / "model.bpm")
    again = bayespoint.load(tmp_path / "model.bpm")
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def test_the_evidence_prefers_a_width_for_each_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.sin(3 * X[:, 0]) > 0  # the second feature does not matter
    clf = BayesPointClassifier(
        kernel=MaternKernel(nu=2.5, gamma=[1.0, 1.0]),
        engine=ExpectationPropagation(prior_scale=3.0),
    )
    bounds = {"kernel__gamma": (1e-3, 1e3)}
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    first, second = search.best_estimator_.kernel_.gamma
    assert first > 10 * second
