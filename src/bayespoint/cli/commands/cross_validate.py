"""``bayespoint cross-validate``: the expected quality of a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output import printing
from bayespoint.cli.output.printing import NumbersTable, TableNotes, count, facts

if not options.ONLY_HELP:
    import numpy as np
    import pandas as pd
    from rich.console import RenderableType
    from sklearn.base import clone
    from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

    from bayespoint.cli.output.errors import bad_data
    from bayespoint.cli.pipelines import make_classifier, make_model, of_groups
    from bayespoint.cli.summaries import describe_classifier, engine_words
    from bayespoint.cli.tables.training import TrainingData, read_training_data
    from bayespoint.reports import METRICS, Evaluation, measure


def cross_validate(
    data: options.Data,
    target: options.Target,
    classifier: options.Classifier,
    columns: options.Columns,
    folds: Annotated[int, option("K", "Number of folds.", min=2)] = 5,
    repeats: Annotated[int, option("N", "How often to repeat it with other folds.", min=1)] = 1,
    group_column: options.GroupColumn = None,
    *,
    notes: TableNotes,
) -> None:
    """Measure how good a model of a table would be on new rows.

    Trains on all folds of the table but one and measures on that one, each fold in turn. The
    standard error is that of the mean over the folds; since these share training rows, it is
    somewhat too small. The baseline knows only how frequent the classes are. With --group-column
    no group is in two folds.

    Example: bayespoint cross-validate loans.csv --target repaid --engine laplace --folds 10
    """
    machine = make_classifier(classifier)
    rows = read_training_data(data, target, columns, notes, group=group_column)
    label, fewest = min(rows.units().items(), key=lambda item: item[1])
    if fewest < folds:
        unit = "row" if rows.groups is None else "group"
        bad_data(
            f"class {str(label)!r} has {count(fewest, unit)}, fewer than --folds {folds}; use "
            f"fewer folds or more {unit}s"
        )
    model = make_model(rows.kinds, machine)
    started = time.perf_counter()
    evaluations = []
    with notes.progress("cross-validation") as progress, printing.collect_warnings() as warned:
        progress.begin(folds * repeats, "folds")
        for train, test in splits(rows, folds, repeats, classifier.seed):
            kept, held = rows.part(train), rows.part(test)
            fitted = clone(model).fit(kept.X, kept.y, **of_groups(kept.groups))
            evaluations.append(measure(fitted, held.X, held.y))
            progress.update(len(evaluations))
    more = [f"{len(warned) - 1} more warnings like this in other folds"] if len(warned) > 1 else []
    notes.warn([*warned[:1], *more])
    found = {
        "rows": len(rows.X),
        "classes": {str(label): n for label, n in rows.counts.items()},
        **describe_classifier(machine),
        "folds": folds,
        "repeats": repeats,
        "measures": summarize(evaluations),
        "seconds": time.perf_counter() - started,
    }
    notes.end(found, *tables(found))


def splits(rows: TrainingData, folds: int, repeats: int, seed: int) -> Iterator[tuple]:
    """Rows to train on and to measure on, in folds of equal shares of the classes."""
    if rows.groups is None:
        plain = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        yield from plain.split(rows.X, rows.y)
        return
    for k in range(repeats):
        one = StratifiedGroupKFold(folds, shuffle=True, random_state=seed + k)
        yield from one.split(rows.X, rows.y, rows.groups)


def summarize(evaluations: list[Evaluation]) -> dict[str, dict[str, Any]]:
    """Mean, standard error and values of every metric, and the mean of its baseline."""
    return {
        name: {
            **averaged([one.metrics[name].value for one in evaluations]),
            "baseline": averaged([one.baseline[name] for one in evaluations])["mean"],
        }
        for name in evaluations[0].metrics
    }


def averaged(found: list[float | None]) -> dict[str, Any]:
    """Mean and standard error of the values that exist."""
    values = pd.Series(found, dtype=float).dropna()
    mean, error = (None if np.isnan(one) else float(one) for one in (values.mean(), values.sem()))
    return {"mean": mean, "standard_error": error, "values": values.tolist()}


def tables(found: dict[str, Any]) -> list[RenderableType]:
    """The same, for the terminal."""
    columns = ("mean", "standard_error", "baseline")
    lines = [
        (METRICS[name].name, *(METRICS[name].show(one[column]) for column in columns))
        for name, one in found["measures"].items()
    ]
    about = [
        ("rows", str(found["rows"])),
        ("classes", printing.class_words(found["classes"])),
        ("engine", engine_words(found)),
        ("folds", f"{found['folds']}, {count(found['repeats'], 'time')}"),
    ]
    table = NumbersTable(["", "mean", "± standard error", "baseline"], lines)
    return [facts(about), table, facts([("time", f"{found['seconds']:.1f} s")])]
