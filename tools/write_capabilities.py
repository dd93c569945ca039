"""Write the table of what each engine can do into docs/engines.md, from what engines declare.

    python tools/write_capabilities.py [--check]

With ``--check`` nothing is written. Exit status: 0 the page is as it should be, 1 it was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayespoint.engines import Engine
from bayespoint.engines.base import ENGINES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "engines.md"
BEGIN = "<!-- written by tools/write_capabilities.py -->\n"
END = "<!-- end -->\n"

# What a row is called, and what it shows of an engine with its default parameters.
CAPABILITIES: dict[str, Callable[[Engine], Any]] = {
    '[ordered classes](how-to/ordinal.md) (`multi_class="ordinal"`)': (
        lambda engine: "interval" in engine.kinds
    ),
    'several classes in [one posterior](theory/multiclass.md) (`multi_class="joint"`)': (
        lambda engine: "class" in engine.kinds
    ),
    "`partial_fit`, with a linear kernel": lambda engine: engine.can_update,
    "`warm_start`": lambda engine: engine.can_extend,
    "rows in blocks: [out of core](how-to/large-data.md), on [a cluster](how-to/dask.md)": (
        lambda engine: engine.learns_blocks or engine.trains_elsewhere
    ),
    "[rows that belong together](how-to/groups.md) (`fit(..., groups=)`)": (
        lambda engine: engine.leaves_groups_out
    ),
    "sparse rows": lambda engine: engine.for_sparse() is not None,
    "works on a GPU": lambda engine: engine.device_space is not None,
    "the result depends on the seed": lambda engine: engine.is_random,
    "weights of the span of few rows (`n_components`)": (
        lambda engine: engine.space.__name__ != "DualSpace"
    ),
}


def table() -> str:
    """The table, in Markdown."""
    engines = [make() for make in ENGINES.values()]
    rows = [
        [name, *("yes" if can(engine) else "" for engine in engines)]
        for name, can in CAPABILITIES.items()
    ]
    head = ["", *(f"`{engine.alias}`" for engine in engines)]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main(arguments: list[str]) -> int:
    """Run as a command and return the exit status."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    renewed = before + BEGIN + "\n" + table() + "\n" + END + rest.split(END, 1)[1]
    if renewed == text:
        return 0
    print(f"{PAGE.name}: the table of capabilities does not show what engines declare")
    if "--check" not in arguments:
        PAGE.write_text(renewed)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
