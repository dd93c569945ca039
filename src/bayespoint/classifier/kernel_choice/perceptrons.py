"""Perceptrons as candidates, where rows are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def best_perceptron(
    problem: Problem, some: NDArray[np.intp], gamma: Any, train: Callable[..., Any], enough: float
) -> tuple[dict[str, Any], Any, float] | None:
    """Parameters, machine and log-loss of the perceptrons whose first visits are best forecast.

    Some rows find the width. These and half of them tell with which power of the number of rows
    the log-loss falls, and so whether it is worth to train on all.

    Parameters
    ----------
    problem : Problem
        Rows of unit variance, and their classes.
    some : ndarray of int
        Some of the rows.
    gamma : float, array or None
        The gamma that was asked for, or None.
    train : callable
        Trains a machine with given parameters on the problem, or on a part of it.
    enough : float
        The log-loss of others.

    Returns
    -------
    tuple or None
        None where there are too few or too many rows; without a machine, and with the log-loss
        that is expected, if this is not less than ``enough``.
    """
    n_points, n_features = len(problem.points), problem.block.max() + 1
    if not FEWEST <= n_points <= MOST:
        return None
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
    if loss >= enough:
        return params, None, loss
    model = train(params)
    return params, model, first_visit_loss(model, problem)


def first_visit_loss(model: Model, problem: Problem) -> float:
    """Log-loss of training rows by perceptrons that have not learned from them."""
    decision: Any = model.posterior.oob_decision("bayes_point")
    known = np.isfinite(decision).all(axis=1)
    answers = model.posterior.log_probability(decision[known], "bayes_point")
    p = softmax(model.coding.log_odds(*answers), axis=1)
    weight = None if problem.weight is None else problem.weight[known]
    return expected_scores(p, problem.codes[known], weight)["log_loss"].value
