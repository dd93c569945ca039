"""The evidence of the Gibbs sampler: exact integrals, and three estimators that agree."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logsumexp
from tests.helpers.sphere import integrate, problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.posteriors.flip_evidence import FlipEvidence, log_shares

pytestmark = pytest.mark.filterwarnings("ignore::bayespoint.exceptions.ChainsDisagreeWarning")


def fitted(X, y, sample_weight=None, **parameters):
    engine = GibbsSampler(**{"evidence": True, "n_samples": 2000, "thin": 10} | parameters)
    machine = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
    )
    return machine.fit(X, y, sample_weight=sample_weight)


def bar(evidence):
    """log rho at the rungs by Bennett's acceptance ratio between neighbours."""
    k = np.arange(evidence.histograms.shape[2])
    counts = evidence.histograms.sum(axis=0)
    steps = [
        bennett(step * k, a, b)
        for step, a, b in zip(np.diff(evidence.rungs), counts[:-1], counts[1:], strict=True)
    ]
    return np.cumsum([0.0, *steps])


def bennett(work, here, there):
    """Logarithm of the ratio of normalisers, from histograms before and after the work is done."""
    ratio = math.log(here.sum() / there.sum())

    def imbalance(F):
        return here @ expit(-(work + F + ratio)) - there @ expit(work + F + ratio)

    return brentq(imbalance, -1e3, 1e3)


def by_integration(evidence):
    """Log rho at the rungs by thermodynamic integration, minus the integral of E[k] over theta.

    The trapezoidal rule with the Euler-Maclaurin correction for the slope -Var[k] at the ends of
    every step.
    """
    k = np.arange(evidence.histograms.shape[2])
    law = evidence.histograms.sum(axis=0)
    law = law / law.sum(axis=1, keepdims=True)
    mean = law @ k
    variance = law @ k**2 - mean**2
    step = np.diff(evidence.rungs)
    area = step * (mean[1:] + mean[:-1]) / 2 + step**2 * (variance[1:] - variance[:-1]) / 12
    return -np.append(0.0, np.cumsum(area))


