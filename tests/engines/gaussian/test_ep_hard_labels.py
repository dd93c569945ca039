"""Without noise the posterior is the prior inside the version space: rejection sampling."""

from functools import cache

import numpy as np
import pytest
from tests.helpers.probit import machine, separable

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian import sites
from bayespoint.spaces import basis

SCHEDULES = pytest.mark.parametrize("schedule", ["sequential", "rounds"])
N_DRAWS = 500_000

# What expectation propagation is off by in a cone: corners are not Gaussian. (A tenth of a standard
# deviation, half of the covariance, a sixth of a unit of evidence in the worst of these cones.)
ANGLE, GAP, SPREAD, EVIDENCE = 0.02, 0.1, 0.45, 0.2


@cache
def version_space(n, d, seed):
    """Draws from the prior that get all labels of a problem right."""
    X, y = separable(n, d, seed)
    w = np.random.default_rng(0).standard_normal((N_DRAWS, d))
    return w[((w @ (X * y[:, None]).T) > 0).all(axis=1)]


def misses(clf, accepted):
    """Which of four answers are further off than bands and five standard errors allow."""
    n, share = len(accepted), len(accepted) / N_DRAWS
    mean, covariance = accepted.mean(axis=0), np.cov(accepted.T)
    found, length = clf.coef_[0], np.linalg.norm
    error = 5 / np.sqrt(n)  # of a mean, in standard deviations
    gap = np.sqrt((found - mean) @ np.linalg.solve(covariance, found - mean))
    angle = np.arccos(min(found @ mean / length(found) / length(mean), 1.0))
    spread = length(clf.posterior_.covariance[0] - covariance) / length(covariance)
    below = np.log(share) - clf.log_evidence_[0]
    evidence_error = 5 * np.sqrt((1 - share) / n)
    return {
        "mean": gap > GAP + error,
        "direction": angle > ANGLE + error * np.sqrt(covariance.trace()) / length(mean),
        "covariance": spread > SPREAD + 2 * error,
        "evidence": not -evidence_error < below < EVIDENCE + evidence_error,
    }


@SCHEDULES
@pytest.mark.parametrize(
    ("n", "d", "seed"), [(3, 2, 0), (6, 2, 1), (10, 2, 2), (5, 3, 0), (10, 3, 1)]
)
def test_version_space(n, d, seed, schedule):
    X, y = separable(n, d, seed)
    accepted = version_space(n, d, seed)
    clf = machine(noise=0, schedule=schedule).fit(X, y)
    assert not any(misses(clf, accepted).values())
    wrong = misses(machine(noise=1, schedule=schedule).fit(X, y), accepted)
    assert wrong["mean"]
    assert wrong["covariance"]


@pytest.mark.parametrize(
    "kind",
    [{}, {"schedule": "sequential"}, {"engine": "factorised-ep"}],
    ids=["ep", "sequential", "factorised-ep"],
)
def test_an_orthant_is_exact(kind):
    """Labels of orthogonal points: w_j is half-normal, the evidence 2^-n."""
    X, y = np.diag([1.0, 1e-3, 1e3, 7.0]), np.array([1, -1, -1, 1])
    clf = machine(noise=0, **kind).fit(X, y)
    np.testing.assert_allclose(clf.coef_[0], y * np.sqrt(2 / np.pi), rtol=1e-10)
    np.testing.assert_allclose(
        clf.posterior_.covariance[0], (1 - 2 / np.pi) * np.eye(4), atol=1e-12
    )
    assert clf.log_evidence_[0] == pytest.approx(4 * np.log(0.5), rel=1e-12)
    drawn = clf.sample_proba(X, n_samples=20, random_state=0)
    assert set(np.unique(drawn)) == {0.0, 1.0}  # single classifiers are certain


def rounding_counts(monkeypatch):
    """The wrong variant: no least deviation, and all that rounding leaves outside the span."""
    monkeypatch.setattr(sites, "TIE", 0.0)
    monkeypatch.setattr(basis, "ROUNDED", 0.0)


