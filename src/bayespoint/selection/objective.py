"""The evidence as a function of a classifier's parameters, its gradient, and its maximum."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.fitting import make_space, new_seed, pose, solve
from bayespoint.classifier.parameters import Parameters, kernel_of
from bayespoint.classifier.problem import Problem
from bayespoint.engines import Engine, Run
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient, has_gradient
from bayespoint.engines.gaussian.prior_scale import as_run
from bayespoint.exceptions import one_line
from bayespoint.kernels import NAMES, Kernel, positive_parameters
from bayespoint.posteriors import Posterior
from bayespoint.tools.maximize import Layout, climb
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.pipelines import Parts, split_pipeline
from bayespoint.tools.validation import check_array

FAILURES = (ValueError, ArithmeticError)  # what a fit raises for parameters that do not work


class Evaluation(NamedTuple):
    """The result of one fit; a fit that failed has the evidence NaN and a message.

    ``slopes`` are the derivatives of the log evidence by the logarithms of the parameters between
    bounds, by name, where they were needed.
    """

    params: dict[str, Any]
    log_evidence: float
    converged: bool
    message: str = ""
    fit_time: float = 0.0
    slopes: Mapping[str, float] = {}


class Solution(NamedTuple):
    """A posterior, and all that it was found from."""

    kernel: Any  # the classifier's parameter
    engine: Engine
    problem: Problem
    space: Any
    posterior: Posterior
    run: Run


class Data(NamedTuple):
    """What all fits of a search share."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None


class EvidenceFunction:
    """The log evidence of one problem as a function of a classifier's parameters.

    Data are checked and the problem is posed once, and the space is made again only if a parameter
    of the kernel or the ridge has changed.

    Parameters
    ----------
    classifier : BayesPointClassifier
        Its parameters are set by every evaluation; it is never fitted.
    data : Data
        The training data.
    """

    def __init__(self, classifier: BayesPointClassifier, data: Data) -> None:
        self.solution: Solution | None = None  # of the last evaluation that did not fail
        self._classifier, self._data = classifier, data
        self._problem: Problem | None = None
        self._pivots: Any = None  # of the last basis of some points
        self._in_space: list | None = None  # parameters that its space was made with

    def evaluate(self, values: dict[str, float], params: dict[str, Any]) -> Evaluation:
        """Evaluate at values of the classifier's parameters, which ``params`` names in results."""
        start = time.perf_counter()
        try:
            self.solution = self._solve(values)
        except FAILURES as error:
            return failed(params, error, start)
        posterior, run = self.solution.posterior, self.solution.run
        if posterior.log_evidence is None:
            raise TypeError(
                "EvidenceSearch needs an engine that knows the evidence of its labels, such as "
                f"engine='ep'. Got {self.solution.engine!r}, which does not."
            )
        message = "" if run.converged else f"{run.summary}. Remedy: {run.remedy}."
        seconds = time.perf_counter() - start
        evidence = float(posterior.log_evidence.sum())
        return Evaluation(params, evidence, run.converged, message, seconds)

    def _solve(self, values: dict[str, float]) -> Solution:
        classifier, data = self._classifier.set_params(**values), self._data
        parameters = Parameters.of(classifier)
        if self._problem is None:
            problem = pose(classifier, parameters, data.X, data.y, data.sample_weight)
        else:
            problem = replace(self._problem, engine=parameters.make_engine(data.X))
        self._problem = problem
        in_space = [np.asarray(v).tolist() for name, v in values.items() if not is_of_engine(name)]
        if self.solution is None or in_space != self._in_space:
            if self.solution is not None:  # the same basis: the evidence changes smoothly
                self._pivots = getattr(self.solution.space, "pivots", None)
            self.solution = None  # two spaces at a time would take twice the memory
            pivots = () if self._pivots is None else (self._pivots,)
            space, self._in_space = make_space(parameters, problem, *pivots), in_space
        else:
            space = self.solution.space
        seed = new_seed(parameters)
        posterior, run = solve(parameters, problem, space, current_monitor(), seed)
        return Solution(classifier.kernel, problem.engine, problem, space, posterior, run)


def is_of_engine(name: str) -> bool:
    """Whether a parameter of the classifier is one of its engine."""
    return name.startswith("engine__")


def split(estimator: Any) -> Parts:
    """The steps before the classifier, the classifier, and the prefix of its names."""
    parts = split_pipeline(estimator)
    if not isinstance(parts.last, BayesPointClassifier):
        raise TypeError(
            "The 'estimator' parameter of EvidenceSearch must be a BayesPointClassifier, or a "
            f"Pipeline whose last step is one. Got {estimator!r} instead."
        )
    return parts


