"""``bayespoint train-incremental``: a model that learns from one table after another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayespoint.cli import options
from bayespoint.cli.errors import bad_usage
from bayespoint.cli.labels import class_array, known_labels, read_labels
from bayespoint.cli.messages import Notes, count, facts
from bayespoint.cli.models import Model, read_labelled, read_model, write_model
from bayespoint.cli.outputs import check_place
from bayespoint.cli.recipe import make_classifier, make_model
from bayespoint.cli.training import TrainingData, describe, read_training_data, summary
from bayespoint.engines.base import ENGINES
from bayespoint.pipelines import split_pipeline

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
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Train a model on a table, and go on with further tables later.

    The first call makes the model. Every later one takes what it has learned so far as the prior,
    adds the rows of its table, and replaces the file. Columns, scales and categories stay those of
    the first table, so let it be a typical one; engine, parameters and classes belong to the first
    call, too.

    Example: bayespoint train-incremental monday.csv --target repaid --model loans.bpm
    """
    notes = Notes(aloud=not as_json)
    check_place(model, "--model", data)
    started = time.perf_counter()
    if model.exists():
        given = {"--engine": engine, "--param": param, "--drop": drop}
        check_first_only({name for name, value in given.items() if value}, model)
        before = read_model(model, notes)
        pipeline, rows = go_on(data, target, before, classes, encoding, notes)
        earlier = before.summary
    else:
        pipeline, rows = begin(
            data, target, classes, engine or "ep", param or [], drop or [], encoding, notes
        )
        earlier = {}
    found = {"target": target, **describe(pipeline, rows)}
    found["seconds"] = time.perf_counter() - started
    found["batches"] = earlier.get("batches", 1 if earlier else 0) + 1
    found["rows_of_all_batches"] = (
        earlier.get("rows_of_all_batches", earlier.get("rows", 0)) + found["rows"]
    )
    write_model(pipeline, model, rows.kinds, found)
    told = f"{found['batches']}, with {count(found['rows_of_all_batches'], 'row')} together"
    lines = [*summary(found), ("tables", told), ("time", f"{found['seconds']:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")


def check_first_only(given: set[str], model: Path) -> None:
    """End the command if options are given that only the first call takes."""
    if given:
        bad_usage(
            f"{model} is there already, and {', '.join(sorted(given))} can be given in the first "
            "call only"
        )


def begin(
    data: Path,
    target: str,
    classes: str | None,
    engine: str,
    param: list[str],
    drop: list[str],
    encoding: str,
    notes: Notes,
) -> tuple[Pipeline, TrainingData]:
    """A new model of the first table."""
    able = [name for name, kind in sorted(ENGINES.items()) if kind.can_update]
    if engine in ENGINES and engine not in able:
        bad_usage(f"{engine} cannot learn from batches; {' and '.join(able)} can")
    machine = make_classifier(engine, "linear", param, 0, None)
    rows = read_training_data(data, target, drop, encoding, notes, classes=classes is None)
    known = class_array(sorted(rows.counts)) if classes is None else parse_classes(classes)
    labels = known_labels(pd.Series(rows.y), known, target)
    rows = TrainingData(rows.X, labels, rows.kinds, rows.missing, counted(labels, known))
    notes.add("columns, scales and categories of this first table hold for all further ones")
    pipeline = make_model(rows.kinds, machine)
    points = pipeline[:-1].fit_transform(rows.X)
    with notes.training():
        machine.partial_fit(points, labels, classes=known)
    return pipeline, rows


def go_on(
    data: Path, target: str, model: Model, classes: str | None, encoding: str, notes: Notes
) -> tuple[Pipeline, TrainingData]:
    """The model, after one more table."""
    if target != model.target:
        bad_usage(f"the model predicts {model.target!r}, not {target!r} (--target)")
    if model.selective is not None:
        bad_usage(
            f"{model.path} guarantees an error, which would not hold after further training; begin "
            "with a model that was trained without --max-error"
        )
    if not hasattr(model.machine, "partial_fit") or hasattr(model.machine, "chosen_params_"):
        bad_usage(
            f"{model.path} cannot learn from further tables: that takes the engine ep or laplace, "
            "and a linear kernel that was named (--kernel linear)"
        )
    known = set(map(str, model.classes))
    if classes is not None and set(map(str, parse_classes(classes))) != known:
        bad_usage(f"the classes of the model are {', '.join(map(str, model.classes))}")
    _, X, y, missing = read_labelled(data, model, target, encoding, notes)
    points = split_pipeline(model.pipeline).transform(X)
    with notes.training():
        model.machine.partial_fit(points, y)
    return model.pipeline, TrainingData(X, y, model.kinds, missing, counted(y, model.classes))


def parse_classes(text: str) -> NDArray:
    """Classes as given by an option; ends the command if there are fewer than two."""
    names = [name.strip() for name in text.split(",")]
    labels = read_labels(pd.Series(names, dtype=object))
    if labels.isna().any() or len(set(labels)) < 2:
        bad_usage(f"--classes wants two names or more, such as no,yes; not {text!r}")
    return class_array(sorted(set(labels)))


def counted(labels: NDArray, classes: NDArray) -> dict[Any, int]:
    """Rows of each class."""
    return {label: int(np.sum(labels == label)) for label in classes.tolist()}
