"""The Gibbs sampler against exact integrals over the sphere."""

import math

import numpy as np
import pytest
from tests.helpers.inner import callable_here
from tests.helpers.slow import kernel_gibbs
from tests.helpers.sphere import integrate, problem

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import GibbsSampler
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Circles, Record
from bayespoint.posteriors.diagnostics import effective_sample_size


def posterior_of(X, y, **parameters):
    engine = GibbsSampler(**{"n_samples": 20_000, "thin": 5, "burn_in": 200} | parameters)
    machine = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
    )
    return machine.fit(X, y).posterior_


def z_scores(draws, expected):
    """How many standard errors the means over (chain, draw) are away from what is expected."""
    size = effective_sample_size(draws)
    flat = draws.reshape(-1, *draws.shape[2:])
    return (flat.mean(axis=0) - expected) / (flat.std(axis=0) / np.sqrt(size))


def quantities(draws, X, y):
    """w, the six entries of w w^T, and whether there are k = 0 ... 5 errors."""
    i, j = np.triu_indices(3)
    errors = ((draws @ (X * y[:, None]).T) <= 0).sum(axis=2)
    is_k = errors[:, :, None] == np.arange(6)
    return np.concatenate([draws, draws[:, :, i] * draws[:, :, j], is_k], axis=2)


def expected_quantities(X, y, q):
    _, law, mean, second = integrate(X, y).posterior(q)
    return np.concatenate([mean, second[np.triu_indices(3)], law[:6]])


# The posterior ---------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.2, 0.01, 1e-4])
def test_sphere(q):
    X, y = problem(10, seed=1, n_flips=3)
    posterior = posterior_of(X, y, label_noise=q, thin=10)
    draws = posterior.to_dict()["weights"][..., 0]
    expected = expected_quantities(X, y, q)
    seen = quantities(draws, X, y)
    likely = expected[9:] > 1e-4
    kept = np.append(np.ones(9, bool), likely)
    assert np.abs(z_scores(seen[..., kept], expected[kept])).max() < 5
    law = seen[..., 9:].mean(axis=(0, 1))
    assert np.abs(law - expected[9:]).sum() / 2 < 0.02
    # The Bayes point of all moves, which is nearer than that of the samples kept.
    np.testing.assert_allclose(posterior.mean[:, 0], expected[:3], atol=0.01)
    np.testing.assert_allclose(np.linalg.norm(draws, axis=2), 1, atol=1e-12)


def test_version_space():
    X, y = problem(10, seed=1)
    posterior = posterior_of(X, y, label_noise=0)
    draws = posterior.to_dict()["weights"][..., 0]
    assert ((draws @ (X * y[:, None]).T) > 0).all()
    expected = expected_quantities(X, y, 0.0)[:9]
    assert np.abs(z_scores(quantities(draws, X, y)[..., :9], expected)).max() < 5
    _, _, mean, second = integrate(X, y).posterior(0.0)
    seen = np.cov(draws.reshape(-1, 3).T)
    np.testing.assert_allclose(seen, second - np.outer(mean, mean), atol=3e-3)


