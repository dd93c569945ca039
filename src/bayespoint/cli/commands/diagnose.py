"""``bayespoint diagnose``: whether the engine of a model converged."""

from __future__ import annotations

from typing import Any

from bayespoint.cli import options
from bayespoint.cli.output.printing import Notes, NumbersTable, facts

if not options.ONLY_HELP:
    import numpy as np
    from rich.console import RenderableType

    from bayespoint.cli import guarantees, summaries
    from bayespoint.cli.models import model_errors, read_model

SHOWN = 12  # iterations that are shown of a long run: the first and the last


def diagnose(model: options.Model, notes: Notes) -> None:
    """Show how the training of a model converged, and what to do if it did not.

    Shows the sweeps of ep, laplace and knapsack, the chains of gibbs and billiard, or the
    perceptrons. If the model rejects rows, shows the guaranteed error on the others.

    Example: bayespoint diagnose loans.bpm
    """
    read = read_model(model, notes, needs_table=False)
    machine = read.machine
    classifier = summaries.describe_classifier(machine)
    found = {
        "model": str(model),
        "engine": classifier["engine"]["name"],
        "kernel": classifier["kernel"],
        "classes": [str(label) for label in machine.classes_],
        "tasks": machine.coding_.task_names,
        "guarantee": read.guarantee and read.guarantee.to_dict(),
        **summaries.describe_run(machine),
    }
    run = found["run"]
    with model_errors(model):
        lines = [
            ("engine", f"{found['engine']}, kernel {found['kernel']}"),
            ("classes", ", ".join(found["classes"])),
            (run["unit"], str(run["iterations"])),
            *summaries.choice_lines(found),
            *summaries.expected_lines(found),
            *summaries.baseline_lines(read.summary),
            *guarantees.lines(read.guarantee),
        ]
    remedy = f" To improve it, {run['remedy']}." if run["remedy"] else ""
    verdict = f"{'good' if run['converged'] else 'not yet'}: {run['summary']}.{remedy}"
    notes.end(found, facts(lines), *tables(found), facts([("verdict", verdict)]))


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
        shown.append(NumbersTable(["task", *columns], zip(tasks, *columns.values(), strict=True)))
    if run["changes"]:
        # The largest change in every iteration, of the task that took longest.
        changes, task = max(zip(run["changes"], tasks, strict=True), key=lambda one: len(one[0]))
        lines = [(str(number), f"{change:.1e}") for number, change in enumerate(changes, start=1)]
        if len(lines) > SHOWN:
            lines = [*lines[: SHOWN // 2], ("...", ""), *lines[-SHOWN // 2 :]]
        of = f", {task}" if len(tasks) > 1 else ""
        shown.append(NumbersTable([run["unit"], f"largest change{of}"], lines))
    for name, rows in several.items():
        numbered = [
            [str(number), *(f"{value:.4f}" for value in values)]
            for number, values in enumerate(zip(*rows, strict=True), start=1)
        ]
        shown.append(NumbersTable([name.replace("_", " "), *tasks], numbered))
    return shown
