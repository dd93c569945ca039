"""Tables that commands write, and checks that they can be written."""

from __future__ import annotations

import sys
from os.path import exists, isdir, isfile  # without errors, unlike methods of Path
from pathlib import Path
from typing import Any

import pandas as pd

from bayespoint.cli.options import STDIO, Output
from bayespoint.cli.output.errors import ESCAPED, bad_usage
from bayespoint.tools.extras import require
from bayespoint.tools.files import check_writable, replacing

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that a spreadsheet runs
PARQUET = {".parquet", ".pq"}


def check_output(output: Output, *inputs: Path, as_json: bool) -> None:
    """End the command now, not after a long run, if a file cannot be written later."""
    path = output.out
    if as_json and path == STDIO:
        bad_usage("--json and --out - would both write to standard output")
    if path == STDIO and sys.stdout is None:
        bad_usage("--out - writes to standard output, which is closed")
    if path is None or path == STDIO:
        return
    if path.suffix.lower() in PARQUET:
        require("pyarrow", "parquet", str(path))
    elif not is_csv(path):
        bad_usage(f"the name of --out {path} must end in .csv, .csv.gz or .parquet, or be -")
    check_place(path, "--out", *inputs, force=output.force)


def check_place(path: Path, option: str, *inputs: Path, force: bool) -> None:
    """End the command if a file cannot be written here, or exists and is not to be replaced."""
    for other in inputs:
        if exists(path) and exists(other) and path.samefile(other):
            bad_usage(f"{option} {path} would overwrite an input file")
    if isdir(path):
        bad_usage(f"cannot write {option} {path}: it is a folder")
    if not isdir(path.parent):
        bad_usage(f"cannot write {option} {path}: there is no folder {path.parent}")
    if isfile(path) and not force:
        bad_usage(f"{path} exists already; --force overwrites it")
    try:
        check_writable(path)
    except OSError as error:
        bad_usage(f"cannot write {option} {path}: {error.strerror}")


def is_csv(path: Path) -> bool:
    """Whether a file is CSV by its name, compressed or not."""
    return path.name.lower().endswith((".csv", ".csv.gz"))


def write_output(frame: pd.DataFrame, output: Output) -> None:
    """Write the table of a command, if it is wanted."""
    if output.out is not None:
        write_table(frame, output.out, for_spreadsheet=output.for_spreadsheet)


def write_table(frame: pd.DataFrame, path: Path, *, for_spreadsheet: bool = False) -> None:
    """Write a table in the format that the name of the file says; "-" is CSV on standard output.

    CSV is UTF-8. ``for_spreadsheet`` marks text that a spreadsheet would run as a formula.
    """
    if for_spreadsheet and (path == STDIO or is_csv(path)):
        frame = frame.rename(columns=without_formula).map(without_formula)
    if path == STDIO:
        sys.stdout.flush()
        sys.stdout.buffer.write(frame.to_csv(index=False).encode("utf-8", ESCAPED))
        sys.stdout.buffer.flush()
        return
    with replacing(path) as draft:
        if path.suffix.lower() in PARQUET:
            frame = frame.copy(deep=False)
            frame.attrs = {}  # the folder of a table, which its readers need not know
            frame.to_parquet(draft, index=False, engine="pyarrow")
        else:
            frame.to_csv(draft, index=False, errors=ESCAPED)


def without_formula(cell: Any) -> Any:
    """A cell with an apostrophe before text that a spreadsheet would run, such as =1+1."""
    is_formula = isinstance(cell, str) and cell.startswith(FORMULA)
    return f"'{cell}" if is_formula else cell
