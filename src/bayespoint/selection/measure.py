"""One fit, and the evidence that it finds."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bayespoint.classifier import BayesPointClassifier
from bayespoint.exceptions import held_warnings, one_line, warn_user
from bayespoint.monitor import Monitor
from bayespoint.pipelines import Parts, split_pipeline

FAILURES = (ValueError, ArithmeticError)  # what a fit raises for parameters that do not work


class Evaluation(NamedTuple):
    """What one fit came to; a fit that failed has the evidence NaN and says why."""

    params: dict[str, Any]
    log_evidence: float
    converged: bool
    message: str = ""
    fit_time: float = 0.0


class Data(NamedTuple):
    """What all fits of a search share."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None


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
    return clone(estimator).set_params(**clone(params, safe=False))


def log_evidence(classifier: Any) -> float:
    """The sum of the log evidence over the tasks of a fitted classifier."""
    if not hasattr(classifier, "log_evidence_"):
        raise TypeError(
            "EvidenceSearch needs an engine that knows the evidence of its labels, such as "
            f"engine=ExpectationPropagation(). Got {classifier.engine!r}, which does not."
        )
    return float(classifier.log_evidence_.sum())


def measure(classifier: Any, data: Data, params: dict[str, Any]) -> Evaluation:
    """Fit the classifier, whose parameters are already set; ``params`` is what to call them."""
    start = time.perf_counter()
    try:
        with held_warnings() as held:
            classifier.fit(data.X, data.y, sample_weight=data.sample_weight)
    except FAILURES as error:
        return failed(params, error, start)
    for warning in held:
        if not isinstance(warning, ConvergenceWarning):  # the table tells of these
            warn_user(warning)
    run, seconds = classifier.run_, time.perf_counter() - start
    message = "" if run.converged else f"{run.summary}. Remedy: {run.remedy}."
    return Evaluation(params, log_evidence(classifier), run.converged, message, seconds)


def failed(params: dict[str, Any], error: Exception, start: float) -> Evaluation:
    """The evaluation of a fit that raised an error."""
    return Evaluation(params, np.nan, False, one_line(error), time.perf_counter() - start)


class CountFits(Monitor):
    """Tells another monitor how many fits have ended, and hands its wish to stop on."""

    def __init__(self, monitor: Monitor, total: int) -> None:
        self._monitor, self._total, self._done = monitor, total, 0

    def end(self) -> None:
        """Count a fit; steps of a search can take more than one."""
        self._done += 1
        self._monitor.update(min(self._done, self._total))

    def should_stop(self) -> bool:
        """Whether the other one wants to stop."""
        return self._monitor.should_stop()
