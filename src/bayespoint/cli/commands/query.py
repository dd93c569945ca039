"""``bayespoint query``: the rows most worth a label."""

from __future__ import annotations

from typing import Annotated

import typer

from bayespoint.active.strategies import STRATEGIES
from bayespoint.cli import options
from bayespoint.cli.output.errors import bad_usage, check_name
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.output.printing import numbers_table
from bayespoint.cli.output.progress import ProgressMonitor

SHOWN = 20  # rows that the terminal shows


def query(
    data: options.Data,
    model: options.ModelFile,
    n: Annotated[int, typer.Option(metavar="N", min=1, help="How many rows.")] = 10,
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(STRATEGIES)}.")
    ] = "entropy",
    out: options.OptionalOut = None,
    seed: options.Seed = 0,
    for_spreadsheet: options.ForSpreadsheet = False,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Choose the rows of a table whose labels would teach the model most.

    Rows that have a value in the target column are left out. Several rows are chosen together, so
    that none repeats another. Writes their numbers (the first row below the header is 1), what
    each is worth alone, and their own columns, in the order of what they are worth.

    Example: bayespoint query unlabelled.csv --model loans.bpm --n 20 --out ask.csv
    """
    import pandas as pd

    from bayespoint.cli.models import model_errors, read_model, read_rows
    from bayespoint.cli.queries import choose, unlabelled
    from bayespoint.cli.tables.writing import STDOUT, check_output, write_table

    check_name("strategy", strategy, STRATEGIES)
    check_output(out, data, model, as_json=as_json)
    notes = Notes(aloud=not as_json)
    machine = read_model(model, notes)
    frame = read_rows(data, machine, encoding, notes)
    X, _ = machine.prepare(frame, notes)
    pool = unlabelled(frame, machine, notes)
    if n > len(pool):
        bad_usage(f"--n {n} is more than the {count(len(pool), 'row')} to choose from")
    with ProgressMonitor("choosing"), model_errors(model):
        chosen, scores = choose(machine, X.iloc[pool], n, strategy, seed)
    rows = pool[chosen]
    told = pd.DataFrame({"row": rows + 1, "score": scores})
    if out is not None:
        own = frame.iloc[rows].reset_index(drop=True)
        write_table(pd.concat([told, own], axis=1), out, for_spreadsheet=for_spreadsheet)
    found = {"out": None if out is None else str(out), "strategy": strategy}
    lines = zip(map(str, told["row"]), (f"{s:.3f}" for s in scores), strict=True)
    shown = numbers_table(["row", strategy], list(lines)[:SHOWN])
    more = [f"{n - SHOWN} more."] if n > SHOWN else []
    end = [] if out is None else [f"Written to {out}."]
    notes.end({**found, **told.to_dict("list")}, shown, *more, *end, to_stderr=out == STDOUT)