def test_the_reference_is_exact():
    """Area of a triangle by its angles; sums and symmetry of the shares."""
    X, y = problem(3, seed=2)
    shares = integrate(X, y)
    unit = X * y[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    corners = [math.pi - math.acos(unit[i] @ unit[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert shares.area[0] == pytest.approx((sum(corners) - math.pi) / (4 * math.pi), rel=1e-4)
    assert shares.area.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(shares.area, shares.area[::-1], atol=1e-12)
    np.testing.assert_allclose(shares.first.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(shares.second.sum(axis=0), np.eye(3) / 3, atol=1e-6)


# The direction law -----------------------------------------------------------------------------


def skewed():
    rng = np.random.default_rng(3)
    return rng.normal(size=(4, 3)) * [3.0, 1.0, 1.0], np.array([1, -1, 1, 1])


def test_without_labels_all_directions_are_alike():
    """q = 1/2: the posterior is the prior, however skewed the data."""
    X, y = skewed()
    posterior = posterior_of(X, y, label_noise=0.5)
    draws = posterior.to_dict()["weights"][..., 0]
    assert np.abs(z_scores(draws**2, 1 / 3)).max() < 5


def test_independent_coefficients_are_another_prior():
    """Directions sum_i nu_i x_i sample L(w) (w.C^-1 w)^(-(d-2)/2), C = X^T X: the control fails."""
    X, y = skewed()
    rng = np.random.default_rng(0)
    iid = kernel_gibbs(X, y, 0.5, 60, 4000, rng, iid_coefficients=True)[20:].swapaxes(0, 1)
    right = kernel_gibbs(X, y, 0.5, 60, 4000, rng)[20:].swapaxes(0, 1)
    assert np.abs(z_of_chains(right**2, 1 / 3)).max() < 5
    assert np.abs(z_of_chains(iid**2, 1 / 3)).max() > 20
    W = rng.normal(size=(1_000_000, 3))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    density = np.einsum("ni,ij,nj->n", W, np.linalg.inv(X.T @ X), W) ** -0.5
    predicted = density @ W**2 / density.sum()
    assert np.abs(z_of_chains(iid**2, predicted)).max() < 6  # both sides are sampled


def z_of_chains(draws, expected):
    """z-scores from the means of many chains, (n_chains, n_draws, ...)."""
    means = draws.mean(axis=1)
    return (means.mean(axis=0) - expected) / (means.std(axis=0, ddof=1) / np.sqrt(len(means)))


def test_against_the_steps_of_the_paper():
    """In more dimensions, where nothing is known exactly: two implementations agree."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 6))
    y = np.where(X[:, 0] + rng.normal(size=12) > 0, 1, -1)
    slow = kernel_gibbs(X, y, 0.1, 300, 400, rng)[50::10].swapaxes(0, 1)
    draws = posterior_of(X, y, label_noise=0.1).to_dict()["weights"][..., 0]
    for function in (np.asarray, np.square):
        a, b = function(slow), function(draws)
        error_a = a.mean(axis=1).std(axis=0) / np.sqrt(len(a))
        error_b = b.std(axis=(0, 1)) / np.sqrt(effective_sample_size(b))
        difference = a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))
        assert np.abs(difference / np.hypot(error_a, error_b)).max() < 5


# Bookkeeping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("clustered", [False, True])
def test_tracked_errors_are_recounted_errors(clustered):
    """Errors of all arcs, and of their mirror images, by evaluating each; also in few buckets."""
    rng = np.random.default_rng(0)
    core = _core.gibbs
    find_crossings, sort_places, draw_place = map(
        callable_here, (core.crossings, core.sort_places, core.draw_place)
    )
    for _ in range(100):
        m = int(rng.integers(1, 60))
        weight = rng.integers(1, 4, m).astype(float)
        path = core.new_path(m, 1)
        f, path.g[:] = rng.normal(size=(2, m))
        if clustered:
            path.g[:] *= 1e-6
        find_crossings(f, weight, path)
        sort_places(path, math.pi)
        assert np.array_equal(np.sort(path.place), path.edge[1:-1])
        assert np.array_equal(path.place[path.order], path.edge[1:-1])
        theta = rng.uniform(0, 3)
        histogram = np.zeros(int(weight.sum()) + 1)
        z, n = draw_place(path, theta, math.pi, 2 * math.pi, histogram, rng)
        assert (path.edge[0], path.edge[-1]) == (0, math.pi)
        middle = (path.edge[1:] + path.edge[:-1]) / 2
        recount, mirror = (
            (np.cos(t)[:, None] * f + np.sin(t)[:, None] * path.g <= 0) @ weight
            for t in (middle, middle + math.pi)
        )
        assert np.array_equal(path.errors, recount)
        assert np.array_equal(weight.sum() - path.errors, mirror)
        expected = np.diff(path.edge) * np.exp(-theta * np.array([recount, mirror]))
        expected /= expected.sum()
        mass = np.zeros(2 * m + 2)
        mass[path.piece[:n]] = path.mass[:n] / path.mass[:n].sum()
        np.testing.assert_allclose(mass, expected.ravel(), atol=1e-14)
        counted = np.zeros(len(histogram))
        np.add.at(counted, np.array([recount, mirror]).astype(int), expected)
        np.testing.assert_allclose(histogram, counted, atol=1e-12)
        assert 0 <= z <= 2 * math.pi


def test_crossings_are_arc_tangents():
    rng = np.random.default_rng(0)
    path = _core.gibbs.new_path(10_000, 1)
    f, g = rng.normal(size=(2, 10_000)) * 10.0 ** rng.integers(-8, 8, (2, 10_000))
    f[:5], g[:5] = [0, 0, 1, -1, 0], [1, -1, 0, 0, 0]
    path.g[:] = g
    callable_here(_core.gibbs.crossings)(f, np.ones(10_000), path)
    assert ((path.place >= 0) & (path.place <= math.pi)).all()
    away = np.abs(path.place - (np.arctan2(g, f) + math.pi / 2) % math.pi)[5:]
    assert np.minimum(away, math.pi - away).max() < 2e-15
    assert np.array_equal(path.change, np.where(f <= 0, -1, 1))


def moved(Y, w, theta, n, rng):
    """The w's of n moves on circles, as they were sampled, and where the last of them led."""
    m, d = Y.shape
    circles = Circles(Halfspaces(Y, np.ones(m), 0.0))
    samples, state = np.empty((n, d)), circles.state(w, rng)
    circles.sample(theta, (0, n), state, rng, Record(1, samples, np.zeros(d), np.empty(0)))
    return samples, state.w


@pytest.mark.parametrize("q", [0.0, 1e-6, 0.05, 0.5])
def test_long_chains_stay_on_the_sphere_and_in_version_space(q):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, 60))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    w = np.linalg.solve(Y, np.ones(60))
    samples, w = moved(Y, w, math.inf if q == 0 else math.log((1 - q) / q), 20_000, rng)
    assert np.abs(np.linalg.norm(samples, axis=1) - 1).max() < 1e-12
    assert abs(np.linalg.norm(w) - 1) < 1e-12
    if q == 0:
        assert (samples @ Y.T > 0).all()


def test_a_start_on_a_wall():
    """w0 = x_i / |x_i|, where <v, x_i> = 0 for every direction v: nothing is divided by it."""
    X, y = problem(10, seed=1, n_flips=3)
    Y = X * y[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    samples, _ = moved(Y, Y[3], 1.0, 100, np.random.default_rng(0))
    assert np.isfinite(samples).all()
