"""Laplace's approximation where it is hard, with weights, and inside the classifier."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from tests.helpers.logistic import machine, problem
from tests.helpers.probit import assert_same, separable

from bayespoint.engines.gaussian import gaussians
from bayespoint.exceptions import NotConvergedWarning


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConvergedWarning)
        warnings.simplefilter("error", RuntimeWarning)
        yield


def gradient(clf, X, y, prior_scale=1.0, prior_mean=0.0):
    """Slope of the log density at the mode, in units of its standard deviations."""
    w = clf.posterior_.mean[:, 0]
    slope = X.T @ (y * expit(-y * (X @ w))) - (w - prior_mean) / np.square(prior_scale)
    return np.linalg.norm(clf.posterior_.factor[0].T @ slope)


@pytest.fixture(params=["plain steps", "conjugate directions"])
def steps(request, monkeypatch):
    """Newton steps alone, or with all that large problems have between them."""
    monkeypatch.setattr(gaussians, "CHEAP", 1 if request.param == "conjugate directions" else 10**9)


USE_STEPS = pytest.mark.usefixtures("steps")


# Hard cases --------------------------------------------------------------------------------------


@USE_STEPS
@pytest.mark.parametrize("d", [4, 80])
@pytest.mark.parametrize("prior_scale", [1e-100, 1e-6, 1e-2, 1.0, 1e2, 1e6, 1e12])
def test_separable_classes_have_a_mode_for_any_prior(prior_scale, d):
    X, y = separable(60, d)
    clf = machine(prior_scale=prior_scale).fit(X, y)
    assert gradient(clf, X, y, prior_scale) < 1e-7
    assert np.isfinite(clf.log_evidence_).all()
    assert np.isfinite(clf.predict_proba(X)).all()
    assert clf.n_iter_ < 60
    if prior_scale >= 1e2:
        assert clf.score(X, y) == 1


@USE_STEPS
@pytest.mark.parametrize("prior_scale", [1e-6, 1e6, 1e12])
def test_other_classes_too(prior_scale):
    X, y = problem()
    clf = machine(prior_scale=prior_scale).fit(X, y)
    assert gradient(clf, X, y, prior_scale) < 1e-7
    assert clf.n_iter_ < 20


@USE_STEPS
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_a_feature_of_another_scale(unit):
    """The scale of a feature is the inverse scale of its weight."""
    X, y = problem()
    plain = machine().fit(X, y)
    X[:, 0] *= unit
    scaled = machine(prior_scale=[1 / unit, 1, 1, 1]).fit(X, y)
    np.testing.assert_allclose(
        scaled.decision_function(X), plain.decision_function(X / [unit, 1, 1, 1]), atol=1e-9
    )
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-9)
    alike = machine().fit(X, y)  # one prior for all
    assert gradient(alike, X, y) < 1e-7
    everything = machine().fit(unit * X, y)
    assert gradient(everything, unit * X, y) < 1e-7


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_stopping_rule_has_no_unit(unit):
    X, y = problem()
    one = machine(tol=1e-3).fit(X, y)
    other = machine(tol=1e-3, prior_scale=1 / unit).fit(unit * X, y)
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(unit * X))


@USE_STEPS
@pytest.mark.parametrize("prior_scale", [1, 10])
def test_a_far_outlier_of_the_wrong_class_is_borne(prior_scale):
    X, y = problem()
    X, y = np.vstack([X, 1e4 * X[:1]]), np.append(y, -y[0])
    clf = machine(prior_scale=prior_scale).fit(X, y)
    assert gradient(clf, X, y, prior_scale) < 1e-7
    assert np.isfinite(clf.predict_proba(X)).all()


@USE_STEPS
def test_a_very_wrong_prior_is_corrected():
    """The logistic tail is linear: a label moves the mean by no more than the prior's variance."""
    clf = machine(prior_mean=[-1e4]).fit([[1.0], [1.0], [1.0], [-1e-9]], [1, 1, 1, 0])
    assert clf.coef_[0, 0] == pytest.approx(-1e4 + 3, abs=1e-8)
    assert clf.posterior_.covariance[0, 0, 0] == pytest.approx(1)
    assert clf.log_evidence_[0] == pytest.approx(-3 * 1e4 + 9 / 2 - np.log(2), abs=1e-4)


