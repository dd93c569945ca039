"""Names of the weights that ``sample-weights`` draws."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayespoint.cli.models import Model
from bayespoint.cli.output.messages import Notes
from bayespoint.reports.features import feature_names

INTERCEPT = "intercept"


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
    names = feature_names(model.pipeline)
    if model.kinds:
        notes.add("numbers were scaled to mean 0 and variance 1, categories are 0 or 1")
    if len(model.classes) == 2:
        notes.add(f"positive weights speak for {str(model.classes[1])!r}")
    return [*names, INTERCEPT] if n_weights > len(names) else names
