"""The evidence of a classifier's parameters and its gradient, and what a search keeps of fits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.fitting import make_space, new_seed, pose, solve
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.engines import Engine, Run
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient, has_gradient
from bayespoint.engines.gaussian.prior_scale import as_run
from bayespoint.exceptions import one_line
from bayespoint.kernels import NAMES, Kernel, positive_parameters
from bayespoint.posteriors import Posterior
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.pipelines import Parts, split_pipeline

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


def solution_gradient(solution: Solution, names: Iterable[str]) -> NDArray[np.float64]:
    """Derivatives of a solution's log evidence by the logarithms of the classifier's parameters."""
    names, problem = tuple(names), solution.problem
    # What the kernel ignores, such as gamma if it is linear, does not change the evidence.
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
    parts = [gradient[inner[name]] if name in inner else 0.0 for name in names]
    return np.concatenate([np.atleast_1d(part) for part in parts])
