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
from typing import IO, NoReturn

import pandas as pd

from bayespoint.cli.columns import FOLDER, is_code
from bayespoint.cli.errors import bad_data, bad_usage
from bayespoint.cli.messages import Notes, count, listed
from bayespoint.cli.outputs import PARQUET
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.extras import require

DELIMITERS = (",", ";", "\t", "|")
HEAD = 65_536  # characters in which the delimiter is looked for
LINES = 20  # lines of them
ALSO_MISSING = ["?"]  # a missing value in many public data sets, beside those that pandas knows
SHEETS = {".xls", ".xlsx", ".xlsm", ".ods"}
UTF16_MARKS = (0xFF, 0xFE)  # first bytes of such files
STDIN = Path("-")
GZIP, MAGIC = b"\x1f\x8b", b"PAR1"  # first bytes of gzip and of Parquet


def read_table(path: Path, encoding: str, notes: Notes, text: Collection[str] = ()) -> pd.DataFrame:
    """The table in a file, or of standard input; ends the command if there is none.

    ``text`` are columns to be read as text, even if they look like numbers.
    """
    with reading_errors(path, encoding), ProgressMonitor(f"reading {name_of(path)}"):
        content = standard_input() if path == STDIN else None
        is_parquet = content[:4] == MAGIC if content else path.suffix.lower() in PARQUET
        if is_parquet:
            require("pyarrow", "parquet", name_of(path))
            source = path if content is None else io.BytesIO(content)
            frame = pd.read_parquet(source, engine="pyarrow")
            frame.columns = frame.columns.map(str)
            check_names(path, list(frame.columns))
        else:
            frame = read_csv(path, encoding, content, text)
    if frame.empty:
        broken(path, "it has a header but no rows" if len(frame.columns) else "it has no columns")
    unnamed = [name for name in frame if name.startswith("Unnamed: ")]
    if unnamed:
        notes.add(f"{count(len(unnamed), 'column')} without a name left out")
    frame = frame.drop(columns=unnamed).reset_index(drop=True)
    frame.attrs[FOLDER] = str(path.parent)
    return frame


def name_of(path: Path) -> str:
    """What is read, in words."""
    return "standard input" if path == STDIN else path.name


def standard_input() -> bytes:
    """All of it, since it can be read only once."""
    if sys.stdin is None:
        bad_usage("DATA - is standard input, which is closed")
    return sys.stdin.buffer.read()


def read_csv(
    path: Path, encoding: str, content: bytes | None, text: Collection[str]
) -> pd.DataFrame:
    """A CSV file, or what was read of one, with any of the usual delimiters, packed or not."""
    if path.suffix.lower() in SHEETS:
        broken(path, "it is a spreadsheet; save it as CSV")
    is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    with opened(path, "utf-8-sig" if is_utf8 else encoding, content) as file:
        head = file.read(HEAD)
        if not head.strip():
            broken(path, "it is empty")
        if "\0" in head:
            broken(path, "it is no text; is it a CSV file?")
        delimiter = find_delimiter(head)
        check_names(path, header(head, delimiter))
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # cells beyond the header
            frame = pd.read_csv(
                file, sep=delimiter, index_col=False, skipinitialspace=True, na_values=ALSO_MISSING,
                low_memory=False, dtype=dict.fromkeys(text_columns(head, delimiter, text), str),
            )  # fmt: skip
    frame.columns = frame.columns.map(lambda name: str(name).strip())
    return frame


def text_columns(head: str, delimiter: str, known: Collection[str]) -> list[str]:
    """Columns to be read as text: those that are known, and codes such as 02139, not 2139."""
    whole = head.lstrip()[: head.rfind("\n") + 1 or None]
    names, *rows = csv.reader(io.StringIO(whole), delimiter=delimiter, skipinitialspace=True)
    codes = {place for row in rows for place, cell in enumerate(row) if is_code(cell.strip())}
    return [name for place, name in enumerate(names) if place in codes or name.strip() in known]


def opened(path: Path, encoding: str, content: bytes | None = None) -> IO[str]:
    """The file as text, or what was read of it; gzip is unpacked."""
    try:
        if content is not None:
            is_packed = content[:2] == GZIP
            raw = gzip.GzipFile(fileobj=io.BytesIO(content)) if is_packed else io.BytesIO(content)
            return io.TextIOWrapper(raw, encoding=encoding, newline="")
        if path.suffix.lower() == ".gz":
            return gzip.open(path, "rt", encoding=encoding, newline="")
        return open(path, encoding=encoding, newline="")
    except LookupError:
        bad_usage(f"no encoding is named {encoding!r}; try utf-8, latin-1 or utf-16")


def header(head: str, delimiter: str) -> list[str]:
    """Names of the columns."""
    rows = csv.reader(io.StringIO(head.lstrip()), delimiter=delimiter, skipinitialspace=True)
    return [name.strip() for name in next(rows)]


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
    """End the command if columns cannot be told apart by their names."""
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        broken(path, f"it has more than one column named {listed(twice)}")


def broken(path: Path, what: str) -> NoReturn:
    """End the command: the file exists but does not contain a table."""
    bad_data(f"cannot read {'standard input' if path == STDIN else path}: {what}")


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
            f"it is not written in {encoding.upper()} (byte 0x{byte:02x}); name its encoding, "
            f"for instance --encoding {guess}",
        )
    except pd.errors.ParserWarning:
        broken(path, "its rows have more cells than its header")
    except (pd.errors.ParserError, csv.Error) as error:
        broken(path, parser_words(str(error)))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        broken(path, "it is not a whole gzip file")
    except FileNotFoundError:
        bad_data(f"{path}: no such file")
    except OSError as error:
        broken(path, "it is a folder" if path.is_dir() else error.strerror or "input error")
    except ValueError as error:  # pyarrow's errors are ValueErrors
        if path.suffix.lower() not in PARQUET and path != STDIN:
            raise
        broken(path, f"it is no Parquet file ({str(error).splitlines()[0].rstrip('.')})")


def parser_words(message: str) -> str:
    """The error of pandas for a broken CSV file, as a message."""
    cells = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if cells:
        return f"line {cells[2]} has {cells[3]} cells, the header has {cells[1]}"
    quote = re.search(r"EOF inside string starting at row (\d+)", message)
    if quote:
        return f"a quotation mark in row {quote[1]} is never closed"
    return message.removeprefix("Error tokenizing data. ")
