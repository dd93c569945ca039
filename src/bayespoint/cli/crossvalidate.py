"""``bayespoint cross-validate``: the expected quality of a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import RenderableType
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline

from bayespoint.cli import options
from bayespoint.cli.errors import bad_data
from bayespoint.cli.messages import (
    Notes,
    class_words,
    count,
    facts,
    numbers_table,
    warnings_in_words,
)
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.cli.recipe import make_classifier, make_model
from bayespoint.cli.training import (
    TrainingData,
    describe_classifier,
    engine_words,
    read_training_data,
)
from bayespoint.reports import METRICS, Evaluation, measure


def cross_validate(
    data: options.Data,
    target: options.Target,
    engine: options.Engine = "auto",
    kernel: options.Kernel = "auto",
    param: options.Param = None,
    folds: Annotated[int, typer.Option(metavar="K", min=2, help="Parts of the table.")] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Times to divide it.")] = 1,
    drop: options.Drop = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    device: options.Device = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Measure how good a model of a table would be on new rows.

    Trains on all parts of the table but one and measures on that one, each part in turn. The
    standard error is that of the mean over the parts; since these share training rows, it is
    somewhat too small.

    Example: bayespoint cross-validate loans.csv --target repaid --engine laplace --folds 10
    """
    notes = Notes(aloud=not as_json)
    machine = make_classifier(engine, kernel, param or [], seed, jobs, device)
    rows = read_training_data(data, target, drop or [], encoding, notes)
    check_folds(rows, folds)
    model = make_model(rows.kinds, machine)
    started = time.perf_counter()
    with ProgressMonitor("cross-validation") as progress, warnings_in_words() as words:
        progress.begin(folds * repeats, "folds")
        results = []
        for done, result in enumerate(run(model, rows, folds, repeats, seed), start=1):
            results.append(result)
            progress.update(done)
    more = [f"{len(words) - 1} more like it in other folds"] if len(words) > 1 else []
    notes.warn([*words[:1], *more])
    found = {
        "rows": len(rows.X),
        "classes": {str(label): n for label, n in rows.counts.items()},
        **describe_classifier(model),
        "folds": folds,
        "repeats": repeats,
        "measures": {name: averaged(results, name) for name in METRICS},
        "seconds": time.perf_counter() - started,
    }
    notes.end(found, *tables(found))


def check_folds(rows: TrainingData, folds: int) -> None:
    """End the command if a class has too few rows to be in every part."""
    label, fewest = min(rows.counts.items(), key=lambda item: item[1])
    if fewest < folds:
        bad_data(
            f"class {str(label)!r} has {count(fewest, 'row')}, fewer than --folds {folds}; take "
            "fewer folds, or more rows"
        )


def run(
    model: Pipeline, rows: TrainingData, folds: int, repeats: int, seed: int
) -> Iterator[Evaluation]:
    """An evaluation for every part."""
    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    for train, test in splits.split(rows.X, rows.y):
        fitted = clone(model).fit(rows.X.iloc[train], rows.y[train])
        yield measure(fitted, rows.X.iloc[test], rows.y[test])


def averaged(results: list[Evaluation], name: str) -> dict[str, Any]:
    """Mean and standard error of a measure, and its values."""
    found = [one.metrics[name].value for one in results]
    values = [value for value in found if value is not None]
    enough = len(values) > 1
    return {
        "mean": float(np.mean(values)) if values else None,
        "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values))) if enough else None,
        "values": values,
    }


def tables(found: dict[str, Any]) -> list[RenderableType]:
    """The same as tables for the terminal."""
    measured = zip(METRICS.values(), found["measures"].values(), strict=True)
    lines = [
        (metric.name, metric.show(one["mean"]), metric.show(one["standard_error"]))
        for metric, one in measured
    ]
    about = [
        ("rows", str(found["rows"])),
        ("classes", class_words(found["classes"])),
        ("engine", engine_words(found)),
        ("folds", f"{found['folds']}, {count(found['repeats'], 'time')}"),
    ]
    table = numbers_table(["", "mean", "± standard error"], lines)
    return [facts(about), table, facts([("time", f"{found['seconds']:.1f} s")])]
