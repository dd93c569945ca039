"""Cross-validation: an evaluation for every part of a table, and their means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline

from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.messages import class_words, count
from bayespoint.cli.output.printing import facts, numbers_table
from bayespoint.cli.training import TrainingData, engine_words
from bayespoint.reports import METRICS, Evaluation, measure


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


def summarize(results: list[Evaluation]) -> dict[str, dict[str, Any]]:
    """Mean, standard error and values of every metric, and the mean of its baseline."""
    return {
        name: {
            **averaged([one.metrics[name].value for one in results]),
            "baseline": averaged([one.baseline[name] for one in results])["mean"],
        }
        for name in METRICS
    }


def averaged(found: list[float | None]) -> dict[str, Any]:
    """Mean and standard error of the values that there are."""
    values = [value for value in found if value is not None]
    enough = len(values) > 1
    return {
        "mean": float(np.mean(values)) if values else None,
        "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values))) if enough else None,
        "values": values,
    }


def tables(found: dict[str, Any]) -> list[RenderableType]:
    """The same as tables for the terminal."""
    columns = ("mean", "standard_error", "baseline")
    lines = [
        (metric.name, *(metric.show(one[column]) for column in columns))
        for metric, one in zip(METRICS.values(), found["measures"].values(), strict=True)
    ]
    about = [
        ("rows", str(found["rows"])),
        ("classes", class_words(found["classes"])),
        ("engine", engine_words(found)),
        ("folds", f"{found['folds']}, {count(found['repeats'], 'time')}"),
    ]
    table = numbers_table(["", "mean", "± standard error", "baseline"], lines)
    return [facts(about), table, facts([("time", f"{found['seconds']:.1f} s")])]
