"""``bayespoint reproduce``: run published experiments and set printed beside measured values."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from traceback import print_exc
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bayespoint.cli import options
from bayespoint.cli.errors import ExitCode, bad_usage, check_name, is_interrupt, say_error
from bayespoint.cli.messages import numbers_table, print_json, show
from bayespoint.cli.progress import ProgressMonitor
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
from bayespoint.experiments.cells import table_heads, table_rows, verdict_word
from bayespoint.extras import require
from bayespoint.monitor import watch

ALL = "all"
VERDICT_STYLES = {"agrees": "green", "better": "cyan", "worse": "bold yellow"}


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
    virtual: Annotated[
        bool,
        typer.Option(
            "--virtual", help="Train with shifted digits, too (large-scale; a GPU helps)."
        ),
    ] = False,
    device: options.Device = None,
    as_json: options.AsJson = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an experiment that fails does so.")
    ] = False,
) -> None:
    """Repeat published experiments: printed beside measured values, pictures, and a page over all.

    Writes a PNG and a JSON file for every picture, results.json for every run, and over all of them
    index.html, summary.md and summary.json.

    Example: bayespoint reproduce large-scale --full --data my/data --out results
    """
    chosen = choose(names)
    if quick and full:
        bad_usage("--quick and --full exclude each other")
    if data is not None:
        data_folder(data)  # an error now, not after a long run
    require("matplotlib", "plot", "reproduce")
    prepare(out)
    documents, code = [], 0
    for name in chosen:
        try:
            context = Context(
                full, data, out=out, n_splits=splits, n_jobs=jobs, virtual=virtual, device=device
            )
            documents.append(run_one(name, context))
        except Exception as error:
            if is_interrupt(error):
                raise
            if traceback:
                print_exc()
            expected = isinstance(error, DataUnavailableError)
            say_error(f"{name}: {error if expected else one_line(error)}")
            code = code or (ExitCode.NO_DATA if expected else ExitCode.FAILED)
        else:
            if not as_json:
                show_run(documents[-1])
    index = out / "index.html" if documents else None
    if as_json:
        print_json({"index": None if index is None else str(index), "runs": documents})
    elif index is not None:
        typer.echo(f"All of it, with pictures: {index}")
    raise typer.Exit(code)


def choose(names: Sequence[str] | None) -> list[str]:
    """Names of experiments to run, each once; ends the command where one is wrong."""
    known = [*EXPERIMENTS, ALL]
    if not names:
        bad_usage(f"name an experiment. There are {', '.join(known)}")
    for name in names:
        check_name("experiment", name, known)
    return list(EXPERIMENTS) if ALL in names else list(dict.fromkeys(names))


def prepare(out: Path) -> None:
    """Make the folder, and check that it is writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        reason = "it is not a folder" if out.exists() and not out.is_dir() else error.strerror
        bad_usage(f"cannot write to --out {out}: {reason}")


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


def show_run(document: Mapping[str, Any]) -> None:
    """Print the setting and the tables of a run."""
    show(
        Text(f"\n{document['title']} ({document['mode']})", style="bold"),
        Text(document["paper"], style="italic"),
        *(f"{name}: {words}" for name, words in document["setting"].items()),
        *(Text(f"warning: {words}", style="yellow") for words in document["warnings"]),
        *map(result_table, document["tables"]),
        f"Time: {document['seconds']['all']:.1f} s",
    )


def result_table(content: Mapping[str, Any]) -> Table:
    """A table with its title and its caption, verdicts in colours."""
    rows: list[list[str | Text]] = [
        [*cells, Text(verdict, style=VERDICT_STYLES.get(verdict_word(verdict), ""))]
        for *cells, verdict in table_rows(content)
    ]
    table = numbers_table(table_heads(content), rows, words_last=True)
    table.title, table.caption = Text(content["title"], style="bold"), content["caption"]
    return table
