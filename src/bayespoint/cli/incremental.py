"""A model that learns from one table after another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayespoint.cli.models import Model, read_labelled
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.recipe import make_classifier, make_model
from bayespoint.cli.tables.labels import class_array, known_labels, read_labels
from bayespoint.cli.training import TrainingData, read_training_data
from bayespoint.engines.base import ENGINES
from bayespoint.tools.pipelines import split_pipeline


class First(NamedTuple):
    """What the first call says of the model, and no later one."""

    engine: str
    params: list[str]
    drop: list[str]
    numbers: list[str]
    categories: list[str]


def check_first_only(given: set[str], model: Path) -> None:
    """End the command if options are given that only the first call takes."""
    if given:
        bad_usage(
            f"{model} is there already, and {', '.join(sorted(given))} can be given in the first "
            "call only"
        )


def begin(
    data: Path, target: str, classes: str | None, first: First, encoding: str, notes: Notes
) -> tuple[Pipeline, TrainingData]:
    """A new model of the first table."""
    able = [name for name, kind in sorted(ENGINES.items()) if kind.can_update]
    if first.engine in ENGINES and first.engine not in able:
        bad_usage(f"{first.engine} cannot learn from batches; {' and '.join(able)} can")
    machine = make_classifier(first.engine, "linear", first.params, 0, None)
    rows = read_training_data(
        data, target, first.drop, encoding, notes, classes is None, first.numbers, first.categories
    )
    known = class_array(sorted(rows.counts)) if classes is None else parse_classes(classes)
    labels = known_labels(pd.Series(rows.y), known, target)
    rows = replace(rows, y=labels, counts=counted(labels, known))
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
