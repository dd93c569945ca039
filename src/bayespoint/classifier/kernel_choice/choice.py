"""The automatic choice: the evidence proposes, leave-one-out decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.attributes import left_out_probabilities
from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.kernel_choice.ascent import most_evident
from bayespoint.classifier.kernel_choice.blending import MOST, MOST_OF_MANY, Blend, blended
from bayespoint.classifier.kernel_choice.candidates import (
    FEWEST_COMPONENTS,
    LARGER,
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
from bayespoint.kernels import ConstantKernel, RadialKernel
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.threads import useful_threads

# Points of the basis with which candidates are compared. Those that count are trained with a larger
# one, if there are more points.
FEW_COMPONENTS, MANY_COMPONENTS = 300, 600
MOST_POINTS, MOST_OF_HALF = 200, 400  # from which the evidence learns few or many parameters
# Folds in which relevance is learned: so many rows over those there are, and at most.
ROWS_OF_FOLDS, MOST_FOLDS = 500, 8
# Temperature from which a machine is too sure, and the factor of its scale that is then tried.
TOO_SURE, SMALLER = 1.1, 0.3
TOLERANCE = 1e-4  # of sites: a sixth of the time for the fifth digit of probabilities
MANY_ROWS = 5000  # so many of more rows say what is trained on all
# What has more than this share of most weight is trained with a larger basis: less of it is worth
# less than the rows of the basis that the others have without it.
LEAST_OF_LARGE = 0.35
LEARNED = 2.0  # numbers that the evidence finds of a kernel: a width and a scale, the rest is prior

Train = Callable[..., Model]  # trains with these parameters on the problem, or on a part of it


class Learned(NamedTuple):
    """A candidate with kernels, and of each the rows that it was not learned from.

    What the kernels have ``in_common``, two numbers, may have been learned from these as well.
    """

    name: str
    kernels: list[tuple[Any, Any]]
    is_learned: bool = True
    in_common: bool = False

    def weaker(self) -> Learned:
        """The same with a smaller scale of all but the constant."""
        kernels = []
        for kernel, others in self.kernels:
            kinds = zip(kernel.weights, kernel.terms, strict=True)
            sizes = [w if isinstance(term, ConstantKernel) else SMALLER * w for w, term in kinds]
            kernels.append((clone(kernel).set_params(weights=sizes), others))
        return self._replace(kernels=kernels)


class Tried(NamedTuple):
    """A candidate, its machines, and probabilities of the classes, which do not know their row."""

    learned: Learned
    members: list[tuple[dict[str, Any], Model]]  # of each machine its parameters
    left_out: NDArray[np.float64]
    temperature: float  # the best one of the probabilities
    loss: float  # of them at this temperature
    words: str


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
        one = self.mixture[0][1] if len(self.mixture) == 1 else {"mixture": self.mixture}
        return one | {"temperature": self.temperature}


def choose(parameters: Parameters, problem: Problem, train: Train) -> Choice:
    r"""Choose kernels, their parameters and weights, and a temperature by the training data.

    1. For each candidate, kernel parameters maximise the evidence of at most 200 rows. If there
       are many parameters, they are learned on each half of the rows, which gives two models.
       Correlations of features and labels, from which widths start, are computed without one of
       two to eight folds, more for fewer rows; a common factor of widths is learned once.
    2. Each kernel is trained on all rows, with a basis of at most 300. Leave-one-out predictions
       of the rows of the *other* half are unbiased: they use neither their label nor their half.
    3. The weights of all candidates, and then the temperature of their mixture, maximise the
       probability of the labels under these predictions. Five additional rows are assigned to
       candidates that may be as good as the best one, so that with few rows several are averaged.
       (Temperatures of the candidates would not be enough: a mixture of well calibrated forecasts
       is underconfident.)
    4. All but the four candidates with the largest weights are dropped; with more than 600 rows,
       all but two. If few rows are separable, the evidence prefers scales that are too large for
       many rows. So the scale of an overconfident candidate, with a temperature above 1.1, is
       reduced as long as its predictions, at their best temperature, improve.
    5. With more than 600 rows, scales stay as they are, because with a small basis all candidates
       are overconfident. The second candidate is dropped unless it has a third of the weight of the
       first. The rest is trained with a larger basis, if time allows, and weighted again; kernels
       of single classes, if no other is left, with a still larger one. With more than 5000 rows,
       all this is done on 5000 of them.
    6. The expected scores on new data come from predictions of each half with the weights and the
       temperature of the other half.

    Nothing is random: the halves depend on the rows alone.

    Parameters
    ----------
    parameters : Parameters
        What was decided; the rest is chosen.
    problem : Problem
        Rows of unit variance, and their classes.
    train : callable
        Trains a machine with given parameters on the problem, or on a part of it.

    Returns
    -------
    Choice
        What was chosen.
    """
    gamma = None if isinstance(parameters.gamma, str) else parameters.gamma
    considered = candidates(
        problem.points,
        problem.block,
        gamma,
        learns=isinstance(problem.engine.prior_scale, str),
        constant=parameters.fit_intercept,
        scale=1.0 if problem.scaling is None else problem.scaling.scale,
        n_tasks=problem.coding.n_tasks,
        joint=not problem.coding.is_against_rest,
    )
    chosen = (parameters.engine, parameters.ridge, parameters.temperature)
    any_engine = chosen == ("auto", 0, "auto")
    with useful_threads(len(problem.codes) * FEWEST_COMPONENTS):  # of the smallest matrices
        course = Course(with_numbers(parameters, problem, any_engine=any_engine), problem, train)
        free = parameters.n_components == "auto"
        course = compared(course, considered, chooses=free)
        blend, left_out = course.blended(), course.left_out()
    weighed = list(zip(blend.share, course.tried, strict=True))
    reasons = [f"{part:4.0%} {one.words}" for part, one in weighed]
    reasons += [f"temperature {blend.temperature:.2f}", *course.remarks]
    is_of_signs = problem.coding.apart in PermutedPerceptron.kinds
    can_be_perceptrons = is_of_signs and problem.coding.is_exclusive
    if any_engine and course.clock.left > 0 and can_be_perceptrons:
        ours = expected_scores(left_out, problem.codes, problem.weight)["log_loss"].value
        found = best_perceptron(problem, course.some, gamma, train, ours)
        if found is not None:
            params, model, loss = found
            rest = "not" if model is None or loss >= ours else "instead"
            few = " expected from some rows" * (model is None)
            reasons.append(
                f"{rest} perceptrons, rbf: first-visit log-loss {loss:.4f}{few}, mixture {ours:.4f}"
            )
            if rest == "instead":
                return Choice([(1.0, params)], [model], 1.0, None, reasons)
    mixture, models = [], []
    for part, one in weighed:
        for params, model in one.members if part > 0 else ():
            mixture.append((float(part / len(one.members)), params))
            models.append(model)
    n_learned = LEARNED * float(blend.share @ [one.learned.in_common for one in course.tried])
    return Choice(mixture, models, blend.temperature, left_out, reasons, n_learned)


def compared(course: Course, considered: list[Candidate], *, chooses: bool) -> Course:
    """Try all candidates, on some of many rows, and train those that count on all of them."""
    whole, problem = course, course.problem
    few: Any = course.parameters.n_components
    n_points, n_tasks = len(problem.codes), problem.coding.n_tasks
    most = basis_size(n_points, n_tasks, 1) or n_points
    is_many = chooses and n_points > MANY_ROWS
    if is_large := is_many or (chooses and most > MANY_COMPONENTS):
        few = min(FEW_COMPONENTS, basis_size(min(n_points, MANY_ROWS), n_tasks) or n_points)
    if is_many:
        part = problem.part(whole.some)
        course = Course(whole.parameters, part, partial(whole.train, part=part))
    with useful_threads(len(course.problem.codes) * FEWEST_COMPONENTS):  # of the smallest matrices
        for candidate in considered:
            course.consider(candidate, few)
    share = course.blended().share
    kept = np.flatnonzero(share > LEAST_OF_LARGE * share.max() * is_large).tolist()
    if is_many:
        course.extend(whole)
    if is_large:
        course.enlarge(kept, few)
    for k in [] if is_large else kept:
        course.weaken(k, few)
    return course


def with_numbers(parameters: Parameters, problem: Problem, *, any_engine: bool) -> Parameters:
    """The same with numbers for the scale and the tolerance of the engine, and for the basis."""
    engine = clone(problem.engine)
    if isinstance(engine.prior_scale, str):
        engine.set_params(prior_scale=1.0)
    if any_engine:
        engine.set_params(tol=TOLERANCE)
    size, known = parameters.n_components, (len(problem.points), problem.coding.n_tasks)
    size = basis_size(*known) if size == "auto" else size
    return replace(parameters, engine=engine, n_components=size)


@dataclass
class Course:
    """A choice under way: what is given, and what was tried."""

    parameters: Parameters
    problem: Problem
    train: Train
    tried: list[Tried] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = Clock(self.parameters.max_time)
        self.halves = split(self.problem.points, self.problem.codes, self.problem.groups)

    def consider(self, candidate: Candidate, size: int | None) -> None:
        """Learn a candidate, and train with it, if there is time."""
        if self.tried and not self.clock.has_time_for(candidate):
            self.remarks.append(f"not tried, max_time is over: {candidate.name}")
            return
        current_monitor().tell(f"trying {candidate.name}")
        self.tried.append(self.try_out(self.learn(candidate), size))

    def weaken(self, k: int, size: int | None) -> None:
        """Make the scale of a candidate that is too sure smaller, as long as that is better."""
        one = self.tried[k]
        while one.learned.is_learned and one.temperature > TOO_SURE and self.clock.left > 0:
            weaker = self.try_out(one.learned.weaker(), size)
            if weaker.loss >= one.loss:
                return
            self.tried[k] = one = weaker

    def enlarge(self, kept: list[int], few: int) -> None:
        """Train some candidates with a larger basis, if there is time; drop the others.

        Where many rows would allow only a smaller basis than the ``few`` rows of the comparison, it
        may be up to twice as large: what was good there would not be good with half of it.
        """
        kernels = [kernel for k in kept for kernel, _ in self.tried[k].learned.kernels]
        known = len(self.problem.codes), self.problem.coding.n_tasks, len(kernels)
        size = basis_size(*known, LARGER if all(one.is_by_class for one in kernels) else 1.0)
        size = size and max(size, min(few, basis_size(*known, 2.0) or few))
        shape = len(self.problem.codes), len(self.problem.classes)
        has_time = self.clock.left > 0 or self.tried[0].left_out.shape != shape  # of some rows
        for k, one in enumerate(self.tried):
            if k not in kept:
                self.tried[k] = one._replace(left_out=np.zeros(shape))
            elif has_time:
                self.tried[k] = self.try_out(one.learned, size)

    def extend(self, whole: Course) -> None:
        """Go on with all rows, of which only some took part so far."""
        self.problem, self.train, self.halves = whole.problem, whole.train, whole.halves
        new = np.setdiff1d(np.arange(len(self.problem.codes)), rows := self.some)
        for k, one in enumerate(self.tried):
            kernels = list(one.learned.kernels)
            for i, (kernel, others) in enumerate(kernels):
                if not isinstance(others, slice):
                    kernels[i] = kernel, np.append(rows[others], new[i :: len(kernels)])
            self.tried[k] = one._replace(learned=one.learned._replace(kernels=kernels))

    @property
    def some(self) -> NDArray[np.intp]:
        """As many rows of both halves as are enough for comparisons."""
        return np.sort(np.concatenate([half[: MANY_ROWS // 2] for half in self.halves]))

    @property
    def everyone(self) -> NDArray[np.float64]:
        """Probabilities by all candidates, (n_candidates, n, n_classes)."""
        return np.stack([one.left_out for one in self.tried])

    def blended(self, some: Any = slice(None)) -> Blend:
        """The best blend of what was tried, by some of the rows."""
        most = MOST if len(self.problem.codes) <= MANY_COMPONENTS else MOST_OF_MANY
        return blended(self.everyone, self.problem, self.parameters.temperature, most, some)

    def left_out(self) -> NDArray[np.float64]:
        """Probabilities of the rows of each half by the blend of the other one."""
        everyone = self.everyone
        found = np.empty(everyone.shape[1:])
        for own, others in (self.halves, self.halves[::-1]) if len(self.halves[1]) else ():
            found[others] = self.blended(own).mixed(everyone[:, others])
        return found

    def learn(self, candidate: Candidate) -> Learned:
        """Learn the parameters of a candidate: from all rows, from each half, or not at all."""
        problem, halves = self.problem, self.halves
        if not (candidate.free or candidate.by_relevance):
            return Learned(candidate.name, [(candidate.kernel, slice(None))], is_learned=False)
        parts: list = [(np.concatenate(halves), slice(None))]
        if candidate.in_halves:
            parts = self.folds() if candidate.tied else [halves, halves[::-1]]
        kernels, until = [], np.inf
        for number, (own, others) in enumerate(parts):
            some = own[: MOST_OF_HALF if candidate.in_halves else MOST_POINTS]
            weight = None if problem.weight is None else problem.weight[some]
            data = problem.points[some], problem.targets[some], weight
            started = begin(candidate, problem, own)
            kernel = started.kernel
            if candidate.free and (number == 0 or not candidate.tied):
                until = self.clock.end_of_search(1 if candidate.tied else len(parts) - number)
                search = self.parameters.n_jobs, until, problem.coding.apart
                kernel = most_evident(started, self.parameters.engine, *data, *search)
            if candidate.tied:  # what all parts have in common is found once
                candidate = candidate._replace(kernel=kernel)
            kernels.append((kernel, others))
        cut = ", search ended by max_time" * (time.monotonic() > until)
        in_common = bool(candidate.free) and (candidate.tied or not candidate.in_halves)
        return Learned(candidate.name + cut, kernels, in_common=in_common)

    def folds(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to learn relevance from, and those to predict: of few rows more to learn from."""
        problem = self.problem
        n_rows = len(problem.codes) if problem.weight is None else problem.weight.sum()
        n_parts = int(np.clip(ROWS_OF_FOLDS // n_rows, 2, MOST_FOLDS))
        found = split(problem.points, problem.codes, problem.groups, n_parts)
        parts = [part for part in found if len(part)]
        return [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(len(parts))]

    def try_out(self, learned: Learned, size: int | None) -> Tried:
        """Train with each kernel, and predict the rows that it was not learned from."""
        codes, weight = self.problem.codes, self.problem.weight
        members, everywhere = [], []
        left_out = np.empty((len(codes), len(self.problem.classes)))
        for kernel, others in learned.kernels:
            most = None if kernel.is_linear else size
            params = {"kernel": kernel, "engine": self.parameters.engine, "n_components": most}
            params["temperature"] = 1.0
            with self.clock.training():
                model = self.train(params)
            everywhere.append(left_out_probabilities(model, codes))
            left_out[others] = everywhere[-1][others]
            members.append((params, model))
        alone = blended(left_out[None], self.problem, self.parameters.temperature, 1)
        loss = expected_scores(alone.mixed(left_out[None]), codes, weight)["log_loss"].value
        words = f"{learned.name}: leave-one-out log-loss {loss:.4f}"
        if len(members) > 1:
            words += f", parts differ by {np.abs(everywhere[0] - everywhere[1]).mean():.3f}"
        return Tried(learned, members, left_out, alone.temperature, loss, words)


def begin(candidate: Candidate, problem: Problem, own: NDArray[np.intp]) -> Candidate:
    """The candidate for a search on some rows."""
    if not candidate.by_relevance:
        return candidate
    weight = None if problem.weight is None else problem.weight[own]
    kernel, points, codes = clone(candidate.kernel), problem.points[own], problem.codes[own]
    radial: list[Any] = [term for term in kernel.terms if isinstance(term, RadialKernel)]
    for k, term in enumerate(radial):
        labels = codes if len(radial) == 1 else 1 * (codes == k)
        told = relevance(points, labels, weight, problem.block) ** candidate.by_relevance
        term.set_params(gamma=told * (term.gamma.sum() / told.sum()))
    return candidate._replace(kernel=kernel)
