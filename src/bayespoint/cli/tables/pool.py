"""The pool of ``bayespoint label``: what it shows, the classes, and the rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from sklearn.pipeline import Pipeline

from bayespoint.active.labelling import items
from bayespoint.active.labelling.pictures import SUFFIXES
from bayespoint.cli import options
from bayespoint.cli.models import Model
from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.cli.output.printing import Notes, count, listed
from bayespoint.cli.pipelines import learn_features, make_numbers, selected, with_table
from bayespoint.cli.tables import training
from bayespoint.cli.tables.columns import CATEGORY, IMAGE, NUMBER, TEXT, prepare, sort_columns
from bayespoint.cli.tables.number_formats import as_text
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.pipelines import split_pipeline

LABEL = "label"  # the column of the labels, if none is named
MOSTLY = 0.9  # share of the values that makes a column of pictures
LONG = 30  # characters of a text, on average
PIXELS = 49  # columns of a square picture, at least
NUMBERED = re.compile(r"(.*?)\d+(?:[_x,.-]\d+)?")
SIZE = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")


class View(NamedTuple):
    """What a row is for the person who labels: see ``active.labelling.items.Items``."""

    kind: str = items.TABLE
    columns: Sequence[str] = ()
    shape: tuple[int, int] | None = None


class Classes(NamedTuple):
    """The column of the labels, the classes in the order of their keys, and labels by row."""

    target: str
    values: NDArray
    given: dict[int, str]


def find_classes(frame: pd.DataFrame, target: str | None, named: list[str] | None) -> Classes:
    """The classes that are named, or those in the column; ends the command without two of them."""
    if target is None and LABEL in frame:
        bad_usage(
            f"the table has a column {LABEL!r}. Use its labels with --target {LABEL}, or name "
            "another column with --target NAME"
        )
    if target is not None and named is None:
        training.check_column(frame, target, "--target")
    name = target or LABEL
    column = as_text(frame[name]) if name in frame else pd.Series(dtype=object)
    both = training.read_labels(
        pd.concat([column, pd.Series(named or [], dtype=object)], ignore_index=True)
    )
    labels, listed_first = both[: len(column)], both[len(column) :].dropna()
    present = sorted(labels.dropna().unique())
    if len(present) > training.MANY and named is None:
        bad_usage(f"column {name!r} has {len(present)} different values; name the classes")
    order = list(dict.fromkeys(listed_first)) or present
    unknown = [label for label in present if label not in order]
    if unknown:
        bad_data(f"column {name!r} has {listed(unknown)}, which --classes does not name")
    if len(order) < 2:
        found = f"got {order[0]!r} only" if order else "got none"
        bad_usage(
            f"labelling needs at least two classes, {found}; name them as in --classes no,yes"
        )
    given = {int(row): str(label) for row, label in labels.dropna().items()}
    if len(given) == len(frame):
        bad_data(f"every row has a value in {name!r} already")
    return Classes(name, training.class_array(order), given)


def find_view(
    frame: pd.DataFrame, text: str | None, image: str | None, pixels: str | None, table: bool
) -> View:
    """What a row is: as the options say, or as the columns look."""
    given = {"--text": text, "--image": image, "--pixels": pixels, "--table": table or None}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        bad_usage(f"{' and '.join(named)} exclude each other")
    for kind, column in ((items.TEXT, text), (items.IMAGE, image)):
        if column is not None:
            training.check_column(frame, column, f"--{kind}")
            return View(kind, [column])
    numbers = [name for name in frame if types.is_numeric_dtype(frame[name])]
    if pixels is not None:
        return pixel_view(numbers, pixels)
    return View() if table else recognised(frame, numbers)


def pixel_view(numbers: list[str], size: str) -> View:
    """Pictures of a given size, such as 28x28: width and height."""
    found = SIZE.fullmatch(size)
    if found is None:
        bad_usage(f"--pixels needs a width and a height, such as 28x28; not {size!r}")
    width, height = int(found[1]), int(found[2])
    numbered = [name for name in numbers if NUMBERED.fullmatch(name)]
    columns = numbers if len(numbers) == width * height else numbered
    if len(columns) != width * height:
        bad_data(
            f"--pixels {size} needs {width * height} columns of numbers, and there are "
            f"{len(numbers)}. Leave out others with --drop"
        )
    return View(items.PIXELS, columns, (height, width))


def recognised(frame: pd.DataFrame, numbers: list[str]) -> View:
    """What the columns look like."""
    prefixes = [match[1] if (match := NUMBERED.fullmatch(name)) else None for name in numbers]
    for prefix in dict.fromkeys(prefixes):
        columns = [name for name, own in zip(numbers, prefixes, strict=True) if own == prefix]
        side = isqrt(len(columns))
        if prefix is not None and len(columns) >= PIXELS and side**2 == len(columns):
            return View(items.PIXELS, columns, (side, side))
    for name in frame:
        words = as_text(frame[name]).dropna()
        if name in numbers or words.empty:
            continue
        if words.map(lambda word: Path(word).suffix.lower() in SUFFIXES).mean() >= MOSTLY:
            return View(items.IMAGE, [name])
        if words.nunique() >= len(words) / 2 and words.map(len).mean() >= LONG:
            return View(items.TEXT, [name])
    return View()


class Points(NamedTuple):
    """The rows as the classifier takes them, and the steps before it that make them so."""

    X: pd.DataFrame
    kinds: dict[str, str]
    steps: list[tuple[str, Any]]
    values: NDArray[np.float64]
    table: Columns | None = None
    scaling: Scaling | None = None

    def columns(self, frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
        """How each column of the pool is written, and its profile, for new rows."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind in (NUMBER, CATEGORY)}
        return training.with_profiles(training.column_formats(frame, kinds), self.X[list(kinds)])

    def pipeline(self, machine: Any) -> Pipeline:
        """The model that takes rows of the table."""
        whole = machine if self.table is None else with_table(machine, self.table, self.scaling)
        return Pipeline([*self.steps, ("machine", whole)])


