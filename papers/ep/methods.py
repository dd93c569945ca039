"""The methods that the experiments of the slides compare, and how they are scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_ndtr

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import Engine, ExpectationPropagation, LaplaceApproximation
from bayespoint.reports.metrics import log_losses
from bayespoint.tools.plots import BLUE, VERMILION
from papers.datasets import Split
from papers.verdicts import standard_error


class Method(NamedTuple):
    """An engine that finds a Gaussian posterior, and the model that it finds it for.

    Attributes
    ----------
    name : str
        In tables and pictures.
    engine : callable
        Makes the engine from a ``prior_scale``.
    model : str
        Name of the likelihood.
    log_likelihood : callable
        log p(y | f) as a function of y f.
    colour : str
        In pictures.
    """

    name: str
    engine: Callable[..., Engine]
    model: str
    log_likelihood: Callable[[NDArray], NDArray]
    colour: str


EP = Method("EP", ExpectationPropagation, "probit", log_ndtr, BLUE)
LAPLACE = Method("Laplace", LaplaceApproximation, "logistic", log_expit, VERMILION)
METHODS = (EP, LAPLACE)  # everything below and beside asks these, in this order


class Scores(NamedTuple):
    """What a fitted machine is worth on a test set, and how many iterations it took."""

    error: float
    log_loss: float
    log_evidence: float
    n_iter: int
    standard_errors: tuple[float, ...] = ()  # of the error in %, and of the log-loss

    @property
    def cells(self) -> tuple[float, float, float, int]:
        """Error in %, log-loss, log Z and iterations, as tables have them."""
        return 100 * self.error, self.log_loss, self.log_evidence, self.n_iter


# What to choose by, the smallest being best; the first alone needs no test set.
CRITERIA: dict[str, Callable[[Scores], float]] = {
    "evidence": lambda scores: -scores.log_evidence,
    "error": lambda scores: scores.error,
    "log-loss": lambda scores: scores.log_loss,
}


def fit(
    method: Method, X: NDArray, y: NDArray, prior_scale: float, intercept: bool
) -> BayesPointClassifier:
    """Fit a linear machine with weights from N(0, prior_scale² I); EP's noise is 1."""
    engine = method.engine(prior_scale=prior_scale)
    return BayesPointClassifier(
        kernel="linear", fit_intercept=intercept, engine=engine, temperature=1.0
    ).fit(X, y)


def fit_and_score(
    method: Method, split: Split, prior_scale: float, intercept: bool
) -> tuple[BayesPointClassifier, Scores]:
    """Fit on the training points, score on the test points."""
    machine = fit(method, split.X_train, split.y_train, prior_scale, intercept)
    wrong = machine.predict(split.X_test) != split.y_test
    truth = np.searchsorted(machine.classes_, split.y_test)
    losses = log_losses(machine.predict_proba(split.X_test), truth)
    scores = Scores(
        error=float(wrong.mean()),
        log_loss=float(losses.mean()),
        log_evidence=float(machine.log_evidence_[0]),
        n_iter=machine.n_iter_,
        standard_errors=(standard_error(100.0 * wrong), standard_error(losses)),
    )
    return machine, scores
