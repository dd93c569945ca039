"""Billiard in version space.

P. Ruján, Playing billiards in version space, Neural Computation 9, 1997; described in Section 2 of
R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, 2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.engines.base import Engine
from bayespoint.engines.run import Run
from bayespoint.engines.sampling.chains import Chains, Progress
from bayespoint.engines.sampling.convergence import Task, agreement, chain_run, check_sizes, gather
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.monitor import Monitor
from bayespoint.posteriors import ChainPosterior, Posterior
from bayespoint.spaces import BasisSpace
from bayespoint.threads import thread_pool
from bayespoint.validation import check_number

LARGEST_GRAM = 5000  # points whose inner products are kept, 200 MB; else a bounce costs O(m d)
LAUNCHES = 10  # velocities that the first bounces are played with


class Ball(NamedTuple):
    """Where a billiard ball is."""

    w: NDArray[np.float64]
    v: NDArray[np.float64]
    clock: NDArray[np.float64]  # arc length until the next launch, and mean free path


class Billiard:
    """Moves of a ball that is reflected at the walls of version space.

    Parameters
    ----------
    halfspaces : Halfspaces
        The walls.
    burn_in : int
        Bounces before the first sample; they measure the mean free path.
    refresh : float
        Mean free paths after which the velocity is drawn anew.
    """

    def __init__(self, halfspaces: Halfspaces, burn_in: int, refresh: float) -> None:
        normals = halfspaces.normals
        self._normals, self._burn_in, self._refresh = normals, burn_in, refresh
        self._gram = normals @ normals.T if len(normals) <= LARGEST_GRAM else np.empty((0, 0))

    def state(self, w: NDArray, rng: np.random.Generator) -> Ball:
        """A ball that has left w far behind, if ``burn_in`` is large."""
        w, v, nothing = w.copy(), np.empty(len(w)), np.empty((0, len(w)))
        bounces = -(-self._burn_in // LAUNCHES)
        arc = 0.0
        for _ in range(LAUNCHES):
            _core.billiard.launch(w, v, rng)
            arc += _core.billiard.play(
                self._normals, self._gram, w, v, np.inf, np.inf, np.inf, bounces, rng, nothing,
                np.zeros(len(w)),
            )[0]  # fmt: skip
        free_path = arc / (LAUNCHES * bounces)
        return Ball(w, v, np.array([self._refresh * free_path, free_path]))

    def sample(
        self,
        theta: float,
        state: Ball,
        thin: int,
        rng: np.random.Generator,
        samples: NDArray,
        total: NDArray,
        histogram: NDArray,
    ) -> None:
        """Take samples every ``thin`` mean free paths; add the integral of w to ``total``."""
        until_launch, free_path = state.clock
        integral = np.zeros(len(total))
        _, state.clock[0] = _core.billiard.play(
            self._normals, self._gram, state.w, state.v, until_launch, self._refresh * free_path,
            thin * free_path, 0, rng, samples, integral,
        )  # fmt: skip
        total += integral / free_path


class BilliardSampler(Engine):
    r"""Uniform samples of version space, and its centre, by a billiard.

    A ball moves on great circles of the sphere :math:`|w| = 1` and is reflected at the walls
    :math:`y_i w \cdot x_i = 0` of version space. The Bayes point is the mean of w over the arc
    length (the mean of the bounce points, all on the boundary, would be biased). A billiard may be
    caught in an orbit for ever, so the velocity is drawn anew from time to time.

    Parameters
    ----------
    n_samples : int, default=1000
        Samples to keep, from all balls together (rounded up to a multiple of ``n_chains``), at
        equal distances of arc length. The Bayes point uses the whole way.
    burn_in : int, default=1000
        Bounces of each ball before the first sample; they also measure the mean free path.
    thin : int, default=10
        Mean free paths from one sample to the next.
    refresh : float or None, default=10
        Mean free paths after which the velocity is drawn anew; None is never.
    n_chains : int, default=4
        Balls, which do not feel each other, on ``n_jobs`` threads.

    Notes
    -----
    The classes must be separable, or made so by a ridge or a rich kernel: else there is no version
    space and an ``EmptyVersionSpaceError`` says so. Copies of a point do not change version space,
    and sample weights that differ are refused. A bounce costs O(m + d).

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
    space = BasisSpace
    is_random = True

    def __init__(
        self,
        *,
        n_samples: int = 1000,
        burn_in: int = 1000,
        thin: int = 10,
        refresh: float | None = 10,
        n_chains: int = 4,
    ) -> None:
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.thin = thin
        self.refresh = refresh
        self.n_chains = n_chains

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_sizes(self)
        check_number(self, "thin", low=1, integer=True)
        check_number(self, "burn_in", low=1, integer=True)
        if self.refresh is not None:
            check_number(self, "refresh", low=0, closed="neither", words="None or ")

    def run(
        self,
        space: BasisSpace,
        targets: NDArray[np.int8],
        *,
        rng: np.random.Generator,
        monitor: Monitor,
        sample_weight: NDArray[np.float64] | None = None,
        start: Posterior | None = None,
        n_jobs: int | None = None,
    ) -> tuple[ChainPosterior, Run]:
        """Play in the version space of each task; see the base class."""
        n_tasks = targets.shape[1]
        n_draws = -(-self.n_samples // self.n_chains)
        planned = n_tasks * self.n_chains * n_draws * self.thin
        refresh = np.inf if self.refresh is None else float(self.refresh)
        tasks = []
        with thread_pool(n_jobs) as pool, monitor.running(Progress.TOTAL, "percent"):
            progress = Progress(monitor, planned)
            for target, own in zip(targets.T, rng.spawn(n_tasks), strict=True):
                halfspaces = Halfspaces.of(space.Z_, target, sample_weight)
                balls = Chains(
                    Billiard(halfspaces, self.burn_in, refresh),
                    np.tile(halfspaces.inside(), (self.n_chains, 1)),
                    own.spawn(self.n_chains),
                    pool,
                    progress,
                )
                draws = balls.draw(np.inf, n_draws, self.thin)
                agree = agreement(draws, halfspaces.normals)
                tasks.append(Task(draws, balls.mean, 0.0, *agree, balls.n_steps))
        posterior = gather(tasks, space.n_coordinates)
        return posterior, chain_run(tasks, posterior, n_draws, None, "raise thin and burn_in")
