"""Moves that change one training output at a time, against exact integrals and other moves."""

import math

import numpy as np
import pytest
from tests.engines.sampling.test_gibbs_exact import (
    expected_quantities,
    posterior_of,
    quantities,
    z_of_chains,
    z_scores,
)
from tests.helpers.sphere import integrate, problem

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import GibbsSampler
from bayespoint.engines.sampling.gibbs import log_odds
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Outputs, dual_basis
from bayespoint.posteriors.diagnostics import effective_sample_size
from bayespoint.spaces.pivoted_cholesky import gram_schmidt


def three_points():
    """As many points as coordinates, at angles far from right ones."""
    X, _ = problem(3, seed=6)
    return X, np.array([1, -1, 1])


@pytest.mark.parametrize("q", [0.2, 0.01, 0.0])
def test_sphere(q):
    X, y = three_points()
    posterior = posterior_of(X, y, label_noise=q, directions="outputs")
    draws = posterior.to_dict()["weights"][..., 0]
    expected = expected_quantities(X, y, q)
    seen = quantities(draws, X, y)[..., : len(expected)]
    kept = np.append(np.ones(9, bool), expected[9:] > 1e-4)
    if q == 0:
        assert (seen[..., 9] == 1).all()
        kept[9:] = False
    assert np.abs(z_scores(seen[..., kept], expected[kept])).max() < 5
    np.testing.assert_allclose(posterior.mean[:, 0], expected[:3], atol=0.01)


def lines_alone(X, y, q, n_sweeps, *, weight=None, gaussian=True):
    """Sweeps without any circle: draws of w / |w|, and shares of errors in each of 20 parts."""
    halfspaces = Halfspaces.of(X, y, weight)
    moves, Y = Outputs(halfspaces), halfspaces.normals
    problem = _core.gibbs.Problem(Y, halfspaces.weight, log_odds(q))
    rng = np.random.default_rng(0)
    w = rng.standard_normal(Y.shape[1])
    draws, shares = np.empty((n_sweeps, len(w))), np.zeros((20, int(halfspaces.weight.sum()) + 1))
    for n in range(n_sweeps):
        f = Y @ w
        share = shares[20 * n // n_sweeps]
        chain = _core.gibbs.Chain(w, f, 0, 1, 1, draws, w, share)  # a move writes shares only
        _core.gibbs.move_each_output(problem, chain, moves._outputs, rng)
        assert np.abs(f - Y @ w).max() < 1e-9
        draws[n] = w / np.linalg.norm(w)
        if not gaussian:
            w = draws[n].copy()
    return draws, shares * (20 / n_sweeps)


def test_lines_alone_are_exact():
    """Also without circles; with a w of unit length, for which lines are not made, they fail."""
    X, y = three_points()
    q = 0.1
    expected = expected_quantities(X, y, q)
    draws, shares = lines_alone(X, y, q, 40_000)
    seen = quantities(draws.reshape(4, -1, 3), X, y)
    assert np.abs(z_scores(seen[..., :13], expected[:13])).max() < 5
    assert np.abs(z_of_chains(shares[:, None], integrate(X, y).posterior(q)[1])).max() < 5
    wrong, _ = lines_alone(X, y, q, 40_000, gaussian=False)
    seen = quantities(wrong.reshape(4, -1, 3), X, y)
    assert np.abs(z_scores(seen[..., :13], expected[:13])).max() > 10


def test_weights():
    """Errors cost their weight, by importance; a point that counts twice is in the histogram."""
    X, y = three_points()
    weight = np.array([0.3, 2.0, 1.4])
    W = np.random.default_rng(1).normal(size=(400_000, 3))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    likelihood = np.exp(-np.log(9) * (((W @ X.T) * y <= 0) @ weight))
    expected = likelihood @ W / likelihood.sum()
    engine = GibbsSampler(label_noise=0.1, n_samples=20_000, directions="outputs")
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
    )
    mean = clf.fit(X, y, sample_weight=weight).posterior_.mean[:, 0]
    np.testing.assert_allclose(mean, expected, atol=0.01)
    whole = np.array([1.0, 2.0, 1.0])
    _, shares = lines_alone(X, y, 0.1, 40_000, weight=whole)
    likelihood = np.exp(-np.log(9) * (errors := ((W @ X.T) * y <= 0) @ whole))
    law = np.bincount(errors.astype(int), likelihood, minlength=5) / likelihood.sum()
    assert np.abs(z_of_chains(shares[:, None], law)).max() < 5


