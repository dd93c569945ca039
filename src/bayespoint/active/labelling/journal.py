"""The journal of a labelling session, one line of JSON for each event, and its answers."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None  # Windows has none

FORMAT = 1
START = f'{{"format": {FORMAT}, '.encode()  # of every journal
PRIVATE = 0o600  # labels are the user's
BINARY = getattr(os, "O_BINARY", 0)  # of Windows, where line ends would become others
# Without O_NONBLOCK, a pipe that was put in the place of the journal would never open.
READ = os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0)


class JournalError(ValueError):
    """A journal that cannot be continued; the message says what to do."""


class Journal:
    """An append-only file, so that a process that is killed loses nothing.

    Every event is written by one call and synced before ``append`` returns. If the process is
    killed while it writes, the last line is incomplete and was never confirmed: it is removed when
    the journal is opened again. One process at a time can open the file.

    A program that does not know of the lock can rename, cut or edit the file nevertheless. So
    ``append`` compares the file of this name with all that was written, before and after it writes.

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
        self._content = bytearray()  # of the file, as it must be
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, PRIVATE)
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
        self.check()
        end = len(self._content)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
            self._content += line
            self.check()
        except OSError:  # the disk is full, for instance
            del self._content[end:]
            if os.fstat(self._file).st_size > end:
                os.ftruncate(self._file, end)
            raise

    def check(self) -> None:
        """Raise an OSError unless the file of this name is open here and has all that it must."""
        try:
            there = os.open(self.path, READ)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            is_whole = False
        else:
            with open(there, "rb") as file:
                # Both are of open files: on Windows, those of names may have other numbers.
                mine, other = os.fstat(self._file), os.fstat(there)
                is_whole = (
                    os.path.samestat(mine, other)
                    and other.st_size == len(self._content)
                    and file.read() == self._content
                )
        if not is_whole:
            raise OSError(
                errno.EBUSY,
                f"another program renamed, deleted or changed the journal {self.path}, and no "
                "answer can be saved in it. End the session: its results and a whole copy of the "
                "journal are written then",
            )

    def rescue(self) -> Path | None:
        """Write a copy with all events if the file does not have them, and return its path."""
        try:
            self.check()
        except OSError:
            return write_copy(self.path, self._content)
        return None

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
        with open(os.dup(self._file), "rb") as file:
            content = file.read()
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
        self._content += content[:whole]
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


def write_copy(path: Path, content: bytes | bytearray) -> Path:
    """Write a file beside another one, under a name that no file has, and return its path."""
    for number in count(1):
        copy = path.with_name(f"{path.stem}.rescued{number if number > 1 else ''}.jsonl")
        try:
            file = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE)
        except FileExistsError:
            continue
        with open(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(file)
        break
    sync_folder(path.parent)
    return copy


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new file in it keeps its name."""
    if fcntl is None:  # folders cannot be opened on Windows
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    number : int
        Number of the answer, from 1.
    row : int
        Row of the pool, from 0.
    label : str or None
        The class, or None for "cannot say".
    tab : str
        The tab of the browser that it came from.
    second : bool
        Whether the row had a label before, and was looked at again.
    at : str
        Time of the answer.
    """

    number: int
    row: int
    label: str | None
    tab: str = ""
    second: bool = False
    at: str = ""

    def event(self) -> dict[str, Any]:
        """The line of the journal."""
        return asdict(self)

    def is_valid(self) -> bool:
        """Whether all values have their types; an edited journal may contain others."""
        kinds = (int, int, str if self.label is not None else type(None), str, bool, str)
        return tuple(map(type, vars(self).values())) == kinds


class Answers:
    """The answers of a session without those that were undone.

    Parameters
    ----------
    given : mapping of int to str
        Labels that the pool itself has.
    n_rows : int
        Number of rows of the pool.
    classes : collection of str
        The classes.
    events : iterable of dict
        Lines of a journal.

    Examples
    --------
    >>> from bayespoint.active.labelling.journal import Answer, Answers
    >>> answers = Answers({}, 3, ["no", "yes"])
    >>> answers.add(Answer(1, row=2, label="yes"))
    >>> answers.add(Answer(2, row=0, label=None))
    >>> answers.labels(), answers.skipped()
    ({2: 'yes'}, {0})
    >>> answers.undo(1)
    >>> answers.labels()
    {}
    """

    def __init__(
        self,
        given: Mapping[int, str],
        n_rows: int,
        classes: Collection[str],
        events: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.given = dict(given)
        self.standing: list[Answer] = []
        self.last_number = 0
        self.history: list[list[float]] = []  # numbers of labels, their error, and its interval
        self._by_row: dict[int, list[Answer]] = {}
        for place, event in enumerate(events, 2):
            self._replay(event, place, n_rows, classes)

    def add(self, answer: Answer) -> None:
        """Add an answer."""
        self.standing.append(answer)
        self._by_row.setdefault(answer.row, []).append(answer)
        self.last_number = max(self.last_number, answer.number)

    def undo(self, number: int) -> None:
        """Undo the answer with this number."""
        answer = next(one for one in self.standing if one.number == number)
        self.standing.remove(answer)
        self._by_row[answer.row].remove(answer)

    def measured(self, point: list[float]) -> None:
        """Take up an error; those of as many labels, or of more that were undone, are gone."""
        self.history[:] = [one for one in self.history if one[0] < point[0]] + [point]

    def of(self, row: int) -> Answer | None:
        """The last answer for a row."""
        found = self._by_row.get(row)
        return found[-1] if found else None

    def answered(self) -> set[int]:
        """Rows that have a label or a "cannot say"."""
        return {row for row, found in self._by_row.items() if found} | self.given.keys()

    def label(self, row: int) -> str | None:
        """The label of a row, if it has one."""
        answer = self.of(row)
        return self.given.get(row) if answer is None else answer.label

    def labels(self) -> dict[int, str]:
        """All labels, those of the pool and those of the answers."""
        known = ((row, self.label(row)) for row in {**self.given, **self._by_row})
        return {row: label for row, label in known if label is not None}

    def skipped(self) -> set[int]:
        """Rows that were answered with "cannot say"."""
        last = {row: self.of(row) for row in self._by_row}
        return {row for row, one in last.items() if one is not None and one.label is None}

    def looked_at_twice(self) -> set[int]:
        """Rows whose label was confirmed or corrected."""
        return {one.row for one in self.standing if one.second}

    def _replay(
        self, event: Mapping[str, Any], place: int, n_rows: int, classes: Collection[str]
    ) -> None:
        where = f"line {place} of the journal"
        if "row" in event:
            try:
                answer = Answer(**event)
            except TypeError:
                raise JournalError(f"{where} is not an answer") from None
            if not answer.is_valid() or answer.number <= self.last_number:
                raise JournalError(f"{where} is not an answer")
            if not 0 <= answer.row < n_rows:
                raise JournalError(f"{where} is about a row that does not exist")
            if answer.label is not None and answer.label not in classes:
                raise JournalError(
                    f"{where} has the label {answer.label!r}, which is not among the classes "
                    f"{', '.join(classes)}. Add it to --classes"
                )
            self.add(answer)
        elif "undo" in event:
            if type(event["undo"]) is not int or all(
                one.number != event["undo"] for one in self.standing
            ):
                raise JournalError(f"{where} undoes an answer that does not exist")
            self.undo(event["undo"])
        elif "error" in event:
            point = event["error"]
            if not (
                isinstance(point, list)
                and [type(one) in (int, float) and isfinite(one) for one in point] == 4 * [True]
            ):
                raise JournalError(f"{where} is not an error with its interval")
            self.measured(point)
