"""What the CUDA source does, one place after the other: slow, obvious, for any device of torch."""

from __future__ import annotations

from typing import Any

from bayespoint import _core
from bayespoint.gpu import devices, perceptrons


def stand_in(monkeypatch: Any) -> Any:
    """Let torch's CPU take the place of a GPU, and this file that of the CUDA source."""
    import torch

    def advance_all(self: Any) -> None:
        self.machines.address = self._rows.address
        most_work = max(1, perceptrons.SLICE // self._rows.stride)
        advance(self.machines, self._rows, self._max_epochs, most_work)

    def look(self: Any, scores: Any, reach: int) -> None:
        look_ahead(self.machines, scores, reach)

    monkeypatch.setattr(devices, "STAND_IN", torch.device("cpu"))
    monkeypatch.setattr(perceptrons.DeviceRounds, "_advance", advance_all)
    monkeypatch.setattr(perceptrons.DeviceRounds, "_look_ahead", look)
    return torch.device("cpu")


def advance(machines: Any, rows: Any, max_epochs: int, most_work: int) -> None:
    """Run every classifier until it ends, errs on a point whose row is missing, or is paused."""
    for c in range(len(machines.missing)):
        machines.missing[c] = advance_one(machines, c, rows, max_epochs, most_work)


def advance_one(machines: Any, c: int, rows: Any, max_epochs: int, most_work: int) -> int:
    """Run one classifier; see ``bayespoint._core.perceptron.advance``."""
    core, progress = _core.perceptron, machines.progress[c]
    if progress[core.STATE] != core.RUNNING:
        return core.ENDED
    n_tasks, m = len(machines.targets), machines.orders.shape[1]
    order, target = machines.orders[c // n_tasks].tolist(), machines.targets[c % n_tasks]
    margin, count = machines.margins[c], machines.counts[c]
    half, work = m // 2, 0
    while True:
        while progress[core.POSITION] < m:
            place = int(progress[core.POSITION])
            i = order[place]
            if progress[core.EPOCHS] == 0 and place >= half:
                square = float(machines.squares[c])
                length = max(square, 0.0) ** 0.5
                machines.first[c, place - half] = margin[i] / length if length > 0 else 0.0
            slack = float(machines.ridge[i])
            with_slack = float(margin[i] + slack * count[i])
            if margin[i] <= 0 and with_slack <= 0:
                if not machines.address[i]:
                    return i
                row, size = rows.row(i), float(machines.step[i])
                machines.squares[c] += size * (2 * with_slack + size * (float(row[i]) + slack))
                count[i] += size
                rows.used[i] = rows.round
                margin += target * float(target[i]) * size * row
                progress[core.EPOCH_MISTAKES] += 1
                progress[core.MISTAKES] += 1
                work += 1
            progress[core.POSITION] += 1
            if work >= most_work:
                return core.PAUSED
        progress[core.POSITION] = 0
        progress[core.EPOCHS] += 1
        if progress[core.EPOCH_MISTAKES] == 0:
            progress[core.STATE] = core.SEPARATED
            return core.ENDED
        progress[core.EPOCH_MISTAKES] = 0
        if progress[core.EPOCHS] >= max_epochs:
            progress[core.STATE] = core.GAVE_UP
            return core.ENDED
        work += 1
        if work >= most_work:
            return core.PAUSED


def look_ahead(machines: Any, scores: Any, reach: int) -> None:
    """Score points whose rows may be wanted next; those that are waited for have the largest."""
    n_tasks, m = len(machines.targets), machines.orders.shape[1]
    for c in range(len(machines.missing)):
        if machines.missing[c] < 0:
            continue
        begin = int(machines.progress[c, _core.perceptron.POSITION])
        for distance in range(min(reach, m)):
            i = int(machines.orders[c // n_tasks, (begin + distance) % m])
            margin = machines.margins[c, i]
            wrong = margin <= 0 and margin + machines.ridge[i] * machines.counts[c, i] <= 0
            if not wrong or machines.address[i]:
                continue
            if distance == 0:
                scores[i] = max(int(scores[i]), 1 << 30)
            else:
                scores[i] += 1 + (1 << 12) // (16 + distance)
