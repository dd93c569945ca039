"""Tables that are read in blocks: the file, what is learned of its columns, and the features."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.tables.columns import CATEGORY, NUMBER, note_missing, prepare, sort_columns
from bayespoint.cli.tables.labels import check_classes, read_labels
from bayespoint.cli.tables.reading import named_columns, reading_errors
from bayespoint.cli.tables.training import (
    Roles,
    TrainingTable,
    column_formats,
    count_missing,
    with_profiles,
)
from bayespoint.cli.tables.writing import PARQUET
from bayespoint.exceptions import in_bytes
from bayespoint.rows import Block, Blocks
from bayespoint.rows.arrays import FileArray
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.extras import require
from bayespoint.tools.memory import SMALL, available_memory

# Bytes in memory for a byte of the file, at a fit: a table, its features, and work with them.
EXPANDS = {"csv": 6.0, "parquet": 4.0}  # of Parquet, a byte before compression
SHARE = 0.5  # of the free memory, above which a fit reads its table in blocks
SPARE = 0.9  # share of the free disk space that prepared rows may take
SAMPLE = 50_000  # rows by which columns are judged
DIFFERENT = 200_000  # texts of a column that are counted
MANY_REMARKS = 20  # on values of single blocks


def is_too_large(path: Path) -> str:
    """Why a table should be read in blocks; "" if it fits in memory."""
    if not path.is_file() or path.suffix.lower() == ".gz":
        return ""
    needed = EXPANDS["csv"] * path.stat().st_size
    if path.suffix.lower() in PARQUET and needed > SMALL:
        require("pyarrow", "parquet", str(path))
        import pyarrow.parquet as pq

        with reading_errors(path, "utf-8"):
            groups = pq.read_metadata(path)
        sizes = [groups.row_group(g).total_byte_size for g in range(groups.num_row_groups)]
        needed = EXPANDS["parquet"] * sum(sizes)
    if needed <= SMALL or needed <= SHARE * (free := available_memory()):
        return ""
    return f"it needs about {in_bytes(needed)} in memory, and {in_bytes(free)} are free"


@dataclass(frozen=True)
class BlocksTable(TrainingTable):
    """A table in blocks: what was found in it, and how its columns become features.

    ``columns`` says how each is written and what its values were, of a sample.
    """

    is_text: bool  # whether labels are text, or else integers
    table: Columns
    scaling: Scaling
    columns: dict[str, dict[str, Any]]


def learn_columns(source: Any, roles: Roles, notes: Notes) -> BlocksTable:
    """Read a table twice: kinds of columns and classes first, then scales and categories.

    Kinds and means come from rows at equal distances, 50 000 at most; all else from all rows.
    """
    sample, labels, n_unlabelled = take_sample(source, roles)
    sample = named_columns(sample, notes)
    if not labels:
        bad_data(f"column {roles.target!r} (--target) has no values")
    if n_unlabelled:
        notes.add(f"{count(n_unlabelled, 'row')} without a value in {roles.target!r} left out")
    n_rows = sum(labels.values())
    if len(sample) < n_rows:
        notes.add(f"columns are judged by {len(sample)} of {n_rows} rows")
    is_text = any(isinstance(label, str) for label in labels)
    counts: Counter = Counter()
    for label, n in labels.items():
        counts[str(label) if is_text else label] += n
    check_classes(counts, roles.target)
    features = roles.features(sample)
    kinds = sort_columns(features, notes, roles.numbers, roles.categories)
    formats = column_formats(features, kinds)
    X = prepare(features, kinds, Notes(silent=True), formats)
    columns = with_profiles(formats, X)
    totals = Totals(kinds)
    remarks: dict[str, None] = {}
    for frame, _, _ in labelled_frames(source, roles):
        quiet = Notes(silent=True)
        if len(frame):
            totals.add(prepare(frame, kinds, quiet, formats))
        remarks |= dict.fromkeys(quiet)
    for remark in list(remarks)[:MANY_REMARKS]:
        notes.add(remark)
    note_missing(totals.missing, kinds, notes)
    return BlocksTable(
        roles.target, kinds, totals.missing, dict(sorted(counts.items())), is_text,
        *totals.learned(), columns,
    )  # fmt: skip


def labelled_frames(source: Any, roles: Roles) -> Iterator[tuple[pd.DataFrame, pd.Series, int]]:
    """Of each block the rows that have a label, numbered as in the file; the labels; all rows."""
    before = 0
    for k in range(len(source)):
        frame = with_text_names(source.frame(k))
        if k == 0:
            roles.check(frame)
        frame.index = pd.RangeIndex(before, before := before + len(frame))
        yield *with_labels(frame, roles.target), len(frame)


def with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The same block; Parquet may name columns by numbers."""
    frame.columns = frame.columns.map(str)
    return frame


def with_labels(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.Series]:
    """The rows that have a label, and their labels."""
    labels = read_labels(frame[target])
    there = labels.notna()
    return frame[there], labels[there]


