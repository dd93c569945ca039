"""Trials of candidates: learn a candidate's parameters, train it, and predict left-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.attributes import left_out_probabilities
from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.kernel_choice.ascent import most_evident
from bayespoint.classifier.kernel_choice.blending import blended
from bayespoint.classifier.kernel_choice.candidates import Candidate, relevance
from bayespoint.classifier.kernel_choice.clock import Clock
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.kernels import ConstantKernel, Kernel, RadialKernel

MOST_POINTS, MOST_OF_HALF = 200, 400  # from which the evidence learns few or many parameters
# Folds in which relevance is learned: so many rows over those there are, and at most.
ROWS_OF_FOLDS, MOST_FOLDS = 500, 8
SMALLER = 0.3  # factor of scales that are tried where a model is too sure
ALL = slice(None)  # rows

# Trains a model with these parameters of the classifier on a problem.
Train = Callable[[dict[str, Any], Problem], Model]


@dataclass(frozen=True)
class Study:
    """Rows on which candidates are tried, and how models are trained on them.

    Attributes
    ----------
    parameters : Parameters
        Of the classifier, with an engine whose prior scale is a number.
    problem : Problem
        Rows of unit variance, and their classes.
    train : callable
        Trains a model with given parameters on a problem.
    clock : Clock
        How much time is left.
    halves : list of two ndarrays of int
        Positions of the rows of each half, in random order.
    """

    parameters: Parameters
    problem: Problem
    train: Train
    clock: Clock
    halves: list[NDArray[np.intp]]

    def folds(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to learn relevance from, and those to predict: of few rows more to learn from."""
        problem = self.problem
        n_rows = len(problem.codes) if problem.weight is None else problem.weight.sum()
        n_parts = int(np.clip(ROWS_OF_FOLDS // n_rows, 2, MOST_FOLDS))
        parts = [part for part in split(problem, n_parts) if len(part)]
        return [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(len(parts))]


class Proposal(NamedTuple):
    """A candidate whose parameters are known.

    Attributes
    ----------
    name : str
        That of the candidate.
    kernels : list of (Kernel, ndarray of int or slice)
        Each kernel, and the rows that it was not learned from: all others learned it.
    is_learned : bool
        Whether the evidence, or the relevance of features, determined anything.
    in_common : bool
        Whether two numbers of the kernels were learned from all rows.
    """

    name: str
    kernels: list[tuple[Kernel, Any]]
    is_learned: bool = True
    in_common: bool = False

    def weaker(self) -> Proposal:
        """The proposal with a smaller scale of all terms but the constant."""
        kernels = []
        for kernel, others in self.kernels:
            terms = zip(kernel.weights, kernel.terms, strict=True)
            sizes = [w if isinstance(term, ConstantKernel) else SMALLER * w for w, term in terms]
            kernels.append((clone(kernel).set_params(weights=sizes), others))
        return self._replace(kernels=kernels)

    def extended(self, rows: NDArray[np.intp], n_rows: int) -> Proposal:
        """The proposal for all ``n_rows`` rows, if it was made for some ``rows`` of them.

        Rows that are new are predicted by each of the kernels in turn.
        """
        new, kernels = np.setdiff1d(np.arange(n_rows), rows), []
        for k, (kernel, others) in enumerate(self.kernels):
            if not isinstance(others, slice):
                others = np.append(rows[others], new[k :: len(self.kernels)])
            kernels.append((kernel, others))
        return self._replace(kernels=kernels)


class Trial(NamedTuple):
    """A proposal, the models that were trained with it, and their left-out predictions.

    Attributes
    ----------
    proposal : Proposal
        Kernels, and the rows that they were not learned from.
    members : list of (dict, Model)
        Parameters and model of each kernel, all trained on all rows.
    left_out : ndarray of shape (n, n_classes)
        Probabilities of the classes of each row, which use neither its label nor its part.
    temperature : float
        The best one of these probabilities.
    loss : float
        Their log-loss at this temperature.
    report : str
        The result in words.
    """

    proposal: Proposal
    members: list[tuple[dict[str, Any], Model]]
    left_out: NDArray[np.float64]
    temperature: float
    loss: float
    report: str


def propose(study: Study, candidate: Candidate) -> Proposal:
    """Learn a candidate's parameters: from all rows, from each half or fold, or not at all."""
    if not (candidate.free or candidate.by_relevance):
        return Proposal(candidate.name, [(candidate.kernel, ALL)], is_learned=False)
    most = MOST_POINTS
    parts: list[Any] = [(np.concatenate(study.halves), ALL)]  # to learn from, and to predict
    if candidate.in_halves:
        most = MOST_OF_HALF
        parts = study.folds() if candidate.tied else [study.halves, study.halves[::-1]]
    name, kernels, until = candidate.name, [], np.inf
    for number, (rows, others) in enumerate(parts):
        kernel = candidate.kernel
        if candidate.by_relevance:
            kernel = with_relevance(candidate, study.problem, rows)
        if candidate.free and (number == 0 or not candidate.tied):
            until = study.clock.end_of_search(1 if candidate.tied else len(parts) - number)
            some = study.problem.part(rows[:most])
            start = candidate._replace(kernel=kernel)
            kernel = most_evident(
                start, study.parameters.engine, some, study.parameters.n_jobs, until
            )
        if candidate.tied:  # the other parts keep the scales and the mean width
            candidate = candidate._replace(kernel=kernel)
        kernels.append((kernel, others))
    if time.monotonic() > until:
        name += ", search ended by max_time"
    in_common = bool(candidate.free) and (candidate.tied or not candidate.in_halves)
    return Proposal(name, kernels, in_common=in_common)


def with_relevance(candidate: Candidate, problem: Problem, rows: NDArray[np.intp]) -> Kernel:
    """The candidate's kernel with widths by the relevance of features in some rows.

    The mean width stays. Of several radial terms, each is for one class.
    """
    weight = None if problem.weight is None else problem.weight[rows]
    kernel, points, codes = clone(candidate.kernel), problem.points[rows], problem.codes[rows]
    radial: list[Any] = [term for term in kernel.terms if isinstance(term, RadialKernel)]
    for k, term in enumerate(radial):
        labels = codes if len(radial) == 1 else 1 * (codes == k)
        share = relevance(points, labels, weight, problem.block) ** candidate.by_relevance
        term.set_params(gamma=share * (term.gamma.sum() / share.sum()))
    return kernel


def try_out(study: Study, proposal: Proposal, size: int | None) -> Trial:
    """Train a model with each kernel, and predict the rows that it was not learned from.

    ``size`` is the largest number of rows in a basis; None takes all.
    """
    codes, weight = study.problem.codes, study.problem.weight
    members, predictions = [], []
    left_out = np.empty((len(codes), len(study.problem.classes)))
    for kernel, others in proposal.kernels:
        params = {
            "kernel": kernel,
            "engine": study.parameters.engine,
            "n_components": None if kernel.is_linear else size,
            "temperature": 1.0,
        }
        with study.clock.training():
            model = study.train(params, study.problem)
        members.append((params, model))
        predictions.append(left_out_probabilities(model, codes))
        left_out[others] = predictions[-1][others]
    alone = blended(left_out[None], study.problem, study.parameters.temperature, 1)
    loss = expected_scores(alone.mixed(left_out[None]), codes, weight)["log_loss"].value
    report = f"{proposal.name}: leave-one-out log-loss {loss:.4f}"
    if len(members) > 1:
        report += f", parts differ by {np.abs(predictions[0] - predictions[1]).mean():.3f}"
    return Trial(proposal, members, left_out, alone.temperature, loss, report)
