"""``bayespoint reproduce``: run published experiments and set printed beside measured values."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from bayespoint.cli.errors import ExitCode, did_you_mean, fail, plain_errors, say_error
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.cli.tables import show_run
from bayespoint.datasets import data_folder
from bayespoint.exceptions import DataUnavailableError, one_line
from bayespoint.experiments import (
    EXPERIMENTS,
    Context,
    perform,
    write_index,
    write_run,
    write_summary,
)
from bayespoint.monitor import watch

ALL = "all"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help=f"Experiments: {', '.join(EXPERIMENTS)}; or {ALL}."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data, in seconds. The default.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's own data, in minutes; see --data.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with mnist.npz and uci/. By default the one that the environment "
            "variable BAYESPOINT_DATA names, or else OpenML is asked.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write to; made if it is not there.")
    ] = Path("results"),
    splits: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=2, help="Random splits of each set, where there are any (knapsack)."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes side by side, where parts can be (knapsack)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of tables, for programs.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an experiment that fails does so.")
    ] = False,
) -> None:
    """Repeat published experiments: printed beside measured values, pictures, and a page over all.

    Writes a PNG and a JSON file for every picture, results.json for every run, and over all of them
    index.html, summary.md and summary.json.

    Example: bayespoint reproduce large-scale --full --data my/data --out results
    """
    with plain_errors():
        chosen = choose(names)
        if quick and full:
            fail("--quick and --full exclude each other", ExitCode.USAGE)
        if data is not None:
            data_folder(data)  # an error now, not after a long run
        if find_spec("matplotlib") is None:
            message = 'pictures need matplotlib: pip install "bayespoint[plot]"'
            fail(message, ExitCode.NO_EXTRA)
        prepare(out)
        documents, code = [], 0
        for name in chosen:
            try:
                context = Context(full, data, out=out, n_splits=splits, n_jobs=jobs)
                documents.append(run_one(name, context))
            except Exception as error:
                if traceback:
                    raise
                expected = isinstance(error, DataUnavailableError)
                say_error(f"{name}: {error if expected else one_line(error)}")
                code = code or (ExitCode.NO_DATA if expected else ExitCode.FAILED)
            else:
                if not as_json:
                    show_run(documents[-1])
        finish(documents, out, as_json)
        raise typer.Exit(code)


def choose(names: Sequence[str] | None) -> list[str]:
    """Names of experiments to run, each once; ends the command where one is wrong."""
    there = f"There are: {', '.join(EXPERIMENTS)}; or {ALL}"
    if not names:
        fail(f"name an experiment. {there}", ExitCode.USAGE)
    for name in names:
        if name not in EXPERIMENTS and name != ALL:
            hint = did_you_mean(name, [*EXPERIMENTS, ALL])
            fail(f"no experiment is named {name!r}.{hint} {there}", ExitCode.USAGE)
    return list(EXPERIMENTS) if ALL in names else list(dict.fromkeys(names))


def prepare(out: Path) -> None:
    """Make the folder, and see now whether it can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        reason = "it is not a folder" if out.exists() and not out.is_dir() else error.strerror
        fail(f"cannot write to --out {out}: {reason}", ExitCode.USAGE)


def run_one(name: str, context: Context) -> dict[str, Any]:
    """Run an experiment under a progress bar, write its files, and return its document."""
    out = context.out or Path()
    with ProgressMonitor(name) as progress, watch(progress):
        run = perform(EXPERIMENTS[name], replace(context, tell=progress.tell))
        progress.tell("drawing")
        write_run(run, out)
    write_index(out)  # after each run, so that an interrupted command leaves a page
    write_summary(out)
    return run.document


def finish(documents: Sequence[dict[str, Any]], out: Path, as_json: bool) -> None:
    """Say where everything is."""
    index = out / "index.html" if documents else None
    if as_json:
        content = {"index": None if index is None else str(index), "runs": documents}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    elif index is not None:
        typer.echo(f"All of it, with pictures: {index}")
