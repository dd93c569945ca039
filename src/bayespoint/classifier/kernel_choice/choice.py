"""The automatic choice: the evidence proposes, leave-one-out decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone

from bayespoint.classifier.calibration import best_temperature, expected_scores, mixture_weights
from bayespoint.classifier.kernel_choice.ascent import most_evident
from bayespoint.classifier.kernel_choice.candidates import Candidate, basis_size, candidates
from bayespoint.classifier.kernel_choice.clock import Clock
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.kernel_choice.perceptrons import best_perceptron
from bayespoint.classifier.problem import Problem
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.numbers import TINY

POINTS_A_HALF = 500  # at most, from which the evidence learns
TOLERANCE = 1e-4  # of sites: a sixth of the time for the fifth digit of probabilities
LEAST = 0.02  # smallest weight of a candidate in the mixture


class Given(NamedTuple):
    """What the user has decided, within which the choice is made.

    Attributes
    ----------
    engine : ExpectationPropagation or LaplaceApproximation
        The engine; with ``prior_scale="auto"`` the scales of kernels may be learned.
    gamma : float, array or None
        The gamma that was asked for, or None.
    n_components : int, "auto" or None
        Points of the basis of kernels.
    temperature : float or "auto"
        The temperature of the mixture, or that it is learned.
    constant : bool
        Whether there is a constant feature.
    any_engine : bool
        Whether perceptrons may be chosen instead, where points are many.
    seed : int
        Of the halves.
    n_jobs : int or None
        Threads.
    max_time : float or None
        Seconds after which nothing more is tried.
    """

    engine: Any
    gamma: Any
    n_components: Any
    temperature: Any
    constant: bool
    any_engine: bool
    seed: int
    n_jobs: int | None
    max_time: float | None


class Member(NamedTuple):
    """One machine of the mixture."""

    params: dict[str, Any]
    trained: Any


class Tried(NamedTuple):
    """A candidate in words, its machines, and probabilities of the classes of training points.

    A probability knows neither the label of its point nor a kernel that was learned from it.
    """

    words: str
    members: list[Member]
    left_out: NDArray[np.float64]


class Choice(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    mixture : list of (float, dict)
        Weights and parameters of the machines.
    trained : list
        The machines, trained on all points.
    temperature : float
        The temperature of the mixture.
    left_out : ndarray of shape (n, n_classes) or None
        Probabilities of the classes of each training point, given all other labels; the kernels
        were learned without its half of the points, unless these are few. None for perceptrons,
        which have their own.
    reasons : list of str
        What was chosen, and why.
    """

    mixture: list[tuple[float, dict[str, Any]]]
    trained: list[Any]
    temperature: float
    left_out: NDArray[np.float64] | None
    reasons: list[str]

    @property
    def params(self) -> dict[str, Any]:
        """The choice as parameters of a classifier."""
        several = {"mixture": self.mixture}
        one = self.mixture[0][1] if len(self.mixture) == 1 else several
        return one | {"temperature": self.temperature}


