"""Gross errors in the training rows: does the robust likelihood help?

    python benchmarks/outliers.py [--data FOLDER] [--tables heart,sonar] [--kernel linear]

Training rows get errors of four kinds; the test rows stay as they are.

* none: the price of being robust where nothing is wrong;
* any: 10 % of the labels are flipped, at random;
* sure: 10 % of the labels are flipped, among the half that logistic regression on the right labels
  is surest of: gross errors, far from the boundary;
* values: in 10 % of the rows one number is ten times as large, as with a lost decimal point.

Expectation propagation has the likelihood "probit", "probit" with ``label_noise`` (.05, which is
not the true rate), or "student"; all else is the default. Printed are means over tables and draws
of log-loss and error on the test rows, and on how many tables each likelihood has the smallest
log-loss. Rows of a table are half to train, at most --points.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from _tables import Halves, load
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation

TABLES = "heart,sonar,australian,breast,liver,pima,crabs,house-votes,synth,german-credit"
SHARE = 0.1  # of the rows have an error
LOST_POINT = 10.0
LIKELIHOODS: dict[str, dict[str, Any]] = {
    "probit": {},
    "probit, flips": {"label_noise": 0.05},
    "student": {"likelihood": "student"},
    "student, flips": {"likelihood": "student", "label_noise": 0.05},
}
ERRORS = ("none", "any", "sure", "values")


def spoiled(data: Halves, kind: str, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Training rows and labels with errors."""
    X, y = data.X.copy(), data.y.copy()
    n, n_wrong = len(y), round(SHARE * len(y))
    if kind == "values":
        rows = rng.choice(n, n_wrong, replace=False)
        columns = rng.integers(X.shape[1], size=n_wrong)
        X[rows, columns] *= LOST_POINT
    elif kind != "none":
        among = np.arange(n)
        if kind == "sure":
            p = LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X)
            among = np.argsort(-p.max(axis=1))[: n // 2]
        wrong = rng.choice(among, n_wrong, replace=False)
        y[wrong] = (y[wrong] + rng.integers(1, y.max() + 1, n_wrong)) % (y.max() + 1)
    return X, y


def compare(data: Halves, kind: str, kernel: str, seed: int) -> NDArray[np.float64]:
    """Log-loss and error of each likelihood on the test rows."""
    X, y = spoiled(data, kind, np.random.default_rng(seed))
    found = []
    for settings in LIKELIHOODS.values():
        engine = ExpectationPropagation(**settings)
        clf = BayesPointClassifier(kernel=kernel, engine=engine, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = clf.fit(X, y).predict_proba(data.X_new)
        right = p[np.arange(len(p)), data.y_new]
        found.append(
            [-np.log(np.maximum(right, 1e-15)).mean(), np.mean(p.argmax(axis=1) != data.y_new)]
        )
    return np.array(found)


def main() -> None:
    """Print a table for each kind of error."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("BAYESPOINT_DATA"))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--draws", type=int, default=3, help="of halves and errors")
    parser.add_argument("--json", type=Path, help="where all numbers are written")
    given = parser.parse_args()
    names, everything = given.tables.split(","), {}
    for kind in ERRORS:
        rows, losses = [], []
        for name in names:
            draws = []
            for seed in range(given.draws):
                data = load(name, given.data, most=given.points, seed=seed)
                draws.append(compare(data, kind, given.kernel, seed))
            found = np.mean(draws, axis=0)
            losses.append(found)
            rows.append([name, *(f"{loss:.3f}, {error:.3f}" for loss, error in found)])
            everything[f"{kind}, {name}"] = np.array(draws).tolist()
        mean = np.mean(losses, axis=0)
        rows.append(["mean", *(f"{loss:.3f}, {error:.3f}" for loss, error in mean)])
        best = np.bincount(np.array(losses)[:, :, 0].argmin(axis=1), minlength=len(LIKELIHOODS))
        rows.append(["smallest log-loss", *map(str, best)])
        table(f"errors: {kind}; log-loss and error", ["", *LIKELIHOODS], rows)
    if given.json is not None:
        given.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
