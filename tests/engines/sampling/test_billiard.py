"""The billiard against exact integrals over version space."""

import numpy as np
import pytest
from tests.helpers.sphere import integrate, problem

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import BilliardSampler, GibbsSampler
from bayespoint.engines.base import StepProgress
from bayespoint.engines.sampling.billiard import ENDLESS, Billiard
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.exceptions import EmptyVersionSpaceError
from bayespoint.posteriors.diagnostics import effective_sample_size
from bayespoint.tools.monitor import Monitor

TRAP = 56  # seed of a problem whose billiard goes to and fro between two walls for ever


def machine(**parameters):
    engine = BilliardSampler(**parameters)
    return BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
    )


def degrees(a, b):
    return np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))


def launched(halfspaces, rng, refresh=np.inf, spacing=np.inf):
    """A ball on its way."""
    ball = _core.billiard.new_ball(halfspaces.inside(), len(halfspaces.normals))
    _core.billiard.launch(ball.w, ball.v, rng)
    _core.billiard.count_anew(ball, spacing)
    ball.clock[2] = refresh
    return ball


def played(X, y, n_bounces, refresh, seed=0):
    """Mean of w over the arc length, and the mean free path."""
    halfspaces, rng = Halfspaces.of(X, y, None), np.random.default_rng(seed)
    Y, ball = halfspaces.normals, launched(halfspaces, rng, refresh)
    nothing = np.empty((1, X.shape[1]))
    _core.billiard.play(Y, Y @ Y.T, ball, refresh, np.inf, n_bounces, np.inf, ENDLESS, rng, nothing)
    arc = ball.clock[0]
    return ball.integral / arc, arc / n_bounces


@pytest.mark.parametrize("seed", [1, 7])
def test_version_space(seed):
    X, y = problem(10, seed=seed)
    posterior = machine(n_samples=8000).fit(X, y).posterior_
    _, _, mean, second = integrate(X, y).posterior(0.0)
    assert degrees(posterior.mean[:, 0], mean) < 0.3
    draws = posterior.to_dict()["weights"][..., 0]
    assert ((draws @ (X * y[:, None]).T) > 0).all()
    np.testing.assert_allclose(np.linalg.norm(draws, axis=2), 1, atol=1e-12)
    i, j = np.triu_indices(3)
    seen = np.concatenate([draws, draws[:, :, i] * draws[:, :, j]], axis=2)
    error = seen.std(axis=(0, 1)) / np.sqrt(effective_sample_size(seen))
    expected = np.concatenate([mean, second[i, j]])
    assert np.abs((seen.mean(axis=(0, 1)) - expected) / error).max() < 5


def test_a_trapped_orbit_is_freed_by_new_velocities():
    X, y = problem(10, seed=TRAP)
    centre = integrate(X, y).posterior(0.0)[2]
    for n_bounces in (10_000, 100_000):
        trapped, free_path = played(X, y, n_bounces, np.inf)
        assert degrees(trapped, centre) > 9
    for seed in range(5):
        freed, _ = played(X, y, 50_000, 10 * free_path, seed)
        assert degrees(freed, centre) < 0.5
    assert degrees(machine(n_samples=4000).fit(X, y).posterior_.mean[:, 0], centre) < 0.5


def test_bounce_points_are_biased():
    """Why the mean is over the arc length: at the bounces w is always at a wall."""
    X, y = problem(10, seed=1)
    centre = integrate(X, y).posterior(0.0)[2]
    halfspaces = Halfspaces.of(X, y, None)
    Y, rng = halfspaces.normals, np.random.default_rng(0)
    ball, bounces = launched(halfspaces, rng), np.zeros(3)
    for _ in range(20_000):
        _core.billiard.launch(ball.w, ball.v, rng)
        _core.billiard.count_anew(ball, np.inf)
        nothing = np.empty((1, 3))
        _core.billiard.play(Y, Y @ Y.T, ball, np.inf, np.inf, 1, np.inf, ENDLESS, rng, nothing)
        bounces += ball.w
    assert degrees(bounces, centre) > 0.6


