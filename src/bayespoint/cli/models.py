"""Model files, with what the commands must know about their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayespoint import BayesPointClassifier
from bayespoint.cli.columns import CATEGORY, IMAGE, NUMBER, TEXT, prepare, tell_missing
from bayespoint.cli.errors import bad_data, did_you_mean
from bayespoint.cli.labels import check_column, known_labels, rows_with_labels
from bayespoint.cli.messages import Notes, listed, plain, warnings_in_words
from bayespoint.cli.reading import read_table
from bayespoint.cli.recipe import MISSING
from bayespoint.exceptions import ModelFileError, one_line
from bayespoint.pipelines import split_pipeline
from bayespoint.reject import Guarantee, SelectiveClassifier
from bayespoint.storage import describe, load, save

KEY = "table"  # of the metadata


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
    def classes(self) -> NDArray:
        """The labels that it knows."""
        return self.machine.classes_

    def prepare(self, frame: pd.DataFrame, notes: Notes) -> tuple[pd.DataFrame, dict[str, int]]:
        """Rows as the pipeline takes them, and how many values are missing in which columns."""
        X = prepare(frame, self.kinds, notes)
        known = self._categories()
        never_missing = [name for name, values in known.items() if MISSING not in values]
        missing = tell_missing(X, self.kinds, notes, never_missing)
        for name, values in known.items():
            new = sorted(set(X[name].dropna()) - values)
            if new:
                notes.add(f"column {name!r} has {listed(new)}, new to the model: no category")
        return X, missing

    def _categories(self) -> dict[str, set[str]]:
        """The categories that every column of text had in training."""
        names = [name for name, kind in self.kinds.items() if kind == CATEGORY]
        if not names:
            return {}
        encoder = self.pipeline["columns"].named_transformers_["categories"][-1]
        return dict(zip(names, map(set, encoder.categories_), strict=True))


def write_model(
    pipeline: Pipeline | SelectiveClassifier,
    path: Path,
    kinds: Mapping[str, str],
    summary: Mapping[str, Any],
) -> None:
    """Save a model; the file is written completely or not at all."""
    about = {"target": summary["target"], "kinds": dict(kinds), "summary": plain(summary)}
    save(pipeline, path, metadata={KEY: about})


def read_model(path: Path, notes: Notes, needs_table: bool = True) -> Model:
    """The model in a file; ends the command if there is none, or its columns are unknown."""
    try:
        with warnings_in_words() as words:
            estimator, metadata = load(path), describe(path).metadata
        notes.warn(words)
    except FileNotFoundError:
        bad_data(f"{path} (--model): no such file")
    except OSError as error:
        bad_data(f"cannot read --model {path}: {error.strerror}")
    except ModelFileError as error:
        bad_data(f"cannot read --model {error}")
    about = metadata.get(KEY) or {}
    check_about(about, path)
    selective = estimator if isinstance(estimator, SelectiveClassifier) else None
    pipeline = getattr(selective, "estimator_", estimator)
    kinds, summary = about.get("kinds", {}), about.get("summary", {})
    model = Model(path, pipeline, about.get("target"), kinds, summary, selective)
    with model_errors(path):
        if not hasattr(model.machine, "posterior_"):
            bad_data(f"{path} holds no Bayes point machine")
        model._categories()
    if needs_table and not model.kinds:
        bad_data(f"{path} was not made by bayespoint train: it does not say which columns it needs")
    return model


def check_about(about: Any, path: Path) -> None:
    """End the command if what the file says of its table is not what ``write_model`` writes."""
    kinds = about.get("kinds", {}) if isinstance(about, dict) else None
    summary = about.get("summary", {}) if isinstance(about, dict) else None
    counts = ("batches", "rows", "rows_of_all_batches")
    if not (
        isinstance(kinds, dict)
        and all(kind in (NUMBER, CATEGORY, TEXT, IMAGE) for kind in kinds.values())
        and isinstance(about.get("target"), str | None)
        and isinstance(summary, dict)
        and all(isinstance(summary.get(name, 0), int) for name in counts)
    ):
        bad_data(f"cannot read --model {path}: its description of the table is invalid")


@contextmanager
def model_errors(path: Path) -> Iterator[None]:
    """End the command if a model fails: only one that another program wrote can."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, AssertionError) as error:
        bad_data(f"the model in {path} does not work: {one_line(error):.200}")


def read_labelled(
    path: Path, model: Model, target: str, encoding: str, notes: Notes
) -> tuple[pd.DataFrame, pd.DataFrame, NDArray, dict[str, int]]:
    """Rows of a table that have a label, the same prepared, their labels, and missing values."""
    frame = read_rows(path, model, encoding, notes)
    check_column(frame, target, "--target")
    kept, labels = rows_with_labels(frame, target, notes)
    X, missing = model.prepare(kept, notes)
    return kept, X, known_labels(labels, model.classes, target), missing


def read_rows(path: Path, model: Model, encoding: str, notes: Notes) -> pd.DataFrame:
    """A table that has all columns that the model needs."""
    frame = read_table(path, encoding, notes)
    missing = [name for name in model.kinds if name not in frame]
    if missing:
        hint = did_you_mean(missing[0], [name for name in frame if name not in model.kinds])
        bad_data(
            f"{path} lacks columns that the model needs: {listed(missing, 8)}.{hint}".rstrip(".")
        )
    extra = [name for name in frame if name not in model.kinds and name != model.target]
    if extra:
        notes.add(f"columns that the model does not use: {listed(extra)}")
    return frame