def contradicted(kernel):
    """Six rows, each four times, with opposite labels: probabilities, and after a nudge of x."""
    X = np.repeat(np.random.default_rng(0).integers(-2, 3, (6, 3)), 4, axis=0) * 1.0
    engine = ExpectationPropagation(noise=0.0)
    clf = BayesPointClassifier(engine=engine, kernel=kernel).fit(X, np.arange(24) % 2)
    clf = clf.partial_fit(X, np.arange(24) % 2) if kernel == "linear" else clf
    assert not np.tril(clf.posterior_.factor, -1).any()
    assert (np.diagonal(clf.posterior_.factor, axis1=1, axis2=2) > 0).all()
    return clf.predict_proba(X)[:, 1], clf.predict_proba(X * (1 + 1e-13))[:, 1]


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_contradictory_labels_are_a_tie_that_rounding_does_not_decide(kernel, monkeypatch):
    """Mean and deviation of these outputs are rounding errors."""
    p, nudged = contradicted(kernel)
    np.testing.assert_allclose(p, 0.5, atol=1e-3)
    np.testing.assert_allclose(nudged, p, atol=1e-6)
    if kernel == "rbf":
        rounding_counts(monkeypatch)
        p, nudged = contradicted(kernel)
        assert np.abs(nudged - p).max() > 1e-4


COLLAPSES = {  # labels that contradict each other, at rows of a matrix without full rank
    "truth": (lambda rng: rng.integers(0, 2, (30, 4)) * 1.0, "auto", 0.0),
    "an outlier": (lambda rng: np.vstack([rng.integers(-1, 2, (23, 3)), [100, 2, 0]]), "auto", 0.0),
    "far from 0": (lambda rng: rng.normal(size=(24, 3)) + 1e9, "poly", 1.0),
}


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("case", COLLAPSES)
def test_a_collapsed_posterior_predicts_a_row_alone_as_with_others(case, monkeypatch):
    """Its outputs are rounding errors, which differ with the shape of a product of matrices."""
    make, kernel, noise = COLLAPSES[case]

    def differences():
        for seed in range(6):
            X, rng = make(np.random.default_rng(seed)), np.random.default_rng(seed)
            clf = BayesPointClassifier(engine=ExpectationPropagation(noise=noise), kernel=kernel)
            clf.fit(X, rng.integers(0, 2, len(X)))
            assert "collapsed" in clf.run_.summary
            alone = np.vstack([clf.predict_proba(row[None]) for row in X])
            yield np.abs(clf.predict_proba(X) - alone).max()

    right = max(differences())
    assert right < 1e-9
    rounding_counts(monkeypatch)
    with np.errstate(over="ignore"):
        assert max(differences()) > 100 * max(right, 1e-12)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
def test_outputs_that_are_rounding_errors_are_a_tie_though_nothing_collapsed(monkeypatch):
    """Bytes, some of them twice, of labels by chance: sweeps go on, or even converge."""

    def differences():
        for seed in (11, 30, 48):
            rng = np.random.default_rng(seed)
            X, y = rng.integers(0, 256, (36, 1)) * 1.0, rng.integers(0, 2, 36)
            clf = BayesPointClassifier(
                engine=ExpectationPropagation(noise=0.0),
                kernel="rbf",
                standardize=True,
                class_weight="balanced",
                random_state=0,
            ).fit(X, y)
            alone = np.vstack([clf.predict_proba(row[None]) for row in X])
            yield np.abs(clf.predict_proba(X) - alone).max()

    assert max(differences()) < 1e-8
    rounding_counts(monkeypatch)
    assert max(differences()) > 1e-5


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("noise", [1e-300, 1e-100])
def test_next_to_no_noise_is_a_tie_as_well(noise, monkeypatch):
    """The collapse tells: to count nothing that rounding leaves outside the span is not enough."""
    make, _, _ = COLLAPSES["an outlier"]

    def differences():
        for seed in range(8):
            X, rng = make(np.random.default_rng(seed)) * 1.0, np.random.default_rng(seed)
            engine = ExpectationPropagation(noise=noise)
            clf = BayesPointClassifier(engine=engine, kernel="rbf", random_state=0)
            clf.fit(X, rng.integers(0, 2, len(X)))
            alone = np.vstack([clf.predict_proba(row[None]) for row in X])
            yield np.abs(clf.predict_proba(X) - alone).max()

    assert max(differences()) < 1e-8
    monkeypatch.setattr(sites, "TIE", 0.0)
    assert max(differences()) > 0.01
