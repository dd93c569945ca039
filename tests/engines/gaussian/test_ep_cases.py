"""Expectation propagation where it is hard, with weights, and inside the classifier."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError
from tests.helpers.probit import (
    assert_same,
    machine,
    prior,
    problem,
    separable,
    slow_sweeps,
)

from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.rounds import HALVINGS, Rounds, Sweeps
from bayespoint.engines.gaussian.sites import MatchedSites
from bayespoint.engines.gaussian.tasks import ACTIVE, COLLAPSE, STALLED, Labels
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.spaces import Coordinates
from bayespoint.tools.monitor import Monitor

SCHEDULES = pytest.mark.parametrize("schedule", ["sequential", "rounds"])


# Hard cases --------------------------------------------------------------------------------------


@SCHEDULES
def test_hard_labels_are_the_limit_of_soft_ones(schedule):
    X, y = separable()
    hard = machine(noise=0, schedule=schedule, tol=1e-9).fit(X, y)
    nearly = machine(noise=1e-8, schedule=schedule, tol=1e-9).fit(X, y)
    assert hard.score(X, y) == 1
    assert_same(hard, nearly, atol=1e-6)


@SCHEDULES
def test_hard_labels_that_cannot_be_separated_are_reported(schedule):
    X, y = problem()
    clf = machine(noise=0, schedule=schedule)
    with pytest.warns(NotConvergedWarning, match="or more, these classes cannot") as caught:
        clf.fit(X, y)
    assert caught[0].message.training_error == pytest.approx(1 - clf.score(X, y))
    assert len(caught[0].message.changes) == clf.n_iter_
    for values in (clf.coef_, clf.posterior_.factor, clf.log_evidence_, clf.predict_proba(X)):
        assert np.isfinite(values).all()


@SCHEDULES
@pytest.mark.parametrize("noise", [1e-6, 1e-10])
def test_tiny_noise_is_the_limit_of_a_wide_prior(noise, schedule):
    """Classes that cannot be separated: outputs shrink with the noise, by ten decades."""
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny = machine(noise=noise, schedule=schedule, tol=1e-9).fit(X, y)
        wide = machine(prior_scale=1e4, schedule=schedule, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(tiny.coef_ / noise, wide.coef_, rtol=1e-6)
    np.testing.assert_allclose(tiny.decision_function(X), wide.decision_function(X), atol=1e-6)
    decades = X.shape[1] * np.log(1e4 * noise)  # each weight pays for its prior
    assert tiny.log_evidence_ - wide.log_evidence_ == pytest.approx(decades, abs=1e-5)


@SCHEDULES
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_a_feature_of_another_scale(unit, schedule):
    """The scale of a feature is the inverse scale of its weight."""
    X, y = problem()
    plain = machine(schedule=schedule, tol=1e-9).fit(X, y)
    X[:, 0] *= unit
    scaled = machine(prior_scale=[1 / unit, 1, 1, 1], schedule=schedule, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        scaled.decision_function(X), plain.decision_function(X / [unit, 1, 1, 1]), atol=1e-7
    )
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-7)
    alike = machine(schedule=schedule, tol=1e-9).fit(X, y)  # one prior for all
    other = machine(schedule="rounds", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(alike.decision_function(X), other.decision_function(X), atol=1e-6)


def search_for(kind, X, y, scale=1.0, **noise):
    """A search of one task that has not begun."""
    gaussian = WeightGaussian(Coordinates(X), prior(X.shape[1], scale))
    weight = np.ones(len(y))
    sites = MatchedSites(Labels(y, weight, ProbitLikelihood(**noise), weight), gaussian)
    return kind(gaussian, sites)


def test_sites_too_strong_for_arithmetic_still_make_a_posterior():
    X = np.array([[1.0, 1.0], [1.0, 1.0], [3.0, 3.0]])
    search = search_for(partial(Sweeps, share=None), X, np.array([1, -1, 1]), noise=0.0)
    search.visit()
    before = search.sites.a.copy()
    search.sites.a[:], search.sites.b[:] = 1e25, 1e25
    search.before = search.sites.a.copy(), search.sites.b.copy()  # nothing sound to go back to
    search.sites.is_tie = False
    search.reason = ACTIVE
    search.visit()
    assert search.reason == COLLAPSE
    assert search.sites.is_tie
    assert not np.array_equal(search.sites.a, before)
    result = search.result()
    assert np.isfinite(result.log_evidence)
    variances = np.linalg.eigvalsh(result.factor @ result.factor.T)
    assert -1e-15 <= variances[0] < variances[1] <= 1.001


def test_rounds_go_back_from_sites_that_leave_no_posterior(monkeypatch):
    """They try shorter steps from there; and give up where none helps."""
    X, y = problem()
    search = search_for(Rounds, X, y)
    search.visit()
    search.go_on(ExpectationPropagation(), should_stop=False)
    factorise, n_failures = WeightGaussian.factorise, [2]

    def failing(self, rate):
        if n_failures[0]:
            n_failures[0] -= 1
            raise LinAlgError("no posterior")
        factorise(self, rate)

    monkeypatch.setattr(WeightGaussian, "factorise", failing)
    search.visit()
    assert search.is_ahead
    assert search.n_retreats == 2
    search.go_on(ExpectationPropagation(), should_stop=False)
    search.run(ExpectationPropagation(tol=1e-10), Progress(Monitor()))
    assert search.reason == ""
    exact = slow_sweeps(X, y)
    np.testing.assert_allclose(search.result().mean, exact.mean, atol=1e-8)

    never = search_for(Rounds, X, y)
    never.visit()
    never.go_on(ExpectationPropagation(), should_stop=False)
    n_failures[0] = HALVINGS + 1
    never.visit()
    assert never.reason == STALLED
    assert np.isfinite(never.result().mean).all()  # of the last sound posterior


@pytest.mark.parametrize("noise", [1e-3, 1.0])
def test_a_far_outlier_of_the_wrong_class_is_borne(noise):
    X, y = problem()
    X, y = np.vstack([X, 1e4 * X[:1]]), np.append(y, -y[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        clf = machine(noise=noise, prior_scale=10, tol=1e-8).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(clf.log_evidence_).all()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_stopping_rule_has_no_unit(unit):
    X, y = problem()
    one = machine(tol=1e-6).fit(X, y)
    other = machine(tol=1e-6, prior_scale=1 / unit).fit(unit * X, y)
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(unit * X))


@pytest.mark.parametrize(
    ("parameters", "unit"),
    [({}, 1e200), ({"prior_scale": 1e200}, 1), ({"prior_scale": 1e-200}, 1), ({"noise": 1e200}, 1)],
)
def test_numbers_whose_squares_overflow_are_refused(parameters, unit):
    X, y = problem()
    with pytest.raises(ValueError, match=r"squares.* overflow.* Scale the features"):
        machine(**parameters).fit(unit * X, y)


@pytest.mark.parametrize("noise", [0, 1])
def test_points_without_features_say_nothing(noise):
    X, y = separable()
    with_zero = machine(noise=noise).fit(np.vstack([X, np.zeros(4)]), np.append(y, 1))
    without = machine(noise=noise).fit(X, y)
    np.testing.assert_allclose(with_zero.coef_, without.coef_, atol=1e-9)
    assert with_zero.log_evidence_ - without.log_evidence_ == pytest.approx(np.log(0.5), abs=1e-8)
    assert with_zero.predict_proba(np.zeros((1, 4))) == pytest.approx(0.5)


# Weights and symmetries --------------------------------------------------------------------------


@SCHEDULES
def test_weights_are_copies(schedule):
    X, y = problem(50, 3)
    weight = np.random.default_rng(1).integers(1, 8, 50)
    weighted = machine(schedule=schedule, tol=1e-13).fit(X, y, sample_weight=weight)
    copies = np.repeat(np.arange(50), weight)
    copied = machine(schedule=schedule, tol=1e-13).fit(X[copies], y[copies])
    assert_same(weighted, copied, atol=1e-9)
    left_out = weighted.posterior_.left_out_log_probability[copies]
    np.testing.assert_allclose(left_out, copied.posterior_.left_out_log_probability, atol=1e-9)
    assert weighted.left_out_error_ == pytest.approx(copied.left_out_error_)


@pytest.mark.parametrize("weight", [1e3, 1e5])
def test_large_weights_converge(weight):
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine(tol=1e-6).fit(X, y, sample_weight=np.where(y > 0, weight, 1.0))


@SCHEDULES
@pytest.mark.parametrize("prior_scale", [1, 10])
def test_the_smaller_the_weights_the_nearer_the_prior(prior_scale, schedule):
    X, y = problem()
    clf = machine(tol=1e-6, prior_scale=prior_scale, schedule=schedule)
    evidence, spread = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weight in (1, 0.7, 0.3, 0.1, 0.01, 1e-4):
            clf.fit(X, y, sample_weight=np.full(60, weight))
            evidence.append(clf.log_evidence_[0])
            spread.append(clf.posterior_.covariance[0].trace())
    assert np.all(np.diff(evidence) > 0)
    assert np.all(np.diff(spread) > 0)
    assert evidence[-1] == pytest.approx(0, abs=0.02)
    assert spread[-1] == pytest.approx(4 * prior_scale**2, rel=0.05)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), d=st.integers(1, 6))
def test_symmetries(seed, n, d):
    X, y = problem(n, d, seed=seed)
    rng = np.random.default_rng(seed)
    fitted = machine(tol=1e-10).fit(X, y)
    flipped = machine(tol=1e-10).fit(X, -y)
    np.testing.assert_allclose(flipped.coef_, -fitted.coef_, atol=1e-12)
    assert flipped.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-9)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    np.testing.assert_allclose(
        machine(tol=1e-10).fit(X @ rotation, y).coef_, fitted.coef_ @ rotation, atol=1e-9
    )
    order = rng.permutation(n)
    assert_same(machine(tol=1e-10).fit(X[order], y[order]), fitted, atol=1e-6)
    weight, twice = np.ones(n), np.append(np.arange(n), n - 1)
    weight[-1] = 2
    weighted = machine(tol=1e-12).fit(X, y, sample_weight=weight)
    assert_same(weighted, machine(tol=1e-12).fit(X[twice], y[twice]), atol=1e-9)


# The run and the classifier ----------------------------------------------------------------------


def test_a_run_that_ends_too_soon_carries_its_changes():
    X, y = problem()
    with pytest.warns(NotConvergedWarning, match="after 3 sweeps, .*raise max_iter") as caught:
        clf = machine(max_iter=3).fit(X, y)
    changes = caught[0].message.changes
    assert clf.n_iter_ == len(changes) == 3
    assert changes[0] > changes[1] > changes[2] > caught[0].message.tol