def kernel_problem(m=40):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(m, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 0, 1, -1)


@pytest.mark.parametrize("q", [0.1, 0.0])
def test_against_circles_with_a_kernel(q):
    """Where nothing is known exactly, two ways to move agree, and outputs move farther."""
    X, y = kernel_problem()
    draws, sizes = {}, {}
    for directions in ("isotropic", "outputs"):
        engine = GibbsSampler(
            label_noise=q, n_samples=8000, thin=20, burn_in=1000, directions=directions
        )
        clf = BayesPointClassifier(
            temperature=1.0, kernel="rbf", gamma=2.0, engine=engine, random_state=0
        )
        outputs = clf.fit(X, y).sample_outputs(X)[:, :, 0].T.reshape(4, -1, len(X))
        draws[directions], sizes[directions] = outputs, effective_sample_size(outputs)
    a, b = draws["isotropic"], draws["outputs"]
    for function in (np.asarray, np.square, np.sign):
        if q == 0 and function is np.sign:
            continue
        left, right = function(a), function(b)
        error = np.hypot(
            *(
                values.std(axis=(0, 1)) / np.sqrt(effective_sample_size(values))
                for values in (left, right)
            )
        )
        assert np.abs((left.mean(axis=(0, 1)) - right.mean(axis=(0, 1))) / error).max() < 5
    assert np.median(sizes["outputs"]) > np.median(sizes["isotropic"])


def test_evidence():
    X, y = three_points()
    engine = GibbsSampler(
        label_noise=0, n_samples=20_000, thin=5, directions="outputs", evidence=True
    )
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=0
    ).fit(X, y)
    shares = integrate(X, y)
    assert clf.log_evidence_[0] == pytest.approx(math.log(shares.area[0]), abs=0.06)
    for q in (0.05, 0.3):
        expected = math.log(shares.posterior(q)[0])
        assert clf.posterior_.log_evidence_at(q)[0] == pytest.approx(expected, abs=0.03)


def test_dual_basis():
    """Rows at right angles to all points but their own, of a kernel (triangular) and of any."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    triangular, _ = gram_schmidt(A @ A.T, 1e-10, 1e-6)
    for normals in (triangular, A):
        point, rows = dual_basis(normals)
        np.testing.assert_allclose(rows @ normals[point].T, np.eye(12), atol=1e-8)
        assert sorted(point) == list(range(12))
    point, rows = dual_basis(triangular)
    assert (np.tril(rows, -1) == 0).all()


@pytest.mark.parametrize("low", [-3.0, 0.2, 0.7, 6.0, 40.0])
def test_normal_above(low):
    """Means of the tails, phi(a) / (1 - Phi(a)), by their continued fraction where they are far."""
    rng = np.random.default_rng(0)
    values = np.array([_core.gibbs.normal_above(low, rng) for _ in range(20_000)])
    density = math.exp(-0.5 * low**2) / math.sqrt(2 * math.pi)
    tail = 0.5 * math.erfc(low / math.sqrt(2))
    mean = density / tail if low < 30 else low + 1 / (low + 2 / (low + 3 / low))
    assert (values > low).all()
    assert abs(values.mean() - mean) < 5 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize(("gamma", "expected"), [(5.0, "outputs"), (0.05, "isotropic")])
def test_auto_moves_outputs_where_they_are_free(gamma, expected):
    """Same seed, same draws as the moves that it chose."""
    X, y = kernel_problem()

    def draws(directions):
        engine = GibbsSampler(n_samples=8, burn_in=10, thin=1, directions=directions)
        clf = BayesPointClassifier(
            temperature=1.0, kernel="rbf", gamma=gamma, engine=engine, random_state=0
        )
        return clf.fit(X, y).posterior_.weights

    np.testing.assert_array_equal(draws("auto"), draws(expected))


def test_too_few_coordinates():
    X, y = problem(10, seed=1)
    engine = GibbsSampler(directions="outputs")
    with pytest.raises(ValueError, match="got 3 for 10 rows"):
        BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=engine, fit_intercept=False
        ).fit(X, y)
