"""Several Markov chains in parallel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.calls import Slices
from bayespoint.engines.base import StepProgress
from bayespoint.engines.sampling.moves import Moves, Record
from bayespoint.tools.memory import check_fits
from bayespoint.tools.threads import ThreadPool

PARTS = 10  # of a run, each of which begins with w alone


class Chains:
    """Independent chains through the posterior of one task.

    Parameters
    ----------
    moves : Moves
        How they move.
    starts : ndarray of shape (n_chains, n_coordinates)
        Directions they start from.
    rngs : sequence of numpy.random.Generator
        One for each chain.
    pool : ThreadPool
        Where they run.
    progress : StepProgress
        Receives every step.
    """

    def __init__(
        self,
        moves: Moves,
        starts: NDArray[np.float64],
        rngs: Sequence[np.random.Generator],
        pool: ThreadPool,
        progress: StepProgress,
    ) -> None:
        self.moves, self.progress = moves, progress
        self._rngs, self._pool = rngs, pool
        self._slices = Slices()
        self._states = [moves.state(w, rng) for w, rng in zip(starts, rngs, strict=True)]
        self.n_steps = 0
        self.mean = np.zeros(starts.shape[1])

    def draw(self, theta: float, n_draws: int, thin: int) -> NDArray[np.float64]:
        """Every ``thin``-th state, shape (n_chains, n_draws, n_coordinates); sets ``mean``.

        Fewer draws come back if the monitor stops the run, but at least one of each chain.
        """
        n_chains, d = len(self._states), len(self.mean)
        check_fits(
            8 * n_chains * n_draws * d,
            f"{n_chains * n_draws} samples of {d} coordinates",
            "take fewer samples (n_samples), or fewer coordinates (n_components)",
        )
        samples, totals = np.empty((n_chains, n_draws, d)), np.zeros((n_chains, d))
        size = -(-n_draws // PARTS)
        n_steps = 0
        for begin in range(0, n_draws, size):
            part = samples[:, begin : begin + size]
            records = [Record(thin, *one, np.empty(0)) for one in zip(part, totals, strict=True)]
            n_steps += self._advance(theta, part.shape[1] * thin, records, n_steps)
            if self.progress.stopped:
                break
        self.n_steps += n_steps
        self.mean = totals.sum(axis=0) / (n_chains * n_steps)
        return samples[:, : n_steps // thin]

    def count(
        self, rungs: NDArray, n_burn: int, n_steps: int, n_errors: int
    ) -> NDArray[np.float64]:
        """Raise theta step by step, and measure the time spent at 0 ... ``n_errors`` - 1 errors.

        Returns an array of shape (n_chains, n_rungs, n_errors).
        """
        n_chains, d = len(self._states), len(self.mean)
        histograms = np.zeros((n_chains, len(rungs), n_errors))
        samples, totals = np.empty((n_chains, 1, d)), np.zeros((n_chains, d))
        uncounted = np.empty((n_chains, 0))
        for rung, theta in enumerate(rungs):
            for steps, counted in ((n_burn, uncounted), (n_steps, histograms[:, rung])):
                room = zip(samples, totals, counted, strict=True)
                self._advance(theta, steps, [Record(steps, *one) for one in room], steps)
        return histograms

    def _advance(self, theta: float, n_steps: int, records: Sequence[Record], n_before: int) -> int:
        """Advance all chains by ``n_steps`` moves, or fewer if the monitor stops the run.

        Together with the ``n_before`` that have been made they are no fewer than ``thin``. Returns
        how many there were.
        """
        chains = list(zip(self._states, self._rngs, records, strict=True))
        for steps in self._slices.of(n_steps):
            self._pool.map(lambda chain, now: self.moves.sample(theta, now, *chain), chains, steps)
            begin, end = steps
            self.progress.add(len(chains) * (end - begin))
            if self.progress.stopped and n_before + end >= records[0].thin:
                return end
        return n_steps
