"""The evidence from the kernel matrix alone is that of the engine's posterior."""

import numpy as np
import pytest

from bayespoint.engines import ExpectationPropagation, Request
from bayespoint.engines.gaussian import gaussians
from bayespoint.engines.gaussian.evidence_gradient import ProcessEvidence, evidence_gradient
from bayespoint.engines.gaussian.gaussians import Rounds, suits_rounds
from bayespoint.kernels import ConstantKernel, RadialKernel, SumKernel

NAMES = ("weights__0", "weights__1", "terms__0__gamma")


def problem(n, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1, -1).astype(np.int8)
    return X, np.column_stack([y, np.roll(y, 1)])


def kernel_of(X, size):
    kernel = SumKernel([RadialKernel(gamma=0.3), ConstantKernel()], weights=[size, 1.0])
    return kernel.fitted(X)


def by_sweeps(engine, kernel, X, y, weight=None):
    """Evidence and derivatives of the posterior of the weights, whose sites change in turn."""
    in_turn = ExpectationPropagation(**engine.get_params()).set_params(damping=1.0)
    space = engine.space(kernel).fit(X)
    posterior, run = in_turn.run(space, y, Request(sample_weight=weight))
    assert run.converged
    slopes = evidence_gradient(in_turn, space, X, y, posterior, NAMES, weight)
    return posterior.log_evidence.sum(), slopes


def by_rounds(engine, kernel, X, y, weight=None):
    space = engine.space(kernel)
    value, pull = ProcessEvidence(engine, y, weight)(space.kernel_matrix(X))
    return value, {name: space.slope(X, name, pull) for name in NAMES}


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_and_slopes_are_those_of_sweeps(size, weighted):
    """Two ways to one fixed point: they agree to the root of rounding times the number of rows."""
    X, y = problem(60)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    engine = ExpectationPropagation(prior_scale=1.5, noise=0.7, tol=1e-9)
    slow = by_sweeps(engine, kernel_of(X, size), X, y, weight)
    fast = by_rounds(engine, kernel_of(X, size), X, y, weight)
    assert fast[0] == pytest.approx(slow[0], abs=1e-7)
    for name in NAMES:
        assert fast[1][name] == pytest.approx(slow[1][name], rel=1e-5, abs=1e-6)
    # Cavities that are held for ever, those of the first round, must not pass.
    held, _ = by_rounds(engine.set_params(tol=np.inf), kernel_of(X, size), X, y, weight)
    assert held != pytest.approx(slow[0], abs=1e-7)


def test_the_slope_is_that_of_the_value():
    X, y = problem(40, seed=2)
    engine = ExpectationPropagation(prior_scale=1.0, tol=1e-10)
    _, slopes = by_rounds(engine, kernel_of(X, 10.0), X, y)
    h = 1e-4
    there, back = (by_rounds(engine, kernel_of(X, 10.0 * np.exp(s)), X, y)[0] for s in (h, -h))
    assert slopes["weights__0"] == pytest.approx((there - back) / (2 * h), rel=1e-6)


def test_where_it_begins_does_not_matter():
    X, y = problem(80, seed=3)
    engine = ExpectationPropagation(prior_scale=1.0, tol=1e-9)
    K = engine.space(kernel_of(X, 10.0)).kernel_matrix(X)
    warm = ProcessEvidence(engine, y, None)
    warm(K)
    n_before = [len(part) for part in warm.sites[0]]
    assert n_before == [80, 80]
    assert warm(3 * K)[0] == pytest.approx(ProcessEvidence(engine, y, None)(3 * K)[0], abs=1e-8)


def test_a_warm_start_takes_fewer_rounds():
    X, y = problem(80, seed=3)
    engine = ExpectationPropagation(prior_scale=1.0, tol=1e-3)
    K = engine.space(kernel_of(X, 10.0)).kernel_matrix(X)
    labels = y[:, 0].astype(float), np.ones(len(y))
    cold, near = Rounds(K, labels, engine), Rounds(1.1 * K, labels, engine)
    assert cold.converge(None)
    assert near.converge(cold.sites)
    assert len(near.moves) < len(cold.moves)


def rounds_of(X, y, tol=1e-3):
    engine = ExpectationPropagation(prior_scale=1.0, tol=tol)
    K = engine.space(kernel_of(X, 10.0)).kernel_matrix(X)
    return Rounds(K, (y[:, 0].astype(float), np.arange(len(y)) % 3 + 1.0), engine)


def test_variances_are_foretold_to_first_order():
    rounds = rounds_of(*problem(60, seed=4))
    assert rounds.converge(None)
    (a, b), e = rounds.sites, rounds.e
    step = np.random.default_rng(0).uniform(-1, 1, 60) * b

    def error(size):
        rounds.sites = a, b
        assert rounds.factorise()
        rounds.sites = a, b + size * step
        known = rounds.foretold()
        assert rounds.factorise()
        exact = 1 / (1 / rounds.e - rounds.sites[1])
        held = 1 / (1 / e - rounds.sites[1])
        return np.abs(known - exact).max(), np.abs(held - exact).max()

    coarse, fine = error(1e-3), error(1e-4)
    assert fine[0] < 0.02 * coarse[0]
    assert fine[1] > 0.05 * coarse[1]  # variances that are held are not of first order


def test_many_rows_need_fewer_rounds_for_the_same_sites(monkeypatch):
    X, y = problem(gaussians.FEW + 20, seed=5)
    foretold, held = rounds_of(X, y, tol=1e-8), rounds_of(X, y, tol=1e-8)
    assert foretold.converge(None)
    monkeypatch.setattr(gaussians, "FEW", len(X))
    assert held.converge(None)
    np.testing.assert_allclose(foretold.sites, held.sites, atol=1e-7)
    assert len(foretold.moves) < len(held.moves)


def test_a_certain_label_has_an_exact_variance():
    """Far from others and of no doubt, a site has nearly no rate; 1 - B^-1 would cancel."""
    K = np.diag([1.0, 1e-12, 4.0])
    engine = ExpectationPropagation(prior_scale=1.0, tol=1e-8)
    rounds = Rounds(K, (np.array([1.0, -1.0, 1.0]), np.ones(3)), engine)
    assert rounds.converge(None)
    posterior = 1 / (1 / np.diag(K) + rounds.sites[1])
    np.testing.assert_allclose(rounds.e, posterior, rtol=1e-6)


def test_it_says_that_it_did_not_converge(monkeypatch):
    X, y = problem(40)
    engine = ExpectationPropagation(prior_scale=1.0)
    K = engine.space(kernel_of(X, 10.0)).kernel_matrix(X)
    monkeypatch.setattr(gaussians, "MOST_ROUNDS", 1)
    assert ProcessEvidence(engine, y, None)(K) is None
    assert ProcessEvidence(engine, y, None)(-K) is None


def test_rounds_hear_who_wants_to_stop():
    X, y = problem(40)
    engine = ExpectationPropagation(prior_scale=1.0)
    K = engine.space(kernel_of(X, 10.0)).kernel_matrix(X)
    rounds, asked = Rounds(K, (y[:, 0].astype(float), np.ones(40)), engine), []
    assert not rounds.converge(None, lambda: bool(asked.append(1)) or len(asked) == 2)
    assert len(rounds.moves) == 2


@pytest.mark.parametrize("params", [{"label_noise": 0.1}, {"noise": 0.0}, {"damping": 0.5}])
def test_which_engines_it_suits(params):
    assert suits_rounds(ExpectationPropagation(), "binary")
    assert not suits_rounds(ExpectationPropagation(**params), "binary")
    assert not suits_rounds(ExpectationPropagation(), "ordinal")