def find_points(
    frame: pd.DataFrame, view: View, model: Model | None, notes: Notes, given: options.Columns
) -> Points:
    """Numbers for every row; scales and topics are those of the whole pool, labelled or not."""
    if model is not None:
        X, _ = model.prepare(frame, notes)
        before, table = split_pipeline(model.pipeline).before, model.machine.model_.table
        steps = [] if before is None else list(before.steps)
        values = X if before is None else before.transform(X)
        if table is not None:
            values = table.transform(values)
        return Points(X, model.kinds, steps, np.asarray(values, dtype=np.float64), table)
    if view.kind in (items.TEXT, items.IMAGE):
        name, kind = view.columns[0], TEXT if view.kind == items.TEXT else IMAGE
        notes.add(f"the model learns from column {name!r} only")
        X = prepare(frame, {name: kind}, notes)
        step = make_numbers(name, kind, len(X))
        values = np.asarray(step.fit_transform(X), dtype=np.float64)
        return Points(X, {name: kind}, [("columns", step)], values)
    if view.kind == items.PIXELS:
        kinds = sort_columns(frame[list(view.columns)], Notes(as_json=True), given)
        height, width = view.shape or (0, 0)
        notes.add(f"{len(view.columns)} columns are the pixels of pictures, {width} x {height}")
    else:
        kinds = sort_columns(frame, notes, given)
    X = prepare(frame, kinds, notes)
    table, scaling = learn_features(X, kinds)
    values, steps = scaling.transform(table.transform(X)), [("columns", selected(kinds).fit(X))]
    return Points(X, kinds, steps, values, table, scaling)


def fingerprint(frame: pd.DataFrame) -> str:
    """A number for the contents of a table."""
    # Whole numbers become others if a value is missing in a later row.
    kinds = {name: float if types.is_numeric_dtype(frame[name]) else str for name in frame}
    hashed = pd.util.hash_pandas_object(frame.astype(kinds), index=False).to_numpy()
    names = "\0".join(map(str, frame.columns)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(names + hashed.tobytes()).hexdigest()


def check_items(shown: items.Items, notes: Notes) -> None:
    """Report rows that cannot be shown; ends the command if there are no others."""
    n_gone = len(shown) - len(shown.usable)
    if n_gone == len(shown):
        bad_data(f"no row can be shown: {shown.problem or 'the column has no values'}")
    if n_gone:
        why = f" ({shown.problem})" if shown.problem else ""
        notes.add(f"left out: {count(n_gone, 'row')} that cannot be shown{why}")
