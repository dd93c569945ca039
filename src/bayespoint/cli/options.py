"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli.guarantees import HELD_OUT, LEVEL
from bayespoint.engines.base import ENGINES
from bayespoint.kernels import NAMES

ENGINE_NAMES = ("auto", *sorted(ENGINES))
KERNEL_NAMES = ("auto", *(name for name, make in NAMES.items() if not make().is_precomputed))

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a header: .csv, .csv.gz, .parquet, or - for standard input.",
    ),
]
Target = Annotated[str, typer.Option(metavar="COL", help="Column with the classes.")]
ModelFile = Annotated[Path, typer.Option("--model", metavar="FILE", help="Model file.")]
Engine = Annotated[str, typer.Option(metavar="NAME", help=f"Algorithm: {', '.join(ENGINE_NAMES)}.")]
Kernel = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(KERNEL_NAMES)}.")]
Param = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Parameter of the classifier or of the engine, such as noise=0.5, gamma=0.1 or "
        "engine__noise=0.5; may be repeated.",
    ),
]


Seed = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed: equal seeds give equal results."),
]


def check_jobs(jobs: int | None) -> int | None:
    """Refuse numbers that joblib does not accept."""
    if jobs == 0:
        raise typer.BadParameter("must not be 0; -1 uses all cores")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", callback=check_jobs, help="Number of threads; -1 uses all cores."),
]


def check_device(device: str | None) -> str | None:
    """Refuse a name that is not a device, and a GPU that cannot be used."""
    if device in (None, "cpu"):
        return device
    from bayespoint.gpu.devices import is_device_name, what_is_missing

    if not is_device_name(device):
        raise typer.BadParameter(f"must be cpu, cuda, cuda:1 or auto, not {device!r}")
    if device != "auto" and (missing := what_is_missing(device)):
        raise typer.BadParameter(f"{device!r} cannot be used: {missing}")
    return device


Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=check_device,
        help="Where to compute: cpu, cuda (or cuda:1), or auto, which uses a GPU if there is one.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", help="Column to use as numbers, whatever it looks like; may be repeated."
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", help="Column to use as categories, whatever it looks like; may be repeated."
    ),
]
TABLES = ".csv, .csv.gz or .parquet, or - for standard output."
Out = Annotated[Path, typer.Option(metavar="FILE", help=f"File to write: {TABLES}")]
OptionalOut = Annotated[Path | None, typer.Option(metavar="FILE", help=f"File to write: {TABLES}")]
ArrayOut = Annotated[Path, typer.Option(metavar="FILE", help=f"File to write: .npy, {TABLES}")]
ForSpreadsheet = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheet",
        help="Write an apostrophe before text in CSV that a spreadsheet would run as a formula "
        "(=, +, -, @). By default text stays as it is, for programs.",
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of CSV files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
MaxError = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Reject uncertain rows, so that the error on the accepted ones is at most R (0 to 1).",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(metavar="C", help=f"Probability that --max-error is kept; {LEVEL} by default."),
]
HoldOut = Annotated[
    float | None,
    typer.Option(
        metavar="S", help=f"Share of the rows that --max-error holds out; {HELD_OUT} by default."
    ),
]
