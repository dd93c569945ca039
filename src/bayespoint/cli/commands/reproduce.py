"""``bayespoint reproduce``: run published experiments and set printed beside measured values."""

from __future__ import annotations

from pathlib import Path
from traceback import print_exc
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.errors import ExitCode, bad_usage, is_interrupt, say_error
from bayespoint.cli.messages import print_json
from bayespoint.tools.extras import require


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help=f"Experiments: {', '.join(options.EXPERIMENTS)}; or all."
        ),
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
            "--virtual", help="Train with virtual digits, too (large-scale; a GPU helps)."
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
    from papers.datasets import data_folder

    from bayespoint.cli.reproduction import choose, prepare, run_one, show_run
    from bayespoint.exceptions import DataUnavailableError, one_line
    from papers import Context

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
