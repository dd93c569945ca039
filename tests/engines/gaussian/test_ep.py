"""Expectation propagation against quadrature, slow versions, and exact cases."""

import numpy as np
import pytest
from scipy.special import erfcx, log_ndtr, ndtr
from sklearn.metrics.pairwise import rbf_kernel
from tests.helpers.exact import gaussian_times
from tests.helpers.probit import (
    assert_same,
    learn,
    machine,
    match,
    problem,
    separable,
    slow_sweeps,
)

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.engines.gaussian.tasks import HESITANT

# One site ----------------------------------------------------------------------------------------


def truncated_normal(t):
    """v and 1 - w at t: mean excess and variance of N(t, 1) cut at 0, by quadrature."""
    low, high = (max(0.0, t - 12), t + 12) if t > 0 else (0.0, 40 / max(-t, 1))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    u = low + (high - low) * (nodes + 1) / 2
    density = weights * np.exp(t * u - u**2 / 2 - (t**2 / 2 if t > 0 else 0))
    density /= density.sum()
    mean = density @ u
    return mean - t, density @ (u - mean) ** 2


@pytest.mark.parametrize(
    ("t", "expected"),
    [(-1e8, 1e-16), (-300, 1.111037e-05), (-40, 6.226684e-04), (-10, 9.445378e-03)],
)
def test_variance_of_the_truncated_gaussian_has_the_reference_values(t, expected):
    assert _core.ep.truncation(float(t))[2] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("t", [-1e8, -1e4, -300, -40, -10, -5.001, -4.999, -3.1, -1, 0, 0.5, 2, 6])
def test_truncated_gaussian_by_quadrature(t):
    v, w, rest, u, log_area = _core.ep.truncation(float(t))
    expected_v, expected_rest = truncated_normal(t)
    assert v == pytest.approx(expected_v, rel=1e-12, abs=1e-14)
    assert rest == pytest.approx(expected_rest, rel=2e-12)
    assert w == pytest.approx(1 - expected_rest, abs=1e-12)
    assert log_area == pytest.approx(log_ndtr(t), rel=1e-12)
    if t > -10:  # beyond, v and t w cancel
        assert u == pytest.approx(v + t * w, rel=1e-11)


def test_scaled_tails():
    x = np.concatenate([np.linspace(0, 12, 5001), [1e-300, 1e-9, 1e3, 1e9]])
    found = np.array([_core.ep.truncation(-np.sqrt(2) * one)[0] for one in x[x < 3.5]])
    np.testing.assert_allclose(found, np.sqrt(2 / np.pi) / erfcx(x[x < 3.5]), rtol=2e-15)
    found = np.array([_core.ep.truncation(np.sqrt(2) * one)[4] for one in x])
    np.testing.assert_allclose(found, log_ndtr(np.sqrt(2) * x), rtol=1e-13, atol=1e-300)


def test_no_argument_gives_nan():
    t = np.concatenate([-np.geomspace(1e-300, 1e8, 300), [0.0], np.geomspace(1e-300, 1e8, 300)])
    values = np.array([_core.ep.truncation(float(x)) for x in t])
    assert np.isfinite(values).all()
    assert ((values[:, 1:3] >= 0) & (values[:, 1:3] <= 1)).all()
    order = np.argsort(t)
    assert (np.diff(values[order, 0]) <= 0).all()  # v falls


def matched(m, variance, noise, flip=0.0):
    """Mean and variance of the cavity N(m, variance) times the site that belongs to it."""
    a, b, _, log_z = _core.ep.match(m, variance, (_core.ep.PROBIT, noise, flip))
    return (m + a * variance) / (1 + b * variance), variance / (1 + b * variance), log_z


def test_a_site_gives_the_moments_of_its_label():
    rng = np.random.default_rng(0)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    for _ in range(200):
        m, variance, beta = rng.normal(0, 2), rng.uniform(0.1, 4), rng.uniform(0.3, 2)
        f = m + 12 * np.sqrt(variance) * nodes
        density = weights * np.exp(-((f - m) ** 2) / (2 * variance)) * ndtr(f / beta)
        z = density.sum() * 12 / np.sqrt(2 * np.pi)
        density /= density.sum()
        mean = density @ f
        expected = mean, density @ (f - mean) ** 2, np.log(z)
        np.testing.assert_allclose(matched(m, variance, beta**2), expected, atol=2e-11)


@pytest.mark.parametrize(
    ("m", "mean", "variance"), [(-100, -49.99, 0.5001), (-1e4, -4999.9999, 0.5)]
)
def test_a_very_wrong_prior_is_corrected(m, mean, variance):
    """Where Phi underflows; references of another implementation."""
    found = matched(float(m), 1.0, 1.0)
    assert found[0] == pytest.approx(mean, abs=1e-4)
    assert found[1] == pytest.approx(variance, abs=1e-4)


