"""Many kernel perceptrons trained side by side on a device.

If all kernel rows fit into device memory, they are computed first, and the machines run to their
end. Otherwise they go through windows of their permutations: see ``bayespoint.gpu.windows``. Once
few points are wrong, their rows are kept, and machines run until they err on a point without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.rows import DeviceRows
from bayespoint.gpu.source import CLUSTER, THREADS, launch
from bayespoint.gpu.windows import Windows
from bayespoint.tools.arrays import to_host

SLICE = 1_500_000_000  # margins that one launch may change, machine by machine: some 50 ms
AHEAD = 256  # rows that are computed before they are asked for
STATE_BYTES = 16  # per point and machine: a margin, a count, half of the first margins, results


@dataclass
class DeviceMachines:
    """Classifiers in training, as in ``bayespoint._core.perceptron``, with labels folded in.

    Attributes
    ----------
    orders : tensor of shape (n_samples, m)
        Permutations.
    targets : tensor of shape (n_tasks, stride)
        Labels -1 and +1, and padding.
    step, ridge : tensor of shape (m,)
        How far a mistake moves a coefficient; lambda.
    counts, margins : tensor of shape (machines, stride)
        t_i alpha_i and t_i o_i.
    squares : tensor of shape (machines,)
        Squared lengths of the weight vectors, in float64.
    first : tensor of shape (machines, m - m // 2)
        Margins over lengths where points come first.
    progress, missing : tensor of shape (machines, N_COUNTERS) and (machines,)
        Counters; why each machine has stopped, or the point whose kernel row it waits for.
    max_epochs, has_ridge : int and bool
        Passes after which machines give up, and whether any ridge is not 0.
    """

    orders: Any
    targets: Any
    step: Any
    ridge: Any
    counts: Any
    margins: Any
    squares: Any
    first: Any
    progress: Any
    missing: Any
    max_epochs: int
    has_ridge: bool

    def launch(self, name: str, grid: int, block: int, values: Any, *more: Any, **how: Any) -> None:
        """Queue a kernel of the source that lets machines work, with some kernel values."""
        (n_tasks, stride), m = self.targets.shape, len(self.step)
        launch(
            name,
            values.device,
            grid,
            block,
            self.orders,
            self.targets,
            self.step,
            self.ridge,
            self.counts,
            self.margins,
            self.squares,
            self.first,
            self.progress,
            self.missing,
            values,
            m,
            stride,
            n_tasks,
            self.max_epochs,
            int(self.has_ridge),
            *more,
            **how,
        )


class DeviceRounds:
    """The training of one classifier for each permutation and task.

    Parameters
    ----------
    orders : ndarray of shape (n_samples, m)
        Permutations of the training points.
    targets : tensor of shape (n_tasks, m)
        Labels -1, +1.
    setting : Setting
        Steps, ridge and epochs.
    rows : DeviceRows
        The kernel rows.
    """

    def __init__(self, orders: NDArray, targets: Any, setting: Any, rows: DeviceRows) -> None:
        import torch

        core = _core.perceptron
        device, m, stride = targets.device, rows.n_points, rows.stride
        n_tasks = len(targets)
        n_machines = len(orders) * n_tasks
        padded = torch.ones((n_tasks, stride), dtype=torch.int8, device=device)
        padded[:, :m] = targets
        self._rows, has_ridge = rows, bool(setting.ridge.any())
        self.shape = (len(orders), n_tasks)

        def on_device(numbers: NDArray) -> Any:
            if not has_ridge:  # then all are equal
                return torch.full((m,), float(numbers[0]), device=device)
            return to_device(numbers.astype(np.float32), device)

        self.machines = DeviceMachines(
            max_epochs=setting.max_epochs,
            has_ridge=has_ridge,
            targets=padded,
            step=on_device(setting.step),
            ridge=on_device(setting.ridge),
            counts=torch.zeros((n_machines, stride), device=device),
            margins=torch.zeros((n_machines, stride), device=device),
            squares=torch.zeros(n_machines, dtype=torch.float64, device=device),
            first=torch.zeros((n_machines, m - m // 2), device=device),
            progress=torch.zeros((n_machines, core.N_COUNTERS), dtype=torch.int32, device=device),
            missing=torch.full((n_machines,), core.PAUSED, dtype=torch.int32, device=device),
            # Last, since it waits for the kernel rows that the device computes meanwhile.
            orders=to_device(orders.astype(np.int32, copy=False), device),
        )

    def run(self, clock: Any, n_before: int) -> None:
        """Train until all have ended, or the clock is up.

        ``n_before`` samples are there already; if there are none, the first one is finished in
        any case.
        """
        core, rows, windows = _core.perceptron, self._rows, None
        rows.prepare()
        if not rows.holds_all:
            windows = Windows(self.machines, rows)
        self.progress = np.zeros((*self.shape, core.N_COUNTERS), dtype=np.int32)
        running = np.ones(self.shape, dtype=bool)
        while running.any():
            progress = self.progress.reshape(*self.shape, -1)
            if windows is not None and windows.are_done(progress[running]):
                windows = None
            if windows is None:
                self._advance()
            else:
                windows.advance(progress, running)
            self.progress, missing = self._report()
            if (missing >= 0).any():
                self._load(missing)
            done = core.samples_done(self.progress, rows.n_points, self.shape[1])
            clock.tell(n_before + done)
            running = (missing != core.ENDED).reshape(self.shape)
            if clock.is_up():
                running[int(n_before == 0) :] = False

    def _advance(self) -> None:
        """Let all machines work, for tens of milliseconds, or until they err without a row."""
        a, rows = self.machines, self._rows
        name = "advance_clusters" if rows.slot_of is None else "advance_half_clusters"
        limits = max(1, SLICE // rows.stride), rows.slice
        slots = () if rows.slot_of is None else (rows.slot_of, rows.slot_used, rows.now)
        size, shared = len(a.missing) * CLUSTER, 4 * rows.slice
        a.launch(name, size, THREADS, rows.values, *limits, *slots, shared=shared)

    def _load(self, missing: NDArray) -> None:
        """Compute the rows that machines wait for, and those of points that are nearly wrong."""
        import torch

        a, rows = self.machines, self._rows
        waiting = to_device(np.flatnonzero(missing >= 0), rows.device)
        length = a.squares[waiting].clamp(min=1e-30).sqrt().float()
        low = (a.margins[waiting, : rows.n_points] / length[:, None]).amin(dim=0)
        low[rows.slot_of[:-1] >= 0] = torch.inf
        low[a.missing[waiting].long()] = -torch.inf
        n_rows = min(len(waiting) + AHEAD, rows.together)
        rows.slots(low.topk(n_rows, largest=False).indices)

    def _report(self) -> tuple[NDArray, NDArray]:
        """Progress of all machines, and why they have stopped: the only wait for the device."""
        import torch

        a = self.machines
        both = to_host(torch.cat([a.progress, a.missing[:, None]], dim=1))
        return both[:, :-1], both[:, -1]
