"""``bayespoint sample-weights``: classifiers from the posterior of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.output.printing import facts
from bayespoint.cli.output.progress import ProgressMonitor


def sample_weights(
    model: options.ModelFile,
    out: options.ArrayOut,
    n: Annotated[int, typer.Option(metavar="N", min=1, help="How many draws.")] = 100,
    seed: options.Seed = 0,
    for_spreadsheet: options.ForSpreadsheet = False,
    as_json: options.AsJson = False,
) -> None:
    """Draw weight vectors from the posterior of a model.

    One row for each draw, or, with more than two classes, for each draw and class (columns draw
    and class). The weights have the names of the features if the kernel is linear; else they are
    coordinates in the basis that the engine works in. A .npy file holds the weights alone.

    Example: bayespoint sample-weights --model loans.bpm --n 1000 --out weights.csv
    """
    import pandas as pd

    from bayespoint.cli.models import model_errors, read_model
    from bayespoint.cli.tables.writing import STDOUT, check_output, write_table
    from bayespoint.cli.weights import numbered, weight_names

    check_output(out, model, as_json=as_json, arrays=True)
    notes = Notes(aloud=not as_json)
    read = read_model(model, notes, needs_table=False)
    with ProgressMonitor("drawing"), model_errors(model):
        weights = read.machine.draw_weights(n, random_state=seed)
    names = weight_names(read, weights.shape[2], notes)
    table = pd.DataFrame(weights.reshape(-1, weights.shape[2]), columns=names)
    if out.suffix.lower() != ".npy":
        table = numbered(table, read, n)
    write_table(table, out, for_spreadsheet=for_spreadsheet)
    found = {"out": str(out), "draws": n, "rows": len(table), "weights": names}
    told = facts([("drawn", f"{count(n, 'draw')} of {count(len(names), 'weight')}")])
    notes.end(found, told, f"Written to {out}.", to_stderr=out == STDOUT)
