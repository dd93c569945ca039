"""Ordered classes: one output with thresholds, or a task for each threshold, and rivals.

    pip install mord statsmodels
    python benchmarks/ordinal.py                       # tables of scikit-learn and statsmodels
    python benchmarks/ordinal.py --data FOLDER --splits 3 --json results.json    # and those of uci/

Numbers are cut into fifths, the others are ordered by themselves: attitudes and marks. Of "hurdle"
and "slopes", thresholds have different directions, so that one output is not enough. --points
are for training, up to 2 000 others for testing; features are scaled. All machines of bayespoint
have the default parameters. mord's penalty is the best of six by five-fold log-loss; OrderedModel
of statsmodels has none. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
)
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from papers.datasets import load_uci

MEASURES = ("log-loss", "error", "mean absolute error")
N_TEST = 2000  # points, at most
PENALTIES = (0.0, 0.1, 1.0, 10.0, 30.0, 100.0)
OURS = "ordinal"


def fifths(t: NDArray) -> NDArray[np.intp]:
    """Numbers cut at their quintiles."""
    return np.digitize(t, np.quantile(t, (0.2, 0.4, 0.6, 0.8)))


def tables(folder: Path | None) -> Iterator[tuple[str, Callable[[], tuple[NDArray, NDArray]]]]:
    """Names, and what loads features and classes 0, 1, ...

    Of the UCI tables a feature is predicted from all others and the class.
    """
    made = {"n_samples": 2200, "random_state": 0}
    yield "diabetes", lambda: load_diabetes(return_X_y=True)
    yield "friedman1", lambda: make_friedman1(**made, noise=1.0)
    yield "friedman2", lambda: make_friedman2(**made, noise=100.0)
    yield "friedman3", lambda: make_friedman3(**made, noise=0.1)
    yield "linear", lambda: make_regression(**made, n_features=10, n_informative=5, noise=60.0)
    yield "hurdle", hurdle
    yield "slopes", slopes
    try:
        from statsmodels.datasets import anes96, fair
    except ImportError:
        pass
    else:
        yield "fair, marriage", lambda: known(fair.load_pandas().data, "rate_marriage")
        yield "anes96, attitude", lambda: known(anes96.load_pandas().data, "selfLR")
    if folder is not None:
        yield "pima, glucose", lambda: column("pima", folder, 1)
        yield "liver, drinks", lambda: column("liver", folder, 5, (0.75, 2, 4, 6.5))
        yield "contraceptive, education", lambda: column("contraceptive", folder, 1, (2, 3, 4))
        yield "contraceptive, living", lambda: column("contraceptive", folder, 7, (2, 3, 4))
        yield "breast, thickness", lambda: column("breast", folder, 0, range(2, 11))


def hurdle() -> tuple[NDArray, NDArray]:
    """One feature says whether there is anything, and another one how much."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2200, 6))
    some, much = 2 * X[:, :2].T + rng.normal(size=(2, 2200))
    return X, np.where(some < 0, 0, 1 + np.digitize(much, [-1.0, 1.0]))


def slopes() -> tuple[NDArray, NDArray]:
    """Features count less for each higher threshold; a class is one above all that are passed."""
    rng = np.random.default_rng(2)
    X, noise = rng.normal(size=(2200, 6)), rng.logistic(size=(2200, 1))
    directions = np.array([[2.0, 1.0], [1.0, 1.0], [0.21, 0.7]])
    passed = noise < X[:, :2] @ directions.T + [2.5, 0.0, -1.5]
    return X, np.minimum.accumulate(passed, axis=1).sum(axis=1)


def known(frame: Any, name: str) -> tuple[NDArray, NDArray]:
    """A column of a data frame from all others."""
    _, codes = np.unique(frame[name], return_inverse=True)
    return frame.drop(columns=name).to_numpy(float), codes


def column(name: str, folder: Path, which: int, edges: Any = None) -> tuple[NDArray, NDArray]:
    """A feature of a UCI table, cut at these edges or at its quintiles."""
    data = load_uci(name, folder)
    _, label = np.unique(data.y, return_inverse=True)
    t = data.X[:, which]
    codes = fifths(t) if edges is None else np.digitize(t, list(edges))
    return np.column_stack(
        [np.delete(data.X, which, axis=1), np.eye(label.max() + 1)[label][:, 1:]]
    ), codes


def bayespoint(multi_class: str) -> Callable[..., NDArray]:
    """Probabilities of a Bayes point machine."""

    def fit(X: NDArray, y: NDArray, X_new: NDArray) -> NDArray:
        clf = BayesPointClassifier(multi_class=multi_class, random_state=0)
        return clf.fit(X, y).predict_proba(X_new)

    return fit


