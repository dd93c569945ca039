"""Billiard in version space.

P. Ruján, Playing billiards in version space, Neural Computation 9, 1997; described in Section 2 of
R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, 2001.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint._core.calls import Slices
from bayespoint.engines.base import Engine, Request, Run, StepProgress
from bayespoint.engines.sampling.chains import Chains
from bayespoint.engines.sampling.convergence import Task, agreement, chain_run, check_sizes, gather
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Record, Steps
from bayespoint.posteriors import ChainPosterior
from bayespoint.spaces import BasisSpace
from bayespoint.tools.threads import thread_pool
from bayespoint.tools.validation import check_number

LARGEST_GRAM = 5000  # points whose inner products are kept, 200 MB; else a bounce costs O(m d)
EVENTS, FEWEST_EVENTS = 10**7, 100  # of one call: for each of the numbers that an event changes
LAUNCHES = 10  # velocities that the first bounces are played with
ENDLESS = sys.maxsize


class Shot(NamedTuple):
    """A ball after its burn-in."""

    ball: Any
    free_path: float  # mean arc length from bounce to bounce
    total: NDArray[np.float64]  # sum of w before the series of samples it is in


class Billiard:
    """Moves of a ball that is reflected at the walls of version space.

    Parameters
    ----------
    halfspaces : Halfspaces
        The walls.
    burn_in : int
        Bounces before the first sample; they measure the mean free path.
    refresh : float
        Mean free paths after which a new velocity is drawn.
    progress : StepProgress
        Receives every bounce of the burn-in, which ends early if the run is stopped.
    """

    def __init__(
        self, halfspaces: Halfspaces, burn_in: int, refresh: float, progress: StepProgress
    ) -> None:
        normals = halfspaces.normals
        self._normals, self._burn_in, self._refresh = normals, burn_in, refresh
        self._gram = normals @ normals.T if len(normals) <= LARGEST_GRAM else np.empty((0, 0))
        self._progress = progress
        self._slices = Slices()

    def state(self, w: NDArray, rng: np.random.Generator) -> Shot:
        """A ball that starts at w and has finished its burn-in."""
        core = _core.billiard
        ball, nothing = core.new_ball(w, len(self._normals)), np.empty((1, len(w)))
        bounces = -(-self._burn_in // LAUNCHES)
        arc, n_bounces = 0.0, 0
        for _ in range(LAUNCHES):
            core.launch(ball.w, ball.v, rng)
            core.count_anew(ball, np.inf)
            for begin, end in self._slices.of(bounces):
                self._play(ball, np.inf, np.inf, end, np.inf, rng, nothing)
                n_bounces += end - begin
                self._progress.add(end - begin)
                if self._progress.stopped:
                    break
            arc += ball.clock[0]
            if self._progress.stopped:
                break
        free_path = arc / n_bounces
        ball.clock[2] = self._refresh * free_path
        return Shot(ball, free_path, np.zeros(len(w)))

    def sample(
        self, theta: float, steps: Steps, state: Shot, rng: np.random.Generator, record: Record
    ) -> None:
        """Take samples every ``thin`` mean free paths; add the integral of w to ``total``."""
        ball, free_path, before = state
        thin, samples, total, _ = record
        begin, end = steps
        spacing = thin * free_path
        if begin == 0:
            before[:] = total
            _core.billiard.count_anew(ball, spacing)
        most_arc = end * free_path if end < thin * len(samples) else np.inf
        refresh = self._refresh * free_path
        self._play(ball, refresh, spacing, ENDLESS, most_arc, rng, samples)
        total[:] = before + ball.integral / free_path

    def _play(self, ball: Any, *rules: Any) -> None:
        """Play on, in calls that are short, until the rules say that it is enough."""
        *limits, rng, samples = rules
        events = max(FEWEST_EVENTS, EVENTS // sum(self._normals.shape))
        arc = -1.0
        while not _core.billiard.play(
            self._normals, self._gram, ball, *limits, events, rng, samples
        ):
            if ball.clock[0] == arc:
                raise ValueError(
                    "The ball does not move: version space is too thin for floating-point numbers. "
                    "Scale the features, or set a ridge."
                )
            arc = ball.clock[0]


@dataclass(kw_only=True, eq=False, repr=False)
class BilliardSampler(Engine):
    r"""Uniform samples of version space, and its centre, by a billiard.

    A ball moves on great circles of the sphere :math:`|w| = 1` and is reflected at the walls
    :math:`y_i w \cdot x_i = 0` of version space. The Bayes point is the mean of w over the arc
    length. (The mean of the bounce points would be biased, because all of them are on the
    boundary.) A new velocity is drawn from time to time, because a billiard can enter a periodic
    orbit.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples from all balls together (rounded up to a multiple of ``n_chains``), at
        equal distances of arc length. The Bayes point uses the whole path.
    burn_in : int, default=1000
        Bounces of each ball before the first sample; they also measure the mean free path.
    thin : int, default=10
        Mean free paths from one sample to the next.
    refresh : float or None, default=10
        Mean free paths, at least 0.01, after which a new velocity is drawn; None means never.
    n_chains : int, default=4
        Number of independent balls, which run on ``n_jobs`` threads.

    Notes
    -----
    The classes must be separable, or made separable by a ridge or a rich kernel. Otherwise version
    space is empty, and an ``EmptyVersionSpaceError`` is raised. Copies of a point do not change
    version space, so unequal sample weights raise an error. A bounce takes O(m + d) operations.

    References
    ----------
    P. Ruján, Playing billiards in version space, Neural Computation 9, 1997.

    R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, Advances in Neural Information
    Processing Systems 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(engine="billiard", random_state=0).fit(X, y == 0)
    >>> clf.score(X, y == 0)
    1.0
    """

    alias = "billiard"
    weighs_rows = False
    space = BasisSpace
    is_random = True

    n_samples: int = 1000
    burn_in: int = 1000
    thin: int = 10
    refresh: float | None = 10
    n_chains: int = 4

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_sizes(self)
        check_number(self, "thin", low=1, integer=True)
        check_number(self, "burn_in", low=1, integer=True)
        check_number(self, "refresh", low=0.01, also=(None,))

    def run(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[ChainPosterior, Run]:
        """Sample the version space of each task; see the base class."""
        n_tasks = targets.shape[1]
        n_draws = -(-self.n_samples // self.n_chains)
        planned = n_tasks * self.n_chains * (self.burn_in + n_draws * self.thin)
        refresh = np.inf if self.refresh is None else float(self.refresh)
        tasks = []
        monitor, weight = request.monitor, request.sample_weight
        with thread_pool(request.n_jobs) as pool, monitor.running(StepProgress.TOTAL, "percent"):
            progress = StepProgress(monitor, planned)
            for target, own in zip(targets.T, request.rng.spawn(n_tasks), strict=True):
                halfspaces = Halfspaces.of(space.rows(), target, weight)
                balls = Chains(
                    Billiard(halfspaces, self.burn_in, refresh, progress),
                    np.tile(halfspaces.inside(), (self.n_chains, 1)),
                    own.spawn(self.n_chains),
                    pool,
                    progress,
                )
                draws = balls.draw(np.inf, n_draws, self.thin)
                agree = agreement(draws, halfspaces.normals)
                tasks.append(Task(draws, balls.mean, 0.0, *agree, balls.n_steps))
        posterior = gather(tasks, space, targets, request.left_out(len(targets)))
        return posterior, chain_run(tasks, posterior, n_draws, None, "raise thin and burn_in")
