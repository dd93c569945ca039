"""Relevance of features: widths learned by the evidence, beside L1 penalties and forests.

    python benchmarks/relevance.py --data FOLDER

Four sets of few points and many features. First, error and log-loss of classifiers that use all of
them: the default, the default with a width for each feature however many there are, logistic
regression with an L1 penalty chosen by folds, and a forest. Then the error of one classifier, the
default, on the features that each of them calls the most relevant. Two thirds of the points are for
training; features are ranked on these.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from _tables import Halves, load
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV

from bayespoint import BayesPointClassifier
from bayespoint.classifier.kernel_choice import candidates

SETS = ("golub", "musk", "mdrr", "cox2")
SIZES = (5, 20)  # most relevant features that are kept


def default(X: NDArray, y: NDArray) -> Any:
    """The default classifier."""
    return BayesPointClassifier(random_state=0).fit(X, y)


def with_widths(X: NDArray, y: NDArray) -> Any:
    """The same with a width for each feature among the candidates, however few points there are."""
    usual, candidates.POINTS_A_FEATURE = candidates.POINTS_A_FEATURE, 0
    try:
        return default(X, y)
    finally:
        candidates.POINTS_A_FEATURE = usual


def sparse_regression(X: NDArray, y: NDArray) -> Any:
    """Logistic regression with an L1 penalty, by the log-loss of five folds."""
    return LogisticRegressionCV(
        penalty="l1", solver="liblinear", Cs=10, cv=5, scoring="neg_log_loss", random_state=0
    ).fit(X, y)


def forest(X: NDArray, y: NDArray) -> Any:
    """A random forest."""
    return RandomForestClassifier(500, random_state=0).fit(X, y)


METHODS = {
    "default": default,
    "default, a width for each feature": with_widths,
    "L1 logistic regression": sparse_regression,
    "forest": forest,
}


def relevance(fitted: Any) -> NDArray[np.float64]:
    """How much each feature matters to a classifier."""
    for name in ("feature_relevance_", "feature_importances_"):
        if hasattr(fitted, name):
            return getattr(fitted, name)
    return np.abs(fitted.coef_[0])


def judge(fitted: Any, X: NDArray, y: NDArray) -> tuple[float, float]:
    """Error in per cent, and log-loss."""
    p = np.maximum(fitted.predict_proba(X), 1e-15)
    return 100 * np.mean(p.argmax(axis=1) != y), -np.log(p[np.arange(len(y)), y]).mean()


def compare(data: Halves) -> NDArray[np.float64]:
    """For each method: error, log-loss, seconds, share of relevance in 20 features, errors."""
    rows = []
    for fit in METHODS.values():
        start = time.process_time()
        fitted = fit(data.X, data.y)
        seconds = time.process_time() - start
        weight = relevance(fitted)
        order = np.argsort(-weight, kind="stable")
        share = weight[order[:20]].sum() / weight.sum()
        row = [*judge(fitted, data.X_new, data.y_new), seconds, 100 * share]
        for size in SIZES:
            few = order[:size]
            row.append(judge(default(data.X[:, few], data.y), data.X_new[:, few], data.y_new)[0])
        rows.append(row)
    return np.array(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with tables/")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header = [
        "",
        "error %",
        "log-loss",
        "CPU s",
        "relevance of 20 %",
        *(f"error with {size} features %" for size in SIZES),
    ]
    for name in SETS:
        splits = [load(name, options.data, 2240, 2 / 3, seed) for seed in range(options.splits)]
        means = np.mean([compare(data) for data in splits], axis=0)
        n_points, n_features = splits[0].X.shape
        rows = [
            [method, f"{row[0]:.1f}", f"{row[1]:.3f}", *(f"{value:.1f}" for value in row[2:])]
            for method, row in zip(METHODS, means, strict=True)
        ]
        table(f"{name}, {n_points} points, {n_features} features", header, rows)


if __name__ == "__main__":
    main()
