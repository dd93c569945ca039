"""``bayespoint evaluate``: the quality of a model on rows with known classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.errors import printable
from bayespoint.cli.output.messages import Notes


def evaluate(
    data: options.Data,
    model: options.ModelFile,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column with the classes, if renamed.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page to write, .html.")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRUE:ANSWER=C",
            help="What an answer costs where TRUE is right, such as sick:well=10; may be repeated. "
            "Other mistakes cost 1.",
        ),
    ] = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Measure how good a model is on a table that it was not trained on.

    Shows accuracy, log-loss, AUC and more with 95 % intervals beside a baseline, which is what the
    classes alone give, without any column; the confusion of the classes; the error that is left
    when the least certain rows are rejected; and which columns differ from the training.

    With --cost it also shows what the answers cost, and what those answers would cost whose
    expected cost is least.

    Example: bayespoint evaluate test.csv --target repaid --model loans.bpm --report test.html
    """
    from bayespoint.cli.evaluations import check_report, parse_costs, preparation, tables
    from bayespoint.cli.models import model_errors, read_labelled, read_model
    from bayespoint.cli.tables.reading import name_of
    from bayespoint.reports import measure, write_evaluation

    check_report(report, data, model)
    notes = Notes(aloud=not as_json)
    read = read_model(model, notes)
    costs = parse_costs(cost or [], read.classes)
    column = target or read.target or ""
    kept, X, y, _ = read_labelled(data, read, column, encoding, notes)
    shifts = read.compare(X, notes)
    with notes.progress("evaluating") as progress:
        with model_errors(model):
            found = measure(read.estimator, X, y, costs=costs)
        if report is not None:
            progress.tell("drawing")
            details = {"model file": printable(model.name), "table": printable(name_of(data))}
            rows = kept.drop(columns=column)
            rows.index = (rows.index + 1).rename("those of the file, where 1 is below the header")
            write_evaluation(
                found, report, title=printable(model.stem), rows=rows, details=details,
                shifts=shifts, preparation=preparation(read),
            )  # fmt: skip
    document = {
        "report": None if report is None else str(report),
        **found.to_dict(),
        "shifts": [one._asdict() for one in shifts],
    }
    end = [] if report is None else [f"Page written to {report}."]
    notes.end(document, *tables(found), *end)
