"""Kernel parameters of the largest evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.base import clone

from bayespoint.classifier.kernel_choice.candidates import OF_SCALE, OF_WIDTH, Candidate
from bayespoint.classifier.problem import Problem
from bayespoint.engines import Request
from bayespoint.engines.gaussian.evidence_gradient import (
    ProcessEvidence,
    evidence_gradient,
    has_process_evidence,
)
from bayespoint.engines.gaussian.prior_scale import ROUGH
from bayespoint.kernels import Kernel
from bayespoint.tools.maximize import Layout, climb

FURTHEST = 7.0  # largest move of a logarithm
MOST_TASKS = 4  # that speak for all
MOST_FITS = 20
# Gain of log evidence of the last step. On the tables that defaults are tuned on, 0.2 was then left
# to gain, after 5 fits; with 0.1 instead it took a quarter more fits.
SMALL_GAIN = 0.3
TOLERANCE = 1e-3  # of sites, whose errors change the evidence by their squares only
MANY = 200  # points from which half of them say where to begin


def most_evident(
    candidate: Candidate,
    engine: Any,
    problem: Problem,
    n_jobs: int | None = None,
    until: float = np.inf,
) -> Kernel:
    """The candidate's kernel with the free parameters that maximise the evidence.

    Maximised is the log evidence plus the log density of the parameters: the logarithm of each is
    normal around where the search starts.

    Parameters
    ----------
    candidate : Candidate
        The kernel and its free parameters.
    engine : ExpectationPropagation or LaplaceApproximation
        Computes the evidence.
    problem : Problem
        Rows, labels of all tasks, and weights.
    n_jobs : int or None
        Threads.
    until : float, default=inf
        When the search ends, on the monotonic clock of ``time``; the best parameters until then
        are taken.

    Returns
    -------
    Kernel
        With the best parameters.
    """
    params, names = candidate.kernel.get_params(), candidate.free
    layout = Layout({name: params[name] for name in names})
    start = np.log(layout.vector(params))
    followers = [movers(candidate, len(entries)) for entries in layout.entries.values()]
    follow, n_movers = block_diag(*followers), [part.shape[1] for part in followers]
    is_scale = [name.startswith("weights") for name in names]
    spread = np.repeat(np.where(is_scale, OF_SCALE, OF_WIDTH), n_movers)

    def moved(kernel: Kernel, move: NDArray) -> Kernel:
        return kernel.set_params(**layout.by_name(np.exp(start + follow @ move)))

    def penalised(move: NDArray) -> tuple[float, NDArray]:
        value, slopes = evidence(moved(kernel, move), names)
        away = move / spread
        return value - 0.5 * away @ away, layout.vector(slopes) @ follow - away / spread

    kernel = clone(candidate.kernel).fitted(problem.points)  # what depends on the points stays
    most, n_points = np.full(len(spread), FURTHEST), len(problem.codes)
    stages = [(n_points, SMALL_GAIN)]
    if n_points > MANY:
        stages.insert(0, (n_points // 2, 1.0))
    move = np.zeros(len(spread))
    for size, enough in stages:
        evidence = KernelEvidence(engine, kernel, problem.part(np.arange(size)), n_jobs)
        best = climb(penalised, move, -most, most, enough=enough, max_calls=MOST_FITS, until=until)
        move = best.x
    # Rounded, so that it does not matter in which digit a search ended.
    return moved(clone(candidate.kernel), move.round(1))


def movers(candidate: Candidate, size: int) -> NDArray[np.float64]:
    """Which number moves each entry of a parameter: its own, that of its block, or one for all."""
    if candidate.tied or size == 1:
        return np.ones((size, 1))
    block = candidate.block
    return np.eye(size) if block is None else np.eye(block.max() + 1)[block]


class KernelEvidence:
    """The log evidence of labels as a function of the kernel, and its derivatives.

    Parameters
    ----------
    engine : ExpectationPropagation or LaplaceApproximation
        Computes the evidence, with a tolerance that is enough for comparisons.
    kernel : Kernel
        A kernel of the kind that will be evaluated.
    problem : Problem
        Rows, labels and weights. Of many tasks only some are used.
    n_jobs : int or None
        Threads.
    """

    def __init__(self, engine: Any, kernel: Kernel, problem: Problem, n_jobs: int | None) -> None:
        targets = problem.targets
        some = np.unique(np.linspace(0, targets.shape[1] - 1, MOST_TASKS).round().astype(int))
        self.points, self.targets, self.weight = problem.points, targets[:, some], problem.weight
        self.engine = clone(engine).set_params(**ROUGH | {"tol": TOLERANCE})
        kind = problem.coding.apart
        self.request = Request(sample_weight=self.weight, n_jobs=n_jobs, kind=kind)
        self.by_matrix = None
        if not kernel.is_linear and has_process_evidence(self.engine, kind):
            self.by_matrix = ProcessEvidence(self.engine, self.targets, self.weight)

    def __call__(self, kernel: Kernel, names: tuple[str, ...]) -> tuple[float, dict[str, Any]]:
        """The evidence, and its derivatives by the logarithms of some parameters."""
        space = self.engine.space(kernel)
        if self.by_matrix is not None:
            known = self.by_matrix(space.kernel_matrix(self.points))
            if known is not None:
                value, pull = known
                return value, {name: space.slope(self.points, name, pull) for name in names}
        space.fit(self.points)
        posterior, _ = self.engine.run(space, self.targets, self.request)
        given = space, self.points, self.targets, posterior
        slopes = evidence_gradient(self.engine, *given, names, self.weight)
        return posterior.log_evidence.sum(), slopes
