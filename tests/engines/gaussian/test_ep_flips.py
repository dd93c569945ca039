"""Labels that are flipped at times: moments by quadrature, whole runs by brute force."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_iris
from tests.helpers.exact import gaussian_times, grid_posterior
from tests.helpers.probit import assert_same, machine, problem

from bayespoint import _core

SCHEDULES = pytest.mark.parametrize("schedule", ["sequential", "rounds"])


def with_outlier(n=30, seed=0):
    """A 2-D problem and one far point of the wrong class."""
    X, y = problem(n, 2, noise=0.3, seed=seed)
    far = 6 * (y @ X) / np.linalg.norm(y @ X)
    return np.vstack([X, far]), np.append(y, -1)


# One site ----------------------------------------------------------------------------------------


def quadrature(m, variance, noise, flip):
    """Mean, variance and log mass of N(m, variance) times flip + (1 - 2 flip) Phi(f / beta)."""
    line = np.linspace(-13, 13, 6001)
    sd = np.sqrt(variance)
    density = np.exp(-(line**2) / 2) / np.sqrt(2 * np.pi) * (line[1] - line[0])
    density *= flip + (1 - 2 * flip) * ndtr((m + sd * line) / np.sqrt(noise))
    mass = density.sum()
    mean = density @ line / mass
    return m + sd * mean, variance * (density @ (line - mean) ** 2) / mass, np.log(mass)


def matched(m, variance, noise, flip):
    """The same of the site that belongs to the cavity; and the precision of the site."""
    a, b, _, log_p = _core.ep.match(m, variance, (_core.ep.PROBIT, noise, flip))
    return (m + a * variance) / (1 + b * variance), variance / (1 + b * variance), log_p, b


def test_a_site_has_the_moments_of_a_label_with_flips():
    rng = np.random.default_rng(0)
    precisions = []
    for flip in np.append(np.geomspace(1e-12, 0.49, 199), 0.1):
        m, variance, noise = rng.normal(0, 6), rng.uniform(0.1, 4), rng.uniform(0.1, 4)
        *found, b = matched(m, variance, noise, flip)
        np.testing.assert_allclose(found, quadrature(m, variance, noise, flip), atol=2e-11)
        precisions.append(b)
    assert min(precisions) < -0.01  # a label that looks flipped makes the output less certain
    assert max(precisions) > 0.01


@pytest.mark.parametrize("flip", [1e-12, 1e-6, 0.1, 0.49])
@pytest.mark.parametrize("t", [-1e8, -1e4, -40.0, -8.0, -5.001, -4.999])
def test_a_very_surprising_label_is_taken_for_a_flip(t, flip):
    m, variance, noise = t * np.sqrt(2.5), 2.0, 0.5
    mean, spread, log_p, _ = matched(m, variance, noise, flip)
    expected = quadrature(m, variance, noise, flip)
    np.testing.assert_allclose((mean, spread, log_p), expected, rtol=1e-10)
    if t <= -40:
        assert (mean, spread) == (m, variance)
        assert log_p == pytest.approx(np.log(flip), rel=1e-14)


def test_no_cavity_gives_nan():
    sizes = np.append(0.0, np.geomspace(1e-100, 1e8, 40))
    for flip in (1e-300, 1e-12, 0.3, 0.49):
        for t in np.concatenate([-sizes, sizes]):
            for variance, noise in ((1.0, 1.0), (1e-9, 1.0), (1.0, 0.0), (1e-20, 0.0)):
                m = t * np.sqrt(variance + noise)
                found = _core.ep.match(m, variance, (_core.ep.PROBIT, noise, flip))
                assert np.isfinite(found).all()
                assert 1 + found[1] * variance > 0


def test_without_flips_it_is_the_limit():
    for t in (-4.0, -1.0, 0.0, 2.0):
        few, none = (_core.ep.match(t, 1.5, (_core.ep.PROBIT, 0.3, flip)) for flip in (1e-13, 0.0))
        np.testing.assert_allclose(few, none, rtol=1e-7)


# Whole runs --------------------------------------------------------------------------------------


def test_one_point_is_exact():
    """With a prior mean, so that the label surprises: t = -2."""
    phi, flip = np.array([1.0, -2.0]), 0.1
    s = np.sqrt(0.49 + phi @ phi)
    mean = np.array([-2 * s / phi[0], 0.0])
    clf = machine(noise=0.7, label_noise=flip, prior_mean=mean)
    clf.partial_fit([phi], [1], classes=[-1, 1])
    p = flip + (1 - 2 * flip) * ndtr(-2.0)
    V = (1 - 2 * flip) * np.exp(-2.0) / np.sqrt(2 * np.pi) / p
    W = V * (V - 2.0)
    assert clf.log_evidence_[0] == pytest.approx(np.log(p), rel=1e-12)
    np.testing.assert_allclose(clf.coef_[0], mean + phi * V / s, rtol=1e-11)
    expected = np.eye(2) - np.outer(phi, phi) * W / s**2
    np.testing.assert_allclose(clf.posterior_.covariance[0], expected, rtol=1e-11)
    assert W < 0  # negative precision


def test_brute_force_in_two_dimensions():
    """Sites are any Gaussians of w, with the moments of a grid."""
    X, y = problem(6, 2, seed=3)
    X[0] *= 3
    y[0] = -y[0]
    P, r = np.zeros((6, 2, 2)), np.zeros((6, 2))
    for _ in range(16):
        for i in range(6):
            P_cavity = np.eye(2) + P.sum(axis=0) - P[i]
            r_cavity = r.sum(axis=0) - r[i]
            mean, covariance = gaussian_times(
                P_cavity, r_cavity, lambda w, i=i: 0.1 + 0.8 * ndtr(y[i] * w @ X[i] / 0.8)
            )
            P[i] = np.linalg.inv(covariance) - P_cavity
            r[i] = np.linalg.solve(covariance, mean) - r_cavity
    covariance = np.linalg.inv(np.eye(2) + P.sum(axis=0))
    clf = machine(noise=0.8, label_noise=0.1).fit(X, y)
    np.testing.assert_allclose(clf.posterior_.covariance[0], covariance, atol=1e-9)
    np.testing.assert_allclose(clf.coef_[0], covariance @ r.sum(axis=0), atol=1e-9)
    assert clf.posterior_.messages.rate.min() < 0


@SCHEDULES
def test_the_posterior_is_near_the_exact_one(schedule):
    X, y = with_outlier(12)

    def is_near(clf):
        mean, covariance, log_evidence = grid_posterior(
            lambda w: np.prod(0.05 + 0.9 * ndtr(y * (w @ X.T)), axis=-1)
        )
        gap = np.abs(clf.coef_[0] - mean) / np.sqrt(covariance.diagonal())
        spread = np.linalg.norm(clf.posterior_.covariance[0] - covariance)
        return (
            gap.max() < 0.1
            and spread < 0.15 * np.linalg.norm(covariance)
            and abs(clf.log_evidence_[0] - log_evidence) < 0.1
        )

    assert is_near(machine(label_noise=0.05, schedule=schedule).fit(X, y))
    assert not is_near(machine(schedule=schedule).fit(X, y))


def test_both_schedules_rest_at_the_same_point():
    for seed in range(3):
        X, y = with_outlier(60, seed)
        fits = [
            machine(label_noise=0.05, noise=0.5, schedule=schedule, tol=1e-9).fit(X, y)
            for schedule in ("sequential", "rounds")
        ]
        assert_same(*fits, atol=1e-6)
        assert fits[0].posterior_.messages.rate.min() < 0


@SCHEDULES
def test_weights_are_copies(schedule):
    X, y = with_outlier(40)
    weight = np.random.default_rng(1).integers(1, 5, 41)
    copies = np.repeat(np.arange(41), weight)
    weighted = machine(label_noise=0.1, schedule=schedule).fit(X, y, sample_weight=weight)
    copied = machine(label_noise=0.1, schedule=schedule).fit(X[copies], y[copies])
    assert_same(weighted, copied, atol=1e-9)
    left_out = weighted.posterior_.left_out_log_probability[copies]
    np.testing.assert_allclose(left_out, copied.posterior_.left_out_log_probability, atol=1e-9)


def test_the_fewer_flips_the_nearer_to_none():
    X, y = problem(40, 3)
    none = machine().fit(X, y)
    gaps = [
        np.abs(machine(label_noise=flip).fit(X, y).coef_ - none.coef_).max()
        for flip in (1e-2, 1e-4, 1e-6, 1e-10)
    ]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] < 1e-8


@pytest.mark.parametrize("flip", [0.01, 0.2])
def test_gross_errors_move_the_bayes_point_less(flip):
    X, y = problem(80, 3)
    far, wrong = np.vstack([X, 20 * X[:4]]), np.append(y, -y[:4])

    def turn(**parameters):
        before, after = (
            machine(**parameters).fit(*data).coef_[0] for data in ((X, y), (far, wrong))
        )
        return before @ after / np.linalg.norm(before) / np.linalg.norm(after)

    assert turn(label_noise=flip) > 0.98 > 0.9 > turn()


# Predictions -------------------------------------------------------------------------------------


def test_probabilities_have_the_flips():
    X, y = with_outlier()
    clf = machine(label_noise=0.1, noise=0.6).fit(X, y)
    scores = clf.decision_function(X)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 0.1 + 0.8 * ndtr(scores), rtol=1e-12)
    mean, variance = clf.latent_mean_and_variance(X)
    np.testing.assert_allclose(scores, mean / np.sqrt(0.36 + variance))
    assert (clf.predict(X) == np.where(scores > 0, 1, -1)).all()


def test_drawn_classifiers_average_to_the_probabilities():
    X, y = with_outlier()
    clf = machine(label_noise=0.1, noise=0.6).fit(X, y)
    drawn = clf.sample_proba(X, n_samples=4000, random_state=0)
    assert drawn.min() >= 0.1
    assert drawn.max() <= 0.9
    error = drawn.std(axis=0) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - clf.predict_proba(X)) < 5 * error).all()
    plain = machine(noise=0.6).fit(X, y).predict_proba(X)  # the wrong model
    assert (np.abs(drawn.mean(axis=0) - plain) > 5 * error).any()


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    clf = machine(label_noise=0.05).fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    yes = 0.05 + 0.9 * ndtr(clf.posterior_.decision(X, "bayes_point"))
    odds = yes / (1 - yes)
    np.testing.assert_allclose(clf.decision_function(X), np.log(odds), rtol=1e-10)
    np.testing.assert_allclose(p, odds / odds.sum(axis=1, keepdims=True), rtol=1e-10)
    assert clf.score(X, y) > 0.9


@SCHEDULES
@pytest.mark.parametrize("noise", [0, 1e-6])
def test_flips_make_hard_labels_bearable(noise, schedule):
    """Classes that cannot be separated, without noise of outputs: flips explain the mistakes."""
    X, y = problem(60, 2, noise=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = machine(noise=noise, label_noise=0.1, schedule=schedule, tol=1e-6).fit(X, y)
    for values in (clf.coef_, clf.posterior_.factor, clf.log_evidence_, clf.predict_proba(X)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("value", [-0.1, 0.5, 1, np.nan, "0.1", None])
def test_bad_rates(value):
    expected = "The 'label_noise' parameter of ExpectationPropagation must be .* Got .* instead"
    with pytest.raises(ValueError, match=expected):
        machine(label_noise=value).fit([[0.0], [1.0]], [0, 1])
