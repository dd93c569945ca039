"""Ways to move through the posterior of a task: on circles, on lines, and output by output."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bayespoint import _core
from bayespoint.engines.base import Request
from bayespoint.engines.gaussian.ep import ExpectationPropagation
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.spaces import BasisSpace

POOL = 1000  # fewest directions of lines, so that neighbours in time differ
SWEEPS = 10  # of expectation propagation, for a covariance; a rough one gives exact samples, too
SMOOTH = 0.1  # noise of the outputs meanwhile, as a share of their size
BALANCE = 100  # coordinates for which a circle takes as long again as a line


Steps = tuple[int, int]  # from the first move up to the one after the last


class Record(NamedTuple):
    """What a chain records.

    Attributes
    ----------
    thin : int
        Moves from one sample to the next.
    samples : ndarray of shape (n_samples, d)
        Filled with every ``thin``-th unit vector.
    total : ndarray of shape (d,)
        All unit vectors are added to it.
    histogram : ndarray
        Time at each number of errors is added to it, unless it is empty.
    """

    thin: int
    samples: NDArray[np.float64]
    total: NDArray[np.float64]
    histogram: NDArray[np.float64]


class Moves(Protocol):
    """A way to move. A state, which belongs to one chain, is changed in place by ``sample``."""

    def state(self, w: NDArray, rng: np.random.Generator) -> Any:
        """A state in the direction of the unit vector w."""

    def sample(
        self, theta: float, steps: Steps, state: Any, rng: np.random.Generator, record: Record
    ) -> None:
        """Move, and keep a record of it.

        Its samples take ``thin * len(samples)`` moves, of which this call makes those from
        ``steps[0]`` up to ``steps[1]``: calls in a row that cover all of them come to the same as a
        single one. ``theta`` is what an error costs.
        """


class Walk(NamedTuple):
    """State and work space of a chain."""

    w: NDArray[np.float64]
    f: NDArray[np.float64]  # outputs of w at the training points
    path: Any  # of the next move


class Circles:
    """The paper's moves: great circles through w in isotropic directions.

    Attributes
    ----------
    burn_in, thin : int
        Moves before the first sample, and between samples, that are enough for most data.
    """

    burn_in, thin = 1000, 10
    has_length = False  # whether w has the length of a Gaussian vector, or 1

    def __init__(self, halfspaces: Halfspaces) -> None:
        self._halfspaces = halfspaces
        self._lines: Any = None
        self._outputs: Any = None

    def state(self, w: NDArray, rng: np.random.Generator) -> Walk:
        """A state in the direction w."""
        m, d = self._halfspaces.normals.shape
        length = np.sqrt(rng.chisquare(d)) if self.has_length else 1.0
        return Walk(w * length, np.empty(m), _core.gibbs.new_path(m, d))

    def sample(
        self, theta: float, steps: Steps, state: Walk, rng: np.random.Generator, record: Record
    ) -> None:
        """See :class:`Moves`."""
        Y, weight, _ = self._halfspaces
        problem = _core.gibbs.Problem(Y, weight, theta)
        chain = _core.gibbs.Chain(state.w, state.f, *steps, *record)
        _core.gibbs.sample(problem, chain, self._lines, self._outputs, state.path, rng)

    def adapt(self, draws: NDArray) -> None:
        """Learn from draws (n_chains, n_draws, d) that are not used otherwise: nothing here."""


class Lines(Circles):
    r"""Circles, and lines in between, in directions :math:`u = F \varepsilon` of a fixed pool.

    Fixed or anisotropic directions are not allowed on circles, but they are on lines, if w has a
    Gaussian length: :math:`w \sim N(0, I)` a priori. Lines follow the long directions of the
    posterior, and circles leave its modes.

    Parameters
    ----------
    halfspaces : Halfspaces
        The training points.
    factor : ndarray of shape (d, d)
        F, with :math:`F F^T` a guess of the covariance of w.
    rng : numpy.random.Generator
        Draws the pool.
    """

    has_length = True

    def __init__(self, halfspaces: Halfspaces, factor: NDArray, rng: np.random.Generator) -> None:
        super().__init__(halfspaces)
        self._guess, self._rng = factor @ factor.T, rng
        self._fill_pool(factor)

    def adapt(self, draws: NDArray) -> None:
        """Take new directions from draws: their covariance, and the guess while they are few."""
        flat = draws.reshape(-1, draws.shape[2])
        n, d = flat.shape
        if n < 2:  # one draw has no covariance
            return
        centre = flat.mean(axis=0)
        # Length of a Gaussian vector: mean square d, variance 1/2.
        seen = d * np.cov(flat.T) + 0.5 * np.outer(centre, centre) / (centre @ centre)
        share = d / (d + n / 4)  # neighbouring draws are alike
        self._fill_pool(np.linalg.cholesky((1 - share) * seen + share * self._guess))

    def _fill_pool(self, factor: NDArray) -> None:
        d = len(factor)
        directions = self._rng.standard_normal((max(POOL, 2 * d), d)) @ factor.T
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        slopes = directions @ self._halfspaces.normals.T
        self._lines = _core.gibbs.Lines(directions, slopes, max(1, d // BALANCE))


class Outputs(Circles):
    r"""A circle, and then a line for each training point, along which its output alone changes.

    With as many coordinates as points, and w ~ N(0, I) a priori, the outputs f have the
    distribution N(0, K), and each output given all others is a Gaussian in two pieces, one for each
    label. All m outputs move in the time of one circle. They move far if outputs are nearly
    independent, as with kernels that are not smooth, or with a ridge.

    Parameters
    ----------
    halfspaces : Halfspaces
        The training points, as many as coordinates.

    Attributes
    ----------
    freedom : float
        Standard deviation of an output given all others, relative to that without them: the median
        over points.
    """

    burn_in, thin = 300, 3  # each of them moves everything
    has_length = True

    def __init__(self, halfspaces: Halfspaces) -> None:
        super().__init__(halfspaces)
        point, directions = dual_basis(halfspaces.normals)
        length = np.linalg.norm(directions, axis=1)
        begin = (directions != 0).argmax(axis=1)
        self._outputs = _core.gibbs.Outputs(directions / length[:, None], begin, point, 1 / length)
        self.freedom = float(np.median(1 / length))


def dual_basis(normals: NDArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Points p and rows u with u_n . normals[p_n] = 1, at right angles to all other points.

    The coordinates of a kernel's points are triangular in the order of the pivots. So are then the
    rows, with zeros in front, which halves the work of a move.
    """
    order = np.argsort((normals != 0).cumsum(axis=1).argmax(axis=1))  # last coordinate not zero
    factor = normals[order]
    if np.triu(factor, 1).any():
        return order, np.ascontiguousarray(np.linalg.inv(factor).T)
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    return order, np.ascontiguousarray(inverse.T)


def covariance_factor(
    space: BasisSpace, target: NDArray[np.int8], weight: NDArray | None, q: float
) -> NDArray[np.float64]:
    r"""F with :math:`F F^T` near the covariance of w given the labels of one task.

    Sites of flipped labels converge slowly with a step likelihood; a little noise of
    the outputs, a share of their size before any label, makes them smooth.
    """
    size = np.sqrt(np.mean(np.square(space.rows()).sum(axis=1)))
    engine = ExpectationPropagation(
        noise=float(SMOOTH * size) if q > 0 else 0.0,
        label_noise=min(q, 0.45),  # beyond, labels hardly count
        tol=1e-2,
        max_iter=SWEEPS,
    )
    posterior: Any = engine.run(space, target, Request(sample_weight=weight))[0]
    return posterior.factor[0]