def all_threshold(X: NDArray, y: NDArray, X_new: NDArray) -> NDArray | None:
    """mord's ordinal logistic model."""
    try:
        from mord import LogisticAT
    except ImportError:
        return None
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))

    def loss(alpha: float) -> float:
        total = 0.0
        for train, test in folds:
            p = LogisticAT(alpha=alpha).fit(X[train], y[train]).predict_proba(X[test])
            total -= np.log(np.maximum(p[np.arange(len(test)), y[test]], 1e-15)).sum()
        return total

    return LogisticAT(alpha=min(PENALTIES, key=loss)).fit(X, y).predict_proba(X_new)


def ordered_model(X: NDArray, y: NDArray, X_new: NDArray) -> NDArray | None:
    """Statsmodels' ordered probit model, by maximum likelihood."""
    try:
        from statsmodels.miscmodels.ordinal_model import OrderedModel
    except ImportError:
        return None
    kept = X.std(axis=0) > 0
    fitted = OrderedModel(y, X[:, kept], distr="probit").fit(method="bfgs", disp=False, maxiter=500)
    return np.asarray(fitted.predict(X_new[:, kept]))


METHODS = {
    OURS: bayespoint("ordinal"),
    "cumulative": bayespoint("cumulative"),
    "joint": bayespoint("joint"),
    "one_vs_rest": bayespoint("one_vs_rest"),
    "mord, LogisticAT": all_threshold,
    "statsmodels, probit": ordered_model,
}


def measure(p: NDArray, y: NDArray) -> list[float]:
    """Log-loss and error of the most probable class, and distance of the median."""
    p = np.maximum(p, 1e-15)
    p /= p.sum(axis=1, keepdims=True)
    median = (p.cumsum(axis=1)[:, :-1] < 0.5).sum(axis=1)
    loss = -np.log(p[np.arange(len(y)), y]).mean()
    return [loss, (p.argmax(axis=1) != y).mean(), np.abs(median - y).mean()]


def compare(X: NDArray, t: NDArray, n_points: int, n_splits: int) -> dict[str, list[float]]:
    """Mean measures and seconds of each method."""
    y = t if t.dtype.kind == "i" else fifths(t)
    found: dict[str, list] = {}
    for seed in range(n_splits):
        X_train, X_new, y_train, y_new = train_test_split(
            X, y, train_size=n_points, stratify=y, random_state=seed
        )
        kept = np.flatnonzero(np.bincount(y_train) >= 5)  # classes with enough points for folds
        here, new = np.isin(y_train, kept), np.isin(y_new, kept)
        scaler = StandardScaler().fit(X_train)
        points = scaler.transform(X_train[here]), np.searchsorted(kept, y_train[here])
        X_new, y_new = X_new[new][:N_TEST], np.searchsorted(kept, y_new[new][:N_TEST])
        for method, fit in METHODS.items():
            begin = time.process_time()
            p = fit(*points, scaler.transform(X_new))
            if p is not None:
                seconds = time.process_time() - begin
                found.setdefault(method, []).append([*measure(p, y_new), seconds])
    return {method: np.mean(rows, axis=0).tolist() for method, rows in found.items()}


def main() -> None:
    """Compare on all tables, and print which method is the best on how many."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with uci/")
    parser.add_argument("--points", type=int, default=200, help="points to train")
    parser.add_argument("--splits", type=int, default=2, help="random splits of each table")
    parser.add_argument("--json", type=Path, help="write all numbers to this file, and go on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    written = options.json and options.json.exists()
    results = json.loads(options.json.read_text()) if written else {}
    for name, load in tables(options.data):
        if name not in results:
            results[name] = compare(*load(), options.points, options.splits)
            if options.json:
                options.json.write_text(json.dumps(results))
        rows = [
            [method, *(f"{value:.3f}" for value in row[:3]), f"{row[3]:.1f}"]
            for method, row in results[name].items()
        ]
        table(name, ["", *MEASURES, "CPU s"], rows)
    for k, what in enumerate(MEASURES):
        best = [min(found, key=lambda one: found[one][k]) for found in results.values()]
        means = [
            [
                method,
                str(best.count(method)),
                f"{np.mean([one[method][k] for one in results.values() if method in one]):.3f}",
            ]
            for method in METHODS
        ]
        table(f"{what}, of {len(results)} tables", ["", "best on", "mean"], means)


if __name__ == "__main__":
    main()
