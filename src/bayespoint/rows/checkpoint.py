"""Checkpoints of long fits: everything that the next round needs, in one file."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from bayespoint.exceptions import CheckpointError
from bayespoint.tools.files import replacing
from bayespoint.tools.version import __version__

IDENTITY = "identity"  # the entry that says which fit a file belongs to
SEAL = "seal"  # the entry with the SHA-256 of all others

# What a checkpoint keeps: objects, the prefix of their names in the file, names of attributes.
State = Sequence[tuple[Any, str, Sequence[str]]]


class Checkpoint:
    """A file from which an out-of-core fit goes on after a crash, to the same bits.

    Parameters
    ----------
    path : str or path
        The file. It is written whole or not at all, and removed when the fit is complete.
    seconds : float, default=60.0
        Time between two checkpoints, at least; they are written between rounds.
    resume : bool, default=True
        Whether to go on from a file that is there, instead of replacing it.
    """

    def __init__(
        self, path: str | os.PathLike[str], seconds: float = 60.0, *, resume: bool = True
    ) -> None:
        self.path, self.seconds, self.resume = Path(path), seconds, resume
        self._written = time.monotonic()

    def load(self, identity: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """The arrays of the last checkpoint, if there is one of the same fit."""
        if not self.resume or not self.path.exists():
            return None
        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            is_whole = str(arrays.pop(SEAL)) == seal(arrays)
            found = dict(line.split("=", 1) for line in str(arrays.pop(IDENTITY)).splitlines())
        except Exception as error:  # a damaged archive raises errors of many kinds
            raise CheckpointError(str(self.path), f"it cannot be read ({error!r:.200})") from error
        if not is_whole:
            raise CheckpointError(str(self.path), "it was changed or damaged (wrong SHA-256)")
        for name, value in lines(identity).items():
            if found.get(name) != value:
                is_data = name == "data"
                what = "other data, or data that have changed" if is_data else f"another {name}"
                raise CheckpointError(str(self.path), f"it belongs to a fit with {what}")
        return arrays

    def save(
        self, identity: Mapping[str, Any], arrays: Mapping[str, Any], *, now: bool = False
    ) -> None:
        """Write a checkpoint, if the last one is old enough, or ``now``."""
        if not now and time.monotonic() - self._written < self.seconds:
            return
        words = "\n".join(f"{name}={value}" for name, value in lines(identity).items())
        entries: dict[str, Any] = {IDENTITY: np.array(words), **arrays}
        entries[SEAL] = np.array(seal(entries))
        with replacing(self.path) as draft, draft.open("wb") as file:
            np.savez(file, **entries)
        self._written = time.monotonic()

    def keep(
        self, identity: Mapping[str, Any], done: int, state: State, *, now: bool = False
    ) -> None:
        """Write attributes of objects after a round, if it is time."""
        arrays = {"round": np.array(done)}
        for owner, prefix, names in state:
            for name in names:
                arrays |= packed(f"{prefix}_{name}", getattr(owner, name))
        self.save(identity, arrays, now=now)

    def restore(self, identity: Mapping[str, Any], state: State) -> int | None:
        """Set the attributes that the last checkpoint has; its round, or None if there is none."""
        found = self.load(identity)
        if found is None:
            return None
        try:
            for owner, prefix, names in state:
                for name in names:
                    setattr(owner, name, unpacked(f"{prefix}_{name}", getattr(owner, name), found))
            return int(found["round"])
        except (KeyError, TypeError, ValueError) as error:
            problem = f"it does not contain what this fit needs ({error})"
            raise CheckpointError(str(self.path), problem) from error

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        self.path.unlink(missing_ok=True)


def seal(arrays: Mapping[str, Any]) -> str:
    """The SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def packed(key: str, value: Any) -> dict[str, np.ndarray]:
    """A value as arrays of a checkpoint: one array, or one for each block."""
    if is_of_blocks(value):
        return {f"{key}{k}": one for k, one in enumerate(value)}
    return {key: np.array(value)}


def unpacked(key: str, value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """What was packed, of the kind that ``value`` is; an error if it is of another kind."""
    if is_of_blocks(value):
        return [unpacked(f"{key}{k}", one, arrays) for k, one in enumerate(value)]
    found, present = arrays[key], np.asarray(value)
    is_alike = found.dtype.kind == present.dtype.kind and found.ndim == present.ndim
    if isinstance(value, np.ndarray) and value.size:
        is_alike = is_alike and found.shape == value.shape
    most = np.finfo(float).max if isinstance(value, np.ndarray) else np.inf  # a search begins there
    if not is_alike or (found.dtype.kind == "f" and not (np.abs(found) <= most).all()):
        raise TypeError(f"{key} has dtype {found.dtype}, shape {found.shape}, or lost numbers")
    if isinstance(value, np.ndarray):
        return found
    return type(value)(*found.tolist()) if isinstance(value, tuple) else found.tolist()


def is_of_blocks(value: Any) -> bool:
    """Whether a value is a list with an array for each block."""
    return isinstance(value, list) and any(isinstance(one, np.ndarray) for one in value)


def lines(identity: Mapping[str, Any]) -> dict[str, str]:
    """Values as text of one line each, with the version of the package."""
    whole = {**identity, "version of bayespoint": __version__}
    return {name: " ".join(str(value).split()) for name, value in whole.items()}


_current: ContextVar[Checkpoint | None] = ContextVar("bayespoint_checkpoint", default=None)


@contextmanager
def checkpoints(
    path: str | os.PathLike[str], seconds: float = 60.0, *, resume: bool = True
) -> Iterator[Checkpoint]:
    """Let out-of-core fits in the block write checkpoints, and resume from them.

    Parameters
    ----------
    path : str or path
        The file. It is removed when the fit is complete.
    seconds : float, default=60.0
        Time between two checkpoints, at least.
    resume : bool, default=True
        Whether to go on from a file that is there, instead of starting again.

    Returns
    -------
    context manager
        Gives the checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.rows import checkpoints, from_arrays
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> blocks = from_arrays(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with checkpoints(Path(folder, "fit.checkpoint")):
    ...         BayesPointClassifier(kernel="linear").fit(blocks).run_.converged
    True
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():  # said now, and not after a minute of work
        raise FileNotFoundError(errno.ENOENT, "No such directory", str(folder))
    token = _current.set(checkpoint := Checkpoint(path, seconds, resume=resume))
    try:
        yield checkpoint
    finally:
        _current.reset(token)


def current_checkpoint() -> Checkpoint | None:
    """The checkpoint of the enclosing :func:`checkpoints`, if there is one."""
    return _current.get()
