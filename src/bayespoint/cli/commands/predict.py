"""``bayespoint predict``: labels and probabilities for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes, class_words, count
from bayespoint.cli.output.printing import facts
from bayespoint.cli.output.progress import ProgressMonitor

RejectRate = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Reject this share of the rows of this table, from 0 to 1: those whose largest "
        "probability is smallest. Rows of equal probability go together, so it may be less.",
    ),
]
RejectBelow = Annotated[
    float | None,
    typer.Option(metavar="P", help="Reject every row whose largest probability is below P."),
]
Calibrate = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table with classes that the model was not trained on: set the threshold for "
        "--max-error with it.",
    ),
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column of DATA to copy; may be repeated.")
]


def predict(
    data: options.Data,
    model: options.ModelFile,
    out: options.Out,
    reject_rate: RejectRate = None,
    reject_below: RejectBelow = None,
    calibrate: Calibrate = None,
    max_error: options.MaxError = None,
    confidence: options.Confidence = None,
    keep: Keep = None,
    device: options.Device = None,
    for_spreadsheet: options.ForSpreadsheet = False,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of a table.

    Writes the columns label, p_CLASS for the probability of every class, and rejected (True or
    False) if rows may be rejected. Columns are found by their names, in any order.

    A model that was trained with --max-error rejects by its threshold. For other models, or for
    another error, --calibrate sets the threshold on a table whose classes are known.

    Example: bayespoint predict new.csv --model loans.bpm --out answers.csv --reject-rate 0.1
    """
    from bayespoint.cli import guarantees
    from bayespoint.cli.models import model_errors, read_model, read_rows
    from bayespoint.cli.rejection import calibrated, check_share, rejected
    from bayespoint.cli.tables.labels import check_column
    from bayespoint.cli.tables.writing import STDOUT, check_output, write_table

    check_share("--reject-rate", reject_rate)
    check_share("--reject-below", reject_below)
    ways = {
        "--reject-rate": reject_rate, "--reject-below": reject_below, "--calibrate": calibrate,
        "--max-error": max_error,
    }  # fmt: skip
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1 and given != ["--calibrate", "--max-error"]:
        bad_usage(f"{' and '.join(given)} exclude each other")
    options.check_guarantee(max_error, confidence=confidence)
    check_output(out, data, model, *([calibrate] if calibrate else []), as_json=as_json)
    notes = Notes(aloud=not as_json)
    machine = read_model(model, notes)
    machine.predict_on(device, notes)
    selective = None
    if reject_rate is None and reject_below is None:
        selective = calibrated(machine, calibrate, max_error, confidence, encoding, notes)
    elif machine.guarantee is not None:
        notes.add(f"the error that the model guarantees does not hold with {given[0]}")
    frame = read_rows(data, machine, encoding, notes)
    X, _ = machine.prepare(frame, notes)
    machine.compare(X, notes)
    answers = ["label", *(f"p_{label}" for label in machine.classes), "rejected"]
    for name in keep or []:
        check_column(frame, name, "--keep")
        if name in answers:
            bad_usage(f"--keep {name}: the answers have a column of this name")
    with ProgressMonitor("predicting"), model_errors(model):
        p = machine.pipeline.predict_proba(X)
        table = frame[list(dict.fromkeys(keep or []))].assign(label=machine.pipeline.predict(X))
    for column, label in zip(p.T, machine.classes, strict=True):
        table[f"p_{label}"] = column
    if selective is not None:
        reject_below = selective.threshold_
    if reject_rate is not None or reject_below is not None:
        table["rejected"] = rejected(p, reject_rate, reject_below)
    guarantee = getattr(selective, "guarantee_", None)
    write_table(table, out, for_spreadsheet=for_spreadsheet)
    labels = table["label"].value_counts().sort_index().to_dict()
    refused = int(table["rejected"].sum()) if "rejected" in table else None
    found = {"out": str(out), "rows": len(table), "labels": labels, "rejected": refused}
    found["guarantee"] = guarantees.as_json(guarantee)
    lines = [("rows", str(len(table))), ("predicted", class_words(labels))]
    if refused is not None:
        lines.append(("rejected", count(refused, "row")))
    lines += guarantees.lines(guarantee)
    notes.end(found, facts(lines), f"Written to {out}.", to_stderr=out == STDOUT)
