"""What the CUDA source does, one place after the other: slow, obvious, for any device of torch."""

from __future__ import annotations

from typing import Any

from bayespoint import _core
from bayespoint.gpu import devices, perceptrons
from bayespoint.gpu.windows import Windows


def stand_in(monkeypatch: Any) -> Any:
    """Let torch's CPU take the place of a GPU, and this file that of the CUDA source."""
    import torch

    def advance_all(self: Any) -> None:
        most_work = max(1, perceptrons.SLICE // self._rows.stride)
        for c in range(len(self.machines.missing)):
            advance_one(self.machines, c, self._rows, self.machines.max_epochs, most_work)

    def advance_windows(self: Any, windows: Any, values: Any, slots: Any, changes: Any) -> None:
        for window, *own in zip(windows.tolist(), values, slots, changes, strict=True):
            for task in range(len(self._machines.targets)):
                through_window(self._machines, task, self._machines.max_epochs, window, *own)

    def pass_by(self: Any) -> None:
        for c in range(len(self._machines.missing)):
            to_next_mistake(self._machines, c, self._machines.max_epochs)

    monkeypatch.setattr(devices, "STAND_IN", torch.device("cpu"))
    monkeypatch.setattr(perceptrons.DeviceRounds, "_advance", advance_all)
    monkeypatch.setattr(Windows, "_advance", advance_windows)
    monkeypatch.setattr(Windows, "_pass_by", pass_by)
    return torch.device("cpu")


def visit(machines: Any, c: int, output: Any, row_of: Any) -> tuple[str, float]:
    """Look at the point at a machine's place: "right", "wrong" (and corrected) or "missing".

    ``output`` is that of the machine there, and ``row_of`` fetches k(x, x) if there is a row.
    """
    core, progress = _core.perceptron, machines.progress[c]
    n_tasks, m = len(machines.targets), machines.orders.shape[1]
    place, half = int(progress[core.POSITION]), m // 2
    i, target = int(machines.orders[c // n_tasks, place]), machines.targets[c % n_tasks]
    margin = output * target[i]
    if progress[core.EPOCHS] == 0 and place >= half:
        length = max(float(machines.squares[c]), 0.0) ** 0.5
        machines.first[c, place - half] = margin / length if length > 0 else 0.0
    slack, size = float(machines.ridge[i]), float(machines.step[i])
    with_slack = float(margin + slack * machines.counts[c, i])
    if margin > 0 or with_slack > 0:
        progress[core.POSITION] += 1
        return "right", 0.0
    own = row_of(i)
    if own is None:
        return "missing", 0.0
    machines.squares[c] += size * (2 * with_slack + size * (float(own) + slack))
    machines.counts[c, i] += size
    for counter in (core.EPOCH_MISTAKES, core.MISTAKES, core.POSITION):
        progress[counter] += 1
    return "wrong", float(target[i]) * size


def end_pass(machines: Any, c: int, max_epochs: int) -> None:
    """Begin the next pass, or end."""
    core, progress = _core.perceptron, machines.progress[c]
    progress[core.POSITION] = 0
    progress[core.EPOCHS] += 1
    if progress[core.EPOCH_MISTAKES] == 0:
        progress[core.STATE] = core.SEPARATED
    elif progress[core.EPOCHS] >= max_epochs:
        progress[core.STATE] = core.GAVE_UP
    progress[core.EPOCH_MISTAKES] = 0
    ended = progress[core.STATE] != core.RUNNING
    machines.missing[c] = core.ENDED if ended else core.PAUSED


def advance_one(machines: Any, c: int, rows: Any, max_epochs: int, most_work: int) -> None:
    """Run one classifier, while there are kernel rows: ``bayespoint._core.perceptron.advance``."""
    core, progress = _core.perceptron, machines.progress[c]
    n_tasks, m = len(machines.targets), machines.orders.shape[1]
    order, target = machines.orders[c // n_tasks].tolist(), machines.targets[c % n_tasks]
    margin, work = machines.margins[c], 0
    if progress[core.STATE] == core.RUNNING:
        machines.missing[c] = core.PAUSED
    while progress[core.STATE] == core.RUNNING and work < most_work:
        if progress[core.POSITION] == m:
            end_pass(machines, c, max_epochs)
            work += 1
            continue
        i = order[progress[core.POSITION]]
        slot = i if rows.slot_of is None else int(rows.slot_of[i])
        row = None if slot < 0 else rows.values[slot]
        found, change = visit(
            machines, c, margin[i] * target[i], lambda i, row=row: None if row is None else row[i]
        )
        if found == "missing":
            machines.missing[c] = i
            return
        if found == "wrong":
            margin += target * change * row
            work += 1


def through_window(
    machines: Any, task: int, max_epochs: int, window: Any, values: Any, slots: Any, changes: Any
) -> None:
    """Take one classifier through a window, as far as there are rows."""
    core, m = _core.perceptron, machines.orders.shape[1]
    order, epoch, begin = window
    c = order * len(machines.targets) + task
    progress, end = machines.progress[c], min(begin + values.shape[1], m)
    if progress[core.STATE] != core.RUNNING or progress[core.EPOCHS] != epoch:
        return
    points = machines.orders[order, begin:end].long()
    outputs = machines.margins[c, points] * machines.targets[task, points]
    while progress[core.POSITION] < end:
        j = int(progress[core.POSITION]) - begin
        slot = int(slots[j])
        row = values[slot, : end - begin] if slot >= 0 else None
        found, change = visit(
            machines, c, outputs[j], lambda i, row=row, j=j: None if row is None else row[j]
        )
        if found == "missing":
            break
        if found == "wrong":
            outputs += change * row
            changes[slot, task] = change


def to_next_mistake(machines: Any, c: int, max_epochs: int) -> None:
    """Lead one classifier on to its next mistake, or to its end."""
    core, progress = _core.perceptron, machines.progress[c]
    n_tasks, m = len(machines.targets), machines.orders.shape[1]
    while progress[core.STATE] == core.RUNNING:
        if progress[core.POSITION] == m:
            end_pass(machines, c, max_epochs)
            continue
        i = int(machines.orders[c // n_tasks, progress[core.POSITION]])
        output = machines.margins[c, i] * machines.targets[c % n_tasks, i]
        if visit(machines, c, output, lambda i: None)[0] == "missing":
            return