@pytest.mark.parametrize(("m", "seed"), [(10, 0), (30, 1), (100, 2)])
def test_evidence_is_exact(m, seed):
    X, y = problem(m, seed=seed, n_flips=m // 10)
    machine = fitted(X, y, label_noise=0.01)
    posterior = machine.posterior_
    shares = integrate(X, y)
    expected = math.log(shares.posterior(0.01)[0])
    assert machine.log_evidence_[0] == pytest.approx(expected, abs=0.06)
    assert abs(machine.log_evidence_[0] - expected) < 6 * posterior.log_evidence_error[0] + 0.01
    assert posterior.log_evidence_error[0] < 0.05
    for q in (0.02, 0.1, 0.3, 0.5):
        expected = math.log(shares.posterior(q)[0])
        assert posterior.log_evidence_at(q)[0] == pytest.approx(expected, abs=0.06)
    evidence = posterior.evidence[0]
    np.testing.assert_allclose(evidence.log_shares, evidence.log_shares[::-1], atol=1e-8)
    # Three estimators.
    k = np.arange(m + 1)
    histogram = [logsumexp(evidence.log_shares - theta * k) for theta in evidence.rungs]
    np.testing.assert_allclose(by_integration(evidence), histogram, atol=0.05)
    np.testing.assert_allclose(bar(evidence), histogram, atol=0.05)


def test_evidence_without_noise():
    X, y = problem(20, seed=4)
    area = integrate(X, y).area[0]
    machine = fitted(X, y, label_noise=0)
    assert machine.log_evidence_[0] == pytest.approx(math.log(area), abs=0.08)


def test_closed_form_of_three_points():
    """Area of a triangle on the sphere: sum of the angles minus pi."""
    X, y = problem(3, seed=2)
    unit = X * y[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    angles = [math.pi - math.acos(unit[i] @ unit[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    share = (sum(angles) - math.pi) / (4 * math.pi)
    machine = fitted(X, y, label_noise=0)
    assert math.exp(machine.log_evidence_[0]) == pytest.approx(share, rel=0.03)


def test_multi_histogram_recovers_known_shares():
    """Histograms that are exact, as numbers instead of samples."""
    m, rungs = 12, np.array([0.0, 0.3, 1.0, 2.5])
    k = np.arange(m + 1)
    share = np.exp(-0.3 * np.minimum(k, m - k))
    share /= share.sum()
    law = share * np.exp(-rungs[:, None] * k)
    law *= np.array([[100.0], [400.0], [50.0], [1000.0]]) / law.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_shares(rungs, law)), share, rtol=1e-8)


def test_integration_of_known_laws():
    """The corrected trapezoidal rule, where rho(theta) = ((1 + exp(-theta)) / 2)^m."""
    m, rungs = 30, np.linspace(0, 3, 13)
    k = np.arange(m + 1)
    log_choose = [math.lgamma(m + 1) - math.lgamma(j + 1) - math.lgamma(m - j + 1) for j in k]
    law = np.exp(np.array(log_choose) - rungs[:, None] * k)
    expected = m * np.log((1 + np.exp(-rungs)) / 2)
    assert np.abs(by_integration(FlipEvidence(rungs, law[None])) - expected).max() < 2e-3


def test_error_of_a_single_chain_is_unknown():
    X, y = problem(10)
    posterior = fitted(X, y, n_chains=1, n_samples=100).posterior_
    assert np.isnan(posterior.log_evidence_error[0])


def test_label_noise_by_evidence():
    """auto is near the flip rate with the largest exact evidence."""
    X, y = problem(100, seed=3, n_flips=15)
    machine = fitted(X, y, label_noise="auto", evidence=False)
    shares = integrate(X, y)
    rates = np.geomspace(1e-3, 0.5, 400)
    best = rates[np.argmax([shares.posterior(q)[0] for q in rates])]
    found = machine.posterior_.label_noise[0]
    assert 0.1 < best < 0.25
    assert found == pytest.approx(best, rel=0.1)
    expected = math.log(shares.posterior(found)[0])
    assert machine.log_evidence_[0] == pytest.approx(expected, abs=0.06)


def test_weights_are_copies_in_the_evidence():
    X, y = problem(12, seed=5, n_flips=1)
    weight = np.array([1, 2, 3] * 4)
    copies = np.repeat(np.arange(12), weight)
    expected = math.log(integrate(X[copies], y[copies]).posterior(0.05)[0])
    machine = fitted(X, y, sample_weight=weight, label_noise=0.05)
    assert machine.log_evidence_[0] == pytest.approx(expected, abs=0.06)


def test_a_point_that_is_zero_is_a_coin():
    X, y = problem(10, seed=0)
    with_zero = np.vstack([X, np.zeros((2, 3))]), np.append(y, [1, -1])
    one, other = fitted(X, y), fitted(*with_zero)
    np.testing.assert_allclose(one.posterior_.mean, other.posterior_.mean, atol=1e-12)
    np.testing.assert_allclose(other.log_evidence_, one.log_evidence_ - 2 * math.log(2))


def test_bad_questions():
    X, y = problem(10)
    with pytest.raises(ValueError, match=r"needs sample weights that are whole numbers\. Got 1\.5"):
        fitted(X, y, sample_weight=np.full(10, 1.5))
    posterior = fitted(X, y, n_samples=40).posterior_
    with pytest.raises(ValueError, match=r"q must be a float in the range \[0, 0.5\]"):
        posterior.log_evidence_at(0.7)
    posterior = fitted(X, y, n_samples=40, evidence=False).posterior_
    assert posterior.log_evidence is None
    with pytest.raises(ValueError, match="set evidence=True"):
        posterior.log_evidence_at(0.1)


def test_many_copies_are_refused_before_memory_is_taken():
    X, y = problem(20)
    weight = np.full(20, 10**6)
    clf = BayesPointClassifier(kernel="linear", engine=GibbsSampler(evidence=True, n_samples=20))
    with pytest.raises(ValueError, match=r"sample weights sum to 2e\+07: take smaller ones"):
        clf.fit(X, y, sample_weight=weight)


def test_error_where_one_chain_alone_has_met_version_space():
    """With hard labels the others say that the evidence is 0, and that its error is not known."""
    histograms = np.zeros((3, 1, 6))
    histograms[:, 0, 2:4] = 5.0
    histograms[0, 0, 0] = 1.0
    evidence = FlipEvidence(np.zeros(1), histograms)
    assert np.isfinite(evidence.at(0.0)) and evidence.error_at(0.0) == np.inf
    assert np.isfinite(evidence.error_at(0.1))
