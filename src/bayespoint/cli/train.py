"""``bayespoint train``: a model from a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.errors import bad_usage
from bayespoint.cli.messages import Notes, facts
from bayespoint.cli.models import write_model
from bayespoint.cli.outputs import check_place
from bayespoint.cli.recipe import make_classifier, make_model
from bayespoint.cli.training import describe, read_training_data, summary

Force = Annotated[bool, typer.Option("--force", help="Overwrite a model that is there.")]


def train(
    data: options.Data,
    target: options.Target,
    model: options.ModelFile,
    engine: options.Engine = "ep",
    kernel: options.Kernel = "linear",
    param: options.Param = None,
    drop: options.Drop = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    force: Force = False,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Train a classifier on a table and keep it in a file.

    Numbers are scaled, texts become categories, missing values are filled in; what else is done
    with a column is said. A model that is there is overwritten with --force only.

    Example: bayespoint train loans.csv --target repaid --model loans.bpm
    """
    notes = Notes(aloud=not as_json)
    check_new(model, force, data)
    machine = make_classifier(engine, kernel, param or [], seed, jobs)
    rows = read_training_data(data, target, drop or [], encoding, notes)
    fitted = make_model(rows.kinds, machine)
    started = time.perf_counter()
    with notes.training():
        fitted.fit(rows.X, rows.y)
    found = {"target": target, **describe(fitted, rows), "seconds": time.perf_counter() - started}
    write_model(fitted, model, rows.kinds, found)
    lines = [*summary(found), ("time", f"{found['seconds']:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")


def check_new(model: Path, force: bool, data: Path) -> None:
    """End the command now if the model cannot be written later."""
    check_place(model, "--model", data)
    if model.exists() and not force:
        bad_usage(f"{model} is there already; --force overwrites it")
