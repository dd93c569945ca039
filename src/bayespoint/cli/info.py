"""``bayespoint info``: what runs here, and where things are."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bayespoint import _core
from bayespoint.cli.errors import plain_errors
from bayespoint.datasets import VARIABLE, available, data_folder
from bayespoint.exceptions import DataUnavailableError
from bayespoint.experiments import EXPERIMENTS
from bayespoint.reports.machine import describe_machine


def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show versions, the machine, the cache of compiled code and the data folder.

    Example: bayespoint info --json
    """
    with plain_errors():
        facts = gather()
        if as_json:
            typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        else:
            show(facts)


def gather() -> dict[str, Any]:
    """All that there is to tell, ready for JSON."""
    return {
        **describe_machine(),
        "compiled_code": cache_folder(),
        "data": data_facts(),
        "experiments": list(EXPERIMENTS),
    }


def cache_folder() -> str | None:
    """Where Numba keeps compiled code; None where it can write nowhere."""
    return _core.perceptron.advance.__wrapped__.stats.cache_path


def data_facts() -> dict[str, Any]:
    """The data folder, what is in it, and what is wrong with it."""
    try:
        folder = data_folder()
    except DataUnavailableError as error:
        return {"folder": None, "sets": [], "problem": error.tried}
    sets = [] if folder is None else available(folder)
    return {"folder": None if folder is None else str(folder), "sets": sets, "problem": None}


def show(facts: dict[str, Any]) -> None:
    """Print the facts for people."""
    memory = facts["memory_gb"]
    data = facts["data"]
    lines = [
        *facts["versions"].items(),
        ("processor", f"{facts['processor']}, {facts['cores']} cores"),
        ("memory", "unknown" if memory is None else f"{memory} GB"),
        ("system", facts["system"]),
        *(("BLAS", blas_words(blas)) for blas in facts["blas"]),
        ("compiled code", facts["compiled_code"] or "kept nowhere: no folder can be written"),
        (
            "data folder",
            data["folder"] or data["problem"] or f"{VARIABLE} is not set: OpenML is asked",
        ),
        ("data sets", ", ".join(data["sets"]) or "none here"),
        ("experiments", ", ".join(facts["experiments"])),
    ]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, words in lines:
        grid.add_row(name, words or "not installed")
    Console(highlight=False, markup=False).print(grid)


def blas_words(blas: dict[str, Any]) -> str:
    """One BLAS library in words."""
    threads = f"{blas['num_threads']} thread{'' if blas['num_threads'] == 1 else 's'}"
    return f"{blas['internal_api']} {blas['version']}, {threads}"
