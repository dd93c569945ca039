"""The journal of a labelling session: one line of JSON for each event, on disk at once."""

from __future__ import annotations

import errno
import json
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None  # Windows has none

FORMAT = 1
START = f'{{"format": {FORMAT}, '.encode()  # of every journal
PRIVATE = 0o600  # labels are the user's


class JournalError(ValueError):
    """A journal that cannot be continued; the message says what to do."""


class Journal:
    """An append-only file, so that a process that is killed loses nothing.

    Every event is written by one call and synced before ``append`` returns. If the process is
    killed while it writes, the last line is incomplete and was never confirmed: it is removed when
    the journal is opened again. One process at a time can open the file.

    Parameters
    ----------
    path : Path
        The file; created if it does not exist.
    about : dict
        Description of the session, the first line of a new journal.

    Attributes
    ----------
    about : dict
        The first line of the file.
    events : list of dict
        All other lines, in order.

    Examples
    --------
    >>> import tempfile
    >>> from bayespoint.active.labelling.journal import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.jsonl")
    ...     with Journal(path, {"rows": 3}) as journal:
    ...         journal.append({"row": 0, "label": "yes"})
    ...     with Journal(path, {"rows": 3}) as journal:
    ...         journal.events
    [{'row': 0, 'label': 'yes'}]
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
        except OSError as error:
            raise JournalError(
                f"cannot write the journal {path}: {error.strerror}. Choose another file with "
                "--journal FILE"
            ) from None
        try:
            self._lock()
            self.about, self.events = self._read()
            if not self.about:
                self.about = {"format": FORMAT, **about}
                self.append(self.about)
                sync_folder(path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, event: dict[str, Any]) -> None:
        """Write an event to disk, completely or, after an error, not at all."""
        line = json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        end = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
            if os.fstat(self._file).st_nlink == 0:
                raise OSError(
                    errno.ENOENT,
                    f"the journal {self.path} was deleted or replaced. Restart bayespoint label",
                )
        except OSError:  # the disk is full, for instance
            os.ftruncate(self._file, end)
            raise

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(
                f"another bayespoint label is using {self.path}. Use its page, or end it first"
            ) from None

    def _read(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The first line and the others, without a torn last line."""
        content = self.path.read_bytes()
        if content[: len(START)] != START[: len(content)]:  # nothing of another file is changed
            raise JournalError(
                f"{self.path} is not a journal of this version of bayespoint label. Choose "
                "another file with --journal FILE"
            )
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].split(b"\n")[:-1]
        events = [self._parsed(number, line) for number, line in enumerate(lines, 1)]
        if whole < len(content):
            os.ftruncate(self._file, whole)
        return (events[0], events[1:]) if events else ({}, [])

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            event = json.loads(line.decode("utf-8"), parse_constant=refuse)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise JournalError(
                f"line {number} of the journal {self.path} is damaged. Correct or remove the line; "
                "all other answers are intact"
            )
        return event


def refuse(name: str) -> None:
    """Raise an error for NaN and infinity, which are not JSON."""
    raise ValueError(name)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new file in it keeps its name."""
    if fcntl is None:  # folders cannot be opened on Windows
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
