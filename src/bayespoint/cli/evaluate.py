"""``bayespoint evaluate``: the quality of a model on rows with known classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from bayespoint.cli import guarantees, options
from bayespoint.cli.errors import printable
from bayespoint.cli.messages import Notes, facts, numbers_table
from bayespoint.cli.models import model_errors, read_labelled, read_model
from bayespoint.cli.outputs import check_place
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.extras import require
from bayespoint.reports import METRICS, Evaluation, measure, write_evaluation

RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
WIDEST = 8  # classes up to which the confusion fits on a terminal


def evaluate(
    data: options.Data,
    model: options.ModelFile,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column with the classes, if renamed.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page to write, .html.")
    ] = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Measure how good a model is on a table that it was not trained on.

    Shows accuracy, log-loss, AUC and more with 95 % intervals, the confusion of the classes, and
    the error that is left when the least certain rows are rejected.

    Example: bayespoint evaluate test.csv --target repaid --model loans.bpm --report test.html
    """
    check_report(report, data, model)
    notes = Notes(aloud=not as_json)
    read = read_model(model, notes)
    column = target or read.target or ""
    kept, X, y, _ = read_labelled(data, read, column, encoding, notes)
    with ProgressMonitor("evaluating") as progress:
        with model_errors(model):
            found = measure(read.estimator, X, y)
        if report is not None:
            progress.tell("drawing")
            details = {"model file": printable(model.name), "table": printable(data.name)}
            rows = kept.drop(columns=column)
            write_evaluation(found, report, title=printable(model.stem), rows=rows, details=details)
    document = {"report": None if report is None else str(report), **found.to_dict()}
    end = [] if report is None else [f"Page written to {report}."]
    notes.end(document, *tables(found), *end)


def check_report(report: Path | None, *inputs: Path) -> None:
    """End the command now if the page could not be written later."""
    if report is None:
        return
    check_place(report, "--report", *inputs)
    require("matplotlib", "plot", "--report")


def tables(found: Evaluation) -> list[RenderableType]:
    """Metrics, confusion and rejection as tables for the terminal."""
    numbers = [
        (metric.name, metric.show(value), " to ".join(map(metric.show, interval or [])))
        for metric, (value, interval) in zip(METRICS.values(), found.metrics.values(), strict=True)
    ]
    labels = [str(label) for label in found.classes]
    parts: list[RenderableType] = [
        facts([("rows", str(found.n))]),
        numbers_table(["", "", "95 % interval"], numbers),
    ]
    if len(labels) <= WIDEST:
        cells = [
            [label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)
        ]
        parts.append(numbers_table(["true class \\ predicted", *labels], cells))
    rows = [
        (f"{rate:.0%}", f"{error:.1%}")
        for rate, error in zip(RATES, found.rejection.error_at(RATES), strict=True)
    ]
    return [*parts, numbers_table(["rejected", "error on the rest"], rows), *refusals(found)]


def refusals(found: Evaluation) -> list[RenderableType]:
    """What a model with a threshold rejects, and what it guarantees."""
    chosen = found.selective
    if chosen is None:
        return []
    lines = [("rejected", f"{chosen.rejected:.1%} by the threshold of the model")]
    if chosen.accuracy is not None:
        lines.append(("error", f"{1 - chosen.accuracy:.2%} on the accepted rows"))
    return [facts([*lines, *guarantees.lines(chosen.guarantee)])]