# Whole runs against slow ones --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("n", [1, 63, 64, 150])
@pytest.mark.parametrize("parameters", [{"noise": 0.7}, {"noise": 1.4, "label_noise": 0.1}])
def test_sweeps_are_the_slides_rank_one_updates(n, parameters):
    X, y = problem(n + 2, 7)
    X, y = X[:n], y[:n]
    flip = parameters.get("label_noise", 0.0)
    for n_sweeps in (1, 2, 3):
        slow = slow_sweeps(
            X, y, n_sweeps, covariance=1.5**2 * np.eye(7), noise=parameters["noise"], flip=flip
        )
        posterior, run = learn(
            X, y, schedule="sequential", max_iter=n_sweeps, prior_scale=1.5, **parameters
        )
        assert run.n_iter == n_sweeps or n == 1
        shift, rate = (one[:, 0] for one in posterior.messages)
        found = posterior.mean[:, 0], posterior.covariance[0], shift, rate
        exact = slow.mean, slow.covariance, slow.a, slow.b
        for one, other in zip(found, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
        assert posterior.log_evidence[0] == pytest.approx(slow.log_evidence, rel=1e-10)
        # Sites that all change at once, or that change less, are no such sweeps.
        for wrong in ({"schedule": "rounds"}, {"schedule": "sequential", "damping": 0.9}):
            if n > 1 and n_sweeps > 1:
                other, _ = learn(X, y, max_iter=n_sweeps, prior_scale=1.5, **parameters | wrong)
                assert np.abs(other.mean[:, 0] - slow.mean).max() > 1e-5


@pytest.mark.parametrize("schedule", ["sequential", "rounds"])
def test_one_point_is_exact(schedule):
    """m = 0 and t = 0: mu = tau^2 y phi v(0) / s, Sigma = tau^2 I - tau^4 phi phi^T w(0) / s^2."""
    phi, tau, beta = np.array([[1.0, -2.0, 0.5]]), 1.3, 0.7
    posterior, _ = learn(phi, np.array([-1]), noise=beta, prior_scale=tau, schedule=schedule)
    s2 = tau**2 * (phi @ phi.T).item() + beta**2
    mean = -(tau**2) * phi[0] * np.sqrt(2 / np.pi) / np.sqrt(s2)
    covariance = tau**2 * np.eye(3) - tau**4 * phi.T @ phi * (2 / np.pi) / s2
    np.testing.assert_allclose(posterior.mean[:, 0], mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.covariance[0], covariance, atol=1e-10)
    assert posterior.log_evidence[0] == pytest.approx(np.log(0.5), rel=1e-10)


def test_brute_force_in_two_dimensions():
    """Sites are any Gaussians of w, and moments are those of a grid: no formula of the slides."""
    X, y = problem(6, 2, seed=3)
    P, r = np.zeros((6, 2, 2)), np.zeros((6, 2))
    for _ in range(14):
        for i in range(6):
            P_cavity = np.eye(2) + P.sum(axis=0) - P[i]
            r_cavity = r.sum(axis=0) - r[i]
            mean, covariance = gaussian_times(
                P_cavity, r_cavity, lambda w, i=i: ndtr(y[i] * w @ X[i] / 0.8)
            )
            P[i] = np.linalg.inv(covariance) - P_cavity
            r[i] = np.linalg.solve(covariance, mean) - r_cavity
    covariance = np.linalg.inv(np.eye(2) + P.sum(axis=0))
    posterior = machine(noise=0.8).fit(X, y).posterior_
    np.testing.assert_allclose(posterior.covariance[0], covariance, atol=1e-10)
    np.testing.assert_allclose(posterior.mean[:, 0], covariance @ r.sum(axis=0), atol=1e-10)


@pytest.mark.parametrize(
    ("n", "d", "noise", "prior_scale"),
    [(200, 20, 1, 1), (40, 20, 1, 3), (20, 2, 0.1, 3), (50, 5, 0, 1)],
)
def test_both_schedules_rest_at_the_same_point(n, d, noise, prior_scale):
    X, y = separable(n, d) if noise == 0 else problem(n, d, noise)
    fits = [
        machine(schedule=schedule, noise=noise, prior_scale=prior_scale, tol=1e-9).fit(X, y)
        for schedule in ("sequential", "rounds")
    ]
    assert_same(*fits, atol=1e-6)
    slower = machine(damping=0.6, noise=noise, prior_scale=prior_scale, tol=1e-9).fit(X, y)
    assert_same(slower, fits[0], atol=1e-6)


def flipped_problem():
    """Labels that are wrong, and a wide prior: cavities at full length go round in circles."""
    X, y = problem(20, 2, 0.1)
    y[::7] *= -1
    return X, y, {"noise": 0.3, "label_noise": 0.05, "prior_scale": 10.0, "tol": 1e-9}


def test_steps_become_shorter_where_rounds_go_in_circles(monkeypatch):
    X, y, parameters = flipped_problem()
    shares, agrees = [], Rounds.agrees

    def watched(self, tol):
        shares.append(self.sites.share)
        return agrees(self, tol)

    monkeypatch.setattr(Rounds, "agrees", watched)
    posterior, run = learn(X, y, **parameters)
    assert run.converged
    assert shares[0] == 1.0
    assert HESITANT < min(shares) < 1
    # It is a fixed point: all sites match the moments of their labels.
    f, e = X @ posterior.mean[:, 0], np.einsum("ij,jk,ik->i", X, posterior.covariance[0], X)
    a, b = (one[:, 0] for one in posterior.messages)
    v, m = e / (1 - b * e), (f - a * e) / (1 - b * e)
    new_a, new_b, _ = match(y * m, v, 0.3, 0.05)
    np.testing.assert_allclose(y * new_a * np.sqrt(v + 0.09), a * np.sqrt(v + 0.09), atol=1e-7)
    np.testing.assert_allclose(new_b * (v + 0.09), b * (v + 0.09), atol=1e-7)
    monkeypatch.setattr(Rounds, "share_after", lambda self, share: share)
    _, run = learn(X, y, **parameters)
    assert not run.converged


def test_damping_is_a_share_of_each_step():
    """Rounds with shorter steps are more, and end where others do."""
    X, y = problem(60, 4, 0.3)
    parameters = {"noise": 0.3, "prior_scale": 3.0, "tol": 1e-9}
    for schedule in ("rounds", "sequential"):
        fits = [learn(X, y, schedule=schedule, damping=d, **parameters) for d in (1.0, 0.6, 0.3)]
        counts = [run.n_iter for _, run in fits]
        assert counts[0] < counts[1] < counts[2]
        for posterior, run in fits:
            assert run.converged
            np.testing.assert_allclose(posterior.mean, fits[0][0].mean, atol=1e-7)
            np.testing.assert_allclose(posterior.log_evidence, fits[0][0].log_evidence, atol=1e-7)


def test_evidence_by_importance_sampling():
    X, y = problem(200, 20)
    clf = machine().fit(X, y)
    posterior, n = clf.posterior_, 20_000
    w = posterior.draw(n, np.random.default_rng(0))[:, :, 0]
    white = np.linalg.solve(posterior.factor[0], w - posterior.mean)
    log_ratio = log_ndtr(y[:, None] * (X @ w)).sum(axis=0)
    log_ratio += 0.5 * (np.square(white).sum(axis=0) - np.square(w).sum(axis=0))
    log_ratio += np.log(posterior.factor[0].diagonal()).sum()
    ratio = np.exp(log_ratio - log_ratio.max())
    estimate = np.log(ratio.mean()) + log_ratio.max()
    error = ratio.std() / ratio.mean() / np.sqrt(n)
    assert 5 * error < 0.1
    assert -5 * error < estimate - clf.log_evidence_[0] < 0.1  # EP is a little below
    weighted = (w * ratio).mean(axis=1) / ratio.mean()
    assert np.linalg.norm(weighted - posterior.mean[:, 0]) < 0.02 * np.linalg.norm(weighted)


def test_noise_is_a_ridge_of_the_hard_model():
    """log Z of EP(beta) is that of EP(0) on K + beta^2 I."""
    X, y = problem(80, 2)
    K = rbf_kernel(X, gamma=0.5)
    soft = BayesPointClassifier(
        temperature=1.0,
        kernel="precomputed",
        engine=ExpectationPropagation(noise=0.6, prior_scale=1.0, tol=1e-11),
    ).fit(K, y)
    hard = BayesPointClassifier(
        temperature=1.0,
        kernel="precomputed",
        ridge=0.36,
        engine=ExpectationPropagation(noise=0, prior_scale=1.0, tol=1e-11),
    ).fit(K, y)
    assert hard.log_evidence_[0] == pytest.approx(soft.log_evidence_[0], abs=1e-6)
    new = rbf_kernel(X[:9] + 0.1, X, gamma=0.5)
    soft_mean, hard_mean = (clf.latent_mean_and_variance(new)[0] for clf in (soft, hard))
    np.testing.assert_allclose(soft_mean, hard_mean, atol=1e-6)


def test_more_coordinates_than_points():
    X, y = problem(12, 40)
    clf = machine().fit(X, y)
    K = BayesPointClassifier(temperature=1.0, kernel="precomputed", engine=clf.engine).fit(
        X @ X.T, y
    )
    assert K.log_evidence_[0] == pytest.approx(clf.log_evidence_[0], abs=1e-7)
    np.testing.assert_allclose(K.decision_function(X @ X.T), clf.decision_function(X), atol=1e-7)


def test_noise_of_single_precision():
    """It is compared with numbers that float32 does not have."""
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2]
    engine = ExpectationPropagation(noise=np.float32(2.0))
    clf = BayesPointClassifier(engine=engine, kernel="linear", multi_class="joint").fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_an_output_of_zero_is_a_tie():
    assert _core.ep.truncation(0.0)[4] == _core.ep.truncation(-0.0)[4] == np.log(0.5)
