"""``bayespoint info``: a model file and how its training went, or versions and the computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bayespoint.cli import options
from bayespoint.cli.output.printing import Notes, NumbersTable, class_words, count, facts

if not options.ONLY_HELP:
    import numpy as np
    from rich.console import RenderableType

    from bayespoint import _core
    from bayespoint.cli import guarantees, summaries
    from bayespoint.cli.models import Model, model_errors, read_model
    from bayespoint.exceptions import in_bytes
    from bayespoint.reports.drift import words
    from bayespoint.reports.environment import describe_environment, environment_words
    from bayespoint.storage import describe


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="Model file to describe.")
    ] = None,
    *,
    notes: Notes,
) -> None:
    """Describe a model file; without one, show versions and the computer.

    Of a model: what it predicts and from which columns, how these were prepared, what it was
    trained on, which error to expect, how the training converged and what to do if it did not, and
    which versions wrote the file.

    Example: bayespoint info loans.bpm
    """
    if model is None:
        found = {**describe_environment(), "compiled_code": cache_folder()}
        compiled = found["compiled_code"] or "not cached: no folder is writable"
        notes.end(found, facts([*environment_words(found).items(), ("compiled code", compiled)]))
        return
    read = read_model(model, notes, needs_table=False)
    with model_errors(model):
        found = describe_model(read)
        parts = tables(found, read)
    notes.end(found, *parts)


def cache_folder() -> str | None:
    """The folder of Numba's compiled code; None if no folder is writable."""
    function: Any = _core.perceptron.advance
    while not hasattr(function, "stats"):  # behind the guard against interrupts
        function = function.__wrapped__
    return function.stats.cache_path


def describe_model(model: Model) -> dict[str, Any]:
    """The contents of a model file, ready for JSON."""
    file, machine, summary = describe(model.path), model.machine, model.summary
    training = {name: words(one) for name, one in model.columns.items()}
    return {
        "model": str(model.path),
        "bytes": model.path.stat().st_size,
        "format": file.format_version,
        "libraries": dict(file.libraries),
        "target": model.target,
        "classes": summary.get("classes") or [str(label) for label in machine.classes_],
        "rows": summary.get("rows_of_all_batches", summary.get("rows")),
        "features": machine.model_.n_features,
        **summaries.describe_classifier(machine),
        **summaries.describe_run(machine),
        "baseline": summary.get("baseline"),
        "training_error": summary.get("training_error"),
        "guarantee": model.guarantee and model.guarantee.to_dict(),
        "columns": {
            name: {"kind": kind, "training": training.get(name, "")}
            for name, kind in model.kinds.items()
        },
        "preparation": model.preparation(),
    }


def tables(found: dict[str, Any], model: Model) -> list[RenderableType]:
    """The same, for the terminal."""
    classes, error, run = found["classes"], found["training_error"], found["run"]
    remedy = f" To improve it, {run['remedy']}." if run["remedy"] else ""
    verdict = f"{'good' if run['converged'] else 'not yet'}: {run['summary']}.{remedy}"
    lines = [
        ("file", f"{in_bytes(found['bytes'])}, format {found['format']}"),
        ("written by", ", ".join(f"{name} {one}" for name, one in found["libraries"].items())),
        ("predicts", found["target"] or "no named column: it was not trained by this command"),
        ("classes", class_words(classes) if isinstance(classes, dict) else ", ".join(classes)),
        ("trained on", "" if found["rows"] is None else count(found["rows"], "row")),
        ("engine", summaries.engine_words(found)),
        ("training error", "" if error is None else f"{error:.1%}"),
        *summaries.expected_lines(found),
        *summaries.baseline_lines(found),
        *summaries.choice_lines(found),
        (run["unit"], str(run["iterations"])),
        ("convergence", verdict),
        *guarantees.lines(model.guarantee),
        ("preparation", "\n".join(found["preparation"])),
    ]
    rows = [(name, one["kind"], one["training"]) for name, one in found["columns"].items()]
    heads = ["column", "used as", "in training"]
    columns = [NumbersTable(heads, rows, words_last=True)] if rows else []
    return [facts(lines), *columns, *run_tables(found, model.machine.coding_.task_names)]


def run_tables(found: dict[str, Any], tasks: list[str]) -> list[RenderableType]:
    """One table of the tasks, and one of each measure of several numbers."""
    run = found["run"]
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
    for name, rows in several.items():
        numbered = [
            [str(number), *(f"{value:.4f}" for value in values)]
            for number, values in enumerate(zip(*rows, strict=True), start=1)
        ]
        shown.append(NumbersTable([name.replace("_", " "), *tasks], numbered))
    return shown