def test_with_and_without_inner_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    y = np.where(X @ rng.normal(size=8) > 0, 1, -1)
    halfspaces = Halfspaces.of(X, y, None)
    Y, results = halfspaces.normals, []
    for gram in (Y @ Y.T, np.empty((0, 0))):
        rng = np.random.default_rng(1)
        ball, samples = launched(halfspaces, rng, 1.0, 0.01), np.empty((50, 8))
        _core.billiard.play(Y, gram, ball, 1.0, 0.01, ENDLESS, np.inf, ENDLESS, rng, samples)
        results.append(samples)
    np.testing.assert_allclose(*results, atol=1e-6)


def test_samples_are_equally_far_apart_on_a_free_flight():
    """One wall only: great circles that are reflected at it, the arc between samples is exact."""
    Y = np.array([[1.0, 0.0, 0.0]])
    ball = _core.billiard.new_ball(np.array([1.0, 0.0, 0.0]), 1)
    ball.v[:] = 0.0, 1.0, 0.0
    samples, rng = np.empty((7, 3)), np.random.default_rng(0)
    _core.billiard.count_anew(ball, 0.2)
    _core.billiard.play(Y, Y @ Y.T, ball, np.inf, 0.2, ENDLESS, np.inf, ENDLESS, rng, samples)
    t = 0.2 * np.arange(1, 8)
    expected = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    np.testing.assert_allclose(samples, expected, atol=1e-14)
    np.testing.assert_allclose(ball.integral, [np.sin(1.4), 1 - np.cos(1.4), 0], atol=1e-14)
    assert (ball.clock[0], ball.clock[2]) == (pytest.approx(1.4), np.inf)
    samples = np.empty((1, 3))  # to the wall at pi/2 and back: 1.4 + 0.3 is as far as pi - 1.7
    _core.billiard.count_anew(ball, 0.3)
    _core.billiard.play(Y, Y @ Y.T, ball, np.inf, 0.3, ENDLESS, np.inf, ENDLESS, rng, samples)
    np.testing.assert_allclose(samples[0], [np.cos(np.pi - 1.7), np.sin(1.7), 0], atol=1e-14)


def test_agrees_with_gibbs_in_feature_space():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > X[:, 1] ** 2 - 1
    new = rng.normal(size=(200, 2))
    shares = []
    for engine in (BilliardSampler(thin=40), GibbsSampler(label_noise=0, thin=200)):
        clf = BayesPointClassifier(
            temperature=1.0, kernel="poly", degree=2, engine=engine, random_state=0
        )
        shares.append(clf.fit(X, y).vote_shares(new)[:, 1])
    assert np.abs(shares[0] - shares[1]).max() < 0.12
    assert np.abs(shares[0] - shares[1]).mean() < 0.02


def test_classes_that_cannot_be_separated():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(EmptyVersionSpaceError, match="label_noise > 0") as caught:
        machine().fit(X, [0, 1, 1])
    assert caught.value.n_points == 3
    assert caught.value.n_wrong >= 1


def test_a_call_ends_after_some_events():
    """However often the velocity is drawn anew, so that an interrupt can be heard."""
    rng = np.random.default_rng(0)
    halfspaces = Halfspaces.of(rng.normal(size=(5, 3)) + 3, np.ones(5), None)
    Y, ball = halfspaces.normals, launched(halfspaces, rng, refresh=1e-300, spacing=1.0)
    samples = np.empty((5, 3))
    done = _core.billiard.play(Y, Y @ Y.T, ball, 1e-300, 1.0, ENDLESS, np.inf, 1000, rng, samples)
    assert not done and ball.counts[0] == 1000
    ball.clock[0] = 1.0  # which 1e-300 does not change
    engine = Billiard(halfspaces, 10, 1e-300, StepProgress(Monitor(), 100))
    with pytest.raises(ValueError, match="The ball does not move"):
        engine._play(ball, 1e-300, 1.0, ENDLESS, np.inf, rng, samples)
