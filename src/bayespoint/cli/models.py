"""Model files, with what the commands must know about their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayespoint import BayesPointClassifier
from bayespoint.cli.output import printing
from bayespoint.cli.output.errors import bad_data, bad_usage, did_you_mean, printable
from bayespoint.cli.output.printing import Notes, TableNotes, count, joined, listed
from bayespoint.cli.pipelines import MISSING
from bayespoint.cli.tables import training
from bayespoint.cli.tables.columns import CATEGORY, KINDS, NUMBER, note_missing, prepare
from bayespoint.cli.tables.reading import read_table
from bayespoint.exceptions import ModelFileError, one_line
from bayespoint.reject import Guarantee, SelectiveClassifier
from bayespoint.reports import Shift, compare
from bayespoint.storage import describe, load, save
from bayespoint.tools.json_values import plain
from bayespoint.tools.pipelines import split_pipeline

KEY = "table"  # of the metadata
SHOWN = 5  # columns that a remark names
PREPARED = {
    NUMBER: "of numbers: missing values are filled in with the mean, and all are scaled to mean 0 "
    "and variance 1",
    CATEGORY: "of categories: a feature of 0 or 1 for each category",
}


@dataclass(frozen=True)
class Model:
    """A pipeline, the target that it predicts, and the columns that it needs.

    ``kinds`` is empty for a model that was not trained on the command line. ``selective`` is there
    if the model rejects rows.
    """

    path: Path
    pipeline: Any
    target: str | None
    kinds: dict[str, str]
    summary: dict[str, Any]
    selective: SelectiveClassifier | None = None
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """The pipeline, or the classifier around it that rejects rows."""
        return self.pipeline if self.selective is None else self.selective

    @property
    def guarantee(self) -> Guarantee | None:
        """What the threshold for rejections guarantees, if there is one."""
        return getattr(self.selective, "guarantee_", None)

    @property
    def machine(self) -> BayesPointClassifier:
        """The classifier alone."""
        return split_pipeline(self.pipeline).last

    @property
    def of_features(self) -> BayesPointClassifier:
        """The classifier alone, of the features that its columns become."""
        table, bare = self.machine.model_.table, copy(self.machine)
        if table is not None:
            bare.model_, bare.n_features_in_ = replace(bare.model_, table=None), table.n_features
            bare.__dict__.pop("feature_names_in_", None)
        return bare

    @property
    def classes(self) -> NDArray:
        """The labels that it knows."""
        return self.machine.classes_

    def check_same(self, target: str | None, classes: Collection[str] | None) -> None:
        """End the command if options name another column or other classes than the model has."""
        if target not in (None, self.target):
            bad_usage(f"the model predicts {self.target!r}, not {target!r} (--target)")
        known = [str(label) for label in self.classes]
        if classes is not None and sorted(classes) != sorted(known):
            bad_usage(f"the classes of the model are {', '.join(known)}; omit --classes")

    def predict_on(self, device: str | None, notes: Notes) -> None:
        """Let the classifier predict on another device than that of its training."""
        if device is None:
            return
        self.machine.set_params(device=device)
        if device not in ("cpu", "auto") and not self.machine.model_.has_device_form:
            notes.add(f"--device {device}: this kind of model predicts on the CPU")

    def prepare(self, frame: pd.DataFrame, notes: Notes) -> tuple[pd.DataFrame, dict[str, int]]:
        """Rows as the pipeline takes them, and how many values are missing in which columns."""
        X = prepare(frame, self.kinds, notes, self.columns)
        missing = training.count_missing(X)
        known = self._categories()
        never_missing = [name for name, values in known.items() if MISSING not in values]
        note_missing(missing, self.kinds, notes, never_missing)
        for name, values in known.items():
            new = sorted(set(X[name].dropna()) - values)
            if new:
                notes.add(f"column {name!r} has {listed(new)}, unknown to the model: no category")
        return X, missing

    def compare(self, X: pd.DataFrame, notes: Notes) -> list[Shift]:
        """How prepared rows differ from those of the training; reports large differences."""
        shifts = compare(self.columns, X)
        names = [f"{one.column!r} ({one.distance:.0%})" for one in shifts if one.is_shifted]
        if names:
            notes.add(
                "columns that differ from the training, with the share of rows that would have to "
                f"change: {joined(names, SHOWN)}"
            )
        return shifts

    def preparation(self) -> list[str]:
        """How the columns were prepared for the training."""
        kinds = list(self.kinds.values())
        columns = {kind: count(kinds.count(kind), "column") for kind in kinds}
        sentences = [f"{columns[kind]} {how}" for kind, how in PREPARED.items() if kind in kinds]
        return [*sentences, *(printable(str(note)) for note in self.summary.get("notes", []))]

    def _categories(self) -> dict[str, set[str]]:
        """The categories that every column of text had in training."""
        names = [name for name, kind in self.kinds.items() if kind == CATEGORY]
        if not names:
            return {}
        table: Any = self.machine.model_.table
        more = [{MISSING} if there else set() for there in table.is_level]
        known = [set(own.tolist()) | add for own, add in zip(table.levels, more, strict=True)]
        return {name: known[k] for k, name in enumerate(names)}


def write_model(
    pipeline: Pipeline | SelectiveClassifier,
    path: Path,
    kinds: Mapping[str, str],
    summary: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Save a model; the file is written completely or not at all.

    ``columns`` says how each is written and what its values were (``TrainingData.columns``).
    """
    about = {
        "target": summary["target"],
        "kinds": dict(kinds),
        "summary": plain(summary),
        "columns": plain(columns or {}),
    }
    save(pipeline, path, metadata={KEY: about})


