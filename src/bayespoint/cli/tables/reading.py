"""Tables from files: CSV as programs write it, and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import pandas as pd

from bayespoint.cli.options import STDIO
from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.cli.output.printing import Notes, ProgressMonitor, TableNotes, count, listed
from bayespoint.cli.tables.columns import FOLDER, is_code
from bayespoint.cli.tables.writing import PARQUET
from bayespoint.rows.base import Roles
from bayespoint.rows.csv import CsvBlocks
from bayespoint.rows.parquet import ParquetBlocks
from bayespoint.tools.extras import require

DELIMITERS = (",", ";", "\t", "|")
HEAD = 65_536  # characters in which the delimiter is looked for
LINES = 20  # lines of them
ALSO_MISSING = ["?"]  # a missing value in many public data sets, beside those that pandas knows
SHEETS = {".xls", ".xlsx", ".xlsm", ".ods"}
UTF16_MARKS = (0xFF, 0xFE)  # first bytes of such files
BLOCK_ROWS = 65_536  # rows of a block: some have columns of text
GZIP, MAGIC = b"\x1f\x8b", b"PAR1"  # first bytes of gzip and of Parquet
OTHERS = {  # first bytes of other formats
    b"PK\x03\x04": "it is a zip archive; extract it first",
    b"BZh": "it is compressed with bzip2; decompress it first",
    b"\xfd7zXZ": "it is compressed with xz; decompress it first",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd; decompress it first",
    b"ARROW1": "it is a Feather file; save it as Parquet or CSV",
    MAGIC: "it is a Parquet file; its name must end in .parquet",
    GZIP: "it is compressed with gzip; its name must end in .gz",
}
NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
JSON = re.compile(r'\s*[\[{]\s*["\[{]')


def read_table(path: Path, notes: TableNotes, text: Collection[str] = ()) -> pd.DataFrame:
    """The table in a file, or of standard input; ends the command if there is none.

    ``text`` are columns to be read as text, even if they look like numbers.
    """
    with reading_errors(path, notes.encoding), ProgressMonitor(f"reading {name_of(path)}"):
        content = None
        if path == STDIO:
            content = standard_input()
        elif path.is_fifo():  # as in <(zcat table.csv.gz): it can be read only once, too
            content = path.read_bytes()
        is_parquet = content[:4] == MAGIC if content else path.suffix.lower() in PARQUET
        if is_parquet:
            require("pyarrow", "parquet", name_of(path))
            source = path if content is None else io.BytesIO(content)
            frame = pd.read_parquet(source, engine="pyarrow")
            frame.columns = frame.columns.map(str)
            check_names(path, list(frame.columns))
        else:
            frame = read_csv(path, notes.encoding, content, text)
    if frame.empty:
        broken(path, "it has a header but no rows" if len(frame.columns) else "it has no columns")
    frame = named_columns(frame, notes).reset_index(drop=True)
    frame.attrs[FOLDER] = str(path.parent)
    return frame


def open_blocks(path: Path, encoding: str) -> ParquetBlocks | CsvBlocks:
    """The rows of a file in blocks, all columns; ends the command if there are none."""
    if path.suffix.lower() in PARQUET:
        require("pyarrow", "parquet", str(path))
        return ParquetBlocks([path], Roles(), BLOCK_ROWS)
    if path.suffix.lower() == ".gz":
        bad_usage(f"{path} is compressed and cannot be read in blocks; decompress it first")
    known = with_mark(encoding)
    with opened(path, known) as file:
        head, delimiter = look_at(path, file)
    text = [name.strip() for name in text_columns(head, delimiter, ())]
    try:
        return CsvBlocks(path, Roles(), BLOCK_ROWS, delimiter, known, ALSO_MISSING, text)
    except ValueError as error:
        bad_data(str(error))


def named_columns(frame: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """The columns that have a name; pandas names the others itself."""
    unnamed = [name for name in frame if name.startswith("Unnamed: ")]
    if unnamed:
        notes.add(f"{count(len(unnamed), 'column')} without a name left out")
    return frame.drop(columns=unnamed)


def name_of(path: Path) -> str:
    """The name of what is read."""
    return "standard input" if path == STDIO else path.name


def standard_input() -> bytes:
    """All of it, since it can be read only once."""
    if sys.stdin is None:
        bad_usage("DATA - is standard input, which is closed")
    return sys.stdin.buffer.read()


def read_csv(
    path: Path, encoding: str, content: bytes | None, text: Collection[str]
) -> pd.DataFrame:
    """A CSV file, or what was read of one, with any of the usual delimiters, compressed or not."""
    with opened(path, with_mark(encoding), content) as file:
        head, delimiter = look_at(path, file)
        file.seek(0)
        # A warning of cells beyond the header is an error.
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            try:
                frame = pd.read_csv(
                    file,
                    sep=delimiter,
                    index_col=False,
                    skipinitialspace=True,
                    low_memory=False,
                    na_values=ALSO_MISSING,
                    dtype=dict.fromkeys(text_columns(head, delimiter, text), str),
                )
            except pd.errors.ParserWarning:
                names = listed(header(head, delimiter))
                broken(path, f"its rows have more cells than its header ({names})")
    frame.columns = frame.columns.map(lambda name: str(name).strip())
    return frame


def look_at(path: Path, file: IO[str]) -> tuple[str, str]:
    """The beginning of a CSV file, and its delimiter; ends the command if it is not CSV."""
    head = file.read(HEAD)
    if not head.strip():
        broken(path, "it is empty")
    if "\0" in head:
        broken(path, "it is not a text file; is it CSV?")
    if JSON.match(head):
        broken(path, "it is JSON; save it as CSV or Parquet")
    delimiter = find_delimiter(head)
    check_names(path, header(head, delimiter))
    return head, delimiter


def with_mark(encoding: str) -> str:
    """The encoding, in which UTF-8 may begin with a mark."""
    is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    return "utf-8-sig" if is_utf8 else encoding


def text_columns(head: str, delimiter: str, known: Collection[str]) -> list[str]:
    """Columns to be read as text: those that are known, and codes such as 02139, not 2139."""
    whole = head.lstrip()[: head.rfind("\n") + 1 or None]
    names, *rows = cells(whole, delimiter)
    codes = {place for row in rows for place, cell in enumerate(row) if is_code(cell.strip())}
    return [name for place, name in enumerate(names) if place in codes or name.strip() in known]


def opened(path: Path, encoding: str, content: bytes | None = None) -> IO[str]:
    """The file as text, or what was read of it; gzip is decompressed."""
    if path.suffix.lower() in SHEETS:
        broken(path, "it is a spreadsheet; save it as CSV")
    with path.open("rb") if content is None else io.BytesIO(content) as raw:
        start = raw.read(max(map(len, OTHERS)))
    is_gzip = path.suffix.lower() == ".gz" if content is None else start.startswith(GZIP)
    for first, words in OTHERS.items():
        if start.startswith(first) and not (first == GZIP and is_gzip):
            broken(path, words)
    source: Any = path if content is None else io.BytesIO(content)
    try:
        if is_gzip:
            return gzip.open(source, "rt", encoding=encoding, newline="")
        raw = path.open("rb") if content is None else source
        return io.TextIOWrapper(raw, encoding=encoding, newline="")
    except LookupError:
        bad_usage(f"there is no encoding {encoding!r}; try utf-8, latin-1 or utf-16")


def header(head: str, delimiter: str) -> list[str]:
    """Names of the columns."""
    return [name.strip() for name in next(cells(head.lstrip(), delimiter))]


def cells(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a CSV file, whose lines may end in any way."""
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def find_delimiter(head: str) -> str:
    """The delimiter that makes most columns, the same number in most lines."""
    lines = head.lstrip().splitlines()[:LINES]
    best, most = DELIMITERS[0], 1
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        if widths[0] > most and 2 * widths.count(widths[0]) >= len(widths):
            best, most = delimiter, widths[0]
    return best


