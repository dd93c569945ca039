"""Blocks of CSV files, from places that a first reading finds."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayespoint.exceptions import BlockError
from bayespoint.rows.base import Block, Blocks, Roles, chosen_columns, file_stamp, rows_of_block
from bayespoint.tools.extras import require

CLOSING = re.compile(rb'[^"]*(?:""[^"]*)*"(?!")')  # up to the mark that closes a cell; "" is text


class CsvBlocks(Blocks):
    """Lines of a CSV file, as :func:`from_csv` divides them."""

    def __init__(
        self,
        path: Path,
        roles: Roles,
        block_rows: int | None,
        delimiter: str = ",",
        encoding: str = "utf-8",
        missing: Sequence[str] = (),
        text: Sequence[str] = (),
    ) -> None:
        check_encoding(encoding)
        if len(delimiter) != 1:
            raise ValueError(f"The delimiter must be a single character. Got {delimiter!r}.")
        self.path, self.roles = path, roles
        self.delimiter, self.encoding, self.missing = delimiter, encoding, list(missing)
        self.text = dict.fromkeys(text, str)
        with path.open("rb") as file:
            opening = opening_mark(delimiter, encoding)
            head = read_header(file, opening)
            if not head.strip():
                raise ValueError(f"{path} is empty.")
            self.names = [str(name).strip() for name in self._frame(head, header=0).columns]
            self.feature_names = chosen_columns(self.names, roles, path)
            self.n_features = len(self.feature_names)
            size = rows_of_block(self.n_features, block_rows)
            self.places = find_places(file, len(head), size, opening)
        if not self.places:
            raise ValueError(f"{path} has a quotation mark that is never closed.")
        if len(self.places) < 2 and b"\r" in head.strip():
            raise ValueError(
                f"{path} has lines that end with carriage returns only, and cannot be read in "
                "blocks. Convert the line breaks, or make a Parquet file of it."
            )
        if len(self.places) < 2:
            raise ValueError(f"{path} has a header but no rows.")

    def __len__(self) -> int:
        return len(self.places) - 1

    def read(self, k: int) -> Block:
        """Parse the lines of a block."""
        import pandas as pd

        frame = self.frame(k)
        X = frame[self.feature_names].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
        lost = np.isnan(X) & frame[self.feature_names].notna().to_numpy()
        if lost.any():
            row, column = (int(index) for index in np.argwhere(lost)[0])
            name = (self.feature_names or [])[column]
            value = frame[name].iloc[row]
            raise BlockError(k, f"has {value!r} in row {row}, column {name!r}: no number")
        return self.roles.block(X, lambda name: frame[name].to_numpy())

    def frame(self, k: int) -> Any:
        """The lines of a block as a data frame, with all columns."""
        begin, end = self.places[k : k + 2]
        with self.path.open("rb") as file:
            file.seek(begin)
            content = file.read(end - begin)
        import pandas as pd

        # A warning of cells beyond the header is an error.
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            try:
                return self._frame(content, header=None, names=self.names)
            except pd.errors.ParserWarning:
                problem = f"has rows of more cells than the {len(self.names)} of the header"
                raise BlockError(k, problem) from None
            except pd.errors.ParserError as error:
                raise BlockError(k, f"cannot be read: {str(error).strip('. ')}") from error

    def _frame(self, content: bytes, **how: Any) -> Any:
        import pandas as pd

        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            how["float_precision"] = "round_trip"  # the default is exact from 3.1 on
        return pd.read_csv(
            io.BytesIO(content),
            sep=self.delimiter,
            encoding=self.encoding,
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
            na_values=self.missing,
            dtype=self.text,
            **how,
        )

    def fingerprint(self, k: int) -> tuple:
        """Size and time of the file, and the place of the block in it."""
        return *file_stamp(self.path), *self.places[k : k + 2]


def check_encoding(encoding: str) -> None:
    """Raise an error unless line breaks and quotation marks are single bytes."""
    try:
        is_simple = '\n"'.encode(encoding).endswith(b'\n"')
    except LookupError:
        raise ValueError(f"There is no encoding {encoding!r}. Most files have 'utf-8'.") from None
    if not is_simple:
        raise ValueError(
            f"A file with the encoding {encoding!r} cannot be read in blocks: its line breaks are "
            "no single bytes. Convert it to UTF-8, or make a Parquet file of it."
        )


def opening_mark(delimiter: str, encoding: str) -> re.Pattern[bytes]:
    """A quotation mark that opens a cell: at its begin. Others, as in 5" screens, are text."""
    between = f'"{delimiter}'.encode(encoding).rpartition(b'"')[2]  # without a mark of the encoding
    return re.compile(b"(?:^|" + re.escape(between) + b') *"')


def is_open(line: bytes, inside: bool, opening: re.Pattern[bytes]) -> bool:
    """Whether a quoted cell goes on after a line; ``inside`` says whether one does before it."""
    place = 0
    while mark := (CLOSING.match if inside else opening.search)(line, place):
        inside, place = not inside, mark.end()
    return inside


def read_header(file: Any, opening: re.Pattern[bytes]) -> bytes:
    """The first line with text, which may have line breaks within quotation marks."""
    head, inside = b"", False
    for line in iter(file.readline, b""):
        head += line
        inside = is_open(line, inside, opening)
        if line.strip() and not inside:
            break
    return head


def find_places(file: Any, begin: int, rows: int, opening: re.Pattern[bytes]) -> list[int]:
    """Where blocks of so many rows begin, and where the last one ends.

    A line break within quotation marks ends no row. There are no places if they do not end.
    """
    places, n, inside, place = [begin], 0, False, begin
    for line in file:
        place += len(line)
        if b'"' in line:
            inside = is_open(line, inside, opening)
        if not inside and line.strip():
            n += 1
            if n % rows == 0:
                places.append(place)
    if inside:
        return []
    if n % rows:
        places.append(place)
    return places


def from_csv(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    block_rows: int | None = None,
    delimiter: str = ",",
    encoding: str = "utf-8",
) -> Blocks:
    r"""Blocks of a CSV file, which is read once to find where they begin.

    Parameters
    ----------
    path : path
        The file, with a header, not packed.
    target : str, optional
        Column of the labels; not needed for predictions.
    features : sequence of str, optional
        Columns of numbers to learn from; by default all others.
    sample_weight : str, optional
        Column of the sample weights.
    block_rows : int, optional
        Rows of a block; by default as many as have 32 MiB in float64.
    delimiter : str, default=","
        What separates cells.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    Blocks
        To be passed to ``fit`` or ``predict`` instead of X.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayespoint.rows import from_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("a,b,y\n1,2,no\n3,4,yes\n5,6,no\n")
    ...     blocks = from_csv(file, target="y", block_rows=2)
    ...     blocks.read(1).X
    array([[5., 6.]])
    """
    require("pandas", "cli", "A CSV file")
    file = Path(path).absolute()  # workers may be in other folders
    if file.suffix.lower() in {".gz", ".bz2", ".zip", ".xz", ".zst"}:
        raise ValueError(
            f"{file} is packed, and cannot be read in blocks. Unpack it, or make a Parquet file "
            "of it."
        )
    roles = Roles(target, features, sample_weight)
    return CsvBlocks(file, roles, block_rows, delimiter, encoding)
