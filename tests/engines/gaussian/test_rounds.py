"""Rounds: the line search, when they end, and that all ways lead to one fixed point."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from tests.helpers.joint import Plain
from tests.helpers.probit import learn, prior, problem, separable, slow_sweeps

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, Request
from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.gaussians import OutputGaussian, WeightGaussian
from bayespoint.engines.gaussian.rounds import FLAT, TRIALS, LineSearch, Rounds
from bayespoint.engines.gaussian.sites import MatchedSites, TangentSites
from bayespoint.engines.gaussian.tasks import ACTIVE, EXHAUSTED, STALLED, STOPPED, Labels
from bayespoint.kernels import PolynomialKernel
from bayespoint.likelihoods import (
    LogisticLikelihood,
    OrdinalProbitLikelihood,
    ProbitLikelihood,
    StudentLikelihood,
)
from bayespoint.posteriors import Messages
from bayespoint.spaces import Coordinates, ProcessSpace
from bayespoint.tools.monitor import Monitor

ENGINE = ExpectationPropagation(tol=1e-6, max_iter=3)

# The line search ---------------------------------------------------------------------------------


def shares(slope, bend, **params):
    """All shares that a search along a line tries."""
    search, tried = LineSearch(slope(0.0)), []
    while search is not None:
        tried.append(search.t)
        search = search.next(slope(search.t), bend(search.t), **params)
    return tried


@pytest.mark.parametrize("best", [0.01, 0.3, 1.0, 7.0, 1e4])
def test_a_quadratic_function_is_solved_at_once(best):
    tried = shares(lambda t: t - best, lambda t: 1.0)
    assert len(tried) <= 2
    assert tried[-1] == pytest.approx(best, rel=2 * FLAT)


@pytest.mark.parametrize("best", [0.003, 0.4, 30.0])
def test_a_newton_step_that_overshoots_stays_in_the_bracket(best):
    """Curvatures vanish far from the minimum, as those of the logistic do."""

    def slope(t):
        return expit(10 * (t - best)) - 0.5 + 1e-3 * (t - best)

    def bend(t):
        p = expit(10 * (t - best))
        return 10 * p * (1 - p) + 1e-3

    tried = shares(slope, bend)
    assert len(tried) < 20
    assert abs(slope(tried[-1])) <= -FLAT * slope(0.0)


def test_short_steps_will_do_where_trials_are_expensive():
    assert shares(lambda t: t - 7.0, lambda t: 1.0, may_be_short=True) == [1.0]
    assert shares(lambda t: t - 0.5, lambda t: 1.0, may_be_short=True) == [1.0, 0.5]


@pytest.mark.parametrize("slope", [np.nan, 1.0, -1.0])
def test_a_search_without_end_ends(slope):
    assert len(shares(lambda t: slope if t else -1e-9, lambda t: 1.0)) == TRIALS + 1


# When rounds end ---------------------------------------------------------------------------------


class Pretended(Rounds):
    """Rounds whose moves, decrements and changes of outputs are given."""

    def __init__(self, lefts, *, has_cavities, decrements=None):
        X, y = problem(5, 2)
        gaussian = WeightGaussian(Coordinates(X), prior(2))
        weight = np.ones(len(y))
        if has_cavities:
            sites = MatchedSites(Labels(y, weight, ProbitLikelihood(), weight), gaussian)
        else:
            labels = Labels(y, weight, LogisticLikelihood(), weight)
            sites = TangentSites(labels, gaussian, 1e-10)
        super().__init__(gaussian, sites)
        self.lefts, self.decrements = iter(lefts), iter(decrements or lefts)
        self.is_near = True

    def visit(self, active=None):
        self.left = next(self.lefts)
        self.last_decrement, self.decrement = self.decrement, next(self.decrements)


@pytest.mark.parametrize("has_cavities", [True, False])
@pytest.mark.parametrize(
    ("lefts", "should_stop", "reason"),
    [
        ([1e-7], False, ""),
        ([1e-2], False, ACTIVE),
        ([1e-2], True, STOPPED),
        ([1e-7], True, ""),
        ([1.0, 0.05, 0.002], False, EXHAUSTED),
        ([1.0, 0.05, 1e-8], False, ""),
    ],
)
def test_when_rounds_end(lefts, should_stop, reason, has_cavities):
    search = Pretended(lefts, has_cavities=has_cavities)
    for _ in lefts:
        search.visit()
        search.go_on(ENGINE, should_stop)
    assert search.reason == reason
    assert search.changes == lefts


@pytest.mark.parametrize(
    ("is_near", "decrements", "reason"),
    [
        (True, [1e-3, 9e-4], ""),  # they fall no more though the last step was small: rounding
        (True, [1e-3, 1e-6], ACTIVE),
        (False, [1e-3, 9e-4], ACTIVE),
    ],
)
def test_steps_to_a_mode_end_in_rounding_errors(is_near, decrements, reason):
    search = Pretended([1e-4, 1e-4], has_cavities=False, decrements=decrements)
    search.is_near = is_near
    for _ in decrements:
        search.visit()
        search.go_on(ENGINE, should_stop=False)
    assert search.reason == reason


def test_a_refused_visit_is_no_round():
    search = Pretended([1e-9, 1e-9], has_cavities=True)
    search.visit()
    search.is_ahead = False
    search.go_on(ENGINE, should_stop=False)
    assert (search.reason, search.changes) == (ACTIVE, [])


def test_cavities_that_go_in_circles_move_less_far_and_then_not():
    search = Pretended([1.0] * 60, has_cavities=True)
    search.sites.share, shares = 1.0, []
    engine = ExpectationPropagation(tol=1e-6, max_iter=100)
    while search.reason == ACTIVE:
        shares.append(search.sites.share)
        search.visit()
        search.go_on(engine, should_stop=False)
    assert search.reason == STALLED
    assert shares == [1.0] * 16 + [0.5] * 8 + [0.25] * 8


# One fixed point ---------------------------------------------------------------------------------

WEIGHTS = {
    "1": lambda n: None,
    "integers": lambda n: np.arange(n) % 4 + 1.0,
    "below 1": lambda n: 0.2 + 0.7 * np.random.default_rng(0).random(n),
}
ROOT = np.eye(4) + 0.3 * np.random.default_rng(1).normal(size=(4, 4))
PRIORS = {
    "plain": {},
    "wide": {"prior_scale": 20.0},
    "mean": {"prior_mean": np.array([0.5, -1.0, 0.0, 2.0]), "prior_scale": 0.7},
    "covariance": {"prior_covariance": ROOT @ ROOT.T, "prior_mean": np.linspace(-1, 1, 4)},
}
LAWS = {"probit": {}, "noise": {"noise": 0.2}, "flips": {"noise": 1.5, "label_noise": 0.05}}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("before", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rounds_and_sweeps_reach_the_fixed_point_of_the_slides(law, before, weight):
    if before is PRIORS["wide"]:
        law = law | {"noise": max(1.0, 4 * law.get("label_noise", 0) * 100)}
    X, y = problem(40, 4)
    k = weight(40)
    scale = before.get("prior_scale", 1.0)
    slow = slow_sweeps(
        X,
        y,
        weight=k,
        mean=before.get("prior_mean"),
        covariance=before.get("prior_covariance", scale**2 * np.eye(4)),
        noise=law.get("noise", 1.0),
        flip=law.get("label_noise", 0.0),
        step=1.0 if k is None or k.max() < 1 else 0.5,
    )
    deviation = np.sqrt(slow.covariance.diagonal())
    for schedule in ("rounds", "sequential"):
        posterior, run = learn(X, y, k, schedule=schedule, tol=1e-8, **law, **before)
        assert run.converged
        np.testing.assert_allclose(
            posterior.mean[:, 0] / deviation, slow.mean / deviation, rtol=1e-6, atol=1e-6
        )
        np.testing.assert_allclose(posterior.covariance[0], slow.covariance, rtol=1e-6, atol=1e-6)
        assert posterior.log_evidence[0] == pytest.approx(slow.log_evidence, abs=1e-6)
        np.testing.assert_allclose(
            posterior.left_out_log_probability[:, 0], slow.left_out, atol=1e-6
        )
    early, _ = learn(X, y, k, max_iter=2, **law, **before)  # which is not there yet
    assert np.abs((early.mean[:, 0] - slow.mean) / deviation).max() > 1e-6


def search_for(likelihood, X, labels, weight=None, start=None, scale=1.5):
    """Rounds by weights and by outputs."""
    space, before = Coordinates(X), prior(X.shape[1], scale)
    weight = np.ones(len(labels)) if weight is None else weight
    by_weights = WeightGaussian(space, before)
    found = [by_weights]
    if likelihood.is_log_concave:
        found.append(OutputGaussian(scale**2 * space.gram(), space, before))
    known = Labels(labels, weight, likelihood, np.minimum(weight, 1.0))
    return [Rounds(one, MatchedSites(known, one), start) for one in found]


def run(search, tol=1e-9, max_iter=300):
    search.run(ExpectationPropagation(tol=tol, max_iter=max_iter), Progress(Monitor()))
    assert search.reason == ""
    return search


def one_after_another(X, labels, weight, likelihood, scale):
    """Expectation propagation as on paper, of any likelihood: messages of one copy each."""
    n, d = X.shape
    a, b = np.zeros((2, n))
    for _ in range(400):
        for i in range(n):
            S = np.linalg.inv(np.eye(d) / scale**2 + (X.T * (weight * b)) @ X)
            f, e = X[i] @ S @ (X.T @ (weight * a)), X[i] @ S @ X[i]
            c = 1 - b[i] * e
            _, (to_a,), (to_b,) = likelihood.site(labels[[i]], (f - a[[i]] * e) / c, e / c)
            a[i] += (to_a - a[i]) / max(1.0, weight[i])
            b[i] += (to_b - b[i]) / max(1.0, weight[i])
    return a, b


GRADES = np.array([-0.8, 0.1, 0.9])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "likelihood",
    [
        ProbitLikelihood(0.7),
        ProbitLikelihood(1.5, 0.05),
        OrdinalProbitLikelihood(GRADES, 0.8),
        StudentLikelihood(0.7),
    ],
    ids=["probit", "flips", "ordered", "student"],
)
def test_every_law_has_the_fixed_point_of_a_plain_loop(likelihood, weighted):
    X, y = problem(20, 3)
    if isinstance(likelihood, OrdinalProbitLikelihood):
        y = np.digitize(X @ [1.0, -0.5, 0.3], GRADES)
        likelihood.learns = False  # thresholds stay
    weight = np.arange(20) % 3 + 1.0 if weighted else np.ones(20)
    a, b = one_after_another(X, y, weight, likelihood, 1.5)
    for search in search_for(likelihood, X, y, weight):
        search.sites.likelihood = likelihood  # as it began
        shift, rate = run(search).sites.messages()
        np.testing.assert_allclose(shift, weight * a, atol=1e-6)
        np.testing.assert_allclose(rate, weight * b, atol=1e-6)


@pytest.mark.parametrize(
    "likelihood", [ProbitLikelihood(0.5), ProbitLikelihood(1.0, 0.05), StudentLikelihood(0.7)]
)
def test_a_start_at_earlier_messages_takes_fewer_rounds(likelihood):
    X, y = problem(60, 5, noise=0.5)
    for k, cold in enumerate(search_for(likelihood, X, y)):
        messages = run(cold, 1e-8).sites.messages()
        again = run(search_for(likelihood, X, y, start=messages)[k], 1e-8)
        assert len(again.changes) <= 2
        near = Messages(0.99 * messages.shift, 0.99 * messages.rate)
        warm = run(search_for(likelihood, X, y, start=near)[k], 1e-8)
        assert len(warm.changes) < len(cold.changes)
        for other in (again, warm):
            np.testing.assert_allclose(other.end()[1], cold.end()[1], atol=1e-6)
            one, two = (in_weights(search).result().log_evidence for search in (cold, other))
            assert two == pytest.approx(one, abs=1e-6)


def in_weights(search):
    """A search that has converged, in the coordinates of the weights."""
    if search.gaussian.is_of_weights:
        return search
    return search.in_weights(ExpectationPropagation(tol=1e-8), Progress(Monitor()))


def test_a_nearly_singular_kernel_matrix_hides_no_error():
    """Outputs alone agree with sites that are wrong where the prior is wide and K of low rank."""
    X, y = problem(40, 3, noise=0.3)
    wide = np.column_stack([X, X @ np.ones((3, 60))])
    fits = [
        ExpectationPropagation(prior_scale=1e4, tol=1e-8, schedule=schedule).run(
            ProcessSpace(PolynomialKernel(degree=1, gamma=1.0, coef0=0.0)).fit(wide),
            y[:, None].astype(np.int8),
            Request(),
        )[0]
        for schedule in ("rounds", "sequential")
    ]
    one, other = fits
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-6)


@pytest.mark.parametrize("kind", [WeightGaussian, OutputGaussian])
def test_laplace_is_rounds_without_cavities(kind):
    """Sites of cavities of the variance 0 have the slope and the curvature at the output."""

    class Narrow(MatchedSites):
        """Cavities of hardly any variance, which keep it."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.v = np.full(len(self.v), 1e-14)

        def move_cavities(self):
            before = self.v
            super().move_cavities()
            self.v = before
            return 0.0  # so that climbs are exact

    X, y = problem(30, 4)
    space, before = Coordinates(X), prior(4, 2.0)
    arguments = (space, before) if kind is WeightGaussian else (4.0 * space.gram(), space, before)
    likelihood, weight = Slopes(1.0), np.ones(30)
    labels = Labels(y, weight, likelihood, weight)
    narrow, tangents = (kind(*arguments) for _ in range(2))
    matched = Rounds(narrow, Narrow(labels, narrow))
    for _ in range(12):
        matched.visit()
        matched.changes.append(1.0)
    mode = Rounds(tangents, TangentSites(labels, tangents, 1e-10))
    mode.run(LaplaceApproximation(tol=1e-10), Progress(Monitor()))
    assert mode.reason == ""
    np.testing.assert_allclose(matched.end()[1], mode.end()[1], atol=1e-8)
    for one, other in zip(matched.sites.messages(), mode.sites.messages(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    wide = Rounds(kind(*arguments), MatchedSites(labels, kind(*arguments)))
    assert np.abs(run(wide).end()[1] - mode.end()[1]).max() > 0.01


class Slopes(ProbitLikelihood):
    """The probit model with the slopes of its log-likelihood, by cavities of no variance."""

    def slopes(self, labels, outputs):
        log_p, a, b = self.site(labels, outputs, np.zeros_like(outputs))
        return log_p, a - b * outputs, b


def test_classes_together_take_few_rounds():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="linear", engine=ExpectationPropagation()).fit(X, y)
    assert clf.coding_.name == "joint"
    assert clf.run_.converged
    assert clf.n_iter_ <= 14


@pytest.mark.parametrize("schedule", ["rounds", "sequential"])
def test_hard_labels_end_where_less_and_less_noise_does(schedule):
    X, y = separable(40, 3)
    hard, _ = learn(X, y, noise=0.0, tol=1e-8, schedule=schedule)
    slow = slow_sweeps(X, y, noise=0.0)
    np.testing.assert_allclose(hard.mean[:, 0], slow.mean, atol=1e-6)
    np.testing.assert_allclose(hard.covariance[0], slow.covariance, atol=1e-6)
    assert hard.log_evidence[0] == pytest.approx(slow.log_evidence, abs=1e-6)


def test_a_run_begins_at_the_messages_of_its_request():
    X, y = problem(50, 4)
    engine, targets = ExpectationPropagation(prior_scale=1.0, tol=1e-8), y[:, None].astype(np.int8)
    cold, slow_run = engine.run(Plain(X), targets, Request())
    warm, fast_run = engine.run(Plain(X), targets, Request(messages=cold.messages))
    assert fast_run.n_iter <= 2 < slow_run.n_iter
    np.testing.assert_allclose(warm.mean, cold.mean, atol=1e-7)
