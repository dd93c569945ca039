"""Perceptrons as candidates, where rows are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.model import Model
from bayespoint.classifier.problem import Problem
from bayespoint.engines import PermutedPerceptron
from bayespoint.kernels import RadialKernel

# Fewer points are what other engines use in full; with more, kernel rows take minutes.
FEWEST, MOST = 5000, 60_000
WIDTHS = (1.0, 3.0)  # gamma times the number of features
RIDGE = 0.1


class PerceptronTrial(NamedTuple):
    """Perceptrons, and how well their first visits of rows were predicted.

    Attributes
    ----------
    params : dict
        Their parameters.
    model : Model or None
        Trained on all rows; None if that was not worth it.
    loss : float
        The log-loss of first visits; without a model, the one that is expected.
    to_beat : float
        The log-loss of the mixture of other models.
    """

    params: dict[str, Any]
    model: Any
    loss: float
    to_beat: float

    @property
    def is_better(self) -> bool:
        """Whether the model is better than the mixture."""
        return self.model is not None and self.loss < self.to_beat

    @property
    def report(self) -> str:
        """The result in words."""
        where = " expected from some rows" if self.model is None else ""
        return (
            f"{'instead' if self.is_better else 'not'} perceptrons, rbf: first-visit log-loss "
            f"{self.loss:.4f}{where}, mixture {self.to_beat:.4f}"
        )


def best_perceptron(
    problem: Problem, some: NDArray[np.intp], gamma: Any, train: Callable[..., Any], to_beat: float
) -> PerceptronTrial:
    """Perceptrons with the width at which first visits of rows are predicted best.

    Some rows determine the width. The losses of these rows and of half of them give the power of
    the number of rows with which the log-loss falls, and so whether it is worth to train on all.

    Parameters
    ----------
    problem : Problem
        Rows of unit variance, and their classes.
    some : ndarray of int
        Some of the rows.
    gamma : float, array or None
        The gamma that was asked for, or None.
    train : callable
        Trains a model with given parameters on the problem, or on a part of it.
    to_beat : float
        The log-loss of the mixture of other models.

    Returns
    -------
    PerceptronTrial
        Without a model if the expected log-loss is not less than ``to_beat``.
    """
    n_points, n_features = len(problem.points), problem.block.max() + 1
    widths = [width / n_features for width in WIDTHS] if gamma is None else [gamma]
    part, trained = problem.part(some), []
    for width in widths:
        params = {"kernel": RadialKernel(gamma=width), "engine": PermutedPerceptron()}
        params |= {"ridge": RIDGE, "n_components": None, "temperature": 1.0}
        trained.append((first_visit_loss(train(params, part), part), params))
    loss, params = min(trained, key=lambda one: one[0])
    half = problem.part(some[::2])
    falls = np.log2(max(1.0, first_visit_loss(train(params, half), half) / loss))
    loss *= (len(some) / n_points) ** falls
    if loss >= to_beat:
        return PerceptronTrial(params, None, loss, to_beat)
    model = train(params, problem)
    return PerceptronTrial(params, model, first_visit_loss(model, problem), to_beat)


def first_visit_loss(model: Model, problem: Problem) -> float:
    """Log-loss of training rows by perceptrons that have not learned from them."""
    decision: Any = model.posterior.oob_decision("bayes_point")
    known = np.isfinite(decision).all(axis=1)
    answers = model.posterior.log_probability(decision[known], "bayes_point")
    p = softmax(model.coding.log_odds(*answers), axis=1)
    weight = None if problem.weight is None else problem.weight[known]
    return expected_scores(p, problem.codes[known], weight)["log_loss"].value
