"""Tables that are read in blocks: the file, what is learned of its columns, and the features."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayespoint.cli import options
from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.printing import Notes, count
from bayespoint.cli.pipelines import learn_features
from bayespoint.cli.tables import training
from bayespoint.cli.tables.columns import prepare
from bayespoint.cli.tables.reading import named_columns, reading_errors
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
SAMPLE = 50_000  # rows from which kinds, categories and scales of columns are learned


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


class BlocksTable(NamedTuple):
    """A table in blocks: what was found in it, and how its columns become features."""

    rows: training.TrainingData  # a sample; its counts are those of all rows
    begins: list[int]  # numbers of the first row of each block, and of all rows
    is_text: bool  # whether labels are text, or else integers
    features: Columns
    scaling: Scaling


def learn_columns(source: Any, target: str, given: options.Columns, notes: Notes) -> BlocksTable:
    """Read a table once: labels of all rows, and columns by rows at equal distances."""
    labels: Counter = Counter()
    kept, begins, step = [], [0], 0
    training.check_roles(source.frame(0), target, given)
    for k in range(len(source)):
        frame, of_block, end = labelled_rows(source, k, target, begins[k])
        begins.append(end)
        step = step or max(1, end * len(source) // SAMPLE)
        kept.append(frame.iloc[-labels.total() % step :: step])
        labels.update(of_block)
    n_rows, sample = labels.total(), named_columns(pd.concat(kept), notes)
    if not n_rows:
        bad_data(f"column {target!r} (--target) has no values")
    if n_rows < begins[-1]:
        gone = count(begins[-1] - n_rows, "row")
        notes.add(f"{gone} without a value in {target!r} left out")
    if len(sample) < n_rows:
        notes.add(f"columns are judged by {len(sample)} of {n_rows} rows")
    is_text = any(isinstance(label, str) for label in labels)
    counts: Counter = Counter()
    for label, n in labels.items():
        counts[str(label) if is_text else label] += n
    training.check_classes(counts, target)
    rows = training.training_data(
        sample, np.empty(0), dict(sorted(counts.items())), target, given, notes
    )
    return BlocksTable(rows, begins, is_text, *learn_features(rows.X, rows.kinds))


def labelled_rows(
    source: Any, k: int, target: str, begin: int
) -> tuple[pd.DataFrame, pd.Series, int]:
    """Of a block the rows with a label, numbered from ``begin`` on; labels; the next number."""
    frame = source.frame(k)
    frame.index = pd.RangeIndex(begin, end := begin + len(frame))
    labels = training.read_labels(frame[target])
    there = labels.notna()
    return frame[there], labels[there], end


class TableBlocks(Blocks):
    """The rows with a label of a table in blocks, as features of numbers."""

    def __init__(self, source: Any, table: BlocksTable) -> None:
        self.source, self.table = source, table
        self.n_features = table.features.n_features

    def __len__(self) -> int:
        return len(self.source)

    def read(self, k: int) -> Block:
        """The features of a block."""
        rows, begins, is_text, features, scaling = self.table
        frame, labels, _ = labelled_rows(self.source, k, rows.target, begins[k])
        if not len(labels):
            return Block(np.empty((0, self.n_features)), np.empty(0, dtype=np.int64))
        X = prepare(frame, rows.kinds, Notes(as_json=True), rows.formats)
        kind = str if is_text else int
        y = np.array(list(map(kind, labels)), dtype=kind)
        return Block(scaling.transform(features.transform(X)), y)

    def fingerprint(self, k: int) -> tuple:
        """That of the file."""
        return self.source.fingerprint(k)


def prepared(rows: TableBlocks, folder: Path, notes: Notes) -> Blocks:
    """The features of all rows in a file if the disk has room, else computed in every round."""
    size = 8 * rows.table.rows.n_rows * rows.n_features
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
