"""``bayespoint predict``: labels and probabilities for new rows."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from bayespoint.cli import options
from bayespoint.cli.errors import bad_usage
from bayespoint.cli.labels import check_column
from bayespoint.cli.messages import Notes, class_words, count, facts
from bayespoint.cli.models import read_model, read_rows
from bayespoint.cli.outputs import STDOUT, check_output, write_table
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.reject import RejectionCurve, confidence

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
Keep = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column of DATA to copy; may be repeated.")
]


def predict(
    data: options.Data,
    model: options.ModelFile,
    out: options.Out,
    reject_rate: RejectRate = None,
    reject_below: RejectBelow = None,
    keep: Keep = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of a table.

    Writes the columns label, p_CLASS for the probability of every class, and rejected (True or
    False) if rows may be rejected. Columns are found by their names, in any order.

    Example: bayespoint predict new.csv --model loans.bpm --out answers.csv --reject-rate 0.1
    """
    check_share("--reject-rate", reject_rate)
    check_share("--reject-below", reject_below)
    if reject_rate is not None and reject_below is not None:
        bad_usage("--reject-rate and --reject-below exclude each other")
    check_output(out, data, model, as_json=as_json)
    notes = Notes(aloud=not as_json)
    machine = read_model(model, notes)
    frame = read_rows(data, machine, encoding, notes)
    X, _ = machine.prepare(frame, notes)
    answers = ["label", *(f"p_{label}" for label in machine.classes), "rejected"]
    for name in keep or []:
        check_column(frame, name, "--keep")
        if name in answers:
            bad_usage(f"--keep {name}: the answers have a column of this name")
    with ProgressMonitor("predicting"):
        p = machine.pipeline.predict_proba(X)
        table = frame[list(dict.fromkeys(keep or []))].assign(label=machine.pipeline.predict(X))
    for column, label in zip(p.T, machine.classes, strict=True):
        table[f"p_{label}"] = column
    if reject_rate is not None or reject_below is not None:
        table["rejected"] = rejected(p, reject_rate, reject_below)
    write_table(table, out)
    labels = table["label"].value_counts().sort_index().to_dict()
    refused = int(table["rejected"].sum()) if "rejected" in table else None
    found = {"out": str(out), "rows": len(table), "labels": labels, "rejected": refused}
    lines = [("rows", str(len(table))), ("predicted", class_words(labels))]
    if refused is not None:
        lines.append(("rejected", count(refused, "row")))
    notes.end(found, facts(lines), f"Written to {out}.", to_stderr=out == STDOUT)


def check_share(option: str, share: float | None) -> None:
    """End the command unless this is a share."""
    if share is not None and not 0 <= share < 1:
        bad_usage(f"{option} must be a number from 0 to below 1, not {share:g}")


def rejected(p: NDArray, rate: float | None, below: float | None) -> NDArray[np.bool_]:
    """Rows whose largest probability is too small."""
    sure = confidence(p, "proba")
    if below is None:
        curve = RejectionCurve.from_confidence(sure, np.zeros(len(sure), dtype=bool))
        below = curve.at_rate(rate or 0.0).threshold
    return sure < below
