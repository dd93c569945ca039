"""The device that work is done on, and arrays that lie on one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from bayespoint.exceptions import DeviceError
from bayespoint.tools.arrays import is_device_array, is_tensor

ALLOWED = 'None, "cpu", "cuda", "cuda:0" (or another number) or "auto"'
STAND_IN: Any = None  # a device that takes the place of a GPU in tests
INSTALL = 'Install the extra: pip install "bayespoint[gpu]"'


def is_device_name(name: Any) -> bool:
    """Whether the parameter ``device`` may have this value."""
    if name is None:
        return True
    return isinstance(name, str) and re.fullmatch(r"cpu|auto|cuda(:\d+)?", name) is not None


def find_device(name: str | None, X: Any = None) -> Any:
    """The torch device to work on; None for NumPy on the CPU.

    Parameters
    ----------
    name : str or None
        None follows X. "auto" takes a GPU if there is one, "cuda" and "cuda:1" need one.
    X : array-like, optional
        The points.

    Returns
    -------
    torch.device or None
        The device.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.gpu.devices import find_device
    >>> print(find_device(None, np.zeros((2, 2))), find_device("cpu"))
    None None
    """
    if name == "cpu" or (name is None and not is_device_array(X)):
        return None
    problem = what_is_missing(name)
    if problem:
        if name == "auto":
            return None
        raise DeviceError(name or "cuda", problem)
    if STAND_IN is not None:
        return STAND_IN
    import torch

    if name in (None, "auto", "cuda") and is_tensor(X) and X.device.type == "cuda":
        return X.device
    if name in (None, "auto", "cuda"):
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device(name)


def prediction_device(name: str | None, X: Any) -> Any:
    """The device to predict on; None where there is none, whatever the classifier was fitted on."""
    if name is not None and not is_device_array(X) and what_is_missing(name):
        return None
    return find_device(name, X)


def what_is_missing(name: str | None) -> str:
    """Why a GPU cannot be used, and what to do; empty if it can be."""
    if STAND_IN is not None:
        return ""
    for library in ("torch", "cuda.core"):
        if not is_installed(library):
            return f"{library} is not installed. {INSTALL}"
    import torch

    if torch.version.cuda is None:
        return f"torch {torch.__version__} was built without CUDA. {INSTALL}, on Linux"
    if not torch.cuda.is_available():
        return "torch finds no usable GPU. Check the driver with nvidia-smi"
    n_devices = torch.cuda.device_count()
    if name is not None and ":" in name and int(name.split(":")[1]) >= n_devices:
        return f"there are {n_devices} GPUs, numbered from 0"
    return ""


def is_installed(library: str) -> bool:
    """Whether a library, possibly one in a namespace package, can be imported."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch found too little memory on a device."""
    kind = type(error)
    return kind.__name__ == "OutOfMemoryError" and kind.__module__.split(".")[0] == "torch"


@contextmanager
def memory_errors_in_words(device: Any) -> Iterator[None]:
    """Turn torch's error for too little memory into one that says what to do."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        free = str(error).split(". ")[0]
        reason = f"its memory is full ({free}). Free some, take fewer rows, or a smaller cache_size"
        raise DeviceError(str(device), reason) from error
