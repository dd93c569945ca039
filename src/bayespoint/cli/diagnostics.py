"""How the training of a model converged, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import RenderableType

from bayespoint.cli import guarantees
from bayespoint.cli.models import Model
from bayespoint.cli.output.printing import NumbersTable, numbers_table
from bayespoint.cli.training import engine_of, learned_facts

SHOWN = 12  # iterations that are shown of a long run: the first and the last


def describe(model: Model) -> dict[str, Any]:
    """All diagnostics, ready for JSON."""
    machine = model.machine
    return {
        "model": str(model.path),
        "engine": engine_of(machine).alias,
        "kernel": " ".join(str(machine.kernel).split()),  # a sum is printed on several lines
        "classes": [str(label) for label in machine.classes_],
        "tasks": machine.coding_.task_names,
        "guarantee": guarantees.as_json(model.guarantee),
        **learned_facts(machine),
    }


def verdict(run: dict[str, Any]) -> str:
    """Whether the run converged, and what to do if not."""
    word = "good" if run["converged"] else "not yet"
    remedy = f" To improve it, {run['remedy']}." if run["remedy"] else ""
    return f"{word}: {run['summary']}.{remedy}"


def tables(found: dict[str, Any]) -> list[RenderableType]:
    """One table of the tasks, one of the iterations, one of each measure of several numbers."""
    tasks, run = found["tasks"], found["run"]
    several = {name: rows for name, rows in run["measures"].items() if np.ndim(rows) == 2}
    columns = {
        name.replace("_", " "): [f"{value:.4g}" for value in values]
        for name, values in run["measures"].items()
        if name not in several
    }
    if run["changes"]:
        columns[run["unit"]] = [str(len(task)) for task in run["changes"]]
        columns["last change"] = [f"{task[-1]:.1e}" if task else "" for task in run["changes"]]
    if found["log_evidence"] is not None:
        columns["log evidence"] = [f"{value:.1f}" for value in found["log_evidence"]]
    shown: list[RenderableType] = []
    if columns:
        shown.append(numbers_table(["task", *columns], zip(tasks, *columns.values(), strict=True)))
    if run["changes"]:
        shown.append(change_table(tasks, run))
    for name, rows in several.items():
        lines = [
            [str(number), *(f"{value:.4f}" for value in values)]
            for number, values in enumerate(zip(*rows, strict=True), start=1)
        ]
        shown.append(numbers_table([name.replace("_", " "), *tasks], lines))
    return shown


def change_table(tasks: Sequence[str], run: dict[str, Any]) -> NumbersTable:
    """The largest change in every iteration, of the task that took longest."""
    longest = max(range(len(tasks)), key=lambda task: len(run["changes"][task]))
    changes = run["changes"][longest]
    rows = [(str(number), f"{change:.1e}") for number, change in enumerate(changes, start=1)]
    if len(rows) > SHOWN:
        rows = [*rows[: SHOWN // 2], ("...", ""), *rows[-SHOWN // 2 :]]
    of = f", {tasks[longest]}" if len(tasks) > 1 else ""
    return numbers_table([run["unit"], f"largest change{of}"], rows)
