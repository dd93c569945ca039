"""Errors, each with its numbers and a remedy."""

from __future__ import annotations

import math
from dataclasses import field
from pathlib import Path
from typing import Any

from bayespoint.exceptions.base import Attributes


class KernelError(ValueError):
    """Kernel values are invalid: not finite, or not those of an inner product.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.exceptions import KernelError
    >>> from bayespoint.kernels import PolynomialKernel
    >>> try:
    ...     PolynomialKernel(degree=99)(np.full((1, 1), 1e9), np.full((1, 1), 1e9))
    ... except KernelError as error:
    ...     print(error)
    Kernel values of about 1e1788 overflow float64. Use normalize=True, scale the features, or
    lower the degree.
    """


class CacheTooSmallError(Attributes, ValueError):
    """The cache is too small for a single kernel row.

    Attributes
    ----------
    cache_size, row_size : float
        Size of the cache, and size of one row, in megabytes.

    Examples
    --------
    >>> from bayespoint.exceptions import CacheTooSmallError
    >>> print(CacheTooSmallError(cache_size=0.1, row_size=0.24))
    The cache of 0.1 MB cannot hold one kernel row of 0.24 MB. Set cache_size to at least 0.48; it
    is fast with room for a few thousand rows.
    """

    cache_size: float
    row_size: float

    def __str__(self) -> str:
        return (
            f"The cache of {self.cache_size:g} MB cannot hold one kernel row of "
            f"{self.row_size:.3g} MB. Set cache_size to at least {2 * self.row_size:.2g}; "
            "it is fast with room for a few thousand rows."
        )


class BlockError(Attributes, ValueError):
    """A block of out-of-core data cannot be used.

    Attributes
    ----------
    block : int
        Its number, counted from 0.
    problem : str
        What is wrong with it.

    Examples
    --------
    >>> from bayespoint.exceptions import BlockError
    >>> print(BlockError(7, "must have 50 columns, as the first block. Got 49"))
    Block 7 must have 50 columns, as the first block. Got 49.
    """

    block: int
    problem: str

    text = "Block {self.block} {self.problem}."


class BlocksChangedError(BlockError):
    """Data have changed during a fit, or since a checkpoint was written.

    Attributes
    ----------
    block : int
        The first block that has changed, counted from 0.
    problem : str
        What to do.

    Examples
    --------
    >>> from bayespoint.exceptions import BlocksChangedError
    >>> print(BlocksChangedError(7))
    Block 7 has changed since the fit began. Fit again, without the checkpoint, when nothing writes
    to the data.
    """

    problem: str = (
        "has changed since the fit began. Fit again, without the checkpoint, when nothing writes "
        "to the data"
    )


class CheckpointError(Attributes, ValueError):
    """A fit cannot continue from a checkpoint.

    Attributes
    ----------
    path : str
        The file.
    problem : str
        Why not.

    Examples
    --------
    >>> from bayespoint.exceptions import CheckpointError
    >>> print(CheckpointError("fit.checkpoint", "it belongs to a fit with another engine"))
    The fit cannot continue from fit.checkpoint: it belongs to a fit with another engine. Remove
    the file, or choose another one, to start again.
    """

    path: str
    problem: str

    text = (
        "The fit cannot continue from {self.path}: {self.problem}. Remove the file, or "
        "choose another one, to start again."
    )


class ClusterError(Attributes, RuntimeError):
    """A cluster is lost, or cannot do its work.

    Attributes
    ----------
    address : str
        Where its scheduler is.
    reason : str
        What is wrong.
    remedy : str
        What to do.

    Examples
    --------
    >>> from bayespoint.exceptions import ClusterError
    >>> print(ClusterError("tcp://node1:8786", "it has no workers", "start workers"))
    The Dask cluster at tcp://node1:8786 failed: it has no workers. Remedy: start workers.
    """

    address: str
    reason: str
    remedy: str

    text = "The Dask cluster at {self.address} failed: {self.reason}. Remedy: {self.remedy}."


class DeviceError(Attributes, RuntimeError):
    """The GPU that was asked for cannot be used.

    Attributes
    ----------
    device : str
        What was asked for.
    reason : str
        What is missing, and how to get it.

    Examples
    --------
    >>> from bayespoint.exceptions import DeviceError
    >>> print(DeviceError("cuda", "torch is not installed"))
    device='cuda' cannot be used: torch is not installed. Set device=None or "cpu" to work without
    a GPU.
    """

    device: str
    reason: str

    text = (
        'device={self.device!r} cannot be used: {self.reason}. Set device=None or "cpu" to '
        "work without a GPU."
    )


