"""Numbers near the ends of what floats can represent: right results, or an error that helps."""

import warnings
from dataclasses import astuple

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from bayespoint import BayesPointClassifier
from bayespoint.active import query
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.rows import from_arrays

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def fitted(X=X, y=Y, **parameters):
    """A classifier, fitted without a raw warning of NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return BayesPointClassifier(kernel="linear", random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("engine", ["ep", "laplace", "gibbs", "billiard", "knapsack"])
def test_new_points_out_of_range(engine):
    """Not p = 0.5, as squares that overflow would have it."""
    clf = fitted(engine=engine)
    with pytest.raises(ValueError, match=r"squares overflow.*Scale the features"):
        clf.predict_proba(1e160 * X)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
def test_the_perceptron_needs_no_squares():
    clf = fitted(1e160 * X, engine="perceptron")
    assert clf.score(1e160 * X, Y) > 0.9
    assert clf.feature_relevance_[0] > 0.8


@pytest.mark.parametrize("weight", [1e-300, 1e-12, 1e12])
def test_weights_of_any_size(weight):
    clf = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X, Y, sample_weight=np.full(60, weight))
    assert np.isfinite(clf.predict_proba(X)).all()


def test_predictions_that_are_no_numbers_are_an_error():
    clf = fitted(engine="laplace")
    clf.posterior_.mean[:] = np.nan
    with pytest.raises(ValueError, match=r"Predictions for 60 of 60 rows overflow"):
        clf.predict_proba(X)


def test_weights_that_are_no_numbers_are_an_error(monkeypatch):
    engine = LaplaceApproximation
    run = engine.run

    def broken(self, *arguments):
        posterior, how = run(self, *arguments)
        posterior.mean[0] = np.nan
        return posterior, how

    monkeypatch.setattr(engine, "run", broken)
    clf = BayesPointClassifier(kernel="linear", engine="laplace")
    with pytest.raises(ValueError, match=r"LaplaceApproximation found are not finite.*Scale"):
        clf.fit(X, Y)
    assert not hasattr(clf, "posterior_")


def test_a_precomputed_kernel_near_the_smallest_float():
    """Without a ridge and with one, which is then infinitely larger."""
    K = 1e-320 * (X @ X.T).round(2)
    for ridge in (0.0, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            clf = BayesPointClassifier(
                kernel="precomputed", engine="perceptron", ridge=ridge, random_state=0
            ).fit(K, Y)
        assert clf.score(K, Y) > 0.8


def test_an_integer_that_is_no_int64():
    scales = 2**70, 2.0**70
    first, second = (fitted(engine=LaplaceApproximation(intercept_scale=s)) for s in scales)
    assert np.array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize("covariance", [1e100, 1e200])
def test_a_prior_too_wide_for_several_classes(covariance):
    engine = LaplaceApproximation(prior_covariance=covariance * np.eye(2))
    with pytest.raises(ValueError, match=r"lost in rounding errors.*smaller prior_scale|overflow"):
        fitted(y=np.arange(60) % 3, engine=engine)


def test_a_prior_that_rounding_errors_have_lost_is_an_error(monkeypatch):
    """Weaker and weaker sites do not help, and were tried without end."""
    engine = ExpectationPropagation(prior_scale=1.0)
    clf = fitted(engine=engine)

    def factorise(*arguments):
        raise LinAlgError("not positive definite")

    monkeypatch.setattr(WeightGaussian, "factorise", factorise)
    with pytest.raises(ValueError, match=r"The prior.*lost in rounding errors\. Scale"):
        clf.partial_fit(X, Y)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("n_classes", [3, 5])
def test_batches_of_several_classes_far_apart_are_refused_in_words(n_classes):
    """The posterior of the second one is no prior for the third, to the digits that there are."""
    y, refused = np.arange(60) % n_classes, 0
    for engine in (ExpectationPropagation(), LaplaceApproximation()):
        clf = BayesPointClassifier(kernel="linear", engine=engine, multi_class="joint")
        try:
            for shift in (0.0, 1e9, 0.0, 0.0):
                clf.partial_fit(X + shift, y, classes=np.arange(n_classes))
        except ValueError as error:
            refused += 1
            assert "lost in rounding errors: the prior" in str(error)
        assert np.isfinite(clf.predict_proba(X)).all()
    assert refused


def test_queries_among_points_out_of_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="Scale the features"):
            query(fitted(), 5e307 * np.sign(X), 2)


@pytest.mark.parametrize("weights", [{0: 1e-300, 1: 1e-300}, {0: 1e12, 1: 1e12}, {0: 1.0, 1: 1e-9}])
@pytest.mark.parametrize("way", ["memory", "groups", "blocks"])
def test_class_weights_of_any_size(weights, way, recwarn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    clf = BayesPointClassifier(kernel="linear", class_weight=weights)
    if way == "blocks":
        clf.fit(from_arrays(X, y, block_rows=25))
    else:
        clf.fit(X, y, groups=np.arange(60) // 3 if way == "groups" else None)
    assert np.isfinite(clf.coding_.temperature)
    assert all(np.isfinite(astuple(score)).all() for score in clf.expected_scores_.values())
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]
