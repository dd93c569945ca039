"""Training on a table that is read a block at a time."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from bayespoint import BayesPointClassifier
from bayespoint.cli.balance import say_balance
from bayespoint.cli.models import write_model
from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.output.printing import facts
from bayespoint.cli.scheduler import fit_at
from bayespoint.cli.tables.blocks import Learned, Roles, TableBlocks, learn_columns
from bayespoint.cli.tables.columns import CATEGORY, NUMBER
from bayespoint.cli.tables.reading import (
    ALSO_MISSING,
    look_at,
    opened,
    reading_errors,
    text_columns,
    with_mark,
)
from bayespoint.cli.tables.writing import PARQUET
from bayespoint.cli.training import describe_classifier, learned_facts, summary
from bayespoint.exceptions import BlockError, BlocksChangedError, CheckpointError, in_bytes
from bayespoint.rows import Block, Blocks, checkpoints
from bayespoint.rows.csv import CsvBlocks
from bayespoint.rows.parquet import ParquetBlocks
from bayespoint.tools.extras import require
from bayespoint.tools.memory import SMALL, available_memory

# Bytes in memory for a byte of the file, at a fit: a table, its features, and work with them.
EXPANDS = {"csv": 6.0, "parquet": 4.0}  # of Parquet, a byte before compression
SHARE = 0.5  # of the free memory, above which a fit reads its table in blocks
BLOCK_ROWS = 65_536  # rows of a block: some have columns of text
SPARE = 0.9  # share of the free disk space that prepared rows may take


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
    return f"it needs about {in_bytes(needed)} in memory, of which {in_bytes(free)} are free"


def source_of(path: Path, encoding: str) -> ParquetBlocks | CsvBlocks:
    """The rows of a file in blocks, all columns; ends the command if there are none."""
    with reading_errors(path, encoding):
        if path.suffix.lower() in PARQUET:
            require("pyarrow", "parquet", str(path))
            return ParquetBlocks([path], None, None, None, BLOCK_ROWS)
        if path.suffix.lower() == ".gz":
            bad_usage(f"{path} is packed, and cannot be read in blocks; unpack it first")
        known = with_mark(encoding)
        with opened(path, known) as file:
            head, delimiter = look_at(path, file)
        text = [name.strip() for name in text_columns(head, delimiter, ())]
        how = delimiter, known, ALSO_MISSING, text
        try:
            return CsvBlocks(path, None, None, None, BLOCK_ROWS, *how)
        except ValueError as error:
            bad_data(str(error))


def train_out_of_core(
    machine: BayesPointClassifier,
    data: Path,
    roles: Roles,
    model: Path,
    encoding: str,
    notes: Notes,
    why: str,
    scheduler: str | None = None,
    *,
    resume: bool,
) -> None:
    """Train on a table that is read in blocks, and write the model."""
    started = time.perf_counter()
    with notes.training():
        try:
            with reading_errors(data, encoding):
                source = source_of(data if scheduler is None else data.absolute(), encoding)
                n_blocks = f"{len(source)} block{'s' * (len(source) != 1)}"
                notes.add(f"{data.name} is read in {n_blocks}, out of core{': ' * bool(why)}{why}")
                learned = learn_columns(source, roles, notes)
                rows = TableBlocks(source, learned)
                right = fit_table(machine, rows, model, notes, resume, scheduler)
        except (BlockError, BlocksChangedError, CheckpointError) as error:
            bad_data(f"{data}: {error}")
    seconds = time.perf_counter() - started
    fitted = Pipeline([("columns", learned.transformer), ("machine", machine)])
    found = {"target": roles.target, **describe(fitted, learned, right), "seconds": seconds}
    found["guarantee"] = None
    say_balance(found, machine, notes)
    found["notes"] = list(notes)
    write_model(fitted, model, learned.kinds, found, learned.columns)
    lines = [*summary(found), ("time", f"{seconds:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")


def fit_table(
    machine: BayesPointClassifier,
    rows: TableBlocks,
    model: Path,
    notes: Notes,
    resume: bool,
    scheduler: str | None,
) -> Counter:
    """Fit the classifier; how many rows of each class it gets right."""
    right: Counter = Counter()
    with tempfile.TemporaryDirectory(dir=model.parent, prefix=".bayespoint-") as folder:
        # Workers prepare the rows themselves, and keep them in memory.
        blocks = rows if scheduler is not None else prepared(rows, Path(folder), notes)
        with checkpoints(model.with_name(f"{model.name}.checkpoint"), resume=resume):
            fit_at(scheduler, machine, blocks)
        for X, y, _ in blocks:
            if y is not None and len(y):
                right.update(y[machine.predict(X) == y].tolist())
    return right


def describe(fitted: Pipeline, learned: Learned, right: Counter) -> dict[str, Any]:
    """Data and model, ready for JSON, as of a training in memory."""
    kinds, counts, n = learned.kinds, learned.counts, learned.n_rows
    largest = max(counts, key=lambda label: counts[label])
    return {
        "rows": n,
        "columns": {
            "numbers": [name for name, kind in kinds.items() if kind == NUMBER],
            "categories": [name for name, kind in kinds.items() if kind == CATEGORY],
        },
        "missing": learned.missing,
        "features": fitted[-1].n_features_in_,
        "classes": {str(label): times for label, times in counts.items()},
        **describe_classifier(fitted),
        "training_error": (n - sum(right.values())) / n,
        "training_recall": {str(label): right[label] / times for label, times in counts.items()},
        "baseline": {"class": str(largest), "error": 1 - counts[largest] / n},
        **learned_facts(fitted[-1]),
    }


def prepared(rows: TableBlocks, folder: Path, notes: Notes) -> Blocks:
    """The features of all rows in a file, if the disk has room; else they are made every round."""
    n, d = rows.learned.n_rows, rows.n_features
    if 8 * n * d > SPARE * shutil.disk_usage(folder).free:
        notes.add(f"the disk has no room for {in_bytes(8 * n * d)}: rows are prepared every round")
        return rows
    return PreparedBlocks(rows, folder / "features.npy")


class PreparedBlocks(Blocks):
    """Features that were computed once and are kept in a file; labels are kept in memory."""

    def __init__(self, rows: TableBlocks, path: Path) -> None:
        self._rows, self.n_features = rows, rows.n_features
        self._path, self._labels, self._begins = path, [], [0]
        shape = (rows.learned.n_rows, rows.n_features)
        features = np.lib.format.open_memmap(path, "w+", np.float64, shape)
        for block in rows:
            self._begins.append(self._begins[-1] + len(block.X))
            features[self._begins[-2] : self._begins[-1]] = block.X
            self._labels.append(block.y)
        features.flush()

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, k: int) -> Block:
        """Rows of the file."""
        begin, end = self._begins[k : k + 2]
        return Block(np.array(np.load(self._path, mmap_mode="r")[begin:end]), self._labels[k])

    def fingerprint(self, k: int) -> tuple:
        """That of the table: the same for the next command, which goes on from a checkpoint."""
        return self._rows.fingerprint(k)
