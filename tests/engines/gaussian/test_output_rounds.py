"""The evidence from the kernel matrix alone is that of the engine's posterior."""

import numpy as np
import pytest

from bayespoint.engines import ExpectationPropagation, Request
from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian import sites as module
from bayespoint.engines.gaussian.evidence_gradient import (
    ProcessEvidence,
    evidence_gradient,
    has_process_evidence,
)
from bayespoint.engines.gaussian.gaussians import OutputGaussian, WeightGaussian
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.engines.gaussian.sites import MatchedSites
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.kernels import ConstantKernel, RadialKernel, SumKernel
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.spaces import Coordinates
from bayespoint.tools.monitor import Monitor

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
    in_turn = ExpectationPropagation(**engine.get_params()).set_params(schedule="sequential")
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
    assert [len(one.shift) for one in warm.sites] == [80, 80]
    assert warm(3 * K)[0] == pytest.approx(ProcessEvidence(engine, y, None)(3 * K)[0], abs=1e-8)


def rounds_of(K, y, weight=None, start=None):
    """Rounds of one task with this covariance of the outputs, before the first."""
    gaussian = OutputGaussian(K)
    weight = np.ones(len(y)) if weight is None else weight
    labels = Labels(y, weight, ProbitLikelihood(), np.minimum(weight, 1))
    return Rounds(gaussian, MatchedSites(labels, gaussian), start)


def run(search, tol=1e-3, monitor=None, **parameters):
    search.run(ExpectationPropagation(tol=tol, **parameters), Progress(monitor or Monitor()))
    return search


def covariance(X, size=10.0):
    engine = ExpectationPropagation(prior_scale=1.0)
    return engine.space(kernel_of(X, size)).kernel_matrix(X)


def test_a_warm_start_takes_fewer_rounds():
    X, y = problem(80, seed=3)
    K = covariance(X)
    cold = run(rounds_of(K, y[:, 0]))
    near = run(rounds_of(1.1 * K, y[:, 0], start=cold.sites.messages()))
    again = run(rounds_of(1.1 * K, y[:, 0]))
    assert cold.reason == near.reason == ""
    assert len(near.changes) < len(again.changes)
    np.testing.assert_allclose(near.end()[1], again.end()[1], atol=5e-3)


def test_variances_are_foretold_to_first_order():
    X, _ = problem(60, seed=4)
    gaussian = OutputGaussian(covariance(X))
    rng = np.random.default_rng(0)
    rate = rng.uniform(0.05, 1.0, 60)
    step = rng.uniform(-1, 1, 60) * rate
    gaussian.factorise(rate)
    held = gaussian.moments()

    def error(size):
        gaussian.factorise(rate)
        ahead = gaussian.ahead(held, rate + size * step)
        gaussian.factorise(rate + size * step)
        exact = gaussian.moments()
        return np.abs(ahead - exact).max(), np.abs(held - exact).max()

    coarse, fine = error(1e-3), error(1e-4)
    assert fine[0] < 0.02 * coarse[0]
    assert fine[1] > 0.05 * coarse[1]  # variances that are held are not of first order


def test_many_rows_need_fewer_rounds_for_the_same_sites(monkeypatch):
    X, y = problem(module.FEW + 20, seed=5)
    K, weight = covariance(X), np.arange(len(y)) % 3 + 1.0
    foretold = run(rounds_of(K, y[:, 0], weight), 1e-8)
    monkeypatch.setattr(module, "FEW", len(X))
    held = run(rounds_of(K, y[:, 0], weight), 1e-8)
    assert foretold.reason == held.reason == ""
    np.testing.assert_allclose(foretold.sites.messages(), held.sites.messages(), atol=1e-7)
    assert len(foretold.changes) < len(held.changes)


def test_a_certain_label_has_an_exact_variance():
    """Far from others and of no doubt, a site has nearly no rate; 1 - B^-1 would cancel."""
    K = np.diag([1.0, 1e-12, 4.0])
    search = run(rounds_of(K, np.array([1, -1, 1])), 1e-8)
    assert search.reason == ""
    posterior = 1 / (1 / np.diag(K) + search.sites.messages().rate)
    np.testing.assert_allclose(search.gaussian.moments(), posterior, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_outputs_answer_as_weights_do(seed):
    """Steps, variances, determinants, weights: of one Gaussian in two coordinates."""
    rng = np.random.default_rng(seed)
    Z, scale, rate, forces = (
        rng.normal(size=(12, 9)),
        1.3,
        rng.uniform(0, 3, 12),
        rng.normal(size=12),
    )
    space, prior = Coordinates(Z), GaussianPrior(np.zeros(9), np.full(9, scale))
    found, steps = [], []
    for gaussian in (
        WeightGaussian(space, prior),
        OutputGaussian(scale**2 * Z @ Z.T, space, prior),
    ):
        gaussian.factorise(rate)
        residual = gaussian.residual(forces, gaussian.origin)
        step, change = gaussian.solve(residual)
        np.testing.assert_allclose(gaussian.push(step), change, atol=1e-10)
        square = gaussian.along(residual, step, change)
        numbers = gaussian.inner(step, step, change), square, gaussian.log_determinant
        steps.append(step)
        found.append((change, gaussian.moments(), gaussian.covary(forces), np.array(numbers)))
    np.testing.assert_allclose(prior.spread(space.pull(steps[1])), steps[0], atol=1e-10)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    # The definition.
    S = np.linalg.inv(np.eye(9) / scale**2 + (Z.T * rate) @ Z)
    np.testing.assert_allclose(found[0][1], np.diag(Z @ S @ Z.T), atol=1e-10)
    np.testing.assert_allclose(found[0][0], Z @ S @ Z.T @ forces, atol=1e-10)
    assert found[0][3][2] == pytest.approx(np.linalg.slogdet(S / scale**2)[1], abs=1e-9)


def test_it_says_that_it_did_not_converge():
    X, y = problem(40)
    K = covariance(X)
    engine = ExpectationPropagation(prior_scale=1.0, max_iter=2)
    assert ProcessEvidence(engine, y, None)(K) is None
    engine.set_params(max_iter=200)
    assert ProcessEvidence(engine, y, None)(K) is not None
    assert ProcessEvidence(engine, y, None)(-K) is None


class StopAtTwo(Monitor):
    """Ends a run after two rounds."""

    done = 0

    def update(self, done):
        self.done = done

    def should_stop(self):
        return self.done >= 2


def test_rounds_hear_who_wants_to_stop():
    X, y = problem(40)
    search = run(rounds_of(covariance(X), y[:, 0]), 1e-9, StopAtTwo())
    assert search.reason == "stopped by the monitor"
    assert len(search.changes) in (2, 3)


@pytest.mark.parametrize(
    "params", [{"label_noise": 0.1}, {"noise": 0.0}, {"likelihood": "student"}]
)
def test_which_engines_it_suits(params):
    assert has_process_evidence(ExpectationPropagation(), "sign")
    assert has_process_evidence(ExpectationPropagation(damping=0.5), "sign")
    assert not has_process_evidence(ExpectationPropagation(**params), "sign")
    assert not has_process_evidence(ExpectationPropagation(), "interval")
    assert not has_process_evidence(ExpectationPropagation(), "class")
