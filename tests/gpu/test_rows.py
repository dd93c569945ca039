"""Kernel rows on a device: those that were not used for longest make room for others."""

import numpy as np
import pytest

from bayespoint.gpu import kernels, rows
from bayespoint.kernels import RadialKernel

torch = pytest.importorskip("torch", reason="torch is not installed")

X = np.random.default_rng(0).normal(size=(61, 5)).astype(np.float32)


def some_rows(device, n_rows, monkeypatch):
    """Room for so many rows of float16 numbers, and all kernel values."""
    monkeypatch.setattr(rows, "SPARE", 4 * 64)
    points, kernel = torch.tensor(X, device=device), RadialKernel(gamma=0.1).fitted(X)
    prepared = kernels.prepare(kernel, points)
    held = rows.DeviceRows(kernel, prepared, (2 * 64 * n_rows + 4 * 64) / 1e6)
    held.prepare()
    assert held.values.dtype == torch.float16 and len(held.values) == n_rows
    return held, kernels.block(kernel, prepared, prepared)


def requests():
    rng = np.random.default_rng(1)
    return [rng.choice(61, rng.integers(1, 6), replace=False) for _ in range(40)]


def test_rows_not_used_for_longest_make_room(device, monkeypatch):
    held, values = some_rows(device, 20, monkeypatch)
    owner, used = [None] * 20, [-1] * 20  # the slow, obvious way
    for now, points in enumerate(requests()):
        got = held.slots(torch.tensor(points, device=device)).long()
        assert torch.allclose(held.values[got, :61].float(), values[points], atol=5e-4)
        used = [now if owner[slot] in points else used[slot] for slot in range(20)]
        oldest = sorted(range(20), key=used.__getitem__)
        for i, slot in zip(sorted(set(points) - set(owner)), oldest, strict=False):
            owner[slot], used[slot] = i, now
        kept = {i: slot for slot, i in enumerate(owner) if i is not None}
        assert held.slot_of[:61].tolist() == [kept.get(i, -1) for i in range(61)]


def test_rows_that_are_used_elsewhere_stay(device, monkeypatch):
    """Perceptrons note themselves which rows they use."""
    held, _ = some_rows(device, 20, monkeypatch)
    slots = held.slots(torch.arange(5, device=device))
    for first in range(5, 60, 5):
        held.slots(torch.arange(first, first + 5, device=device))
        held.slot_used[slots.long()] = held.now
    assert torch.equal(held.slot_of[:5], slots)


def test_slots_that_are_not_cleared_give_the_rows_of_others(device, monkeypatch):
    """The test above would notice."""
    held, values = some_rows(device, 20, monkeypatch)
    wrong = False
    for points in requests():
        held._held[:] = -1  # which points have lost their rows is forgotten
        got = held.slots(torch.tensor(points, device=device)).long()
        wrong |= not torch.allclose(held.values[got, :61].float(), values[points], atol=5e-4)
    assert wrong
