"""The beliefs of one task, and how a pass of messages changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint._core.calls import Slices
from bayespoint.engines.knapsack.priors import Prior

if TYPE_CHECKING:
    from bayespoint._core.grids import Interpolation

START = 5.0  # the first grid is [-5, 5]; from 2 to 20 made no difference on UCI sets
DEPTH = 20.0  # below its peak to which a belief is followed, at least ...
DEPTH_IN_COSTS = 4.0  # ... and in units of C: a message can lift a bin by C, and lower its rivals


class Beliefs:
    r"""Log beliefs :math:`b_d` of the weights of one task, on grids that follow them.

    All logarithms are divided by beta. With :math:`m_{fd} \in [-C, 0]` the message of factor f (a
    training point) to weight d (Eq. 12), :math:`M_{df}` the message back, and n factors in all,

    .. math:: b_d = (1 - \gamma) B_d + \gamma (\log p_d + \sum_f m_{fd}), \qquad
              M_{df} = b_d - m_{fd}.

    These are Eq. 11 and 9, the exponents of the latter corrected; :math:`B_d` is the belief in
    Heskes' potentials (end of section 3), which becomes :math:`b_d` before each pass. Heskes'
    algorithm has :math:`\gamma = 1 / n`, ordinary belief propagation :math:`\gamma = 1`. Both have
    the same fixed points, where :math:`b_d = \log p_d + \sum_f m_{fd}`.

    Parameters
    ----------
    x : ndarray of shape (n_factors, n_weights)
        Training points times their labels.
    cost : ndarray of shape (n_factors,)
        C of each factor.
    copies : ndarray of shape (n_factors,)
        Number of copies of each factor.
    prior : Prior
        Log density of each weight.
    gamma, damping : float
        See above; and the fraction of each step for messages.
    bins : int
        Bins of a grid.
    grid : ndarray of shape (n_weights, bins), optional
        A fixed grid.
    """

    def __init__(
        self,
        x: NDArray[np.float64],
        cost: NDArray[np.float64],
        copies: NDArray[np.float64],
        prior: Prior,
        *,
        gamma: float,
        damping: float,
        bins: int,
        grid: NDArray[np.float64] | None = None,
    ) -> None:
        n_factors, n_weights = x.shape
        self.x, self.cost, self.copies = np.ascontiguousarray(x), cost, copies
        self.prior, self.gamma, self.damping = prior, gamma, damping
        self.knots = np.array(prior.knots)
        self.follows = grid is None
        self.grid = np.empty((n_weights, bins)) if grid is None else grid.copy()
        if self.follows:
            _core.grids.place_bins(-START, 0.0, START, self.knots, self.grid[0])
            self.grid[:] = self.grid[0]
            prior.check(self.grid[:1])
        self.log_prior = prior.on(self.grid)
        self.depth = max(DEPTH, DEPTH_IN_COSTS * cost.max())
        shape = self.grid.shape
        self.messages = np.zeros((n_factors, *shape))
        self.total = np.zeros(shape)  # sum over the factors of m
        self.past = np.zeros(shape)  # B without the prior ...
        self.past_prior = 0.0  # ... of which it has this share: kept apart, a parabola stays one
        self.n_passes = 0
        self._slices = Slices()

    def log_beliefs(self) -> NDArray[np.float64]:
        """The beliefs b on their grids (Eq. 11)."""
        past = self.past_prior * self.log_prior + self.past
        return (1 - self.gamma) * past + self.gamma * (self.log_prior + self.total)

    def step(self) -> float:
        """Pass messages along all edges at once; returns the largest change of a sum, over C."""
        new = self._renew_grids()
        gamma = self.gamma
        self.past = (1 - gamma) * self.past + gamma * self.total
        self.past_prior = (1 - gamma) * self.past_prior + gamma
        total = self._pass(self.log_beliefs(), new)
        change = float(np.abs(total - self.total).max() / self.cost.max())
        self.total = total
        self.n_passes += 1
        return change

    def _renew_grids(self) -> Interpolation:
        """Let the grids follow the beliefs; messages move to them in the next pass."""
        if not self.follows or self.n_passes == 0:
            return _core.grids.stay(self.grid.shape)
        grid, new = self.grid.copy(), _core.grids.stay(self.grid.shape)
        _core.grids.renew(self.grid, self.log_beliefs(), self.depth, self.knots, grid, new)
        self.grid = grid
        if new.moved.any():
            self.log_prior = self.prior.on(self.grid)
            for values in (self.total, self.past):
                _core.grids.interpolate(values, new)
        return new

    def _pass(self, beliefs: NDArray, new: Interpolation) -> NDArray:
        """Renew all messages; returns their sum."""
        total, room = np.zeros(self.grid.shape), _core.knapsack.room_for(beliefs)
        for begin, end in self._slices.of(len(self.x)):
            x, cost, copies, messages = (
                values[begin:end] for values in (self.x, self.cost, self.copies, self.messages)
            )
            graph = _core.knapsack.Graph(x, cost, copies, self.grid, beliefs, messages)
            _core.knapsack.pass_messages(graph, self.damping, new, total, room, True)
        return total
