"""What the benchmarks share: a table, timings, the peak of memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any


def timed(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, float]:
    """What the function returns, and the seconds it took."""
    start = time.perf_counter()
    result = function(*arguments, **named)
    return result, time.perf_counter() - start


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        first, *rest = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]))
        if number == 0:
            print("  ".join("-" * width for width in widths))
    sys.stdout.flush()


def peak_memory() -> float:
    """Most memory that this process has held so far, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
