"""``bayespoint train-incremental``: a model that learns from one table after another."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.output.printing import facts

Classes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="All classes that will ever come; by default those of the first table.",
    ),
]
FirstEngine = Annotated[
    str | None, typer.Option(metavar="NAME", help="ep (the default) or laplace.")
]


def train_incremental(
    data: options.Data,
    target: options.Target,
    model: options.ModelFile,
    classes: Classes = None,
    engine: FirstEngine = None,
    param: options.Param = None,
    drop: options.Drop = None,
    number: options.Number = None,
    category: options.Category = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Train a model on a table, and continue with further tables later.

    The first call makes the model. Every later one takes what it has learned so far as the prior,
    adds the rows of its table, and replaces the file. Columns, scales and categories stay those of
    the first table, so let it be a typical one; engine, parameters and classes belong to the first
    call, too.

    Example: bayespoint train-incremental monday.csv --target repaid --model loans.bpm
    """
    from bayespoint.cli.incremental import First, begin, check_first_only, go_on
    from bayespoint.cli.models import read_model, write_model
    from bayespoint.cli.tables.writing import check_place
    from bayespoint.cli.training import describe, summary

    notes = Notes(aloud=not as_json)
    check_place(model, "--model", data)
    started = time.perf_counter()
    first = First(engine or "ep", param or [], drop or [], number or [], category or [])
    if model.exists():
        given = {
            "--engine": engine, "--param": param, "--drop": drop, "--number": number,
            "--category": category,
        }  # fmt: skip
        check_first_only({name for name, value in given.items() if value}, model)
        before = read_model(model, notes)
        pipeline, rows = go_on(data, target, before, classes, encoding, notes)
        earlier, columns = before.summary, before.columns
    else:
        pipeline, rows = begin(data, target, classes, first, encoding, notes)
        earlier, columns = {}, rows.columns()
    found = {"target": target, **describe(pipeline, rows)}
    found["seconds"] = time.perf_counter() - started
    found["batches"] = earlier.get("batches", 1 if earlier else 0) + 1
    found["rows_of_all_batches"] = (
        earlier.get("rows_of_all_batches", earlier.get("rows", 0)) + found["rows"]
    )
    found["notes"] = [*earlier.get("notes", []), *notes]
    write_model(pipeline, model, rows.kinds, found, columns)
    told = f"{found['batches']}, with {count(found['rows_of_all_batches'], 'row')} together"
    lines = [*summary(found), ("tables", told), ("time", f"{found['seconds']:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")
