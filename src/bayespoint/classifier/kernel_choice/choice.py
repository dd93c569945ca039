"""The automatic choice: the evidence proposes, leave-one-out decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.attributes import left_out_probabilities
from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.kernel_choice.ascent import most_evident
from bayespoint.classifier.kernel_choice.blending import MOST, MOST_OF_MANY, blended
from bayespoint.classifier.kernel_choice.candidates import (
    Candidate,
    basis_size,
    candidates,
    relevance,
)
from bayespoint.classifier.kernel_choice.clock import Clock
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.kernel_choice.perceptrons import best_perceptron
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.engines import PermutedPerceptron
from bayespoint.tools.monitor import current_monitor

# Points of the basis with which candidates are compared. Those that count are trained with a larger
# one, if there are more points.
FEW_COMPONENTS, MANY_COMPONENTS = 300, 600
MOST_POINTS, MOST_OF_HALF = 200, 400  # from which the evidence learns few or many parameters
TOLERANCE = 1e-4  # of sites: a sixth of the time for the fifth digit of probabilities
LEARNED = 2.0  # numbers that the evidence finds of a kernel: a width and a scale, the rest is prior

Train = Callable[[dict[str, Any]], Model]  # trains with these parameters on the problem


class Member(NamedTuple):
    """One machine of the mixture."""

    params: dict[str, Any]
    model: Model


class Learned(NamedTuple):
    """A candidate with kernels, and of each the rows that it was not learned from."""

    name: str
    kernels: list[tuple[Any, Any]]
    note: str = ""
    is_learned: bool = True


class Tried(NamedTuple):
    """A candidate in words, its machines, and probabilities of the classes of training rows.

    A probability knows neither the label of its row nor a kernel that was learned from it.
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
        The machines, trained on all rows.
    temperature : float
        The temperature of the mixture.
    left_out : ndarray of shape (n, n_classes) or None
        Probabilities of the classes of each training row, given all other labels; weights and
        temperature were learned without its half of the rows. None for perceptrons, which have
        their own.
    reasons : list of str
        What was chosen, and why.
    n_learned : float
        Numbers that ``left_out`` has from all labels.
    """

    mixture: list[tuple[float, dict[str, Any]]]
    models: list[Model]
    temperature: float
    left_out: NDArray[np.float64] | None
    reasons: list[str]
    n_learned: float = 0.0

    @property
    def params(self) -> dict[str, Any]:
        """The choice as parameters of a classifier."""
        several = {"mixture": self.mixture}
        one = self.mixture[0][1] if len(self.mixture) == 1 else several
        return one | {"temperature": self.temperature}


def choose(parameters: Parameters, problem: Problem, train: Train) -> Choice:
    r"""Choose kernels, their parameters and weights, and a temperature by the training data.

    1. For each candidate, the evidence of at most 200 rows finds kernel parameters. Where these
       are many, or begin with correlations of features and labels, each of two halves of the
       rows finds its own, and there are two machines.
    2. Each kernel is trained on all rows, with a basis of at most 300. Leave-one-out predictions
       of the rows of the *other* half are honest: neither their label nor their half took part.
    3. The weights of all candidates, and then the temperature of their mixture, maximise the
       probability of the labels by these predictions. Five rows more are given to candidates
       that may be as good as the best one, so that few rows lead to a mean of several. (A
       mixture of forecasts that are neither too timid nor too sure is too timid, so that
       temperatures of the candidates would not do.)
    4. All but the four candidates of the largest weights are dropped. With more than 600 rows
       there are two, which are trained with a larger basis, if time allows, and weighed again.
    5. What to expect on new data is learned from predictions of each half by the weights and the
       temperature of the other one.

    Nothing is random: the halves depend on the rows alone.

    Parameters
    ----------
    parameters : Parameters
        What was decided; the rest is chosen.
    problem : Problem
        Rows of unit variance, and their classes.
    train : callable
        Trains a machine with given parameters on the problem.

    Returns
    -------
    Choice
        What was chosen.
    """
    clock = Clock(parameters.max_time)
    learns = isinstance(problem.engine.prior_scale, str)
    gamma = None if isinstance(parameters.gamma, str) else parameters.gamma
    scale = 1.0 if problem.scaling is None else problem.scaling.scale
    settings: dict[str, Any] = {
        "learns": learns,
        "constant": parameters.fit_intercept,
        "scale": scale,
    }
    considered = candidates(problem.points, problem.block, gamma, **settings)
    temperature = parameters.temperature
    any_engine = (parameters.engine, parameters.ridge, temperature) == ("auto", 0, "auto")
    is_free = parameters.n_components == "auto"
    parameters = with_numbers(parameters, problem, any_engine=any_engine)
    halves = split(problem.points, problem.codes, 0, problem.groups)
    learned: list[Learned] = []
    tried: list[Tried] = []
    reasons = []
    n_points, n_tasks = len(problem.codes), problem.coding.n_tasks
    is_large = is_free and (basis_size(n_points, n_tasks, 1) or n_points) > MANY_COMPONENTS
    few: Any = FEW_COMPONENTS if is_large else parameters.n_components
    for candidate in considered:
        if tried and not clock.has_time_for(candidate):
            reasons.append(f"not tried, max_time is over: {candidate.name}")
            continue
        current_monitor().tell(f"trying {candidate.name}")
        learned.append(learn(candidate, problem, parameters, halves, clock))
        tried.append(try_out(learned[-1], problem, parameters, few, train, clock))
    everyone = np.stack([one.left_out for one in tried])
    most = MOST if n_points <= MANY_COMPONENTS else MOST_OF_MANY
    blend = blended(everyone, problem, temperature, most)
    if is_large:  # once more, those that count
        n_machines = sum(len(tried[k].members) for k in np.flatnonzero(blend.share))
        size = basis_size(n_points, n_tasks, n_machines)
        for k in np.flatnonzero(blend.share) if clock.left > 0 else ():
            tried[k] = try_out(learned[k], problem, parameters, size, train, clock)
            everyone[k] = tried[k].left_out
        everyone = everyone * (blend.share > 0)[:, None, None]
        blend = blended(everyone, problem, temperature, most)
    mixture, models = [], []
    for part, one in zip(blend.share, tried, strict=True):
        for member in one.members if part > 0 else ():
            mixture.append((float(part / len(one.members)), member.params))
            models.append(member.model)
    left_out = np.empty(everyone.shape[1:])
    for own, others in (halves, halves[::-1]) if len(halves[1]) else ():
        other = blended(everyone, problem, temperature, most, own)
        left_out[others] = other.mixed(everyone[:, others])
    temperature = blend.temperature
    weighed = [f"{part:4.0%} {one.words}" for part, one in zip(blend.share, tried, strict=True)]
    reasons = [*weighed, f"temperature {temperature:.2f}", *reasons]
    if any_engine and clock.left > 0 and problem.coding.apart in PermutedPerceptron.codings:
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
    learned_from_all = [LEARNED * (len(one.kernels) == 1 and one.is_learned) for one in learned]
    n_learned = float(blend.share @ learned_from_all)
    return Choice(mixture, models, temperature, left_out, reasons, n_learned)


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


def learn(
    candidate: Candidate,
    problem: Problem,
    parameters: Parameters,
    halves: list[NDArray[np.intp]],
    clock: Clock,
) -> Learned:
    """Learn the parameters of a candidate: from all rows, from each half, or not at all."""
    parts: list = [(np.concatenate(halves), slice(None))]
    if candidate.in_halves:
        parts = [halves, halves[::-1]]
    if not candidate.free:
        return Learned(candidate.name, [(candidate.kernel, slice(None))], is_learned=False)
    kernels, until = [], np.inf
    for number, (own, others) in enumerate(parts):
        some = own[: MOST_OF_HALF if candidate.in_halves else MOST_POINTS]
        weight = None if problem.weight is None else problem.weight[some]
        data = problem.points[some], problem.targets[some], weight
        started = begin(candidate, problem, own)
        until = clock.end_of_search(len(parts) - number)
        search = parameters.n_jobs, until, problem.coding.apart
        kernel = most_evident(started, parameters.engine, *data, *search)
        kernels.append((kernel, others))
    cut = ", search ended by max_time" * (time.monotonic() > until)
    return Learned(candidate.name, kernels, cut)


def begin(candidate: Candidate, problem: Problem, own: NDArray[np.intp]) -> Candidate:
    """The candidate for a search on some rows."""
    if not candidate.by_relevance:
        return candidate
    weight = None if problem.weight is None else problem.weight[own]
    told = relevance(problem.points[own], problem.codes[own], weight, problem.block)
    kernel, width = clone(candidate.kernel), "terms__0__gamma"
    kernel.set_params(**{width: told * kernel.get_params()[width].sum()})
    return candidate._replace(kernel=kernel)


def try_out(
    learned: Learned,
    problem: Problem,
    parameters: Parameters,
    size: int | None,
    train: Train,
    clock: Clock,
) -> Tried:
    """Train with each kernel that was learned, and predict the rows it was not learned from."""
    members, everywhere = [], []
    left_out = np.empty((len(problem.codes), len(problem.classes)))
    for kernel, others in learned.kernels:
        params = {
            "kernel": kernel,
            "engine": parameters.engine,
            "n_components": None if kernel.is_linear else size,
            "temperature": 1.0,
        }
        with clock.training():
            model = train(params)
        everywhere.append(left_out_probabilities(model, problem.codes))
        left_out[others] = everywhere[-1][others]
        members.append(Member(params, model))
    loss = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
    words = f"{learned.name}: leave-one-out log-loss {loss:.4f}"
    if len(members) > 1:
        words += f", halves differ by {np.abs(everywhere[0] - everywhere[1]).mean():.3f}"
    return Tried(words + learned.note, members, left_out)