def with_params(estimator: Any, params: dict[str, Any]) -> Any:
    """A fresh copy with these parameters, which may be estimators themselves."""
    copy = clone(estimator).set_params(**clone(params, safe=False))
    kernel = split(copy).last.kernel
    if isinstance(kernel, str) and kernel == "auto":
        raise ValueError(
            "EvidenceSearch compares kernels that are named. Got kernel='auto', with which a fit "
            "chooses kernels itself, by leave-one-out: use fit without a search, set kernel="
            "'linear', or name kernels in param_grid."
        )
    return copy


def failed(params: dict[str, Any], error: Exception, start: float) -> Evaluation:
    """The evaluation of a fit that raised an error."""
    return Evaluation(params, np.nan, False, one_line(error), time.perf_counter() - start)


def is_differentiable(kernel: Any, engine: Engine, name: str) -> bool:
    """Whether the derivative of the evidence with respect to a parameter is known."""
    if is_of_engine(name):
        return has_gradient(engine, name.removeprefix("engine__"))
    return name in searchable(kernel) and has_gradient(engine)


def searchable(kernel: Any) -> list[str]:
    """Parameters of kernel and space that may be any positive number, in the classifier's names.

    Kernels that are named share parameters of the classifier: one that has no use for a parameter
    ignores it.
    """
    kernels = [kernel] if isinstance(kernel, Kernel) else NAMES
    names = [name for one in kernels for name in positive_parameters(one)]
    return [*dict.fromkeys(names), "ridge"]


def solution_gradient(solution: Solution, names: Iterable[str]) -> dict[str, Any]:
    """Derivatives of a solution's log evidence by the logarithms of the classifier's parameters."""
    names, problem = tuple(names), solution.problem
    # What the kernel ignores does not change the evidence.
    inner = positive_parameters(solution.kernel) | {"ridge": "ridge"}
    inner |= {name: name.removeprefix("engine__") for name in names if is_of_engine(name)}
    gradient = evidence_gradient(
        as_run(solution.engine, solution.run),
        solution.space,
        problem.points,
        problem.targets,
        solution.posterior,  # type: ignore[arg-type]
        tuple(inner[name] for name in names if name in inner),
        problem.weight,
    )
    return {name: gradient[inner[name]] if name in inner else 0.0 for name in names}


STEP = 1e-3  # of a logarithm, where the derivative is taken from two more fits
SLIGHT = 1e-3  # derivative that may be due to fits that have not quite converged


class SearchEndsError(Exception):
    """No fit has succeeded, or the search was stopped."""


class Search(NamedTuple):
    """One discrete choice, and where the continuous search starts: shares of the bounds, or None.

    None starts from the parameters that the estimator has.
    """

    params: dict[str, Any]
    start: NDArray[np.float64] | None = None


class Found(NamedTuple):
    """All evaluations of a search, its steps, and why it ended if not at the maximum."""

    evaluations: list[Evaluation]
    n_steps: int = 1
    ended_by: str = ""


