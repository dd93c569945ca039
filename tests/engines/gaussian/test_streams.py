"""Streams: filtering, forgetting and rates side by side, against slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm
from tests.helpers.streams import filtering, slow_filter, slow_rates, stream

from bayespoint import BayesPointClassifier
from bayespoint._core import filters
from bayespoint.engines import FactorisedPropagation
from bayespoint.engines.gaussian import streams
from bayespoint.posteriors import StreamPosterior

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.FactorisedWarning")


def moments(clf, task=0):
    posterior = clf.posterior_
    return posterior.mean[:, task], posterior.factor[task] ** 2


# Filtering ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_one_feature_a_row_is_exact(flip):
    """Each label has one weight: moments by quadrature, one after another."""
    rng = np.random.default_rng(1)
    X = np.zeros((12, 3))
    X[np.arange(12), rng.integers(3, size=12)] = rng.normal(size=12)
    y = rng.integers(2, size=12)
    y[:2] = 0, 1
    clf = filtering(fit_intercept=False, prior_scale=1.5, noise=0.7, label_noise=flip)
    clf.fit(sparse.csr_array(X), y)
    mean, variance, log_evidence = np.zeros(3), np.full(3, 1.5**2), 0.0
    for x, label in zip(X, 2 * y - 1, strict=True):
        j = np.flatnonzero(x)[0]
        prior = norm(mean[j], np.sqrt(variance[j]))

        def tilted(w, power, prior=prior, x=x[j], label=label):
            p = flip + (1 - 2 * flip) * norm.cdf(label * x * w / 0.7)
            return w**power * p * prior.pdf(w)

        ends = prior.mean() - 12 * prior.std(), prior.mean() + 12 * prior.std()
        mass, first, second = (
            quad(tilted, *ends, args=(power,), epsabs=1e-13, limit=200)[0] for power in range(3)
        )
        mean[j], variance[j] = first / mass, second / mass - (first / mass) ** 2
        log_evidence += np.log(mass)
    found = moments(clf)
    assert_allclose(found[0], mean, atol=1e-8)
    assert_allclose(found[1], variance, atol=1e-8)
    assert_allclose(clf.log_evidence_, log_evidence, atol=1e-8)


@pytest.mark.parametrize("decay", [1.0, 0.99, "auto"])
def test_labels_of_any_probability(decay):
    """A weight that is known: scores on both sides of all bounds between ways to compute them.

    Probabilities of exp(-1000) have underflown; those near 1 are good to their last digit. The
    wrong variants: logarithms of probabilities, and polynomials of six terms instead of eight.
    """
    x = np.r_[np.linspace(-45, 45, 901), np.linspace(-5, 5, 901)]
    y = np.arange(len(x)) % 3 % 2
    X = sparse.csr_array(x[:, None])
    clf = filtering(decay, prior_scale=1e-12, prior_mean=[1.0], fit_intercept=False).fit(X, y)
    scores = (2 * y - 1) * x
    expected = log_ndtr(scores)
    found = clf.posterior_.left_out_log_probability[:, 0]
    assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert expected.min() < -1000
    near = np.abs(scores) < filters.NEAR
    with np.errstate(divide="ignore"):
        assert not np.allclose(np.log(ndtr(scores)), expected, rtol=1e-13, atol=1e-15)
    for n_terms, is_right in ((filters.CURVES.shape[2], True), (6, False)):
        other = by_polynomials(scores[near], n_terms)
        assert np.allclose(other, expected[near], rtol=1e-13, atol=1e-15) == is_right


def by_polynomials(scores, n_terms):
    """log Phi by polynomials, ``filters.STEPS`` in a unit."""
    places = np.polynomial.chebyshev.chebpts1(n_terms)
    part, rest = np.divmod(scores * filters.STEPS, 1)
    areas = ndtr((part[:, None] + 0.5 + 0.5 * places) / filters.STEPS)
    terms = np.linalg.solve(np.vander(places, increasing=True), areas.T)
    return np.log(np.polynomial.polynomial.polyval(2 * rest - 1, terms, tensor=False))


@pytest.mark.parametrize(("n_classes", "flip"), [(2, 0.0), (2, 0.1), (3, 0.0)])
def test_without_forgetting_it_is_a_sweep_over_sites(n_classes, flip):
    """Sample weights that are not 1 take the way over sites, as all passes did before."""
    X, y = stream(n_classes=n_classes)
    once = filtering(label_noise=flip, prior_scale=0.8).set_params(multi_class="one_vs_rest")
    once.fit(X, y)
    sites = filtering(label_noise=flip, prior_scale=0.8).set_params(multi_class="one_vs_rest")
    sites.fit(X, y, sample_weight=np.full(len(y), np.nextafter(1, 0)))
    assert isinstance(once.posterior_, StreamPosterior)
    assert not isinstance(sites.posterior_, StreamPosterior)
    assert_allclose(once.posterior_.mean, sites.posterior_.mean, atol=1e-12)
    assert_allclose(once.posterior_.factor, sites.posterior_.factor, atol=1e-12)
    assert_allclose(once.predict_proba(X), sites.predict_proba(X), atol=1e-12)


# Forgetting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [1.0, 0.9999, 0.99, 0.5])
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_forgetting_is_that_of_the_slow_filter(decay, flip):
    X, y = stream(n=600, d=100)
    clf = filtering(decay, prior_scale=0.8, label_noise=flip, noise=0.9, fit_intercept=False)
    clf.fit(X, y)
    arguments = X, 2 * y - 1, decay, 0.8
    mean, variance, log_p = slow_filter(*arguments, noise=0.9, flip=flip)
    assert_allclose(moments(clf), (mean, variance), atol=1e-10)
    assert_allclose(clf.posterior_.left_out_log_probability[:, 0], log_p, atol=1e-10)
    assert_allclose(clf.log_evidence_, log_p.sum(), atol=1e-8)
    if decay < 1:  # wrong: no bound on what a visit forgets, or one more row of it
        for longest in (10_000, 99):
            wrong, _, _ = slow_filter(*arguments, noise=0.9, flip=flip, longest=longest)
            tells = decay**100 > 1e-12  # else all is forgotten either way
            assert (np.abs(wrong - mean).max() > 1e-7) == tells


def test_weights_return_to_the_mean_of_the_prior():
    X, y = stream(n=400)
    prior_mean = np.linspace(-1, 1, X.shape[1])
    clf = filtering(0.99, prior_scale=0.5, prior_mean=prior_mean, fit_intercept=False).fit(X, y)
    mean, variance, _ = slow_filter(X, 2 * y - 1, 0.99, 0.5, prior_mean=prior_mean)
    assert_allclose(moments(clf), (mean, variance), atol=1e-10)


def test_the_intercept_is_a_weight_of_every_row():
    X, y = stream()
    clf = filtering(0.99, prior_scale=0.5).fit(X, y)
    constant = sparse.csr_array(np.ones((X.shape[0], 1)))
    mean, variance, _ = slow_filter(sparse.hstack([X, constant]), 2 * y - 1, 0.99, 0.5)
    assert_allclose(moments(clf), (mean, variance), atol=1e-10)


def test_several_passes_forget_once_a_batch():
    X, y = stream(n=240)
    clf = filtering(0.99, max_iter=500, tol=1e-9, prior_scale=0.8, fit_intercept=False)
    clf.partial_fit(X[:120], y[:120], classes=[0, 1])
    mean, variance = moments(clf)
    clf.partial_fit(X[120:], y[120:])
    used = np.unique(X[120:].indices)
    gap = 240 - np.where(np.isin(np.arange(30), X[:120].indices), 120, 0)
    keep = np.where(np.isin(np.arange(30), used), 0.99 ** np.minimum(gap, 100), 1.0)
    precision = keep / variance + (1 - keep) / 0.8**2
    engine = FactorisedPropagation(
        tol=1e-9,
        max_iter=500,
        prior_mean=keep * mean / variance / precision,
        prior_scale=precision**-0.5,
    )
    second = BayesPointClassifier(kernel="linear", engine=engine, fit_intercept=False)
    second.fit(X[120:], y[120:])
    assert_allclose(moments(clf), moments(second), atol=1e-8)


def test_a_weight_of_two_is_a_copy():
    X, y = stream(n=60)
    twice = np.arange(60) % 3 == 0
    clf = filtering(0.99, max_iter=500, tol=1e-9, prior_scale=0.8)
    weighted = clf.fit(X, y, sample_weight=1 + twice)
    found = moments(weighted)
    copies = filtering(0.99, max_iter=500, tol=1e-9, prior_scale=0.8)
    rows = np.concatenate([np.arange(60), np.flatnonzero(twice)])
    assert_allclose(found, moments(copies.fit(X[rows], y[rows])), atol=1e-7)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    decay=st.sampled_from([1.0, 0.999, 0.9, "auto"]),
    entries=st.integers(1, 5),
)
def test_features_and_labels_have_no_order(seed, decay, entries):
    X, y = stream(n=40, d=8, entries=entries, seed=seed)
    y[:2] = 0, 1
    order = np.random.default_rng(seed).permutation(8)
    clf, other, flipped = (filtering(decay, prior_scale=0.7) for _ in range(3))
    clf.fit(X, y)
    other.fit(sparse.csr_array(X[:, order]), y)
    flipped.fit(X, 1 - y)
    assert_allclose(other.coef_, clf.coef_[:, order], atol=1e-9)
    assert_allclose(flipped.coef_, -clf.coef_, atol=1e-12)
    assert_allclose(flipped.predict_proba(X)[:, 0], clf.predict_proba(X)[:, 1], atol=1e-12)


# Rates side by side ------------------------------------------------------------------------------


def test_rates_are_weighted_by_discounted_evidence(monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 50)
    monkeypatch.setattr(streams, "MEMORY", 200)
    monkeypatch.setattr(streams, "HALF_LIVES", (np.inf, 100, 20))
    X, y = stream(n=420, drift=0.05)
    clf = filtering("auto", prior_scale=0.8).partial_fit(X[:200], y[:200], classes=[0, 1])
    clf.partial_fit(X[200:], y[200:])
    members = [filtering(decay, prior_scale=0.8) for decay in (1.0, 0.5**0.01, 0.5**0.05)]
    start = streams.CALIBRATION
    evidence, log_p, mean, covariance = slow_rates(X, y, members, 50, 200, start)
    posterior = clf.posterior_
    assert_allclose(posterior.evidence, evidence - evidence.max(), atol=1e-8)
    assert_allclose(posterior.calibration[0], np.r_[mean, covariance.ravel()], atol=1e-8)
    assert_allclose(posterior.left_out_log_probability[:, 0], log_p[200:], atol=1e-8)
    assert_allclose(clf.log_evidence_, log_p.sum(), atol=1e-6)
    for k, member in enumerate(members):
        assert_allclose(posterior.records[k, 0, :, 0], member.posterior_.mean[:, 0], atol=1e-10)
    v = posterior.rate_probabilities
    assert_allclose(clf.coef_[0], v @ [member.coef_[0] for member in members], atol=1e-10)
    h = np.array([norm.ppf(v @ [one.predict_proba(X[:1])[0, 1] for one in members]), 1])
    expected = norm.cdf(h @ mean / np.sqrt(1 + h @ covariance @ h))
    assert_allclose(clf.predict_proba(X[:1])[0, 1], expected, atol=1e-8)


def forward_losses(decay, X, y, size=500):
    """Log-losses of all rows but those of the first batch, each predicted before it is learned."""
    clf, losses = filtering(decay), []
    for begin in range(0, len(y), size):
        part = slice(begin, begin + size)
        if begin:
            p = clf.predict_proba(X[part])
            losses.append(-np.log(p[np.arange(len(p)), y[part]]))
        clf.partial_fit(X[part], y[part], classes=[0, 1])
    return np.concatenate(losses), clf


def test_rates_follow_a_drift_and_none_where_there_is_none():
    still, moving = stream(12_000, seed=2), stream(12_000, switch=1500, seed=2)
    lost = {
        (name, decay): forward_losses(decay, *data)[0]
        for name, data in (("still", still), ("moving", moving))
        for decay in (1.0, 0.5 ** (1 / 300), "auto")
    }

    def gain(name, one, other):
        gap = lost[name, one] - lost[name, other]
        return gap.mean() / (gap.std() / np.sqrt(len(gap)))

    assert gain("moving", 1.0, "auto") > 5  # standard errors
    assert gain("still", 0.5 ** (1 / 300), "auto") > 5  # a single fast rate is wrong here
    assert np.mean(lost["still", "auto"] - lost["still", 1.0]) < 0.01
