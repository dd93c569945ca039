"""Arrays on their way to a device and back."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.devices import is_device_array, is_tensor

STAGE = 16_000_000  # bytes of a piece that is copied through page-locked memory
CHUNK = 65_536  # rows at a time, where a temporary copy of all would be large

_buffers = local()


def to_device(array: Any, device: Any, dtype: Any = None) -> Any:
    """A tensor on the device with the values of a NumPy array, a tensor or a CuPy array.

    Ordinary memory goes through two page-locked buffers in turn, which is several times as fast as
    the direct way; types are converted on the device.
    """
    import torch

    if is_tensor(array) or is_device_array(array):
        tensor = array if is_tensor(array) else torch.as_tensor(array, device=device)
        return tensor.detach().to(device=device, dtype=dtype)
    array = np.ascontiguousarray(array)
    if array.dtype in (np.uint16, np.uint32, np.uint64):  # of which torch knows little
        array = array.astype(np.int64)
    host = torch.from_numpy(array if array.flags.writeable else array.copy())
    if device.type != "cuda" or array.nbytes <= STAGE:
        return host.to(device=device, dtype=dtype)
    there = torch.empty(host.shape, dtype=host.dtype, device=device)
    source, goal = host.view(-1).view(torch.uint8), there.view(-1).view(torch.uint8)
    for n, begin in enumerate(range(0, len(source), STAGE)):
        stage, copied = stages(device)[n % 2]
        copied.synchronize()
        piece = source[begin : begin + STAGE]
        stage[: len(piece)].copy_(piece)  # on several threads
        goal[begin : begin + STAGE].copy_(stage[: len(piece)], non_blocking=True)
        copied.record()
    return there.to(dtype) if dtype is not None else there


def to_host(tensor: Any) -> NDArray:
    """A new NumPy array with the values of a tensor."""
    import torch

    tensor = tensor.detach().contiguous()
    n_bytes = tensor.numel() * tensor.element_size()
    if tensor.device.type != "cuda" or n_bytes <= STAGE // 16:
        return tensor.cpu().numpy()
    host = torch.empty(tensor.shape, dtype=tensor.dtype)
    source, goal = tensor.view(-1).view(torch.uint8), host.view(-1).view(torch.uint8)
    waiting: list[tuple] = []
    for n, begin in enumerate(range(0, len(source), STAGE)):
        if len(waiting) == 2:
            fetch(*waiting.pop(0))
        stage, copied = stages(tensor.device)[n % 2]
        piece = source[begin : begin + STAGE]
        stage[: len(piece)].copy_(piece, non_blocking=True)
        copied.record()
        waiting.append((goal[begin : begin + STAGE], stage, copied))
    for one in waiting:
        fetch(*one)
    return host.numpy()


def fetch(goal: Any, stage: Any, copied: Any) -> None:
    """Take a piece out of page-locked memory when it has arrived."""
    copied.synchronize()
    goal.copy_(stage[: len(goal)])


def stages(device: Any) -> tuple:
    """Two page-locked buffers of this thread, each with an event: its last copy is over."""
    import torch

    of_devices = vars(_buffers).setdefault("stages", {})
    if device not in of_devices:
        of_devices[device] = tuple(
            (torch.empty(STAGE, dtype=torch.uint8, pin_memory=True), torch.cuda.Event())
            for _ in range(2)
        )
    return of_devices[device]


def to_numpy(array: Any) -> Any:
    """A NumPy array of a tensor or a CuPy array; anything else as it is."""
    if is_tensor(array):
        return array.detach().cpu().numpy()
    return array.get() if is_device_array(array) and hasattr(array, "get") else array


def like(X: Any, result: Any) -> Any:
    """A NumPy result as an array of the kind of X, where X lies; text stays NumPy."""
    if isinstance(result, tuple):
        return tuple(like(X, one) for one in result)
    if result.dtype.kind not in "biuf":
        return result
    if is_tensor(X):
        return to_device(result, X.device)
    if is_device_array(X):
        from importlib import import_module

        return import_module(type(X).__module__.split(".")[0]).asarray(result)
    return result


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
        raise ValueError(f"Expected points of numbers, got {X.dtype}.")
    if not bool(torch.isfinite(X.sum(dtype=torch.float64))) and not bool(torch.isfinite(X).all()):
        what = "NaN" if bool(torch.isnan(X).any()) else "infinity"
        raise ValueError(f"Input X contains {what}.\n{owner} does not accept missing values.")


def checksum(X: Any) -> tuple[int, int]:
    """Two sums over the bits of a tensor, one of them weighted by places."""
    import torch

    plain = weighted = 0
    factor = torch.arange(1, X.shape[1] + 1, device=X.device) * 2_654_435_761
    for begin in range(0, len(X), CHUNK):
        part = X[begin : begin + CHUNK].contiguous()
        bits = part.view(torch.int32 if part.element_size() == 4 else torch.int64).long()
        along = (bits * factor).sum(dim=1)
        places = torch.arange(begin + 1, begin + 1 + len(part), device=X.device)
        plain += int(bits.sum())
        weighted += int((along * places).sum())
    return plain, weighted


def scaled(scaling: Any, X: Any) -> Any:
    """Features less their mean, over their scale."""
    mean, scale = (to_device(array, X.device) for array in (scaling.mean, scaling.scale))
    return ((X - mean) / scale).to(X.dtype)


def variances(X: Any) -> NDArray[np.float64]:
    """Variance of each feature, of an array or a tensor."""
    if not is_tensor(X):
        return X.var(axis=0, dtype=np.float64)
    mean = X.double().mean(dim=0)
    return to_host((X.double() - mean).square().mean(dim=0))
