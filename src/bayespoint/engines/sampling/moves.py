"""Ways to move through the posterior of a task: on circles, and output by output."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bayespoint import _core
from bayespoint.engines.sampling.halfspaces import Halfspaces

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
        _core.gibbs.sample(problem, chain, self._outputs, state.path, rng)


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
