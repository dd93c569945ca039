"""The CUDA source: compiled once for each kind of device, and launched."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np

CLUSTER, THREADS, WIDE = 8, 128, 1024  # as in source.cu
SUM_ROWS, SUM_COLUMNS, SUM_POINTS = 32, 16, 128
SUMS = 12  # tasks that a thread adds up
ENOUGH_BLOCKS = 1024  # to keep all multiprocessors busy
LEFT, RIGHT = 112, 128  # sizes of the sums of logistic regression
SUM_BLOCKS = 240  # that add them up
TILE = 32  # rows and columns of a tile of a symmetric matrix
ALWAYS_ALLOWED = 48_000  # bytes of dynamic shared memory
_compiling = Lock()
_allowed: dict[tuple[str, int], int] = {}


class TorchStream:
    """A stream of torch, as cuda.core takes one."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def launch(name: str, device: Any, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
    """Queue a kernel of the source: tensors, whole numbers (int32) and NumPy's as arguments."""
    import torch
    from cuda.core import launch as queue

    stream = stream_of(device.index, torch.cuda.current_stream(device).cuda_stream)
    converted = (
        argument.data_ptr()
        if isinstance(argument, torch.Tensor)
        else np.int32(argument)
        if isinstance(argument, int)
        else argument
        for argument in arguments
    )
    kernel = compiled(name, device.index)
    if shared > _allowed.get((name, device.index), ALWAYS_ALLOWED):
        allow(name, device.index, shared)
    if torch.cuda.current_device() == device.index:
        queue(stream, config_of(grid, block, shared), kernel, *converted)
        return
    with torch.cuda.device(device):
        queue(stream, config_of(grid, block, shared), kernel, *converted)


@lru_cache(100)
def stream_of(index: int, handle: int) -> Any:
    """The stream of cuda.core."""
    from cuda.core import Device

    device = Device(index)
    device.set_current()
    return device.create_stream(TorchStream(handle))


@lru_cache(1000)
def config_of(grid: Any, block: Any, shared: int) -> Any:
    """The sizes of a launch."""
    from cuda.core import LaunchConfig

    return LaunchConfig(grid=grid, block=block, shmem_size=shared)


@cache
def compiled(name: str, index: int) -> Any:
    """A kernel, ready to be launched."""
    with _compiling:
        return program(index).get_kernel(name)


def allow(name: str, index: int, shared: int) -> None:
    """Ask for so much dynamic shared memory, for this launch of a kernel and for smaller ones."""
    from cuda.bindings import driver

    limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    kernel = driver.CUkernel(int(compiled(name, index).handle))
    (error,) = driver.cuKernelSetAttribute(limit, shared, kernel, driver.CUdevice(index))
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{shared} bytes of shared memory are not available: {error}")
    _allowed[name, index] = shared


@cache
def program(index: int) -> Any:
    """The compiled source."""
    import torch
    from cuda.core import Device, Program, ProgramOptions

    Device(index).set_current()
    capability = torch.cuda.get_device_capability(index)
    text = files("bayespoint.gpu").joinpath("source.cu").read_text()
    options = ProgramOptions(std="c++17", arch=f"sm_{capability[0]}{capability[1]}")
    return Program(text, "c++", options).compile("cubin")


