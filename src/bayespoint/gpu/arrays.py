"""Arrays on their way to a device and back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import cycle
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.arrays import is_device_array, is_tensor

SMALL = 1 << 16  # bytes of an array that is copied at once
STAGE = 1 << 22  # bytes of a piece that is copied through page-locked memory
N_STAGES = 8  # buffers for such pieces
CHUNK = 65_536  # rows at a time, where a temporary copy of all would be large

_buffers = local()


def to_device(array: Any, device: Any, dtype: Any = None) -> Any:
    """A tensor on the device with the values of a NumPy array, a tensor or a CuPy array.

    All but small arrays go through page-locked buffers: the host need not wait until the device has
    done what it was asked to do before. Those of large ones are filled by a few threads, which is
    several times as fast as the direct way. Types are converted on the device.
    """
    import torch

    if is_tensor(array) or is_device_array(array):
        tensor = array if is_tensor(array) else torch.as_tensor(array, device=device)
        return tensor.detach().to(device=device, dtype=dtype)
    array = np.ascontiguousarray(array)
    if array.dtype in (np.uint16, np.uint32, np.uint64):  # of which torch knows little
        array = array.astype(np.int64)
    if device.type != "cuda" or array.nbytes <= SMALL:
        host = torch.from_numpy(array if array.flags.writeable else array.copy())
        return host.to(device=device, dtype=dtype)
    kind = torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype
    there = torch.empty(array.shape, dtype=kind, device=device)
    source, goal = array.reshape(-1).view(np.uint8), there.view(-1).view(torch.uint8)
    pieces = [slice(begin, begin + STAGE) for begin in range(0, len(source), STAGE)]
    buffers = stages(device)
    for first in range(0, len(pieces), N_STAGES):
        some = [(piece, next(buffers)) for piece in pieces[first : first + N_STAGES]]
        apply = map if len(some) == 1 else threads().map
        filled = apply(lambda one: fill(one[1], source[one[0]]), some)
        for (piece, (stage, copied)), n in zip(some, filled, strict=True):
            goal[piece].copy_(stage[:n], non_blocking=True)
            copied.record()
    return there.to(dtype) if dtype is not None else there


def fill(stage: tuple, piece: NDArray) -> int:
    """Copy a piece into a page-locked buffer, after the last copy out of it; returns its size."""
    buffer, copied = stage
    copied.synchronize()
    np.copyto(buffer.numpy()[: len(piece)], piece)
    return len(piece)


@cache
def threads() -> ThreadPoolExecutor:
    """The threads that fill page-locked buffers."""
    return ThreadPoolExecutor(N_STAGES // 2)


def stages(device: Any) -> Iterator[tuple]:
    """The page-locked buffers of this thread, in turn, with an event: its last copy is over."""
    import torch

    of_devices = vars(_buffers).setdefault("stages", {})
    if device not in of_devices:
        of_devices[device] = cycle(
            [
                (torch.empty(STAGE, dtype=torch.uint8, pin_memory=True), torch.cuda.Event())
                for _ in range(N_STAGES)
            ]
        )
    return of_devices[device]


def check_points(X: Any, owner: str) -> None:
    """Raise scikit-learn's errors unless X is a finite matrix with rows and columns."""
    import torch

    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array of shape {tuple(X.shape)}.")
    if min(X.shape) == 0:
        raise ValueError(
            f"Found array of shape {tuple(X.shape)} while at least (1, 1) is required."
        )
    if X.is_complex() or X.dtype == torch.bool:
        raise ValueError(f"Expected rows of numbers, got {X.dtype}.")
    if not bool(torch.isfinite(X.sum())) and not bool(torch.isfinite(X).all()):
        what = "NaN" if bool(torch.isnan(X).any()) else "infinity"
        raise ValueError(f"Input X contains {what}.\n{owner} does not accept missing values.")


def checksum(X: Any) -> tuple[int, int]:
    """Two sums over the bits of a float32 tensor, one of them weighted by places."""
    import torch

    if X.shape[1] % 2:
        X = torch.nn.functional.pad(X, (0, 1))
    plain = weighted = torch.zeros((), dtype=torch.int64, device=X.device)
    factor = torch.arange(1, X.shape[1] // 2 + 1, device=X.device) * 2_654_435_761
    for begin in range(0, len(X), CHUNK):
        bits = X[begin : begin + CHUNK].contiguous().view(torch.int64)
        places = torch.arange(begin + 1, begin + 1 + len(bits), device=X.device)
        plain = plain + bits.sum()
        weighted = weighted + ((bits * factor).sum(dim=1) * places).sum()
    first, second = torch.stack([plain, weighted]).tolist()
    return first, second
