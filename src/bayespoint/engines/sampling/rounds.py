"""Many kernel perceptrons trained side by side, in rounds that share kernel rows.

In a round, each classifier runs until it errs on a point whose kernel row is missing. The missing
rows are then computed as one block, together with rows that will probably be needed next. The
result of a classifier depends on its permutation alone, not on the rounds.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.exceptions import KernelError
from bayespoint.spaces import RowCache
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import ThreadPool

LOOK_AHEAD = 8  # rows a waiting classifier may ask for in advance: on MNIST 7 % are never used
REACH = 2000  # places of its permutation in which it looks for them
INDEFINITE = 0.01  # |w|^2 below -0.01 |alpha|^2 is no rounding error: k(x, x) is at most 1 here
SLICE = 50_000_000  # outputs that one call may change, in tens of milliseconds


class Clock:
    """Decides when a run should end, and why: the time limit or the monitor."""

    def __init__(self, max_time: float | None, monitor: Monitor) -> None:
        self._end = np.inf if max_time is None else time.monotonic() + max_time
        self._monitor = monitor
        self.reason = ""

    def is_up(self) -> bool:
        """Whether the time is over or the monitor wants to stop."""
        if time.monotonic() >= self._end:
            self.reason = "max_time"
        elif self._monitor.should_stop():
            self.reason = "the monitor"
        return bool(self.reason)

    def tell(self, done: float) -> None:
        """Report how many samples are done."""
        self._monitor.update(done)


class Setting(NamedTuple):
    """What perceptrons learn from, and how."""

    targets: NDArray[np.int8]  # (m, n_tasks) labels -1, +1
    step: NDArray[np.float64]  # (m,) how far a mistake moves the coefficient of a point
    ridge: NDArray[np.float64]  # (m,) lambda of k_lambda at each point
    max_epochs: int  # passes after which a classifier gives up
    cache_size: float | str = "auto"  # megabytes for kernel rows
    groups: NDArray[np.intp] | None = None  # (m,) points that belong together


class Trained(NamedTuple):
    """Classifiers that have ended; arrays start with the axes (n_samples, n_tasks)."""

    alphas: NDArray[np.float64]  # (..., m) coefficients
    outputs: NDArray[np.float64]  # (..., m) sum_i alpha_i k(x_i, .)
    first_outputs: NDArray[np.float64]  # (..., m - m // 2) o_i / |w| at the first visit, in order
    lengths: NDArray[np.float64]  # |w|
    epochs: NDArray[np.int64]  # passes made
    mistakes: NDArray[np.int64]  # mistakes corrected
    separated: NDArray[np.bool_]  # whether the last pass was without a mistake


class Rounds:
    """The training of one classifier for each permutation and task.

    Parameters
    ----------
    orders : ndarray of shape (n_samples, m)
        Permutations of the training points.
    setting : Setting
        What is learned.
    """

    def __init__(self, orders: NDArray, setting: Setting) -> None:
        core = _core.perceptron
        (n_samples, m), n_tasks = orders.shape, setting.targets.shape[1]
        n_machines = n_samples * n_tasks
        self._shape, self._max_epochs = (n_samples, n_tasks), setting.max_epochs
        self._machines = core.Machines(
            orders=orders.astype(np.int32, copy=False),
            order_of=np.repeat(np.arange(n_samples), n_tasks),
            targets=np.ascontiguousarray(setting.targets.T),
            task_of=np.tile(np.arange(n_tasks), n_samples),
            step=setting.step,
            ridge=setting.ridge,
            alphas=np.zeros((n_machines, m)),
            outputs=np.zeros((n_machines, m)),
            squares=np.zeros(n_machines),
            first_outputs=np.zeros((n_machines, m - m // 2)),
            progress=np.zeros((n_machines, core.N_COUNTERS), dtype=np.int64),
        )

    def run(self, cache: RowCache, pool: ThreadPool, clock: Clock, n_before: int) -> Trained:
        """Train until all have ended, or the clock is up.

        ``n_before`` samples are there already; if there are none, the first one is finished in
        any case.
        """
        core, order, place = _core.perceptron, cache.order, np.argsort(cache.order)
        given = self._machines
        self._machines = machines = given._replace(
            orders=place.astype(np.int32)[given.orders],
            targets=given.targets[:, order],
            step=given.step[order],
            ridge=given.ridge[order],
        )
        active = np.arange(len(machines.alphas))
        missing = np.full(len(active), core.PAUSED)
        ahead = np.full((len(active), LOOK_AHEAD), -1)
        while len(active):
            cache.round += 1
            working = active
            while len(working):
                self._advance(working, cache, pool, missing, ahead)
                done = core.samples_done(machines.progress, len(machines.step), self._shape[1])
                clock.tell(n_before + done)
                if clock.is_up():
                    active = active[machines.order_of[active] + n_before < 1]
                working = active[missing[active] == core.PAUSED]
            active = active[missing[active] >= 0]
            if len(active):
                cache.load(*wanted(missing[active], ahead[active]))
        return self._trained(place)

    def _advance(
        self, working: NDArray, cache: RowCache, pool: ThreadPool, missing: NDArray, ahead: NDArray
    ) -> None:
        """Let classifiers work, for tens of milliseconds; ``missing`` tells why each has ended."""
        core, machines = _core.perceptron, self._machines
        rows = core.Rows(cache.values, cache.slot_of, cache.slot_used)
        shares = np.array_split(working, min(len(working), 4 * pool.n_threads))
        most_work = -(-SLICE // machines.alphas.shape[1])
        pool.map(
            core.advance_some,
            shares,
            machines,
            rows,
            self._max_epochs,
            cache.round,
            most_work,
            REACH,
            missing,
            ahead,
        )

    def _trained(self, place: NDArray) -> Trained:
        """The samples that are complete, up to the first that is not; points as they were given."""
        core, machines = _core.perceptron, self._machines
        progress = machines.progress.reshape(*self._shape, -1)
        n, per_point = core.n_complete(progress), (*self._shape, -1)
        alphas = machines.alphas.reshape(per_point)[:n]
        square = machines.squares.reshape(self._shape)[:n]
        check_definite(square, np.einsum("ntm,ntm->nt", alphas, alphas))
        return Trained(
            alphas=alphas.take(place, axis=-1),
            outputs=machines.outputs.reshape(per_point)[:n].take(place, axis=-1),
            first_outputs=machines.first_outputs.reshape(per_point)[:n],
            lengths=np.sqrt(np.where(square > 0, square, 1.0)),  # |w| = 0: opposite duplicates
            epochs=progress[:n, :, core.EPOCHS],
            mistakes=progress[:n, :, core.MISTAKES],
            separated=progress[:n, :, core.STATE] == core.SEPARATED,
        )


def check_definite(square: NDArray, sizes: NDArray) -> None:
    """Raise an error if squared lengths are negative by more than rounding, given |alpha|^2."""
    if (square < -INDEFINITE * sizes).any():
        raise KernelError(
            "The kernel is not positive semi-definite: a weight vector has a negative squared "
            "length. Use another kernel, or a larger ridge."
        )


def wanted(missing: NDArray, ahead: NDArray) -> tuple[NDArray, NDArray]:
    """Rows that classifiers wait for, and rows that they may want, the likeliest first.

    A point counts 1/k for each classifier in whose list it is the k-th: the nearer it is, the less
    can happen before to put it right.
    """
    needed, listed = np.unique(missing), ahead >= 0
    candidates, place = np.unique(ahead[listed], return_inverse=True)
    rank = np.broadcast_to(np.arange(1, ahead.shape[1] + 1), ahead.shape)[listed]
    value = np.bincount(place, weights=1.0 / rank, minlength=len(candidates))
    welcome = candidates[np.argsort(-value, kind="stable")]
    return needed, welcome[~np.isin(welcome, needed)]
