"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli.recipe import ENGINE_NAMES, KERNELS
from bayespoint.gpu.devices import is_device_name, what_is_missing

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Table with a header: .csv, .csv.gz or .parquet.")
]
Target = Annotated[str, typer.Option(metavar="COL", help="Column with the classes.")]
ModelFile = Annotated[Path, typer.Option("--model", metavar="FILE", help="File of the model.")]
Engine = Annotated[str, typer.Option(metavar="NAME", help=f"Algorithm: {', '.join(ENGINE_NAMES)}.")]
Kernel = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(KERNELS)}.")]
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
    """Refuse what joblib does not take."""
    if jobs == 0:
        raise typer.BadParameter("must not be 0; -1 is one for each core")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", callback=check_jobs, help="Threads; -1 is one for each core."),
]


def check_device(device: str | None) -> str | None:
    """Refuse what names no device, and a GPU that cannot be used."""
    if not is_device_name(device):
        raise typer.BadParameter(f"must be cpu, cuda, cuda:1 or auto, not {device!r}")
    if device not in (None, "cpu", "auto") and (missing := what_is_missing(device)):
        raise typer.BadParameter(f"{device!r} cannot be used: {missing}")
    return device


Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=check_device,
        help="Where to work: cpu, cuda (or cuda:1), or auto, which is a GPU if there is one.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column not to learn from; may be repeated.")
]
TABLES = "CSV, or .csv.gz or .parquet by its name, or - for standard output."
Out = Annotated[Path, typer.Option(metavar="FILE", help=f"Where to write: {TABLES}")]
OptionalOut = Annotated[Path | None, typer.Option(metavar="FILE", help=f"Where to write: {TABLES}")]
ArrayOut = Annotated[Path, typer.Option(metavar="FILE", help=f"Where to write: .npy, {TABLES}")]
ForSpreadsheet = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheet",
        help="Write an apostrophe before text in CSV that a spreadsheet would run as a formula "
        "(=, +, -, @). By default text stays as it is, for programs.",
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="How CSV files are encoded.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
