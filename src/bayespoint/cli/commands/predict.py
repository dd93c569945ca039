"""``bayespoint predict``: labels and probabilities for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bayespoint.cli import options
from bayespoint.cli.options import option, several
from bayespoint.cli.output.printing import TableNotes, class_words, count, facts

if not options.ONLY_HELP:
    import numpy as np
    from numpy.typing import NDArray

    from bayespoint.cli import guarantees
    from bayespoint.cli.models import Model, model_errors, read_labelled, read_model, read_rows
    from bayespoint.cli.output.errors import ExitCode, bad_data, bad_usage, fail
    from bayespoint.cli.tables.training import check_column
    from bayespoint.cli.tables.writing import check_output, write_output
    from bayespoint.exceptions import RiskNotReachedError
    from bayespoint.reject import LabelSets, RejectionCurve, SelectiveClassifier, label_sets
    from bayespoint.reject import confidence as confidence_of

RATE = (
    "Reject this share of the rows of this table, from 0 to 1: those whose largest probability is "
    "smallest. Rows of equal probability stay together, so it may be less."
)
TABLE = (
    "Table with classes that the model was not trained on, to set the threshold for --max-error."
)

RejectRate = Annotated[float | None, option("R", RATE)]
RejectBelow = Annotated[
    float | None, option("P", "Reject every row whose largest probability is below P.")
]
Calibrate = Annotated[Path | None, option("FILE", TABLE)]
SETS = (
    "Also write the set of labels that cannot be ruled out: the true one is in it with this "
    "probability. --calibrate makes it exact."
)
Coverage = Annotated[float | None, option("P", SETS)]
PerClass = Annotated[
    bool, typer.Option("--per-class", help="Let --coverage hold for the rows of each class.")
]
Keep = Annotated[options.Names, several("COL", "Column of DATA to copy")]


def predict(
    data: options.Data,
    model: options.ModelFile,
    output: options.RequiredOutput,
    reject_rate: RejectRate = None,
    reject_below: RejectBelow = None,
    calibrate: Calibrate = None,
    max_error: options.MaxError = None,
    confidence: options.Confidence = None,
    coverage: Coverage = None,
    per_class: PerClass = False,
    keep: Keep = None,
    device: options.Device = None,
    *,
    notes: TableNotes,
) -> None:
    """Predict the class of every row of a table.

    Writes the columns label, p_CLASS for the probability of every class, and rejected (True or
    False) if rows may be rejected. Columns are found by their names, in any order. With --coverage
    the column set has the labels that cannot be ruled out, such as a|b.

    A model that was trained with --max-error rejects by its threshold. For other models, or for
    another error, --calibrate sets the threshold on a table whose classes are known.

    Example: bayespoint predict new.csv --model loans.bpm --out answers.csv --reject-rate 0.1
    """
    shares = {"--reject-rate": reject_rate, "--reject-below": reject_below}
    for way, share in shares.items():
        if share is not None and not 0 <= share < 1:
            bad_usage(f"{way} must be at least 0 and less than 1, not {share:g}")
    ways = {**shares, "--calibrate": calibrate, "--max-error": max_error}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1 and given != ["--calibrate", "--max-error"]:
        bad_usage(f"{' and '.join(given)} exclude each other")
    guarantees.check(max_error, confidence=confidence)
    if coverage is not None and not 0 < coverage < 1:
        bad_usage(f"--coverage must be a number between 0 and 1, not {coverage:g}")
    if per_class and coverage is None:
        bad_usage("--per-class needs --coverage")
    inputs = [data, model, *([calibrate] if calibrate else [])]
    check_output(output, *inputs, as_json=notes.as_json)
    read = read_model(model, notes)
    read.predict_on(device, notes)
    selective = None
    sets_only = coverage is not None and max_error is None and read.guarantee is None
    if sets_only and calibrate is not None:
        notes.add(f"sets compare with {calibrate.name}, on which the model must not be trained")
    elif reject_rate is None and reject_below is None:
        selective = calibrated(read, calibrate, max_error, confidence, notes)
    elif read.guarantee is not None:
        notes.add(f"the error that the model guarantees does not hold with {given[0]}")
    frame = read_rows(data, read, notes)
    X, _ = read.prepare(frame, notes)
    read.compare(X, notes)
    kept = list(dict.fromkeys(keep or []))
    for name in kept:
        check_column(frame, name, "--keep")
        if name in ("label", "rejected", "set", *(f"p_{label}" for label in read.classes)):
            bad_usage(f"--keep {name}: the answers have a column of this name")
    with notes.progress("predicting"), model_errors(model):
        p = read.pipeline.predict_proba(X)
        table = frame[kept].assign(label=read.pipeline.predict(X))
    for column, label in zip(p.T, read.classes, strict=True):
        table[f"p_{label}"] = column
    if selective is not None:
        reject_below = selective.threshold_
    n_rejected = None
    if reject_rate is not None or reject_below is not None:
        table["rejected"] = rejected(p, reject_rate, reject_below)
        n_rejected = int(table["rejected"].sum())
    sets = None
    if coverage is not None:
        sets = sets_of(read, X, calibrate, notes, coverage=coverage, per_class=per_class)
        table["set"] = ["|".join(map(str, labels)) for labels in sets.labels]
    write_output(table, output)
    guarantee = getattr(selective, "guarantee_", None)
    labels = table["label"].value_counts().sort_index().to_dict()
    document = {"rows": len(table), "labels": labels, "rejected": n_rejected}
    document["guarantee"] = guarantee and guarantee.to_dict()
    document["sets"] = None if sets is None else guarantees.describe_sets(sets)
    lines = [
        ("rows", str(len(table))),
        ("predicted", class_words(labels)),
        ("rejected", "" if n_rejected is None else count(n_rejected, "row")),
        *guarantees.lines(guarantee),
        *guarantees.set_lines(sets),
    ]
    notes.end(document, facts(lines), output=output)


def calibrated(
    model: Model,
    table: Path | None,
    max_error: float | None,
    confidence: float | None,
    notes: TableNotes,
) -> SelectiveClassifier | None:
    """The model with its own threshold, or with one that is set on a table."""
    before = model.guarantee
    if table is None:
        if max_error is not None:
            bad_usage(
                "--max-error needs --calibrate FILE, a table with classes that the model was not "
                "trained on; or train the model with --max-error"
            )
        return model.selective
    if max_error is None and before is None:
        bad_usage("--calibrate needs --max-error, since the model was trained without it")
    if max_error is None and before is not None:
        max_error, confidence = before.risk, before.confidence_level
    notes.add(f"{table.name} sets the threshold; the model must not have been trained on its rows")
    _, rows = read_labelled(table, model, model.target or "", notes)
    try:
        return guarantees.fit(model.pipeline, rows, max_error, confidence, cv="prefit")
    except RiskNotReachedError as error:
        fail(str(error), ExitCode.NO_GUARANTEE)


def sets_of(model: Model, X: Any, table: Path | None, notes: TableNotes, **given: Any) -> LabelSets:
    """The sets of all rows; ends the command if there are too few rows to compare with."""
    calibration = None
    if table is not None:
        _, rows = read_labelled(table, model, model.target or "", notes)
        calibration = (rows.X, rows.y)
    try:
        return label_sets(model.pipeline, X, calibration=calibration, **given)
    except ValueError as error:
        bad_data(str(error))


def rejected(p: NDArray, rate: float | None, below: float | None) -> NDArray[np.bool_]:
    """Rows whose largest probability is too small."""
    largest = confidence_of(p, "proba")
    if below is None:
        curve = RejectionCurve.from_confidence(largest, np.zeros(len(largest), dtype=bool))
        below = curve.at_rate(rate or 0.0).threshold
    return largest < below