class EmptyVersionSpaceError(Attributes, ValueError):
    """No weight vector classifies all training rows correctly, and the engine needs one.

    Attributes
    ----------
    n_points, n_wrong : int
        Number of training rows, and how many of them the least-squares solution misclassifies.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.exceptions import EmptyVersionSpaceError
    >>> try:
    ...     BayesPointClassifier(engine="billiard").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except EmptyVersionSpaceError as error:
    ...     error.n_wrong, error.n_points
    (1, 3)
    """

    n_points: int
    n_wrong: int

    text = (
        "Version space is empty: no weight vector classifies all training rows correctly "
        "(least squares gets {self.n_wrong} of {self.n_points} wrong). Use GibbsSampler with "
        "label_noise > 0, set a ridge, or use a richer kernel. Equal rows with different "
        "labels need one of the first two."
    )


class ModelFileError(Attributes, ValueError):
    """A model cannot be saved, or a file contains no valid model.

    Attributes
    ----------
    path : Path
        The file.
    reason : str
        What is wrong, and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bayespoint.exceptions import ModelFileError
    >>> print(ModelFileError(Path("model.bpm"), "it is empty. Save the model with bayespoint.save"))
    model.bpm: it is empty. Save the model with bayespoint.save.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason.rstrip('.')}."


class NotEnoughMemoryError(Attributes, MemoryError):
    """More memory is needed than is available; raised before any is allocated.

    Attributes
    ----------
    what : str
        What needs the memory.
    needed, available : float
        Bytes that are needed at least, and bytes that are available.
    remedy : str
        What to do.

    Examples
    --------
    >>> from bayespoint.exceptions import NotEnoughMemoryError
    >>> print(NotEnoughMemoryError("A matrix", 8e12, 16e9, "take a smaller one"))
    A matrix needs at least 8 TB of memory, and 16 GB are available. Remedy: take a smaller one.
    """

    what: str
    needed: float
    available: float
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.what} needs at least {in_bytes(self.needed)} of memory, and "
            f"{in_bytes(self.available)} are available. Remedy: {self.remedy}."
        )


class RiskNotReachedError(Attributes, ValueError):
    """No rejection threshold guarantees the wanted error on the accepted rows.

    If a fit ended with this error, ``estimator`` is the fitted classifier.

    Attributes
    ----------
    risk, confidence_level : float
        The wanted error, and the probability with which it should hold.
    n_points : int
        Number of calibration rows.
    n_needed : int or None
        Number of calibration rows that would be needed; None if more would not help.
    n_accepted, n_errors : int or None
        Rows accepted in the first test, and errors among them; None if there are too few
        calibration rows for any test.
    bound : float or None
        Upper bound of the error in the first test.
    share : float
        Share of the data that is held out as calibration rows.

    Examples
    --------
    >>> from bayespoint.exceptions import RiskNotReachedError
    >>> print(RiskNotReachedError(0.01, 0.95, n_points=150, n_needed=299, share=0.3))
    An error of at most 1 % on the accepted rows cannot be guaranteed with confidence 95 %: this
    takes at least 299 calibration rows, and there are 150. With 30 % of the data held out, this
    takes 997 rows in all. Use more rows, hold out a larger share, or allow a larger error.
    """

    risk: float
    confidence_level: float
    n_points: int
    n_needed: int | None
    n_accepted: int | None = None
    n_errors: int | None = None
    bound: float | None = None
    share: float = 1.0
    estimator: Any = field(default=None, init=False, repr=False)

    def __str__(self) -> str:
        wanted = (
            f"An error of at most {100 * self.risk:.4g} % on the accepted rows cannot be "
            f"guaranteed with confidence {100 * self.confidence_level:.4g} %: "
        )
        return f"{wanted}{self._reason()}{self._remedy()}"

    def _reason(self) -> str:
        if self.bound is None:
            return (
                f"this takes at least {self.n_needed} calibration rows, and there are "
                f"{self.n_points}."
            )
        found = (
            f"{self.n_errors} of the {self.n_accepted} most certain calibration rows are errors, "
            f"so the bound is {100 * self.bound:.3g} %. "
        )
        if self.n_needed is None:
            return f"{found}Their error rate is not below the risk, and more rows may not help."
        return (
            f"{found}At this error rate about {self.n_needed} calibration rows are needed, and "
            f"there are {self.n_points}."
        )

    def _remedy(self) -> str:
        if self.n_needed is None:
            return " Allow a larger error, or use a better classifier."
        if self.share == 1:
            return " Use more rows, or allow a larger error."
        return (
            f" With {100 * self.share:.3g} % of the data held out, this takes "
            f"{math.ceil(self.n_needed / self.share)} rows in all. Use more rows, hold out a "
            "larger share, or allow a larger error."
        )


def in_bytes(n_bytes: float) -> str:
    """An amount of memory, for messages."""
    size, unit = next(
        (pair for pair in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")) if n_bytes >= pair[0]),
        (1e3, "kB"),
    )
    return f"{n_bytes / size:.3g} {unit}"


def one_line(error: BaseException) -> str:
    """Type and message of an error, on one line, for messages that quote it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