def finish(
    values: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    degree: int,
    n_groups: int = 1,
    out: Any = None,
    slots: Any = None,
) -> Any:
    """Kernel values from inner products g, in place: (g a_i b_j + c_i d_j)^degree.

    Degree 0 stands for the Gaussian exp(min(0, g a_i b_j - c_i - d_j)). Groups of rows have columns
    of their own (on a GPU). ``out`` takes the values instead: see :func:`put`.
    """
    n, columns = values.shape
    if values.device.type == "cuda" and columns % 4 == 0 and values.stride(0) % 4 == 0:
        goal = values if out is None else out
        grid = (max(1, min(-(-columns // 1024), 64)), min(n, 32_768))
        launch(
            "finish" if goal.element_size() == 4 else "finish_half",
            values.device,
            grid,
            256,
            values,
            goal,
            np.uint64(0) if slots is None else slots,
            a,
            b,
            c,
            d,
            n,
            n // n_groups,
            np.int64(values.stride(0)),
            np.int64(goal.stride(0)),
            columns,
            degree,
        )
        return goal
    if out is not None:
        return put(finish(values, a, b, c, d, degree), out, slots)
    values.mul_(a[:, None] * b)
    if degree == 0:
        return values.sub_(c[:, None] + d).clamp_(max=0).exp_()
    base = values.add_(c[:, None] * d)
    result = base.clone()
    for digit in bin(degree)[3:]:
        result.mul_(result)
        if digit == "1":
            result.mul_(base)
    return values.copy_(result)


def put(values: Any, out: Any, slots: Any) -> Any:
    """Write rows of values to ``out``, in float32 or float16: to all of it, or to rows of it."""
    return out.copy_(values) if slots is None else out.index_copy_(0, slots, values.to(out.dtype))


def finish_symmetric(values: Any, a: Any, c: Any, first: int, n_rows: int, degree: int) -> None:
    """The same for some rows of the upper triangle of a symmetric matrix, written twice."""
    n = len(a)
    if values.device.type == "cuda":
        grid = (-(-(n - first) // TILE), -(-n_rows // TILE))
        launch(
            "finish_symmetric",
            values.device,
            grid,
            (TILE, 8),
            values,
            a,
            c,
            np.int64(values.stride(0)),
            n,
            first,
            degree,
        )
        return
    rows = slice(first, first + n_rows)
    finish(values[rows, first:n], a[rows], a[first:], c[rows], c[first:], degree)
    values[first:n, rows] = values[rows, first:n].T.clone()


def add_rows(
    values: Any, slots: Any, changes: Any, starts: Any, windows: Any, targets: Any, margins: Any
) -> None:
    """Tell all points what machines have learned in windows; see the source."""
    n_tasks, stride = changes.shape[1], values.shape[1]
    if values.device.type == "cuda":
        name = "add_half_rows" if values.element_size() == 2 else "add_rows"
        launch(
            name,
            values.device,
            (-(-stride // 1024), len(windows), -(-n_tasks // SUMS)),
            256,
            values,
            slots,
            changes,
            starts,
            windows,
            targets,
            margins,
            stride,
            n_tasks,
        )
        return
    for (order, *_), begin, end in zip(windows.tolist(), starts[:-1], starts[1:], strict=True):
        more = changes[begin:end].T @ values[slots[begin:end].long()].float()
        margins[order * n_tasks : (order + 1) * n_tasks] += targets * more


def multiply(values: Any, a: Any, b: Any, c: Any, d: Any, degree: int, weights: Any) -> Any:
    """Kernel values, from inner products as in :func:`finish`, times a matrix of weights."""
    import torch

    n_weights = weights.shape[1]
    if values.device.type != "cuda" or n_weights > 2 * SUM_COLUMNS:
        return finish(values, a, b, c, d, degree) @ weights
    (n, n_columns), columns = values.shape, weights.T.contiguous()
    n_blocks = -(-n // SUM_ROWS)
    n_each = max(1, -(-n_columns // max(1, ENOUGH_BLOCKS // n_blocks)))  # columns of a part
    n_each += -n_each % SUM_POINTS
    parts = torch.empty((-(-n_columns // n_each), n, n_weights), device=values.device)
    for first in range(0, n_weights, SUM_COLUMNS):
        launch(
            "multiply",
            values.device,
            (n_blocks, len(parts)),
            256,
            values,
            a,
            b,
            c,
            d,
            columns,
            parts,
            n,
            np.int64(values.stride(0)),
            n_columns,
            degree,
            n_weights,
            first,
            n_each,
        )
    return parts.sum(dim=0)


def to_grid(X: Any, step: float, near: float, largest: float, high: Any) -> bool:
    """Write multiples of the step as float16 numbers; whether all entries are such."""
    import torch

    off = torch.zeros(1, dtype=torch.int32, device=X.device)
    launch(
        "to_grid",
        X.device,
        min(len(X), 65_536),
        256,
        X,
        high,
        np.float32(step),
        np.float32(near),
        np.float32(largest),
        off,
        len(X),
        np.int64(X.stride(0)),
        X.shape[1],
        high.shape[1],
    )
    return not bool(off)


def scale_sums(outputs: Any, copies: Any, scale: float) -> tuple[float, float]:
    """Sums over points of the mean of their outputs under a softmax, and of its variance."""
    n_blocks = max(1, min(-(-len(outputs) // 256), 240))
    sums = outputs.new_empty((n_blocks, 2))
    launch(
        "scale_sums",
        outputs.device,
        n_blocks,
        256,
        outputs,
        copies,
        sums,
        np.float64(scale),
        *outputs.shape,
    )
    along, spread = sums.cpu().numpy().sum(axis=0)
    return float(along), float(spread)


def logistic_sums(features: Any, codes: Any, copies: Any, at: Any) -> Any:
    """Loss, slope and curvature of each problem, in a row; see the source."""
    import torch

    n_batch, n, k = features.shape
    t, device, new = at.shape[1], features.device, features.new_empty
    n_pieces = SUM_BLOCKS // n_batch
    losses, slopes = new((n_batch, n_pieces)), new((n_batch, n_pieces, t, k))
    squares = torch.empty((n_batch, n_pieces, LEFT, RIGHT), device=device)
    launch(
        "logistic_sums",
        device,
        (n_pieces, n_batch),
        256,
        features,
        codes,
        copies,
        at,
        losses,
        slopes,
        squares,
        n,
        n_pieces,
        t,
        k,
    )
    total = new((n_batch, 1 + t * k + (t * k) ** 2))
    grid = (-(-total.shape[1] // 32), n_batch)
    launch("logistic_total", device, grid, 256, losses, slopes, squares, total, n_pieces, t, k)
    return total


def newton_step(sums: Any, at: Any, chosen: Any, prior: tuple[Any, Any]) -> tuple[Any, Any]:
    """Coefficients after a Newton step, and losses before it beside gains; see the source."""
    import torch

    n_batch, n, (centre, precision) = len(at), len(chosen), prior
    ahead, numbers = torch.empty_like(at), at.new_empty((n_batch, 2))
    launch(
        "newton_step",
        at.device,
        n_batch,
        256,
        sums,
        at,
        centre,
        precision,
        chosen,
        ahead,
        numbers,
        centre.numel(),
        n,
        shared=8 * (n + 1) * (n | 1),
    )
    return ahead, numbers
