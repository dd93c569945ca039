"""A labelling session on a pool, and the files that it ends with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayespoint.active.labelling.exports import label_column, label_studio, without_formulas
from bayespoint.active.labelling.items import IMAGE, Items
from bayespoint.active.labelling.journal import Journal, JournalError
from bayespoint.active.labelling.session import Session
from bayespoint.cli.models import Model, read_model, read_rows, write_model
from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.pool import (
    Classes,
    Points,
    find_classes,
    find_points,
    find_view,
    fingerprint,
    tell_unusable,
)
from bayespoint.cli.tables.reading import read_table
from bayespoint.cli.tables.writing import PARQUET, write_table
from bayespoint.cli.training import TrainingData, check_roles, describe
from bayespoint.tools.extras import require
from bayespoint.tools.files import write_text


@dataclass(frozen=True)
class Work:
    """A session, and what its results are made of."""

    frame: pd.DataFrame
    classes: Classes
    points: Points
    session: Session
    stem: Path
    in_parquet: bool
    no_formulas: bool = False

    def table(self) -> pd.DataFrame:
        """The rows with their labels."""
        values = {str(value): value for value in self.classes.values.tolist()}
        column = label_column(self.session.answers_now(), len(self.frame))
        labels = pd.Series([values.get(one) for one in column], dtype=object)
        return self.frame.assign(**{self.classes.target: labels})

    def write_table(self, path: Path) -> None:
        """The rows with their labels, for a spreadsheet without formulas if that was asked for."""
        table = self.table()
        is_plain = self.no_formulas and path.suffix == ".csv"
        write_table(without_formulas(table) if is_plain else table, path)

    def machine(self) -> Any:
        """The classifier of all labels, or None."""
        return self.session.final_machine()

    def write_model(self, path: Path, machine: Any) -> None:
        """A model for bayespoint predict."""
        labels = self.table()[self.classes.target]
        rows = np.flatnonzero(labels.notna())
        y = np.array(labels.iloc[rows].tolist(), dtype=self.classes.values.dtype)
        counts = {one: int(np.sum(y == one)) for one in self.classes.values.tolist()}
        data = TrainingData(self.points.X.iloc[rows], y, self.points.kinds, {}, counts)
        pipeline = self.points.pipeline(machine)
        found = {"target": self.classes.target, **describe(pipeline, data)}
        write_model(pipeline, path, self.points.kinds, found, self.points.columns(self.frame))

    def tasks(self, machine: Any) -> str:
        """The tasks of Label Studio."""
        shares: NDArray | None = None
        names: Any = []
        if machine is not None:
            shares, names = machine.predict_proba(self.points.values), machine.classes_
        tasks = label_studio(self.session.items, self.session.answers_now(), names, shares)
        return json.dumps(tasks, indent=1, ensure_ascii=False)

    def downloads(self) -> dict[str, Any]:
        """Files that the page offers, and functions that make them."""

        def written(name: str, write: Any) -> bytes:
            with TemporaryDirectory() as folder:
                path = Path(folder, name)
                write(path)
                return path.read_bytes()

        def model_file(path: Path) -> None:
            machine = self.machine()
            if machine is None:
                raise ValueError("there is no model before two classes have labels")
            self.write_model(path, machine)

        tables = ["labelled.csv", *(["labelled.parquet"] if find_spec("pyarrow") else [])]
        return {
            **{name: partial(written, name, self.write_table) for name in tables},
            "model.bpm": lambda: written("model.bpm", model_file),
            "labelstudio.json": lambda: self.tasks(self.machine()).encode(errors="replace"),
        }

    def end(self, notes: Notes) -> list[tuple[str, str]]:
        """Write the results, and return what they are and where."""
        n_labels = len(self.session.answers.labels())
        machine = self.machine()
        self.session.end()
        suffix = ".parquet" if self.in_parquet else ".csv"
        table, model, tasks = (
            Path(f"{self.stem}.labelled{end}") for end in (suffix, ".bpm", ".json")
        )
        self.write_table(table)
        write_text(tasks, self.tasks(machine))
        lines = [
            ("labels", f"{n_labels} of {count(len(self.frame), 'row')}"),
            ("table", str(table)),
        ]
        if machine is None:
            notes.add("no model: it needs labels of two classes")
        else:
            self.write_model(model, machine)
            lines.append(("model", str(model)))
        return [*lines, ("Label Studio", str(tasks))]


def prepare_work(
    data: Path,
    classes: str | None,
    target: str | None,
    model: Path | None,
    view_options: tuple[str | None, str | None, str | None, bool],
    drop: list[str],
    numbers: list[str],
    categories: list[str],
    journal: Path | None,
    seed: int,
    encoding: str,
    notes: Notes,
    no_formulas: bool = False,
) -> Work:
    """Everything that the page needs; ends the command where something is wrong."""
    start: Model | None = None
    named = None if classes is None else [word.strip() for word in classes.split(",")]
    if model is not None:
        if drop or numbers or categories:
            bad_usage(
                "--drop, --number and --category exclude --model, which knows what it learns from"
            )
        start = read_model(model, notes)
        frame = read_rows(data, start, encoding, notes)
        target, named = start_classes(start, target, named)
    else:
        frame = read_table(data, encoding, notes)
    if named is None and target is None:
        bad_usage("name the classes: --classes A,B,..., or a column that has some: --target COL")
    found = find_classes(frame, target, named)
    roles = {"target": [found.target] if found.target in frame else [], "drop": drop}
    check_roles(frame, {**roles, "number": numbers, "category": categories})
    own = frame.drop(columns=[found.target, *drop], errors="ignore")
    view = find_view(own, *view_options)
    if view.kind == IMAGE:
        require("PIL", "label", "labelling pictures")
    shown = Items(own, data.name, data.parent, view.kind, view.columns, view.shape)
    tell_unusable(shown, notes)
    points = find_points(own, view, start, notes, numbers, categories)
    stem = data.with_name(data.name.removesuffix(".gz").rpartition(".")[0] or data.name)
    path = journal or Path(f"{stem}.labels.jsonl")
    try:
        kept = open_journal(path, own, found)
    except JournalError as error:
        bad_data(str(error))
    try:
        session = Session(
            shown, points.values, found.values, found.given, kept,
            start=None if start is None else start.machine, seed=seed,
        )  # fmt: skip
    except JournalError as error:
        kept.close()
        bad_data(f"{path}: {error}")
    n_before = len(session.answers.standing)
    if n_before:
        notes.add(f"{path} has {count(n_before, 'answer')} already; going on")
    if len(found.values) > 10:
        notes.add(f"{len(found.values)} classes: ten have a key, others are found by / or mouse")
    in_parquet = data.suffix.lower() in PARQUET
    return Work(frame, found, points, session, path.parent / stem.name, in_parquet, no_formulas)


def start_classes(
    start: Model, target: str | None, named: list[str] | None
) -> tuple[str, list[str]]:
    """Column and classes of a model, which options may repeat but not change."""
    own = [str(one) for one in start.classes]
    if target not in (None, start.target):
        bad_usage(f"the model predicts {start.target!r}, not {target!r} (--target)")
    if named is not None and sorted(named) != sorted(own):
        bad_usage(f"the classes of the model are {', '.join(own)}; leave --classes away")
    return start.target or "label", named or own


def open_journal(path: Path, frame: pd.DataFrame, classes: Classes) -> Journal:
    """The journal of this pool; one whose first rows are those of the journal may go on."""
    about = {
        "rows": len(frame),
        "pool": fingerprint(frame),
        "target": classes.target,
        "classes": [str(one) for one in classes.values],
    }
    journal = Journal(path, about)
    n_rows = journal.about.get("rows")
    known = type(n_rows) is int and 0 < n_rows <= len(frame)
    if not known or fingerprint(frame.head(n_rows)) != journal.about.get("pool"):
        journal.close()
        raise JournalError(
            f"the journal {path} belongs to another pool, or the rows of this one have changed. "
            "Restore the table, or name another journal with --journal FILE"
        )
    return journal
