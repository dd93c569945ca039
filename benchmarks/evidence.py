"""Parameters by the evidence and by cross-validation, on seven sets of the UCI repository.

    python benchmarks/evidence.py --splits 10

Half of each set trains, the other half tests; features are standardised on the training half.
Machines: EP with a linear kernel, over prior_scale, and with an rbf kernel, over prior_scale and
gamma. Their parameters come from EvidenceSearch between bounds, or from GridSearchCV (5 folds,
log-loss) on a grid over the same bounds. As outsiders LogisticRegressionCV and SVC with
GridSearchCV, whose grids have as many points. Everything runs in one thread. Needs the data folder.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _report import table, timed
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.selection import EvidenceSearch
from papers.datasets import UCI, load_uci

LINEAR = {"engine__prior_scale": (0.01, 100.0)}
RADIAL = {"engine__prior_scale": (0.1, 1000.0), "gamma": (1e-4, 1.0)}
POINTS = 5  # of the grid, for each parameter of two: 25 combinations


def by_evidence(kernel: str, bounds: dict) -> EvidenceSearch:
    return EvidenceSearch(BayesPointClassifier(kernel=kernel, temperature=1.0), param_bounds=bounds)


def by_validation(machine: Any, bounds: dict, points: int) -> GridSearchCV:
    grid = {name: np.geomspace(*pair, points) for name, pair in bounds.items()}
    return GridSearchCV(machine, grid, scoring="neg_log_loss", cv=5)


def ep_by_validation(kernel: str, bounds: dict, points: int) -> GridSearchCV:
    return by_validation(BayesPointClassifier(kernel=kernel, temperature=1.0), bounds, points)


METHODS: dict[str, Callable[[], Any]] = {
    "EP linear, evidence": lambda: by_evidence("linear", LINEAR),
    "EP linear, 5 folds": lambda: ep_by_validation("linear", LINEAR, 2 * POINTS),
    "LogisticRegressionCV, 5 folds": lambda: LogisticRegressionCV(
        Cs=2 * POINTS, cv=5, scoring="neg_log_loss", max_iter=1000
    ),
    "EP rbf, evidence": lambda: by_evidence("rbf", RADIAL),
    "EP rbf, 5 folds": lambda: ep_by_validation("rbf", RADIAL, POINTS),
    "SVC rbf, 5 folds": lambda: by_validation(
        SVC(probability=True, random_state=0), {"C": (0.01, 1000.0), "gamma": (1e-4, 1.0)}, POINTS
    ),
}


def one_split(X: np.ndarray, y: np.ndarray, seed: int, names: list[str]) -> np.ndarray:
    """Error, log-loss and seconds of every method, shape (n_methods, 3)."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    rows = []
    for name in names:
        search, seconds = timed(METHODS[name]().fit, X, y)
        loss = log_loss(y_test, search.predict_proba(X_test), labels=search.classes_)
        rows.append([1 - accuracy_score(y_test, search.predict(X_test)), loss, seconds])
    return np.array(rows)


def summary(values: np.ndarray, digits: int) -> str:
    """Mean and standard error over the splits."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with uci/")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=list(UCI), choices=list(UCI))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of GridSearchCV, about corners of the grid
    header = ["", "error %", "log-loss", "seconds", "time, evidence = 1"]
    with threadpool_limits(1):
        for set_name in options.sets:
            data = load_uci(set_name, options.data)
            one_split(data.X, data.y, -1 % 2**31, options.methods[:1])  # compiles
            results = np.stack(
                [one_split(data.X, data.y, seed, options.methods) for seed in range(options.splits)]
            )
            unit = {}
            rows = []
            for name, values in zip(options.methods, results.swapaxes(0, 1), strict=True):
                seconds = values[:, 2].mean()
                kind = "rbf" if "rbf" in name else "linear"
                unit.setdefault(kind, seconds)
                rows.append(
                    [
                        name,
                        summary(100 * values[:, 0], 2),
                        summary(values[:, 1], 4),
                        f"{seconds:.2f}",
                        f"{seconds / unit[kind]:.1f}",
                    ]
                )
            n, d = data.X.shape
            table(f"{set_name}: {n} points, {d} features, {options.splits} splits", header, rows)


if __name__ == "__main__":
    main()
