"""Available memory, checked before large arrays are allocated."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from bayespoint.exceptions import NotEnoughMemoryError

SMALL = 100_000_000  # bytes that are assumed to be available
MEMINFO, OWN_SIZE = Path("/proc/meminfo"), Path("/proc/self/statm")
OWN_GROUP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that can be allocated without swapping; infinite if the system does not say.

    Limits of the process (``ulimit -v``) and of a container (a control group of Linux) count too.

    Returns
    -------
    float
        The number of bytes.

    Examples
    --------
    >>> from bayespoint.tools.memory import available_memory
    >>> available_memory() > 0
    True
    """
    return min([_of_machine(), _of_process(), *_of_groups()])


def check_fits(n_bytes: float, what: str, remedy: str) -> None:
    """Raise a NotEnoughMemoryError if more bytes are needed than are available.

    Less than 100 MB are assumed to be available, since the check takes time.

    Parameters
    ----------
    n_bytes : float
        Least number of bytes that are needed.
    what : str
        What it is for, as the subject of a sentence.
    remedy : str
        What needs less memory, as an imperative.

    Examples
    --------
    >>> from bayespoint.exceptions import NotEnoughMemoryError
    >>> from bayespoint.tools.memory import check_fits
    >>> check_fits(1e3, "A list of 100 numbers", "make it shorter")
    >>> try:
    ...     check_fits(1e18, "A list of 1e17 numbers", "make it shorter")
    ... except NotEnoughMemoryError as error:
    ...     print(error)
    A list of 1e17 numbers needs at least 1e+06 TB of memory, and ... are available. Remedy: make it
    shorter.
    """
    if n_bytes > SMALL and n_bytes > (available := available_memory()):
        raise NotEnoughMemoryError(what, float(n_bytes), available, remedy)


def _of_machine() -> float:
    """Free memory and what could be freed, of the whole machine."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", _read(MEMINFO))
    if found:
        return 1024.0 * int(found[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # neither Linux nor another Unix that tells
        return float("inf")


def _of_process() -> float:
    """What the limit of this process leaves of its addresses."""
    try:
        import resource
    except ImportError:  # Windows
        return float("inf")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    pages = _read(OWN_SIZE).split()
    return max(0.0, float(limit - (int(pages[0]) * resource.getpagesize() if pages else 0)))


def _of_groups() -> Iterator[float]:
    """What each control group leaves: that of this process, and those it is in."""
    for line in _read(OWN_GROUP).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            root, limit, usage = GROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit = GROUPS / "memory", "memory.limit_in_bytes"
            usage = "memory.usage_in_bytes"
        else:
            continue
        own = root / path.lstrip("/")
        for folder in (own, *own.parents):
            most, used = _read(folder / limit).strip(), _read(folder / usage).strip()
            if most.isdigit() and used.isdigit():
                yield max(0.0, int(most) - int(used) + _reclaimable(folder))


def _reclaimable(folder: Path) -> int:
    """Bytes that a group holds only as copies of files, to be dropped when memory is short."""
    stat = _read(folder / "memory.stat")
    found = re.search(r"^inactive_file (\d+)$", stat, re.MULTILINE)
    return int(found[1]) if found else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
