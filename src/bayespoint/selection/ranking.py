"""The evaluations of a search ranked in a table, and warnings of what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from bayespoint.exceptions import BoundReachedWarning, warn_user
from bayespoint.selection.objective import Evaluation


def as_table(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Columns as in ``cv_results_``; a parameter is masked where it was not set."""
    n = len(evaluations)
    table: dict[str, Any] = {"fit_time": np.array([each.fit_time for each in evaluations])}
    for name in dict.fromkeys(name for each in evaluations for name in each.params):
        given = np.array([name in each.params for each in evaluations])
        values = np.empty(n, dtype=object)
        for i in np.flatnonzero(given).tolist():  # one by one: a value may be an array
            values[i] = evaluations[i].params[name]
        if all(isinstance(v, Real) and not isinstance(v, bool) for v in values[given]):
            values[~given] = 0
            values = np.array(values.tolist())
        table[f"param_{name}"] = np.ma.MaskedArray(values, mask=~given)
    table["params"] = [each.params for each in evaluations]
    table["log_evidence"] = np.array([each.log_evidence for each in evaluations])
    table["converged"] = np.array([each.converged for each in evaluations])
    table["message"] = np.array([each.message for each in evaluations], dtype=object)
    table["rank"] = ranks(table["log_evidence"], table["converged"])
    return table


def ranks(log_evidence: NDArray[np.float64], converged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Places from 1 on: first those that converged, then the others, at the end failures (NaN)."""
    loss = np.where(np.isnan(log_evidence), np.inf, -log_evidence)
    order = np.column_stack([~converged, loss])
    _, place, n_equal = np.unique(order, axis=0, return_inverse=True, return_counts=True)
    return (np.cumsum(n_equal) - n_equal + 1)[place.ravel()]


def warn_of_failures(evaluations: Sequence[Evaluation], best: Evaluation) -> None:
    """Raise an error if all fits failed; warn of those that did, and if none converged."""
    messages = dict.fromkeys(each.message for each in evaluations if np.isnan(each.log_evidence))
    n_failed = sum(np.isnan(each.log_evidence) for each in evaluations)
    reasons = "\n".join(f"- {message}" for message in messages)
    if n_failed == len(evaluations):
        raise ValueError(f"All {n_failed} fits of EvidenceSearch failed:\n{reasons}")
    if n_failed:
        text = f"{n_failed} of {len(evaluations)} fits of EvidenceSearch failed and were left out"
        warn_user(FitFailedWarning(f"{text}:\n{reasons}"))
    if not best.converged:
        text = "None of the fits of EvidenceSearch converged. The best said"
        warn_user(ConvergenceWarning(f"{text}: {best.message}"))


def warn_of_bounds(best: Evaluation, bounds: Mapping[str, tuple[float, float]], tol: float) -> None:
    """Warn of parameters at a bound beyond which the log evidence grows by more than ``tol``."""
    reached = [
        name
        for name, slope in best.slopes.items()
        # An array of widths or scales at its bounds has switched features off.
        if np.ndim(slope) == 0
        and abs(slope) > tol
        and best.params[name] == bounds[name][int(slope > 0)]
    ]
    if reached:
        values = tuple(best.params[name] for name in reached)
        warn_user(BoundReachedWarning(tuple(reached), tuple(bounds[n] for n in reached), values))