class Ascent:
    """Evaluates a classifier at logarithms of parameters, and remembers all evaluations."""

    def __init__(
        self,
        classifier: Any,
        data: Data,
        bounds: Mapping[str, tuple[float, float]],
        prefix: str,
        fixed: dict[str, Any],
    ) -> None:
        self.evaluations: list[Evaluation] = []
        params = classifier.get_params()
        # A parameter that is an array has one logarithm for each of its entries.
        self.layout = Layout({name: params[name.removeprefix(prefix)] for name in bounds})
        self._ends = [
            self.layout.vector({name: pair[end] for name, pair in bounds.items()}) for end in (0, 1)
        ]
        self.low, self.high = np.log(self._ends)
        self._prefix, self._fixed = prefix, fixed
        self._function = EvidenceFunction(classifier, data)
        self._best: tuple[float, NDArray[np.float64]] | None = None  # of those that converged
        self._worst = np.inf
        self._inexact: set[str] = set()  # parameters without a derivative
        self._checked: set[str] = set()  # parameters whose derivative was looked at

    def __call__(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The log evidence and its gradient.

        A fit that fails, or that has not converged while others have, is a slope that leads back
        to the best one.
        """
        evaluation = self._evaluate(x)
        self.evaluations.append(evaluation)
        value = evaluation.log_evidence
        if current_monitor().should_stop():
            raise SearchEndsError("the monitor stopped it")
        if not evaluation.converged and self._best is not None:
            back = x - self._best[1]
            return self._worst - 1 - float(back @ back), -2 * back
        if np.isnan(value):
            raise SearchEndsError
        if evaluation.converged:
            self._worst = min(self._worst, value)
            if self._best is None or value > self._best[0]:
                self._best = value, x.copy()
        gradient = self._gradient(x, value)
        self.evaluations[-1] = evaluation._replace(slopes=self.layout.by_name(gradient))
        return value, gradient

    def _evaluate(self, x: NDArray[np.float64]) -> Evaluation:
        named = self._values(x)
        values = {name.removeprefix(self._prefix): value for name, value in named.items()}
        return self._function.evaluate(values, self._fixed | named)

    def _values(self, x: NDArray[np.float64]) -> dict[str, Any]:
        """The parameters themselves; a bound is exactly the number that was given."""
        low, high = self._ends
        inside = np.clip(np.exp(x), low, high)
        values = np.select([x <= self.low, x >= self.high], [low, high], inside)
        return self.layout.by_name(values)

    def _gradient(self, x: NDArray[np.float64], value: float) -> NDArray[np.float64]:
        """Exact where it is known, else from differences; ``value`` is the log evidence at x."""
        solution: Any = self._function.solution
        places = {
            name.removeprefix(self._prefix): entries
            for name, entries in self.layout.entries.items()
        }
        known = [
            name
            for name in places
            if name not in self._inexact
            and is_differentiable(solution.kernel, solution.engine, name)
        ]
        gradient = np.zeros(len(x))
        exact = solution_gradient(solution, known) if known else {}
        for name, entries in places.items():
            if name in exact:
                gradient[entries] = exact[name]
                # Kernels return 0 where they have no derivative, which is looked at once.
                is_new = name not in self._checked and name in positive_parameters(solution.kernel)
                self._checked.add(name)
                if not is_new or np.any(exact[name]):
                    continue
                if abs(self._difference(x, entries, value)) < SLIGHT:
                    continue
                self._inexact.add(name)
            if hasattr(solution.posterior, "log_evidence_error"):
                raise TypeError(
                    f"The evidence of {solution.engine!r} is an estimate from random draws, too "
                    "rough for the differences that a search between bounds needs. Use param_grid."
                )
            gradient[entries] = [self._difference(x, entry, value) for entry in entries]
        return gradient

    def _difference(self, x: NDArray[np.float64], entries: Any, value: float) -> float:
        """Derivative of the log evidence by some entries, moved together, from two fits."""
        ahead, behind = x.copy(), x.copy()
        ahead[entries] = np.minimum(x[entries] + STEP, self.high[entries])
        behind[entries] = np.maximum(x[entries] - STEP, self.low[entries])
        ends = []
        for end in (ahead, behind):
            there = self._evaluate(end).log_evidence
            ends.append((x, value) if np.isnan(there) else (end, there))
        (ahead, above), (behind, below) = ends
        step = float(np.max(ahead[entries] - behind[entries]))
        if step == 0:
            raise SearchEndsError("no fit with slightly different parameters succeeded")
        return (above - below) / step


def search(
    estimator: Any,
    data: Data,
    choice: Search,
    bounds: Mapping[str, tuple[float, float]],
    tol: float,
    max_iter: int,
) -> Found:
    """Evaluate a choice, or climb from it to the largest evidence between the bounds.

    The steps before the classifier are fitted once.
    """
    start = time.perf_counter()
    before, classifier, prefix = split(with_params(estimator, choice.params))
    try:
        if before is not None:
            data = data._replace(X=before.fit_transform(data.X, data.y))
    except FAILURES as error:
        return Found([failed(choice.params, error, start)])
    if not bounds:
        return Found([EvidenceFunction(classifier, data).evaluate({}, choice.params)])
    ascent = Ascent(classifier, data, bounds, prefix, choice.params)
    low, high = ascent.low, ascent.high
    if choice.start is None:
        names = [name.removeprefix(prefix) for name in bounds]
        values = own_values(classifier, names, data.X)
        centre = (low + high) / 2
        given = ascent.layout.vector(dict(zip(bounds, values, strict=True)))
        first = np.clip(np.where(np.isnan(given), centre, given), low, high)
    else:
        share = ascent.layout.vector(dict(zip(bounds, choice.start, strict=True)))
        first = low + share * (high - low)
    try:
        result = climb(ascent, first, low, high, slope=tol, max_iter=max_iter)
    except SearchEndsError as ended:
        return Found(ascent.evaluations, ended_by=str(ended))
    ended_by = ""
    if result.status == 1:
        ended_by = f"it reached max_iter={max_iter}: raise it or tol, or set narrower bounds"
    return Found(ascent.evaluations, max(1, result.nit), ended_by)


def own_values(classifier: Any, names: list[str], X: Any) -> list[Any]:
    """Logarithms of the classifier's own parameters; NaN if they are not positive numbers."""
    params, first = classifier.get_params(), []
    of_kernel = positive_parameters(classifier.kernel)
    for name in names:
        value = params[name]
        if isinstance(value, str) and name in of_kernel:
            value = from_data(classifier, of_kernel[name], X)
        is_number = isinstance(value, Real) or np.ndim(value) == 1
        values = np.asarray(value if is_number else np.nan, dtype=np.float64)
        first.append(np.log(np.where(values > 0, values, np.nan)))
    return first


def from_data(classifier: Any, name: str, X: Any) -> float | None:
    """The number of a kernel's parameter at these rows; None if the fit will refuse them."""
    try:
        kernel = kernel_of(classifier).fitted(check_array(X, dtype=np.float64))
    except (TypeError, ValueError):
        return None
    return kernel.get_params()[name]