def read_model(path: Path, notes: Notes, needs_table: bool = True) -> Model:
    """The model in a file; ends the command if there is none, or its columns are unknown."""
    try:
        with printing.collect_warnings() as warned:
            estimator, metadata = load(path), describe(path).metadata
        notes.warn(warned)
    except FileNotFoundError:
        bad_data(f"{path}: no such file")
    except OSError as error:
        bad_data(f"cannot read the model {path}: {error.strerror}")
    except ModelFileError as error:
        bad_data(f"cannot read the model {error}")
    about = metadata.get(KEY) or {}
    check_about(about, path)
    selective = estimator if isinstance(estimator, SelectiveClassifier) else None
    pipeline = getattr(selective, "estimator_", estimator)
    kinds, summary = about.get("kinds", {}), about.get("summary", {})
    columns = about.get("columns", {})
    model = Model(path, pipeline, about.get("target"), kinds, summary, selective, columns)
    with model_errors(path):
        compare(columns, pd.DataFrame({name: [None] for name in columns}))
        if not hasattr(model.machine, "posterior_"):
            bad_data(f"{path} does not have a Bayes point machine")
        model._categories()
    if needs_table and not model.kinds:
        bad_data(f"{path} was not written by bayespoint train: it does not name its columns")
    return model


def check_about(about: Any, path: Path) -> None:
    """End the command if what the file says of its table is not what ``write_model`` writes."""
    whole = isinstance(about, dict) and isinstance(about.get("target"), str | None)
    names = ("kinds", "summary", "columns")
    parts: list[Any] = [about.get(name, {}) for name in names] if whole else [None]
    counts = ("batches", "rows", "rows_of_all_batches")
    if not (
        all(isinstance(part, dict) for part in parts)
        and all(kind in KINDS for kind in parts[0].values())
        and all(isinstance(parts[1].get(name, 0), int) for name in counts)
        and isinstance(parts[1].get("notes", []), list)
        and all(isinstance(one, dict) for one in parts[2].values())
    ):
        bad_data(f"cannot read the model {path}: its description of the table is invalid")


@contextmanager
def model_errors(path: Path) -> Iterator[None]:
    """End the command if a model fails: only one that another program wrote can."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, AssertionError) as error:
        bad_data(f"the model in {path} does not work: {one_line(error):.200}")


def read_labelled(
    path: Path, model: Model, target: str, notes: TableNotes
) -> tuple[pd.DataFrame, training.TrainingData]:
    """Rows of a table that have a label: as they are, and as the model takes them."""
    frame = read_rows(path, model, notes)
    training.check_column(frame, target, "--target")
    kept, labels = training.rows_with_labels(frame, target, notes)
    X, missing = model.prepare(kept, notes)
    y = training.known_labels(labels, model.classes, target)
    counts = training.count_labels(y, model.classes.tolist())
    return kept, training.TrainingData(target, model.kinds, missing, counts, X, y)


def read_rows(path: Path, model: Model, notes: TableNotes) -> pd.DataFrame:
    """A table that has all columns that the model needs."""
    text = [name for name, one in model.columns.items() if one.get("text") is True]
    frame = read_table(path, notes, text)
    missing = [name for name in model.kinds if name not in frame]
    if missing:
        hint = did_you_mean(missing[0], [name for name in frame if name not in model.kinds])
        bad_data(
            f"{path} does not have columns that the model needs: {listed(missing, 8)}."
            f"{hint}".rstrip(".")
        )
    extra = [name for name in frame if name not in model.kinds and name != model.target]
    if extra:
        notes.add(f"columns that the model does not use: {listed(extra)}")
    return frame
