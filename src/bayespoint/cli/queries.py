"""The rows of a table that are most worth a label."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayespoint import active
from bayespoint.active.strategies import STRATEGIES
from bayespoint.cli.models import Model
from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.tables.labels import read_labels
from bayespoint.tools.pipelines import split_pipeline

N_DRAWS = 200  # classifiers that are asked


def unlabelled(frame: pd.DataFrame, model: Model, notes: Notes) -> NDArray[np.intp]:
    """Positions of the rows that have no label yet."""
    if model.target not in frame:
        return np.arange(len(frame))
    has_label = read_labels(frame[model.target]).notna().to_numpy()
    if has_label.all():
        bad_data(f"every row has a value in {model.target!r} already: nothing to ask for")
    if has_label.any():
        notes.add(f"{count(int(has_label.sum()), 'row')} with a value in {model.target!r} left out")
    return np.flatnonzero(~has_label)


def choose(
    model: Model, X: pd.DataFrame, n: int, strategy: str, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Positions of the best rows and the score of each, the highest first."""
    machine, points = model.machine, split_pipeline(model.pipeline).transform(X)
    draws = {"n_draws": N_DRAWS, "random_state": seed}
    chosen = active.query(machine, points, n, strategy=strategy, **draws)
    scores = STRATEGIES[strategy].worth(machine, points[chosen], **draws)
    order = np.argsort(-scores, kind="stable")
    return chosen[order], scores[order]