def take_sample(source: Any, roles: Roles) -> tuple[pd.DataFrame, Counter, int]:
    """Rows at equal distances, how often each label occurs, and how many rows have none."""
    labels: Counter = Counter()
    kept, before, n_unlabelled, step = [], 0, 0, 0
    for frame, of_block, n in labelled_frames(source, roles):
        step = step or max(1, n * len(source) // SAMPLE)
        labels.update(of_block)
        n_unlabelled += n - len(of_block)
        kept.append(frame.iloc[-before % step :: step])
        before += len(frame)
    return pd.concat(kept), labels, n_unlabelled


class Totals:
    """Scales of numbers and counts of categories, from all rows."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds, self.n = kinds, 0
        self.numbers = [name for name, kind in kinds.items() if kind == NUMBER]
        self.scaler = StandardScaler()
        self.steps: list[set[float]] = [set() for _ in self.numbers]  # two values besides 0 at most
        self.categories: dict[str, Counter] = {
            name: Counter() for name, kind in kinds.items() if kind == CATEGORY
        }
        self.missing: Counter = Counter()

    def add(self, X: pd.DataFrame) -> None:
        """Count one block."""
        self.missing.update(count_missing(X))
        self.n += len(X)
        if self.numbers:
            values = X[self.numbers].to_numpy(np.float64)
            self.scaler.partial_fit(values)
            for own, steps in zip(values.T, self.steps, strict=True):
                if len(steps) < 2:
                    steps.update(np.unique(own[(own != 0) & ~np.isnan(own)])[:2].tolist())
        for name, seen in self.categories.items():
            seen.update(X[name].dropna())
            if len(seen) > DIFFERENT:
                bad_data(
                    f"column {name!r} has more than {DIFFERENT} different texts; --drop it, or "
                    "group them into fewer categories"
                )

    def learned(self) -> tuple[Columns, Scaling]:
        """Features and scales that a fit in memory would have found."""
        names, n = list(self.kinds), self.n
        lost = np.array([self.missing[name] for name in names])
        which = np.array([names.index(name) for name in self.numbers], dtype=np.intp)
        mean, variance, step = np.zeros((3, len(names)))
        if len(which):
            mean[which] = self.scaler.mean_
            variance[which] = self.scaler.var_ * (1 - lost[which] / n)  # means fill the others
            steps = [seen.copy().pop() if len(seen) == 1 else 0.0 for seen in self.steps]
            step[which] = np.where(lost[which] == 0, np.abs(steps), 0.0)
        counts = {names.index(name): seen for name, seen in self.categories.items()}
        columns = Columns.of_counts(n, names, counts, mean, lost)
        owner, shares = columns.owner, np.full(columns.n_features, np.nan)
        for j, levels, is_level in zip(
            columns.categories, columns.levels, columns.is_level, strict=True
        ):
            times = [counts[j][level] for level in levels.tolist()] + [lost[j]] * int(is_level)
            shares[owner == j] = np.array([*times, n - sum(times)]) / n
        shares[len(shares) - len(columns.flags) :] = lost[columns.flags] / n
        is_number = np.isnan(shares)
        deviation = np.where(is_number, np.sqrt(variance[owner]), np.sqrt(shares * (1 - shares)))
        return columns, Scaling.of_moments(
            np.where(is_number, mean[owner], shares), deviation,
            np.where(is_number, step[owner], 1.0), columns.block,
        )  # fmt: skip


class TableBlocks(Blocks):
    """The rows with a label of a table in blocks, as features of numbers."""

    def __init__(self, source: Any, table: BlocksTable) -> None:
        self.source, self.table = source, table
        self.n_features = table.table.n_features

    def __len__(self) -> int:
        return len(self.source)

    def read(self, k: int) -> Block:
        """The features of a block."""
        table = self.table
        frame, labels = with_labels(with_text_names(self.source.frame(k)), table.target)
        if not len(labels):
            return Block(np.empty((0, self.n_features)), np.empty(0, dtype=np.int64))
        X = prepare(frame, table.kinds, Notes(silent=True), table.columns)
        kind = str if table.is_text else int
        features = table.scaling.transform(table.table.transform(X))
        return Block(features, np.array(list(map(kind, labels)), dtype=kind))

    def fingerprint(self, k: int) -> tuple:
        """That of the file."""
        return self.source.fingerprint(k)


def prepared(rows: TableBlocks, folder: Path, notes: Notes) -> Blocks:
    """The features of all rows in a file if the disk has room, else computed in every round."""
    size = 8 * rows.table.n_rows * rows.n_features
    if size > SPARE * shutil.disk_usage(folder).free:
        notes.add(f"the disk has no room for {in_bytes(size)}: rows are prepared in every round")
        return rows
    return PreparedBlocks(rows, folder / "features")


class PreparedBlocks(Blocks):
    """Features that were computed once and are kept in a file; labels are kept in memory."""

    def __init__(self, rows: TableBlocks, path: Path) -> None:
        self._rows, self.n_features = rows, rows.n_features
        self._labels, self._begins = [], [0]
        with path.open("wb") as file:  # not a map, which kills the process if the disk is full
            for block in rows:
                self._begins.append(self._begins[-1] + len(block.X))
                np.asarray(block.X, dtype=np.float64, order="C").tofile(file)
                self._labels.append(block.y)
        shape = (self._begins[-1], rows.n_features)
        self._features = FileArray(path, np.memmap(path, np.float64, "r", shape=shape), 0)

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, k: int) -> Block:
        """Rows of the file."""
        return Block(self._features.rows(*self._begins[k : k + 2]), self._labels[k])

    def fingerprint(self, k: int) -> tuple:
        """That of the table: the same for the next command, which continues from a checkpoint."""
        return self._rows.fingerprint(k)
