"""``bayespoint train``: a model from a table."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.output.printing import facts

Force = Annotated[bool, typer.Option("--force", help="Overwrite a model that is there.")]
OutOfCore = Annotated[
    bool,
    typer.Option(
        "--out-of-core",
        help="Read the table in blocks, with a linear kernel; chosen for tables too large for "
        "memory.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with a training out of core that ended early, from its last round."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Train on the Dask cluster of this scheduler, such as tcp://node1:8786. Its workers "
        "read the table in blocks.",
    ),
]


def train(
    data: options.Data,
    target: options.Target,
    model: options.ModelFile,
    engine: options.Engine = "auto",
    kernel: options.Kernel = "auto",
    param: options.Param = None,
    drop: options.Drop = None,
    number: options.Number = None,
    category: options.Category = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    device: options.Device = None,
    max_error: options.MaxError = None,
    confidence: options.Confidence = None,
    hold_out: options.HoldOut = None,
    force: Force = False,
    out_of_core: OutOfCore = False,
    resume: Resume = False,
    scheduler: Scheduler = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Train a classifier on a table and save it in a file.

    Numbers are scaled, texts become categories, missing values are filled in; what else is done
    with a column is said. A model that is there is overwritten with --force only.

    With --max-error a part of the rows is not trained on: it sets a threshold below which predict
    rejects rows. With the probability --confidence, the error on the accepted rows is at most R.

    A table too large for memory is read in blocks, once in every round; --out-of-core does so with
    any table. Rounds are kept in FILE.checkpoint, from where --resume goes on after a crash. With
    --scheduler the workers of a Dask cluster read the blocks, and learn from them.

    Example: bayespoint train loans.csv --target repaid --model loans.bpm --max-error 0.05
    """
    from bayespoint.cli import guarantees
    from bayespoint.cli.balance import say_balance
    from bayespoint.cli.models import write_model
    from bayespoint.cli.out_of_core import is_too_large, train_out_of_core
    from bayespoint.cli.output.errors import bad_usage
    from bayespoint.cli.recipe import make_classifier, make_model
    from bayespoint.cli.tables.blocks import Roles
    from bayespoint.cli.tables.writing import check_new
    from bayespoint.cli.training import describe, read_training_data, summary
    from bayespoint.reject.calibration import hold_out as split

    notes = Notes(aloud=not as_json)
    options.check_guarantee(max_error, confidence=confidence, hold_out=hold_out)
    check_new(model, force, data)
    machine = make_classifier(engine, kernel, param or [], seed, jobs, device)
    in_blocks = out_of_core or resume or scheduler is not None
    why = "" if in_blocks else is_too_large(data)
    if in_blocks or why:
        if max_error is not None:
            bad_usage("--max-error needs a table that fits in memory, not --out-of-core")
        roles = Roles(target, drop or [], number or [], category or [])
        train_out_of_core(
            machine, data, roles, model, encoding, notes, why, scheduler, resume=resume
        )
        return
    rows = read_training_data(
        data, target, drop or [], encoding, notes, numbers=number or [], categories=category or []
    )
    fitted: Any = make_model(rows.kinds, machine)
    started = time.perf_counter()
    guarantee = None
    if max_error is None:
        with notes.training():
            kept = fitted.fit(rows.X, rows.y)
    else:
        share = options.SHARE if hold_out is None else hold_out
        level = options.LEVEL if confidence is None else confidence
        part = {"calibration_size": share, "random_state": seed}
        trained, held = split(rows.y, share, seed)
        notes.add(f"{len(held)} of {len(rows.y)} rows are held out, to set the threshold")
        with notes.training():
            wrapped = guarantees.selective(fitted, max_error, level, **part)
            kept = guarantees.fit(wrapped, rows.X, rows.y)
        fitted, guarantee = kept.estimator_, kept.guarantee_
        rows = rows.part(trained)
    seconds = time.perf_counter() - started
    found = {"target": target, **describe(fitted, rows), "seconds": seconds}
    found["guarantee"] = guarantees.as_json(guarantee)
    say_balance(found, machine, notes)
    found["notes"] = list(notes)
    write_model(kept, model, rows.kinds, found, rows.columns())
    lines = [*summary(found), *guarantees.lines(guarantee), ("time", f"{seconds:.1f} s")]
    notes.end({"model": str(model), **found}, facts(lines), f"Model written to {model}.")
