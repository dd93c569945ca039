"""The kernel Gibbs sampler: the posterior of classifiers under label noise, by Markov chains.

T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, Advances in Neural Information Processing
Systems 13, 2001. Steps in ``_core/gibbs.py`` are numbered as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Engine, Request, Run, StepProgress
from bayespoint.engines.sampling.chains import Chains
from bayespoint.engines.sampling.convergence import (
    AGREE,
    Task,
    agreement,
    chain_run,
    check_sizes,
    gather,
)
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Circles, Outputs
from bayespoint.engines.sampling.tempering import ladder_steps, temper
from bayespoint.posteriors import ChainPosterior
from bayespoint.spaces import BasisSpace
from bayespoint.tools.threads import thread_pool
from bayespoint.tools.validation import check_choice, check_flag, check_number, parameter_error

SMALLEST_RATE = 1e-3  # least flip rate that label_noise="auto" considers
UNEQUAL = 10  # largest over smallest singular value of the points from which scales matter
LOOKED_AT = 2000  # points of them
WORTH = 100  # independent samples that a remedy asks for
FREEDOM = 0.1  # below, an output is held by its neighbours: lines for each do not pay
DISPERSION = 0.5  # length of the noise on a start, beside 1 for the least-squares solution


Start = Callable[[NDArray, Sequence[np.random.Generator]], Chains]


class Pace(NamedTuple):
    """Moves of each chain: before the first sample, between samples, in all; for the evidence."""

    burn_in: int
    thin: int
    main_steps: int
    rung_steps: int  # on every level of the ladder
    ladder_steps: int  # on all of them; 0 if no evidence is wanted


@dataclass(kw_only=True, eq=False, repr=False)
class GibbsSampler(Engine):
    r"""Samples of the posterior of unit weight vectors when labels are flipped with probability q.

    The prior is uniform on the sphere :math:`|w| = 1`. With k(w) errors on m training points, the
    likelihood is :math:`q^{k} (1 - q)^{m - k}`. It is constant on each of the pieces into which the
    training points divide the sphere. A move takes a great circle through w in a random direction,
    finds the arcs of constant likelihood, and draws the next w from the exact distribution on the
    circle. Without noise (q = 0), the posterior is uniform on version space.

    Parameters
    ----------
    label_noise : float or "auto", default=0.05
        Flip rate q, from 0 to 1/2. "auto" is the q with the largest evidence, for each class
        separately.
    n_samples : int, default=1000
        Number of samples from all chains together (rounded up to a multiple of ``n_chains``).
    burn_in : int or None, default=None
        Moves of each chain before the first sample. None means 1000, or 300 if each move changes
        all outputs (see ``directions``).
    thin : int or None, default=None
        Moves between two samples of a chain. The Bayes point is the mean over all moves. None means
        10, or 3 if each move changes all outputs.
    n_chains : int, default=4
        Number of chains, which run on ``n_jobs`` threads.
    target_ess : float or None, default=None
        Effective sample size that the chains must reach, with R-hat below 1.05. Until then, they
        are continued with twice as many moves and ``thin`` doubled, and earlier moves become
        burn-in.
    max_steps : int, default=100000
        Largest number of moves of a chain to reach ``target_ess``.
    directions : {"auto", "isotropic", "outputs"}, default="auto"
        The directions of moves. The posterior is the same for all, but the number of necessary
        moves differs. "isotropic" is the move of the paper. "outputs" also moves the output at each
        training point, one after another, in about the time of a second circle. It needs as many
        coordinates as points (a kernel, no copies of points, or a ridge). If the kernel is not
        smooth, it gives ten or more times as many effective samples. "auto" is "outputs" if outputs
        can move independently, and "isotropic" otherwise.
    evidence : bool, default=False
        Whether to estimate the evidence log p(labels), for all q at once, by chains at 25 levels of
        noise. This takes about six times as long. ``label_noise="auto"`` always does this.

    Notes
    -----
    A row of weight k counts as k copies. The evidence needs integer weights. Without label noise,
    copies change nothing, and unequal weights raise an error.

    If chains disagree (R-hat above 1.1), a ``ChainsDisagreeWarning`` is issued. R-hat and effective
    sample size are in ``run_.measures``, and ``posterior_.to_dict()`` exports the draws to ArviZ.

    References
    ----------
    T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, Advances in Neural Information Processing
    Systems 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import GibbsSampler
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:] - X[50:].mean(axis=0), y[50:]
    >>> engine = GibbsSampler(label_noise="auto", target_ess=200)
    >>> clf = BayesPointClassifier(engine=engine, random_state=0).fit(X, y)
    >>> print(f"right {clf.score(X, y):.2f}, flipped {clf.posterior_.label_noise[0]:.2f}")
    right 0.99, flipped 0.01
    >>> bool(clf.run_.measures["effective_sample_size"][0] > 200)
    True
    """

    alias = "gibbs"
    space = BasisSpace
    is_random = True

    label_noise: float | str = 0.05
    n_samples: int = 1000
    burn_in: int | None = None
    thin: int | None = None
    n_chains: int = 4
    target_ess: float | None = None
    max_steps: int = 100_000
    directions: str = "auto"
    evidence: bool = False

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "label_noise", low=0, high=0.5, closed="both", also=("auto",))
        check_sizes(self)
        check_number(self, "thin", low=1, integer=True, also=(None,))
        check_number(self, "burn_in", low=0, integer=True, also=(None,))
        check_number(self, "target_ess", low=0, closed="neither", also=(None,))
        if self.target_ess is not None and self.target_ess > self.n_samples:
            raise parameter_error(self, "target_ess", f"at most n_samples={self.n_samples}")
        check_number(self, "max_steps", low=1, integer=True)
        check_choice(self, "directions", ("auto", "isotropic", "outputs"))
        check_flag(self, "evidence")

    def run(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[ChainPosterior, Run]:
        """Run the chains of each task; see the base class."""
        n_tasks = targets.shape[1]
        tasks: list[Task] = []
        monitor, weight = request.monitor, request.sample_weight
        with thread_pool(request.n_jobs) as pool, monitor.running(StepProgress.TOTAL, "percent"):
            progress = StepProgress(monitor)
            for number, own in enumerate(request.rng.spawn(n_tasks)):
                halfspaces = Halfspaces.of(space.rows(), targets[:, number], weight)
                moves = self._moves(space, halfspaces)
                pace = self._pace(moves)
                progress.planned = n_tasks * self.n_chains * (pace.main_steps + pace.ladder_steps)
                start = partial(Chains, moves, pool=pool, progress=progress)
                tasks.append(self._run_task(halfspaces, pace, own, start))
        some = halfspaces.normals[:: -(-len(halfspaces.normals) // LOOKED_AT)]
        remedy = self._remedy(type(moves) is Circles and np.linalg.cond(some) > UNEQUAL)
        posterior = gather(tasks, space, targets, request.left_out(len(targets)))
        return posterior, chain_run(tasks, posterior, self._n_draws(), self.target_ess, remedy)

    def _remedy(self, is_long: bool) -> str:
        """What lets chains agree: longer runs, and features of equal scales."""
        size = min(WORTH, self.n_samples)
        remedy = f"set target_ess={size}, which lets the chains run until they agree"
        if self.target_ess is not None:
            remedy = "raise max_steps"
        if is_long:
            remedy = f"scale the features (standardize=True), and {remedy}"
        return remedy

    def _moves(self, space: BasisSpace, halfspaces: Halfspaces) -> Circles:
        """The moves of the chains of a task; with a single coordinate there is only one kind."""
        m, d = halfspaces.normals.shape
        if self.directions == "isotropic" or space.n_coordinates == 1:
            return Circles(halfspaces)
        if self.directions == "outputs" and d < m:
            raise ValueError(
                f"directions='outputs' needs as many coordinates as training rows: got {d} for "
                f"{m} rows that are not zero. Use another kernel, a ridge > 0, or "
                "directions='auto' or 'isotropic'."
            )
        outputs = Outputs(halfspaces) if d == m else None
        if outputs and (self.directions == "outputs" or outputs.freedom > FREEDOM):
            return outputs
        return Circles(halfspaces)

    def _run_task(
        self, halfspaces: Halfspaces, pace: Pace, rng: np.random.Generator, start: Start
    ) -> Task:
        """Chains of one task, which ``start`` makes from directions and generators."""
        n_chains, d = self.n_chains, halfspaces.normals.shape[1]
        rngs = rng.spawn(n_chains)
        noise = unit(np.stack([own.standard_normal(d) for own in rngs]))
        q, evidence = self.label_noise, None
        if pace.ladder_steps:
            chains = start(noise, rng.spawn(n_chains))
            lowest = SMALLEST_RATE if isinstance(q, str) else float(q)
            evidence = temper(chains, halfspaces, log_odds(lowest), pace.rung_steps)
            q = evidence.most_likely(SMALLEST_RATE) if isinstance(q, str) else q
        q = float(q)
        if q == 0:
            starts = np.tile(halfspaces.inside(), (n_chains, 1))
        else:
            starts = unit(halfspaces.centre() + DISPERSION * noise)
        chains = start(starts, rngs)
        draws, spread, size = self._sample(chains, pace, log_odds(q), halfspaces.normals)
        return Task(draws, chains.mean, q, spread, size, chains.n_steps, evidence)

    def _sample(
        self, chains: Chains, pace: Pace, theta: float, normals: NDArray
    ) -> tuple[NDArray, float, float]:
        """Draws of all chains, their R-hat and their effective sample size."""
        thin, progress = pace.thin, chains.progress
        if pace.burn_in:
            chains.draw(theta, 1, pace.burn_in)
        while True:
            draws = chains.draw(theta, self._n_draws(), thin)
            spread, size = agreement(draws, normals)
            enough = self.target_ess is None or (size >= self.target_ess and spread < AGREE)
            thin *= 2
            longer = chains.n_steps + self._n_draws() * thin
            if enough or progress.stopped or longer > self.max_steps:
                return draws, spread, size

    def _n_draws(self) -> int:
        """Samples of each chain."""
        return -(-self.n_samples // self.n_chains)

    def _pace(self, moves: Circles) -> Pace:
        """Numbers of moves, with defaults for parameters that are None."""
        thin = moves.thin if self.thin is None else self.thin
        burn_in = moves.burn_in if self.burn_in is None else self.burn_in
        main_steps = burn_in + self._n_draws() * thin  # unless target_ess wants more
        rung_steps = max(self._n_draws() * thin // 4, 100)
        wanted = self.evidence or self.label_noise == "auto"
        return Pace(
            burn_in, thin, main_steps, rung_steps, ladder_steps(rung_steps) if wanted else 0
        )


def log_odds(q: float) -> float:
    """Theta = log((1 - q) / q), what an error costs."""
    return np.inf if q == 0 else float(np.log1p(-q) - np.log(q))


def unit(vectors: NDArray) -> NDArray[np.float64]:
    """Vectors along the last axis, scaled to unit length."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
