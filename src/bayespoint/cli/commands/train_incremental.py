"""``bayespoint train-incremental``: a model that learns from one table after another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import TableNotes, count, facts

if not options.ONLY_HELP:
    import pandas as pd
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

    from bayespoint.cli.models import Model, read_labelled, read_model, write_model
    from bayespoint.cli.output.errors import bad_usage
    from bayespoint.cli.pipelines import learn_features, make_classifier, of_columns
    from bayespoint.cli.summaries import count_correct, describe, training_lines
    from bayespoint.cli.tables import training
    from bayespoint.cli.tables.writing import check_place
    from bayespoint.engines.base import ENGINES
    from bayespoint.tools.pipelines import split_pipeline

ABLE = options.UPDATED_ENGINES
FIRST = "ep"  # the engine, if none is named

ALL = "All classes that may ever occur; by default those of the first table."

Classes = Annotated[str | None, option("A,B,...", ALL)]
Engine = Annotated[str | None, option("NAME", f"{' or '.join(ABLE)}; {FIRST} by default.")]


def train_incremental(
    data: options.Data,
    target: options.Target,
    model: options.ModelFile,
    classes: Classes = None,
    engine: Engine = None,
    param: options.Param = None,
    *,
    columns: options.Columns,
    notes: TableNotes,
) -> None:
    """Train a model on a table, and continue with further tables later.

    The first call creates the model. Every later one takes the posterior so far as the prior,
    adds the rows of its table, and replaces the file. Columns, scales and categories stay those of
    the first table, so it should be a typical one. Engine, parameters and classes can be given in
    the first call only.

    Example: bayespoint train-incremental monday.csv --target repaid --model loans.bpm
    """
    check_place(model, "--model", data, force=True)
    started = time.perf_counter()
    first_only = {"engine": engine, "param": param, **vars(columns)}
    given = ", ".join(sorted(f"--{name}" for name, value in first_only.items() if value))
    if model.exists():
        if given:
            bad_usage(f"{model} exists already, and {given} can be given in the first call only")
        before = read_model(model, notes)
        pipeline, rows = proceed(data, target, before, classes, notes)
        earlier, about = before.summary, before.columns
    else:
        wanted = options.Classifier(engine or FIRST, "linear", param)
        pipeline, rows = begin(data, target, columns, classes, wanted, notes)
        earlier, about = {}, rows.columns()
    found = describe(split_pipeline(pipeline).last, rows, count_correct(pipeline, rows.X, rows.y))
    found["seconds"] = time.perf_counter() - started
    found["batches"] = earlier.get("batches", 1 if earlier else 0) + 1
    n_before = earlier.get("rows_of_all_batches", earlier.get("rows", 0))
    found["rows_of_all_batches"] = n_before + found["rows"]
    found["notes"] = [*earlier.get("notes", []), *notes]
    write_model(pipeline, model, rows.kinds, found, about)
    total = f"{found['batches']}, with {count(found['rows_of_all_batches'], 'row')} together"
    lines = [*training_lines(found), ("tables", total), ("time", f"{found['seconds']:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")


def begin(
    data: Path,
    target: str,
    columns: options.Columns,
    classes: str | None,
    wanted: options.Classifier,
    notes: TableNotes,
) -> tuple[Pipeline, training.TrainingData]:
    """A new model of the first table."""
    if wanted.engine in ENGINES and wanted.engine not in ABLE:
        bad_usage(f"{wanted.engine} does not support batch learning; {', '.join(ABLE)} do")
    machine = make_classifier(wanted)
    rows = training.read_training_data(data, target, columns, notes, needs_classes=classes is None)
    known = training.class_array(sorted(rows.counts)) if classes is None else parse_classes(classes)
    labels = training.known_labels(pd.Series(rows.y), known, target)
    rows = rows.labelled(labels, known.tolist())
    notes.add("columns, scales and categories of this first table apply to all further ones")
    table, scaling = learn_features(rows.X, rows.kinds)
    with notes.training():
        machine.partial_fit(scaling.transform(table.transform(rows.X)), labels, classes=known)
    return of_columns(machine, rows.kinds, table, scaling), rows


def proceed(
    data: Path, target: str, model: Model, classes: str | None, notes: TableNotes
) -> tuple[Pipeline, training.TrainingData]:
    """The model, after one more table."""
    model.check_same(target, None if classes is None else list(map(str, parse_classes(classes))))
    if model.selective is not None:
        bad_usage(
            f"{model.path} guarantees an error, which would not hold after further training; start "
            "with a model that was trained without --max-error"
        )
    if not hasattr(model.machine, "partial_fit") or hasattr(model.machine, "chosen_params_"):
        bad_usage(
            f"{model.path} cannot learn from further tables: this needs --kernel linear and "
            f"--engine {' or '.join(ABLE)}"
        )
    _, rows = read_labelled(data, model, target, notes)
    points = split_pipeline(model.pipeline).transform(rows.X)
    with notes.training():
        model.machine.partial_fit(points, rows.y)
    return model.pipeline, rows


def parse_classes(text: str) -> NDArray:
    """Classes as given by an option; ends the command if there are fewer than two."""
    names = [name.strip() for name in text.split(",")]
    labels = training.read_labels(pd.Series(names, dtype=object))
    if labels.isna().any() or len(set(labels)) < 2:
        bad_usage(f"--classes needs at least two names, such as no,yes; not {text!r}")
    return training.class_array(sorted(set(labels)))
