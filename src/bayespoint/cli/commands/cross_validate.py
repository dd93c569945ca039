"""``bayespoint cross-validate``: the expected quality of a model."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes, warnings_in_words
from bayespoint.cli.output.progress import ProgressMonitor


def cross_validate(
    data: options.Data,
    target: options.Target,
    engine: options.Engine = "auto",
    kernel: options.Kernel = "auto",
    param: options.Param = None,
    folds: Annotated[int, typer.Option(metavar="K", min=2, help="Parts of the table.")] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Times to divide it.")] = 1,
    drop: options.Drop = None,
    number: options.Number = None,
    category: options.Category = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    device: options.Device = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
) -> None:
    """Measure how good a model of a table would be on new rows.

    Trains on all parts of the table but one and measures on that one, each part in turn. The
    standard error is that of the mean over the parts; since these share training rows, it is
    somewhat too small. The baseline is what the classes alone give, without any column.

    Example: bayespoint cross-validate loans.csv --target repaid --engine laplace --folds 10
    """
    from bayespoint.cli.folds import check_folds, run, summarize, tables
    from bayespoint.cli.recipe import make_classifier, make_model
    from bayespoint.cli.training import describe_classifier, read_training_data

    notes = Notes(aloud=not as_json)
    machine = make_classifier(engine, kernel, param or [], seed, jobs, device)
    rows = read_training_data(
        data, target, drop or [], encoding, notes, numbers=number or [], categories=category or []
    )
    check_folds(rows, folds)
    model = make_model(rows.kinds, machine)
    started = time.perf_counter()
    with ProgressMonitor("cross-validation") as progress, warnings_in_words() as words:
        progress.begin(folds * repeats, "folds")
        results = []
        for done, result in enumerate(run(model, rows, folds, repeats, seed), start=1):
            results.append(result)
            progress.update(done)
    more = [f"{len(words) - 1} more like it in other folds"] if len(words) > 1 else []
    notes.warn([*words[:1], *more])
    found = {
        "rows": len(rows.X),
        "classes": {str(label): n for label, n in rows.counts.items()},
        **describe_classifier(model),
        "folds": folds,
        "repeats": repeats,
        "measures": summarize(results),
        "seconds": time.perf_counter() - started,
    }
    notes.end(found, *tables(found))
