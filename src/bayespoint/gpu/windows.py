"""Perceptrons whose kernel rows do not fit: they go through windows of their permutations.

A window is the next places of a permutation. Kernel values among its points are all that its
machines need to go through it: rows of those points on which they err, or nearly do, times the
points of the window. What they have learned there is then told to all points at once, by the
kernel rows of the points on which they erred. So no row is computed in vain; those that come first
are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.kernels import blocks
from bayespoint.gpu.rows import DeviceRows, can_cluster
from bayespoint.gpu.source import WIDE, add_rows
from bayespoint.tools.arrays import to_host

SQUARE = 4096  # places of a window in which machines may err anywhere
WIDTH = 32_768  # places of a window in which few points are wrong
SMALL_WIDTH = 8192  # with the shared memory that any device has
FEW = 512  # wrong points of a wide window
EXTRA = 384  # rows of points that are right, and may not stay so
SHARE = 0.6  # of the room for rows, that points may take which are wrong where windows end
TOGETHER = 200  # machines whose margins are looked at together
WINDOW_BYTES = 4 * WIDTH * (2 * FEW + EXTRA)


class Windows:
    """The windows of some machines.

    Parameters
    ----------
    machines : DeviceMachines
        Classifiers in training.
    rows : DeviceRows
        Their points, and room for kernel values.
    """

    def __init__(self, machines: Any, rows: DeviceRows) -> None:
        import torch

        self._machines, self._rows, self._n_tasks = machines, rows, len(machines.targets)
        self._width = min(rows.stride, WIDTH if can_cluster(rows.device) else SMALL_WIDTH)
        self._room = int(rows.spare // (4 * len(machines.orders)))  # kernel values of a window
        self._square = max(32, min(SQUARE, self._width, int(self._room**0.5)) // 32 * 32)
        self._places = torch.arange(self._width, device=rows.device)
        self._is_dense = True  # mistakes are too many to look where they may be

    def are_done(self, progress: NDArray) -> bool:
        """Whether machines with these counters may go on without windows.

        They may if the rows of all points that are wrong take at most a share of the room. These
        rows are then there.
        """
        import torch

        core, rows, a = _core.perceptron, self._rows, self._machines
        if not (rows.in_clusters and progress[:, core.EPOCHS].all()):
            return False
        is_wrong = torch.zeros(rows.stride, dtype=torch.bool, device=rows.device)
        for some in torch.arange(len(a.margins), device=rows.device).split(TOGETHER):
            margins = a.margins[some]
            if a.has_ridge:
                margins[:, : rows.n_points] += a.ridge * a.counts[some, : rows.n_points]
            is_running = a.progress[some, core.STATE] == core.RUNNING
            is_wrong |= ((margins <= 0) & is_running[:, None]).any(dim=0)
        wrong = is_wrong[: rows.n_points].nonzero()[:, 0]
        if len(wrong) > SHARE * rows.n_slots:
            return False
        for some in wrong.split(rows.together):
            rows.slots(some)
        return True

    def advance(self, progress: NDArray, running: NDArray[np.bool_]) -> None:
        """Take the machines that run through the next window of each permutation.

        ``progress`` are their counters, with axes for permutations and tasks.
        """
        import torch

        core, rows, a = _core.perceptron, self._rows, self._machines
        epochs = np.where(running, progress[:, :, core.EPOCHS], a.max_epochs)
        epoch = epochs.min(axis=1, keepdims=True)  # others are ahead, and wait
        places = np.where(epochs == epoch, progress[:, :, core.POSITION], rows.n_points)
        which = np.flatnonzero(running.any(axis=1))
        numbers = np.stack([which, epoch[which, 0], places[which].min(axis=1)], axis=1)
        windows = to_device(numbers.astype(np.int32), rows.device)
        index = windows[:, 2:] + self._places
        order = windows[:, :1].long(), index.clamp(max=rows.n_points - 1)
        points = a.orders[order].long()  # the last one is repeated beyond the end
        chosen, is_square = None if self._is_dense else self._likely(windows, index, points), False
        if chosen is None:
            points = points[:, : self._square].contiguous()
            n_rows = max(1, min(self._square, self._room // self._square))
            is_square = n_rows == self._square
            chosen = self._places[:n_rows].repeat(len(windows), 1)
        slots = torch.full_like(points, -1, dtype=torch.int32)
        slots.scatter_(1, chosen, self._places[: chosen.shape[1]].int().expand_as(chosen))
        learners = points.gather(1, chosen)
        right = rows.points.take(points.flatten())
        left = right if is_square else rows.points.take(learners.flatten())
        values = blocks(rows.kernel, left, right, len(windows))
        changes = torch.zeros((*chosen.shape, self._n_tasks), device=rows.device)
        self._advance(windows, values, slots, changes)
        most = self._tell(windows, learners, changes)
        self._is_dense = most * self._width > FEW * points.shape[1]
        self._pass_by()

    def _likely(self, windows: Any, index: Any, points: Any) -> Any:
        """Places in each window whose rows will be wanted; None if they are too many.

        Points that are wrong come first, in their order, since a machine stops where a row is
        missing; then those that nearly are.
        """
        import torch

        core, a = _core.perceptron, self._machines
        machine = windows[:, :1] * self._n_tasks + torch.arange(self._n_tasks, device=index.device)
        where = machine[:, :, None], points[:, None]
        margins = a.margins[where]
        if a.has_ridge:
            margins += a.ridge[points][:, None] * a.counts[where]
        margins *= a.squares[machine].clamp(min=1e-30).rsqrt().float()[:, :, None]
        counters = a.progress[machine]
        is_here = counters[:, :, core.STATE] == core.RUNNING
        is_here &= counters[:, :, core.EPOCHS] == windows[:, 1:2]
        is_ahead = index[:, None] >= counters[:, :, core.POSITION, None]
        is_ahead &= is_here[:, :, None] & (index[:, None] < self._rows.n_points)
        low = torch.where(is_ahead, margins, torch.inf).amin(dim=1)
        n_wrong = int((low <= 0).sum(dim=1).max())
        n_rows = n_wrong + n_wrong // 2 + EXTRA
        if n_wrong > FEW or n_rows * self._width > self._room:
            return None
        urgency = torch.where(low <= 0, self._places / self._width - 1, low)
        return urgency.argsort(dim=1, stable=True)[:, :n_rows].contiguous()

    def _advance(self, windows: Any, values: Any, slots: Any, changes: Any) -> None:
        """Let machines go through their windows; what they learn is noted in ``changes``."""
        self._machines.launch(
            "advance_windows",
            len(windows) * self._n_tasks,
            WIDE,
            values,
            windows,
            slots,
            changes,
            slots.shape[1],
            changes.shape[1],
            shared=4 * self._width + self._width // 8,
        )

    def _pass_by(self) -> None:
        """Lead all machines on to their next mistakes."""
        a = self._machines
        a.launch("pass_by", len(a.missing), WIDE, a.margins)

    def _tell(self, windows: Any, learners: Any, changes: Any) -> int:
        """Tell all points what machines have learned; the most points of a window that they use."""
        import torch

        a, rows = self._machines, self._rows
        is_used = changes.any(dim=2)
        sizes = to_host(is_used.sum(dim=1))
        ends = np.append(0, np.cumsum(sizes)).astype(np.int32)
        used = torch.nonzero_static(is_used, size=int(ends[-1])).T  # in the order of windows
        changes, learners = changes[used[0], used[1]], learners[used[0], used[1]]
        for begin in range(0, len(learners), rows.together):
            some = slice(begin, begin + rows.together)
            starts = to_device((ends - begin).clip(0, len(learners[some])), rows.device)
            add_rows(
                rows.values,
                rows.slots(learners[some]),
                changes[some],
                starts,
                windows,
                a.targets,
                a.margins,
            )
        return int(sizes.max())
