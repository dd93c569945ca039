"""``python -m papers``: run the experiments, and print measured beside published values."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from traceback import print_exc
from typing import Annotated, Any

import typer
from rich.text import Text

from bayespoint.cli import options
from bayespoint.cli.app import single
from bayespoint.cli.output.errors import (
    ExitCode,
    bad_data,
    bad_usage,
    check_name,
    is_interrupt,
    run_app,
    say_error,
)
from bayespoint.cli.output.printing import NumbersTable, ProgressMonitor, facts, print_json, show
from bayespoint.exceptions import one_line
from bayespoint.tools.extras import require
from bayespoint.tools.monitor import watch
from papers import EXPERIMENTS, Context, perform, write_index, write_run, write_summary
from papers.cells import table_heads, table_rows, verdict_word
from papers.datasets import VARIABLE, DataUnavailableError, available, data_folder

ALL = "all"
VERDICT_STYLES = {"agrees": "green", "better": "cyan", "worse": "bold yellow"}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help=f"Experiments: {', '.join(EXPERIMENTS)}; or all."),
    ] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the experiments and the data sets, and exit.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data, in seconds. The default.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The data of the paper, in minutes; see --data.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with mnist.npz and uci/. By default the one that the environment variable "
            f"{VARIABLE} names; without it, data are downloaded from OpenML.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write to; created if it does not exist.")
    ] = Path("results"),
    splits: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Random splits of each data set (knapsack)."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Parallel processes (knapsack).")
    ] = None,
    virtual: Annotated[
        bool,
        typer.Option(
            "--virtual", help="Also train with virtual digits (large-scale; a GPU helps)."
        ),
    ] = False,
    device: options.Device = None,
    as_json: options.AsJson = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of an experiment that fails.")
    ] = False,
) -> None:
    """Repeat published experiments, and compare what is measured with what was printed.

    Writes a PNG and a JSON file for every figure, results.json for every run, and for all runs
    together index.html, summary.md and summary.json.

    Example: python -m papers large-scale --full --data my/data --out results
    """
    if list_them:
        return show(*overview(data))
    chosen = choose(names)
    if quick and full:
        bad_usage("--quick and --full exclude each other")
    check_folder(data)  # an error now, not after a long run
    require("matplotlib", "plot", "python -m papers")
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
        typer.echo(f"All results, with figures: {index}")
    raise typer.Exit(code)


def choose(names: Sequence[str] | None) -> list[str]:
    """Names of experiments to run, each once; ends the command if one is wrong."""
    known = [*EXPERIMENTS, ALL]
    if not names:
        bad_usage(f"name an experiment: {', '.join(known)}")
    for name in names:
        check_name("experiment", name, known)
    return list(EXPERIMENTS) if ALL in names else list(dict.fromkeys(names))


def check_folder(path: Path | None) -> Path | None:
    """The data folder; ends the command if the one that is named does not exist."""
    try:
        return data_folder(path)
    except DataUnavailableError as error:
        bad_data(str(error))


def prepare(out: Path) -> None:
    """Create the folder, and check that it is writable."""
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


def overview(data: Path | None) -> list[Any]:
    """The experiments and where their data come from, for the terminal."""
    folder = check_folder(data)
    where = f"{VARIABLE} is not set: OpenML" if folder is None else str(folder)
    sets = "" if folder is None else ", ".join(available(folder)) or "none"
    return [
        facts([(name, one.title) for name, one in EXPERIMENTS.items()]),
        facts([("data folder", where), *([("data sets", sets)] if sets else [])]),
    ]


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


def result_table(content: Mapping[str, Any]) -> NumbersTable:
    """A table with its title and its caption, verdicts in colours."""
    rows: list[list[str | Text]] = [
        [*cells, Text(verdict, style=VERDICT_STYLES.get(verdict_word(verdict), ""))]
        for *cells, verdict in table_rows(content)
    ]
    about = {"title": content["title"], "caption": content["caption"]}
    return NumbersTable(table_heads(content), rows, words_last=True, **about)


app = single(reproduce)


def run() -> int:
    """Run the command and return its exit code."""
    return run_app(app, "python -m papers")