def test_features_that_are_always_zero_keep_their_prior():
    X, y = problem()
    clf = machine(prior_scale=3).fit(np.insert(X, 1, 0.0, axis=1), y)
    plain = machine(prior_scale=3).fit(X, y)
    np.testing.assert_allclose(np.delete(clf.coef_[0], 1), plain.coef_[0], atol=1e-10)
    assert clf.coef_[0, 1] == 0
    assert clf.posterior_.covariance[0, 1, 1] == pytest.approx(9)
    assert clf.log_evidence_[0] == pytest.approx(plain.log_evidence_[0], abs=1e-9)


def test_points_without_features_say_nothing():
    X, y = problem()
    with_zero = machine().fit(np.vstack([X, np.zeros(4)]), np.append(y, 1))
    without = machine().fit(X, y)
    np.testing.assert_allclose(with_zero.coef_, without.coef_, atol=1e-9)
    assert with_zero.log_evidence_ - without.log_evidence_ == pytest.approx(np.log(0.5), abs=1e-8)
    assert with_zero.predict_proba(np.zeros((1, 4))) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("parameters", "unit"), [({}, 1e80), ({"prior_scale": 1e200}, 1), ({"prior_scale": 1e-200}, 1)]
)
def test_numbers_whose_squares_overflow_are_refused(parameters, unit):
    X, y = problem()
    with pytest.raises(ValueError, match=r"which overflow .* Scale the features"):
        machine(**parameters).fit(unit * X, y)


# Weights and symmetries --------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 60])
def test_weights_are_copies(d):
    X, y = problem(50, d)
    weight = np.random.default_rng(1).integers(1, 8, 50)
    weighted = machine().fit(X, y, sample_weight=weight)
    copies = np.repeat(np.arange(50), weight)
    copied = machine().fit(X[copies], y[copies])
    assert_same(weighted, copied, atol=1e-9)
    left_out = weighted.posterior_.left_out_log_probability[copies]
    np.testing.assert_allclose(left_out, copied.posterior_.left_out_log_probability, atol=1e-9)
    assert weighted.left_out_error_ == pytest.approx(copied.left_out_error_)


@USE_STEPS
@pytest.mark.parametrize("weight", [1e-8, 1e-3, 1e3, 1e8])
def test_any_weight_converges(weight):
    X, y = problem()
    clf = machine().fit(X, y, sample_weight=np.where(y > 0, weight, 1.0))
    assert np.isfinite(clf.posterior_.left_out_log_probability).all()
    clf.fit(X, y, sample_weight=np.full(60, weight))
    assert np.isfinite(clf.posterior_.left_out_log_probability).all()
    if weight == 1e-8:
        assert clf.log_evidence_[0] == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(clf.posterior_.covariance[0], np.eye(4), atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), d=st.integers(1, 12))
def test_symmetries(seed, n, d):
    X, y = problem(n, d, scale=3, seed=seed)
    rng = np.random.default_rng(seed)
    fitted = machine().fit(X, y)
    flipped = machine().fit(X, -y)
    np.testing.assert_allclose(flipped.coef_, -fitted.coef_, atol=1e-12)
    assert flipped.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-9)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rotated = machine().fit(X @ rotation, y)
    np.testing.assert_allclose(rotated.coef_, fitted.coef_ @ rotation, atol=1e-9)
    order = rng.permutation(n)
    assert_same(machine().fit(X[order], y[order]), fitted, atol=1e-9)
    weight, twice = np.ones(n), np.append(np.arange(n), n - 1)
    weight[-1] = 2
    weighted = machine().fit(X, y, sample_weight=weight)
    assert_same(weighted, machine().fit(X[twice], y[twice]), atol=1e-9)


# The run and the classifier ----------------------------------------------------------------------


def test_a_run_that_ends_too_soon_carries_its_changes():
    X, y = problem()
    with pytest.warns(NotConvergedWarning, match="after 3 steps, .*raise max_iter") as caught:
        clf = machine(max_iter=3).fit(X, y)
    warning = caught[0].message
    assert clf.n_iter_ == len(warning.changes) == 3
    assert warning.changes[0] > warning.changes[1] > warning.changes[2] > warning.tol
    assert warning.training_error == pytest.approx(1 - clf.score(X, y))


@USE_STEPS
def test_a_tolerance_beyond_the_arithmetic_ends_in_rounding_errors():
    X, y = problem()
    assert machine(tol=1e-300).fit(X, y).n_iter_ < 12
