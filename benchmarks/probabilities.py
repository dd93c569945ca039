"""Log-loss of every sampling engine beside the best temperature in hindsight.

    python benchmarks/probabilities.py                 # all engines, some minutes
    python benchmarks/probabilities.py perceptron      # one of them
    python benchmarks/probabilities.py --mnist         # 60 000 digits, perceptron, some minutes

Each engine learns half of a set, at most 600 points. "Best" divides its log-probabilities by the
temperature that suits the labels of the other half best, which no engine can know. A ratio of 1
means that no single temperature would have been better; below 1 (several classes) means that more
than one number was learned. Rules were tuned on the sets of the first group only.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _report import table, timed
from _tables import load
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from papers.datasets import data_folder, load_mnist

POLY = {"kernel": "poly", "degree": 5, "gamma": 1.0, "normalize": True}
MACHINES: dict[str, dict[str, Any]] = {
    "perceptron, poly": {**POLY, "ridge": 0.1, "engine": "perceptron"},
    "perceptron, rbf": {"kernel": "rbf", "ridge": "mean", "engine": "perceptron"},
    "perceptron, rbf, small ridge": {"kernel": "rbf", "ridge": 0.1, "engine": "perceptron"},
    "gibbs, rbf": {"kernel": "rbf", "engine": "gibbs"},
    "gibbs, linear": {"kernel": "linear", "engine": "gibbs"},
    "billiard, rbf": {"kernel": "rbf", "ridge": "mean", "engine": "billiard"},
    "billiard, linear": {"kernel": "linear", "ridge": "mean", "engine": "billiard"},
    "knapsack": {"kernel": "linear", "engine": "knapsack"},
}
TUNED = (
    "australian",
    "contraceptive",
    "heart",
    "liver",
    "pima",
    "sonar",
    "crabs",
    "cells",
    "mdrr",
    "soybean",
)
OTHERS = (
    "breast",
    "musk",
    "cox2",
    "dhfr",
    "german-credit",
    "house-votes",
    "promoter",
    "ticdata",
    "zoo",
)
TOO_WIDE = 100  # features, or 5 classes, with which knapsack takes minutes


def judge(clf: BayesPointClassifier, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Log-loss, and that of the best temperature."""
    log_p = np.log(np.maximum(clf.predict_proba(X), 1e-300))

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(log_p * np.exp(-log_temperature), axis=1)
        return float(-scaled[np.arange(len(y)), y].mean())

    return loss(0.0), minimize_scalar(loss, bounds=(-3, 3), method="bounded").fun


def measure(name: str, folder: Any) -> None:
    """All sets with one machine."""
    rows, ratios = [], {True: [], False: []}
    for data_name in (*TUNED, *OTHERS):
        data = load(data_name, folder)
        if name == "knapsack" and (data.X.shape[1] > TOO_WIDE or data.y.max() > 4):
            continue
        clf = BayesPointClassifier(**MACHINES[name], random_state=0).fit(data.X, data.y)
        found, best = judge(clf, data.X_new, data.y_new)
        ratios[data_name in TUNED].append(found / best)
        oob = f"{1 - clf.oob_score_:.3f}" if hasattr(clf, "oob_score_") else ""
        error = f"{1 - clf.score(data.X_new, data.y_new):.3f}"
        size = f"{len(data.y)} x {data.X.shape[1]}, {data.y.max() + 1}"
        rows.append(
            [data_name, size, error, oob, f"{found:.3f}", f"{best:.3f}", f"{found / best:.3f}"]
        )
    for words, tuned in (("mean, tuned on", True), ("mean, others", False)):
        rows.append([words, "", "", "", "", "", f"{np.mean(ratios[tuned]):.3f}"])
    table(name, ["", "points, classes", "error", "oob", "log-loss", "best", "ratio"], rows)


def digits(folder: Any) -> None:
    """The experiment of the paper: 60 000 digits, degree 5, N = 10."""
    data = load_mnist(folder)
    clf = BayesPointClassifier(**POLY, engine=PermutedPerceptron(), random_state=0, n_jobs=-1)
    _, seconds = timed(clf.fit, data.X_train, data.y_train)
    found, best = judge(clf, data.X_test, data.y_test)
    error = 1 - clf.score(data.X_test, data.y_test)
    row = [
        "MNIST",
        f"{error:.2%}",
        f"{1 - clf.oob_score_:.2%}",
        f"{found:.4f}",
        f"{best:.4f}",
        f"{found / best:.3f}",
        f"{seconds:.0f} s",
    ]
    table("perceptron, poly", ["", "error", "oob", "log-loss", "best", "ratio", "fit"], [row])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*", help="start of their names; all if none is given")
    parser.add_argument("--data", help="folder with mnist.npz, uci/ and tables/")
    parser.add_argument("--mnist", action="store_true", help="60 000 digits instead")
    options = parser.parse_args()
    folder = data_folder(options.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that are not separable, constant features
        if options.mnist:
            digits(folder)
            return
        for name in MACHINES:
            if not options.machines or name.startswith(tuple(options.machines)):
                measure(name, folder)


if __name__ == "__main__":
    main()
