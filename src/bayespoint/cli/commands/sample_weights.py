"""``bayespoint sample-weights``: classifiers from the posterior of a model."""

from __future__ import annotations

from typing import Annotated

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import Notes, count, facts

if not options.ONLY_HELP:
    import numpy as np
    import pandas as pd

    from bayespoint.cli.models import Model, model_errors, read_model
    from bayespoint.cli.tables.writing import check_output, write_output
    from bayespoint.reports.features import feature_names

INTERCEPT = "intercept"


def sample_weights(
    model: options.Model,
    output: options.ArrayOutput,
    n: Annotated[int, option("N", "Number of draws.", min=1)] = 100,
    seed: options.Seed = 0,
    *,
    notes: Notes,
) -> None:
    """Draw weight vectors from the posterior of a model.

    One row for each draw, or, with more than two classes, for each draw and class (columns draw
    and class). With a linear kernel the weights have the names of the features; otherwise they
    are coordinates in the basis of the engine. A .npy file has the weights alone.

    Example: bayespoint sample-weights loans.bpm --n 1000 --out weights.csv
    """
    check_output(output, model, as_json=notes.as_json)
    read = read_model(model, notes, needs_table=False)
    with notes.progress("drawing"), model_errors(model):
        weights = read.machine.draw_weights(n, random_state=seed)
    n_weights = weights.shape[2]
    names = weight_names(read, n_weights, notes)
    table = pd.DataFrame(weights.reshape(-1, n_weights), columns=names)
    if output.out.suffix.lower() != ".npy":
        classes = read.classes if len(read.classes) > 2 else read.classes[1:]
        first = pd.DataFrame({"draw": np.repeat(np.arange(1, n + 1), len(classes))})
        if len(classes) > 1:
            first["class"] = np.tile(classes, n)
        table = pd.concat([first, table], axis=1)
    write_output(table, output)
    document = {"draws": n, "rows": len(table), "weights": names}
    drawn = facts([("drawn", f"{count(n, 'draw')} of {count(len(names), 'weight')}")])
    notes.end(document, drawn, output=output)


def weight_names(model: Model, n_weights: int, notes: Notes) -> list[str]:
    """Names of the weights."""
    if not model.machine.kernel_.is_linear:
        notes.add("the kernel is not linear: weights are coordinates in a basis, not of features")
        return [f"w{number}" for number in range(1, n_weights + 1)]
    names = feature_names(model.pipeline)
    if model.kinds:
        notes.add("weights belong to columns as they are; of categories, each level is 0 or 1")
    if len(model.classes) == 2:
        notes.add(f"positive weights speak for {str(model.classes[1])!r}")
    return [*names, INTERCEPT] if n_weights > len(names) else names
