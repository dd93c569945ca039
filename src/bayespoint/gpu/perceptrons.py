"""Many kernel perceptrons trained side by side on a device.

If all kernel rows fit into device memory, they are computed first, and the machines run to their
end. Otherwise rows are computed in rounds, as on the CPU: every machine runs until it errs on a
point whose row is missing; then the rows that they wait for, and rows that they will probably want
next, are computed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.rows import UNIT, DeviceRows
from bayespoint.gpu.source import CLUSTER, THREADS, WIDE, launch
from bayespoint.tools.arrays import to_host

SLICE = 1_500_000_000  # margins that one launch may change, machine by machine: some 50 ms
LARGEST_SLICE = 56_000  # bytes of margins in a block's shared memory; beyond, blocks are too few
REACH = 4096  # places of its permutation in which a machine looks for rows it may want
AHEAD = 2048  # rows that are computed in a round, if so many may be wanted
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
    step, ridge, address : tensor of shape (m,)
        How far a mistake moves a coefficient; lambda; where the kernel rows are.
    counts, margins : tensor of shape (machines, stride)
        t_i alpha_i and t_i o_i.
    squares : tensor of shape (machines,)
        Squared lengths of the weight vectors, in float64.
    first : tensor of shape (machines, m - m // 2)
        Margins over lengths where points come first.
    progress, missing : tensor of shape (machines, N_COUNTERS) and (machines,)
        Counters; what each machine waits for.
    """

    orders: Any
    targets: Any
    step: Any
    ridge: Any
    address: Any
    counts: Any
    margins: Any
    squares: Any
    first: Any
    progress: Any
    missing: Any


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
        self._rows, self._max_epochs = rows, setting.max_epochs
        self._has_ridge = bool(setting.ridge.any())
        self.shape = (len(orders), n_tasks)

        def on_device(numbers: NDArray) -> Any:
            if not self._has_ridge:  # then all are equal
                return torch.full((m,), float(numbers[0]), device=device)
            return to_device(numbers.astype(np.float32), device)

        self.machines = DeviceMachines(
            targets=padded,
            step=on_device(setting.step),
            ridge=on_device(setting.ridge),
            address=rows.address,
            counts=torch.zeros((n_machines, stride), device=device),
            margins=torch.zeros((n_machines, stride), device=device),
            squares=torch.zeros(n_machines, dtype=torch.float64, device=device),
            first=torch.zeros((n_machines, m - m // 2), device=device),
            progress=torch.zeros((n_machines, core.N_COUNTERS), dtype=torch.int32, device=device),
            missing=torch.zeros(n_machines, dtype=torch.int32, device=device),
            # Last, since it waits for the kernel rows that the device computes meanwhile.
            orders=to_device(orders.astype(np.int32, copy=False), device),
        )

    def run(self, clock: Any, n_before: int) -> None:
        """Train until all have ended, or the clock is up.

        ``n_before`` samples are there already; if there are none, the first one is finished in
        any case.
        """
        core, rows = _core.perceptron, self._rows
        rows.prepare()
        while True:
            rows.round += 1
            self._advance()
            self.progress, missing = self._report()
            done = core.samples_done(self.progress, rows.n_points, self.shape[1])
            clock.tell(n_before + done)
            running = missing != core.ENDED
            if clock.is_up():
                first = np.arange(len(missing)) < self.shape[1]
                running &= first & (n_before == 0)
            if not running.any():
                return
            if (missing >= 0).any() and not (missing == core.PAUSED).any():
                self._load()

    def _advance(self) -> None:
        """Let all machines work, for tens of milliseconds."""
        a, rows = self.machines, self._rows
        n_machines, m, stride = len(a.missing), rows.n_points, rows.stride
        most_work = max(1, SLICE // stride)
        a.address = rows.address
        arguments = (
            a.orders, a.targets, a.step, a.ridge, a.counts, a.margins, a.squares, a.first,
            a.progress, rows.address, rows.used, a.missing, m, stride, self.shape[1],
            self._max_epochs, most_work, rows.round, int(self._has_ridge),
        )  # fmt: skip
        part = -(-stride // (4 * CLUSTER)) * 4
        if can_cluster(a.margins.device) and 4 * part <= LARGEST_SLICE:
            launch(
                "advance_clusters", a.margins.device, n_machines * CLUSTER, THREADS, *arguments,
                part, shared=4 * part,
            )  # fmt: skip
        else:
            launch("advance_blocks", a.margins.device, n_machines, WIDE, *arguments)

    def _report(self) -> tuple[NDArray, NDArray]:
        """Progress of all machines, and what they wait for: the only wait for the device."""
        import torch

        a = self.machines
        both = to_host(torch.cat([a.progress, a.missing[:, None]], dim=1))
        return both[:, :-1], both[:, -1]

    def _load(self) -> None:
        """Compute the rows that machines wait for, and some that they may want."""
        import torch

        a, rows = self.machines, self._rows
        scores = torch.zeros(rows.n_points, dtype=torch.int32, device=a.margins.device)
        self._look_ahead(scores, min(REACH, rows.n_points))
        value, points = torch.sort(scores, descending=True, stable=True)
        n_needed, n_welcome = (int(n) for n in ((value >= 1 << 30).sum(), (value > 0).sum()))
        wanted = max(n_needed, min(n_welcome, max(AHEAD, n_needed + -n_needed % UNIT)))
        rows.load(points[:wanted])

    def _look_ahead(self, scores: Any, reach: int) -> None:
        """Score points whose rows may be wanted next; those that are waited for get the most."""
        a, rows = self.machines, self._rows
        launch(
            "look_ahead", a.margins.device, (-(-reach // 256), len(a.missing)), 256, a.orders,
            a.ridge, a.counts, a.margins, a.progress, rows.address, a.missing, scores,
            rows.n_points, rows.stride, self.shape[1], reach, int(self._has_ridge),
        )  # fmt: skip


def can_cluster(device: Any) -> bool:
    """Whether the device has clusters of blocks with distributed shared memory."""
    import torch

    return torch.cuda.get_device_capability(device) >= (9, 0)