def choose(problem: Problem, given: Given, train: Callable[[dict[str, Any]], Any]) -> Choice:
    r"""Choose kernels, their parameters and weights, and a temperature by the training data.

    1. The points are split into two halves. For each candidate, the evidence of each half (of at
       most 500 points) finds kernel parameters. (At most 200 points are not split to learn scales.)
    2. Each kernel is trained on all points. Leave-one-out predictions of the points of the *other*
       half are honest: neither their label nor their half took part.
    3. The weights of all candidates, and then the temperature of their mixture, maximise the
       probability of the labels by these predictions. (A mixture of forecasts that are neither too
       timid nor too sure is too timid, so that temperatures of the candidates would not do.)

    Parameters
    ----------
    problem : Problem
        Points of unit variance, and their classes.
    given : Given
        What is not to be chosen.
    train : callable
        Trains a machine with given parameters on the problem.

    Returns
    -------
    Choice
        What was chosen.
    """
    clock = Clock(given.max_time)
    learns = isinstance(given.engine.prior_scale, str)
    n_points, n_features = problem.points.shape
    considered = candidates(
        n_points, n_features, given.gamma, learns=learns, constant=given.constant
    )
    given = with_numbers(given, problem)
    halves = split(problem.points, problem.codes, given.seed)
    tried: list[Tried] = []
    reasons = []
    for candidate in considered:
        if tried and not clock.has_time_for(candidate):
            reasons.append(f"not tried, max_time is over: {candidate.name}")
            continue
        tried.append(try_out(candidate, problem, given, halves, train, clock))
        current_monitor().tell(tried[-1].words)
    own = np.array([one.left_out[np.arange(n_points), problem.codes] for one in tried])
    share = mixture_weights(np.log(np.maximum(own, TINY)), problem.weight)
    share = np.where(share < LEAST, 0.0, share)
    share /= share.sum()
    mixture, trained = [], []
    for part, one in zip(share, tried, strict=True):
        for member in one.members if part > 0 else ():
            mixture.append((float(part / len(one.members)), member.params))
            trained.append(member.trained)
    left_out = np.einsum("k,knc->nc", share, [one.left_out for one in tried])
    log_odds = np.log(np.maximum(left_out, TINY))
    temperature = given.temperature
    if temperature == "auto":
        temperature = best_temperature(log_odds, problem.codes, problem.weight)
    left_out = softmax(log_odds / temperature, axis=1)
    weighed = [f"{part:4.0%} {one.words}" for part, one in zip(share, tried, strict=True)]
    reasons = [*weighed, f"temperature {temperature:.2f}", *reasons]
    if given.any_engine and clock.left > 0:
        loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
        found = best_perceptron(problem, given.gamma, train)
        if found is not None:
            is_better = found[2] < loss
            rest = "instead" if is_better else "not"
            reasons.append(
                f"{rest} perceptrons, rbf: first-visit log-loss {found[2]:.4f}, mixture {loss:.4f}"
            )
            if is_better:
                return Choice([(1.0, found[0])], [found[1]], 1.0, None, reasons)
    return Choice(mixture, trained, temperature, left_out, reasons)


def with_numbers(given: Given, problem: Problem) -> Given:
    """The same with numbers for the scale and the tolerance of the engine, and for the basis."""
    engine = clone(given.engine)
    if isinstance(engine.prior_scale, str):
        engine.set_params(prior_scale=1.0)
    if given.any_engine:
        engine.set_params(tol=TOLERANCE)
    size = given.n_components
    if size == "auto":
        size = basis_size(len(problem.points), problem.coding.n_tasks)
    return given._replace(engine=engine, n_components=size)


def try_out(
    candidate: Candidate,
    problem: Problem,
    given: Given,
    halves: list[NDArray[np.intp]],
    train: Callable[[dict[str, Any]], Any],
    clock: Clock,
) -> Tried:
    """Learn a candidate from each half of the points, and predict those of the other half.

    Where points are few, it is learned from all of them.
    """
    coding = problem.coding
    scores = np.empty((len(problem.codes), len(problem.classes)))
    parts: list = [(np.concatenate(halves), slice(None))]
    if candidate.in_halves:
        parts = [halves, halves[::-1]]
    if not candidate.free:
        parts = [(None, slice(None))]
    kernels, until = [], np.inf
    for number, (own, _) in enumerate(parts):
        kernel = candidate.kernel
        if own is not None:
            some = own[:POINTS_A_HALF]
            weight = None if problem.weight is None else problem.weight[some]
            data = problem.points[some], problem.targets[some], weight
            until = clock.end_of_search(len(parts) - number)
            kernel = most_evident(candidate, given.engine, *data, given.n_jobs, until)
        kernels.append(kernel)
    is_cut = time.monotonic() > until
    members = []
    for kernel, (_, others) in zip(kernels, parts, strict=True):
        params = {
            "kernel": kernel,
            "engine": given.engine,
            "n_components": None if kernel.is_linear else given.n_components,
            "temperature": 1.0,
        }
        with clock.training():
            trained = train(params)
        answers = coding.left_out(trained.posterior.left_out_log_probability, problem.codes)
        scores[others] = coding.log_odds(*answers)[others]
        members.append(Member(params, trained))
    left_out = softmax(scores, axis=1)
    loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
    words = f"{candidate.name}: leave-one-out log-loss {loss:.4f}"
    words += ", search ended by max_time" * is_cut
    return Tried(words, members, left_out)
