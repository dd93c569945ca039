"""Blocks of Parquet files: their row groups, joined or split."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayespoint.exceptions import BlockError
from bayespoint.rows.base import Block, Blocks, Roles, chosen_columns, file_stamp, rows_of_block
from bayespoint.tools.extras import require

SPLIT = 2  # blocks from which a row group is divided: its beginning is decoded for every part


class Piece(NamedTuple):
    """Rows of a row group of a file."""

    file: int
    group: int
    begin: int
    end: int
    is_whole: bool


class ParquetBlocks(Blocks):
    """Row groups of Parquet files, as :func:`from_parquet` divides them."""

    def __init__(self, paths: list[Path], roles: Roles, block_rows: int | None) -> None:
        import pyarrow.parquet as pq

        self.paths, self.roles = paths, roles
        files = [pq.ParquetFile(path) for path in paths]
        names = list(files[0].schema_arrow.names)
        for path, file in zip(paths, files, strict=True):
            if list(file.schema_arrow.names) != names:
                raise ValueError(
                    f"{path} has other columns than {paths[0]}: {file.schema_arrow.names[:6]} and "
                    f"{names[:6]}. All files need the same columns in the same order."
                )
        self.feature_names = chosen_columns(names, roles, paths[0])
        self.n_features = len(self.feature_names)
        sizes = [
            [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
            for file in files
        ]
        self.pieces = divide(sizes, rows_of_block(self.n_features, block_rows))

    def __len__(self) -> int:
        return len(self.pieces)

    def read(self, k: int) -> Block:
        """Decode the row groups of a block."""
        table = self.table(k, self._columns)
        X = np.empty((table.num_rows, self.n_features))
        for j, name in enumerate(self.feature_names or ()):
            column = table.column(name)
            try:
                X[:, j] = column.to_numpy()
            except (TypeError, ValueError) as error:
                raise BlockError(
                    k, f"has values in the column {name!r} that are no numbers ({column.type})"
                ) from error
        return self.roles.block(X, lambda name: table.column(name).to_numpy())

    def frame(self, k: int) -> Any:
        """The rows of a block as a data frame, with all columns."""
        frame = self.table(k, self._columns).to_pandas()
        frame.columns = frame.columns.map(str)  # pandas may have written names that are numbers
        return frame

    def table(self, k: int, columns: list[str]) -> Any:
        """The rows of a block as a table of pyarrow."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for piece in self.pieces[k]:
            with pq.ParquetFile(self.paths[piece.file]) as file:
                if piece.is_whole:
                    tables.append(file.read_row_group(piece.group, columns=columns))
                else:
                    tables += slices(file, piece, columns)
        return pa.concat_tables(tables)

    @property
    def _columns(self) -> list[str]:
        others = [name for name in (self.roles.target, self.roles.weight) if name is not None]
        return [*(self.feature_names or ()), *others]

    def fingerprint(self, k: int) -> tuple:
        """Size and time of the files, and the row groups."""
        return tuple((*file_stamp(self.paths[one.file]), *one) for one in self.pieces[k])


def slices(file: Any, piece: Piece, columns: list[str]) -> list[Any]:
    """Some rows of a row group, of which no more than that is in memory."""
    import pyarrow as pa

    found, begin = [], 0
    size = piece.end - piece.begin
    for batch in file.iter_batches(min(size, 65_536), row_groups=[piece.group], columns=columns):
        end = begin + batch.num_rows
        if end > piece.begin and begin < piece.end:
            first = max(piece.begin - begin, 0)
            found.append(batch.slice(first, min(end, piece.end) - begin - first))
        begin = end
        if begin >= piece.end:
            break
    return [pa.Table.from_batches(found)]


def divide(sizes: list[list[int]], rows: int) -> list[list[Piece]]:
    """Blocks of about so many rows: small row groups together, large ones in parts."""
    blocks: list[list[Piece]] = []
    room = 0
    for file, groups in enumerate(sizes):
        for group, n in enumerate(groups):
            if n >= SPLIT * rows:
                parts = np.linspace(0, n, -(-n // rows) + 1).astype(int).tolist()
                for begin, end in pairwise(parts):
                    blocks.append([Piece(file, group, begin, end, False)])
                room = 0
                continue
            if n > room or not blocks:
                blocks.append([])
                room = max(rows, n)
            blocks[-1].append(Piece(file, group, 0, n, True))
            room -= n
    return blocks


def from_parquet(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    block_rows: int | None = None,
) -> Blocks:
    """Blocks of Parquet files: row groups, of which small ones are joined and large ones split.

    Parameters
    ----------
    path : path or list of paths
        One file, several, or a folder of files (in the order of their names).
    target : str, optional
        Column of the labels; not needed for predictions.
    features : sequence of str, optional
        Columns of numbers to learn from; by default all others.
    sample_weight : str, optional
        Column of the sample weights.
    block_rows : int, optional
        Rows of a block, about; by default as many as have 32 MiB in float64.

    Returns
    -------
    Blocks
        To be passed to ``fit`` or ``predict`` instead of X.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from bayespoint.rows import from_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.parquet")
    ...     pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"]}), file)
    ...     blocks = from_parquet(file, target="y")
    ...     blocks.feature_names, blocks.read(0).y
    (['a'], array(['no', 'yes', 'no'], dtype=object))
    """
    require("pyarrow", "parquet", "A Parquet file")
    given = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    paths: list[Path] = []
    for one in (Path(name).absolute() for name in given):  # workers may be in other folders
        paths += sorted(one.glob("*.parquet")) if one.is_dir() else [one]
    if not paths:
        raise FileNotFoundError(f"There is no .parquet file in {given}.")
    return ParquetBlocks(paths, Roles(target, features, sample_weight), block_rows)