def check_names(path: Path, names: list[str]) -> None:
    """End the command if columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        broken(path, f"several columns have the same name, {listed(twice)}{header_hint(names)}")


def header_hint(names: Collection[str]) -> str:
    """A question that ends a sentence, if names of columns look like values; else empty."""
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    may_be_names = len(set(numbers)) == len(numbers) and all(map(str.isdecimal, numbers))
    if may_be_names or 2 * len(numbers) < len(names):
        return ""
    return ". Is the header missing? The first line must have the names of the columns."


def broken(path: Path, what: str) -> NoReturn:
    """End the command: the file exists but does not contain a table."""
    bad_data(f"cannot read {'standard input' if path == STDIO else path}: {what}")


@contextmanager
def reading_errors(path: Path, encoding: str) -> Iterator[None]:
    """Turn errors while reading a file into messages."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        guess = "utf-16" if byte in UTF16_MARKS and error.start == 0 else "latin-1"
        broken(
            path,
            f"it is not encoded in {encoding.upper()} (byte 0x{byte:02x}); name its encoding, for "
            f"example --encoding {guess}",
        )
    except (pd.errors.ParserError, csv.Error) as error:
        broken(path, parser_words(str(error)))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        broken(path, "it is not a complete gzip file")
    except FileNotFoundError:
        bad_data(f"{path}: no such file")
    except OSError as error:
        broken(path, "it is a folder" if path.is_dir() else error.strerror or "input error")
    except ValueError as error:  # pyarrow's errors are ValueErrors
        if path.suffix.lower() not in PARQUET and path != STDIO:
            raise
        broken(path, f"it is not a Parquet file ({str(error).splitlines()[0].rstrip('.')})")


def parser_words(message: str) -> str:
    """The error of pandas for a broken CSV file, as a message."""
    cells = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if cells:
        return f"line {cells[2]} has {cells[3]} cells, the header has {cells[1]}"
    quote = re.search(r"EOF inside string starting at row (\d+)", message)
    if quote:
        return f"a quotation mark in row {quote[1]} is never closed"
    return message.removeprefix("Error tokenizing data. ")
