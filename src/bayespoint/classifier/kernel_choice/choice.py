"""The automatic choice: the evidence proposes, leave-one-out decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
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
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.numbers import TINY

POINTS_A_HALF = 500  # at most, from which the evidence learns
TOLERANCE = 1e-4  # of sites: a sixth of the time for the fifth digit of probabilities
LEAST = 0.02  # smallest weight of a candidate in the mixture

Train = Callable[[dict[str, Any]], Model]  # trains with these parameters on the problem


class Member(NamedTuple):
    """One machine of the mixture."""

    params: dict[str, Any]
    model: Model


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
    models : list of Model
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
    models: list[Model]
    temperature: float
    left_out: NDArray[np.float64] | None
    reasons: list[str]

    @property
    def params(self) -> dict[str, Any]:
        """The choice as parameters of a classifier."""
        several = {"mixture": self.mixture}
        one = self.mixture[0][1] if len(self.mixture) == 1 else several
        return one | {"temperature": self.temperature}


def choose(parameters: Parameters, problem: Problem, seed: int, train: Train) -> Choice:
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
    parameters : Parameters
        What was decided; the rest is chosen.
    problem : Problem
        Points of unit variance, and their classes.
    seed : int
        Of the halves.
    train : callable
        Trains a machine with given parameters on the problem.

    Returns
    -------
    Choice
        What was chosen.
    """
    clock = Clock(parameters.max_time)
    learns = isinstance(problem.engine.prior_scale, str)
    n_points, n_features = problem.points.shape
    gamma = None if isinstance(parameters.gamma, str) else parameters.gamma
    considered = candidates(
        n_points, n_features, gamma, learns=learns, constant=parameters.fit_intercept
    )
    temperature = parameters.temperature
    any_engine = (parameters.engine, parameters.ridge, temperature) == ("auto", 0, "auto")
    parameters = with_numbers(parameters, problem, any_engine=any_engine)
    halves = split(problem.points, problem.codes, seed)
    tried: list[Tried] = []
    reasons = []
    for candidate in considered:
        if tried and not clock.has_time_for(candidate):
            reasons.append(f"not tried, max_time is over: {candidate.name}")
            continue
        current_monitor().tell(f"trying {candidate.name}")
        tried.append(try_out(candidate, problem, parameters, halves, train, clock))
    own = np.array([one.left_out[np.arange(n_points), problem.codes] for one in tried])
    share = mixture_weights(np.log(np.maximum(own, TINY)), problem.weight)
    share = np.where(share < LEAST, 0.0, share)
    share /= share.sum()
    mixture, models = [], []
    for part, one in zip(share, tried, strict=True):
        for member in one.members if part > 0 else ():
            mixture.append((float(part / len(one.members)), member.params))
            models.append(member.model)
    left_out = np.einsum("k,knc->nc", share, [one.left_out for one in tried])
    log_odds = np.log(np.maximum(left_out, TINY))
    if isinstance(temperature, str):
        temperature = best_temperature(log_odds, problem.codes, problem.weight)
    left_out = softmax(log_odds / temperature, axis=1)
    weighed = [f"{part:4.0%} {one.words}" for part, one in zip(share, tried, strict=True)]
    reasons = [*weighed, f"temperature {temperature:.2f}", *reasons]
    if any_engine and clock.left > 0:
        loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
        found = best_perceptron(problem, gamma, train)
        if found is not None:
            is_better = found[2] < loss
            rest = "instead" if is_better else "not"
            reasons.append(
                f"{rest} perceptrons, rbf: first-visit log-loss {found[2]:.4f}, mixture {loss:.4f}"
            )
            if is_better:
                return Choice([(1.0, found[0])], [found[1]], 1.0, None, reasons)
    return Choice(mixture, models, temperature, left_out, reasons)


def with_numbers(parameters: Parameters, problem: Problem, *, any_engine: bool) -> Parameters:
    """The same with numbers for the scale and the tolerance of the engine, and for the basis."""
    engine = clone(problem.engine)
    if isinstance(engine.prior_scale, str):
        engine.set_params(prior_scale=1.0)
    if any_engine:
        engine.set_params(tol=TOLERANCE)
    size = parameters.n_components
    if size == "auto":
        size = basis_size(len(problem.points), problem.coding.n_tasks)
    return replace(parameters, engine=engine, n_components=size)


def try_out(
    candidate: Candidate,
    problem: Problem,
    parameters: Parameters,
    halves: list[NDArray[np.intp]],
    train: Train,
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
            kernel = most_evident(candidate, parameters.engine, *data, parameters.n_jobs, until)
        kernels.append(kernel)
    is_cut = time.monotonic() > until
    members = []
    for kernel, (_, others) in zip(kernels, parts, strict=True):
        params = {
            "kernel": kernel,
            "engine": parameters.engine,
            "n_components": None if kernel.is_linear else parameters.n_components,
            "temperature": 1.0,
        }
        with clock.training():
            model = train(params)
        log_probability: Any = model.posterior.left_out_log_probability
        answers = coding.left_out(log_probability, problem.codes)
        scores[others] = coding.log_odds(*answers)[others]
        members.append(Member(params, model))
    left_out = softmax(scores, axis=1)
    loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
    words = f"{candidate.name}: leave-one-out log-loss {loss:.4f}"
    words += ", search ended by max_time" * is_cut
    return Tried(words, members, left_out)
