"""``bayespoint explain``: why a model predicts what it predicts for single rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import TableNotes

if not options.ONLY_HELP:
    from bayespoint.cli.models import model_errors, read_model, read_rows
    from bayespoint.cli.output.errors import bad_usage
    from bayespoint.reports import explain as explain_rows

FIRST = 3  # rows that are explained if none is named
TABLE = "Table that the model was trained on: what is typical, and whether a row is unlike all."


def explain(
    data: options.Data,
    model: options.ModelFile,
    row: Annotated[
        list[int] | None, option("N", "Row to explain, counted from 1; may be repeated.")
    ] = None,
    training: Annotated[Path | None, option("FILE", TABLE)] = None,
    *,
    notes: TableNotes,
) -> None:
    """Explain the predictions for single rows of a table.

    Shows the label with its probability, and the interval of that probability over the posterior;
    how much of the uncertainty is in the data and how much in the model; the columns that push the
    decision, compared with typical values; and, with --training, whether the row is unlike all
    training rows. Without --training, typical values are those of DATA.

    Example: bayespoint explain new.csv --model loans.bpm --row 7 --training loans.csv
    """
    read = read_model(model, notes)
    frame, _ = read.prepare(read_rows(data, read, notes), notes)
    known = frame
    if training is not None:
        known, _ = read.prepare(read_rows(training, read, notes), notes)
    chosen = row or list(range(1, min(FIRST, len(frame)) + 1))
    if not all(1 <= one <= len(frame) for one in chosen):
        bad_usage(f"--row must be from 1 to {len(frame)}, the rows of {data.name}")
    with notes.progress("explaining"), model_errors(model):
        places = [one - 1 for one in chosen]
        found = explain_rows(read.pipeline, frame.iloc[places], training=known)
    if training is None:  # of a row that is in the table itself
        found = [replace(one, novelty=None) for one in found]
    named = list(zip(chosen, found, strict=True))
    rows = [{"row": number, **vars(one)} for number, one in named]
    notes.end({"rows": rows}, *(f"row {number}\n{one}" for number, one in named))
