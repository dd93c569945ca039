"""The Gaussian of all classes: digits that must not be lost."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.joint.gaussians import coupled, precisions


def test_a_rate_far_above_all_others():
    """The own class of a point has the rate 1 / noise; others say next to nothing at first."""
    rate = np.array([[1.0, 1e-19, 3e-19]])
    (Pi,) = precisions(rate)
    exact = [[4e-19, -1e-19, -3e-19], [-1e-19, 1e-19, 0.0], [-3e-19, 0.0, 3e-19]]
    assert_allclose(Pi, exact, rtol=1e-15, atol=1e-36)
    for f in ([0.0, 1.0, 2.0], [1e9, 1e9 + 1, 1e9 + 2]):
        assert_allclose(coupled(rate, np.array([f])), [[-7e-19, 1e-19, 6e-19]], rtol=1e-15)
    wrong = np.diag(rate[0]) - np.outer(rate[0], rate[0]) / rate.sum()
    assert wrong[0, 0] == 0


def test_rates_that_underflow_say_nothing(recwarn):
    """Such as those of a class of weight 1e-300 with much noise."""
    rate = np.array([[0.0, 0.0, 0.0], [5e-324, 0.0, 0.0], [1.0, 1.0, 2.0]])
    assert not precisions(rate)[:2].any()
    assert not coupled(rate, np.arange(9.0).reshape(3, 3))[:2].any()
    assert_allclose(precisions(rate)[2, 2], [-0.5, -0.5, 1.0])
    weights = {0: 1e-300, 1: 1e12, 2: 1.0}
    clf = BayesPointClassifier(kernel="linear", multi_class="joint", class_weight=weights)
    clf.set_params(engine=ExpectationPropagation(noise=1e21))
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert np.isfinite(clf.fit(X, np.arange(30) % 3).predict_proba(X)).all()
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


def test_noise_whose_square_overflows_says_nothing(recwarn):
    """A variance of 1e200: its square is not computed, and no class is preferred."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 3
    clf = BayesPointClassifier(kernel="linear", engine=ExpectationPropagation(noise=1e100))
    assert_allclose(clf.fit(X, y).predict_proba(X), 1 / 3, atol=1e-9)
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


@pytest.mark.parametrize("schedule", ["sequential", "rounds"])
@pytest.mark.parametrize("seed", range(5))
def test_features_of_very_different_sizes(schedule, seed):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(5, 2)) * 10.0 ** rng.uniform(-7, 7, size=(5, 2)), -1e7, 1e7)
    engine = ExpectationPropagation(prior_scale=1000.0, schedule=schedule)
    clf = BayesPointClassifier(kernel="linear", engine=engine, multi_class="joint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            clf.fit(X, [0, 1, 2, 3, 0], sample_weight=rng.uniform(0.1, 5, size=5))
        except ValueError as error:
            assert "Set a smaller prior_scale" in str(error)
        else:
            assert np.isfinite(clf.predict_proba(X)).all()
