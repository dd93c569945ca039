"""``bayespoint sample-weights``: classifiers from the posterior of a model."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from bayespoint.cli import options
from bayespoint.cli.messages import Notes, count, facts
from bayespoint.cli.models import Model, model_errors, read_model
from bayespoint.cli.outputs import STDOUT, check_output, write_table
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.pipelines import split_pipeline

INTERCEPT = "intercept"


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


def numbered(table: pd.DataFrame, model: Model, n: int) -> pd.DataFrame:
    """The weights with the number of the draw, and the class that they tell from the rest."""
    classes = model.classes if len(model.classes) > 2 else model.classes[1:]
    first = pd.DataFrame({"draw": np.repeat(np.arange(1, n + 1), len(classes))})
    if len(classes) > 1:
        first["class"] = np.tile(classes, n)
    return pd.concat([first, table], axis=1)


def weight_names(model: Model, n_weights: int, notes: Notes) -> list[str]:
    """Names of the weights."""
    machine = model.machine
    if not machine.kernel_.is_linear:
        notes.add("the kernel is not linear: weights are coordinates in a basis, not of features")
        return [f"w{number}" for number in range(1, n_weights + 1)]
    names = [name.split("__", 1)[-1] for name in feature_names(model)]
    if model.kinds:
        notes.add("numbers were scaled to mean 0 and variance 1, categories are 0 or 1")
    if len(model.classes) == 2:
        notes.add(f"positive weights speak for {str(model.classes[1])!r}")
    return [*names, INTERCEPT] if n_weights > len(names) else names


def feature_names(model: Model) -> list[str]:
    """Names of the features after the pipeline's steps."""
    before, machine, _ = split_pipeline(model.pipeline)
    if before is not None:
        return list(before.get_feature_names_out())
    named = getattr(machine, "feature_names_in_", None)
    return [f"x{i}" for i in range(machine.n_features_in_)] if named is None else list(named)
