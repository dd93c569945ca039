"""The default classifier beside boosting, additive models and others that people pick for tables.

    pip install catboost lightgbm xgboost interpret-core    # what is missing is left out
    python benchmarks/rivals.py --data FOLDER --json results.json
    python benchmarks/rivals.py --data FOLDER --rows        # by the number of rows

Every rival is as it comes, without arguments, but for the support vector machine of `defaults.py`.
All get the same arrays: categories are 0 and 1, missing numbers are medians; logistic regression
and the support vector machine get standardised features. Sets on which rules of the default
classifier were chosen are not reported. Bias is the mean confidence less the accuracy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from _tables import load
from defaults import CLASSIFIERS, OTHERS, OURS, frequent, measure
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SETS = (*OTHERS, "wine", "breast_cancer")
MEASURES = ("error", "log-loss", "calibration", "risk-coverage")
BOOSTED = {
    "CatBoost": ("catboost", "CatBoostClassifier",
                 {"verbose": 0, "allow_writing_files": False, "thread_count": 1}),
    "LightGBM": ("lightgbm", "LGBMClassifier", {"verbose": -1, "n_jobs": 1}),
    "XGBoost": ("xgboost", "XGBClassifier", {"n_jobs": 1}),
    "EBM": ("interpret.glassbox", "ExplainableBoostingClassifier", {"n_jobs": 1}),
}  # fmt: skip
SCALED = ("LogisticRegression", "SVC, tuned, calibrated")
CURVES = ("adult", "census-income", "shuttle", "letter")  # rules saw rows of the second and last
ROWS = (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000)


def boosted(module: str, name: str, settings: dict[str, Any]) -> Callable | None:
    """A function that fits a classifier of another library; None if it is not installed."""
    try:
        kind = getattr(importlib.import_module(module), name)
    except ImportError:
        return None
    return lambda X, y: kind(random_state=0, **settings).fit(X, y)


def scaled(fit: Callable) -> Callable:
    """The same on standardised features."""

    def with_scaler(X: NDArray, y: NDArray) -> Any:
        scaler = StandardScaler().fit(X)
        pipeline = make_pipeline(scaler, fit(scaler.transform(X), y))
        pipeline.__sklearn_is_fitted__ = lambda: True
        return pipeline

    return with_scaler


def methods() -> dict[str, Callable]:
    """All that are installed."""
    found = {name: fit for name, fit in CLASSIFIERS.items() if name != "GaussianProcess"}
    found |= {name: scaled(found[name]) for name in SCALED}
    for name, given in BOOSTED.items():
        fit = boosted(*given)
        if fit is not None:
            found[name] = fit
    return found


def tried(fit: Callable, data: Any) -> list[float]:
    """Four measures, bias, CPU seconds to fit, ms for one row and for 1 000, megabytes."""
    start = time.process_time()
    classifier = fit(data.X, data.y)
    seconds = time.process_time() - start
    start = time.process_time()
    p = np.asarray(classifier.predict_proba(data.X_new), dtype=np.float64)
    thousand = 1e6 * (time.process_time() - start) / len(data.y_new)
    row = min(cpu_of(classifier.predict_proba, data.X_new[:1]) for _ in range(5))
    bias = float(p.max(axis=1).mean() - (p.argmax(axis=1) == data.y_new).mean())
    try:
        size = len(pickle.dumps(classifier)) / 1e6
    except (AttributeError, pickle.PicklingError, TypeError):
        size = np.nan
    return [*measure(p, data.y_new), bias, seconds, 1e3 * row, thousand, size]


def cpu_of(function: Callable, argument: Any) -> float:
    """Seconds of the processor that a call takes."""
    start = time.process_time()
    function(argument)
    return time.process_time() - start


def summary(results: dict[str, dict[str, list]]) -> None:
    """Losses first; then mean ranks, wins and costs."""
    first, *others = results.values()
    names = [m for m in first if first[m] and all(found.get(m) for found in others)]
    means = np.array([[np.mean(r[m], axis=0) for m in names] for r in results.values()])
    ours = names.index(OURS)
    rows = []
    for k, method in enumerate(names):
        if k != ours:
            ratio = means[:, ours, 1] / means[:, k, 1]
            lost = [f"{s} {q:.2f}" for q, s in sorted(zip(ratio, results, strict=True))[::-1]]
            rows.append(
                [
                    method,
                    ", ".join(
                        one for one, q in zip(lost, sorted(ratio)[::-1], strict=True) if q > 1
                    ),
                ]
            )
    table("Sets lost in log-loss, with the ratio of losses", ["to", "sets"], rows)
    ranks = np.stack([rankdata(means[:, :, i].round(9), axis=1) for i in range(4)], axis=2)
    rows = []
    for k, method in enumerate(names):
        difference = means[:, k, 1] - means[:, ours, 1]
        p = wilcoxon(difference).pvalue if difference.any() else 1.0
        against = f"{(difference > 0).sum()}-{(difference < 0).sum()} (p {p:.2g})"
        costs = np.nanmedian(means[:, k, 5:9], axis=0)
        rows.append([
            method, *(f"{rank:.2f}" for rank in ranks[:, k].mean(axis=0)),
            f"{means[:, k, 1].mean():.4f}", f"{100 * means[:, k, 4].mean():+.1f}",
            "" if k == ours else against, *(f"{cost:.2g}" for cost in costs),
        ])  # fmt: skip
    header = ["mean rank", *MEASURES, "mean log-loss", "bias %", "won-lost in log-loss",
              "fit, CPU s", "row, ms", "1000 rows, ms", "MB"]  # fmt: skip
    table(f"Mean ranks over {len(results)} sets, medians of costs", header, rows)


def main() -> None:
    """Compare on all sets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with uci/ and tables/")
    parser.add_argument("--splits", type=int, default=3, help="random splits of each set")
    parser.add_argument("--most", type=int, default=2240, help="points to train, at most")
    parser.add_argument("--sets", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--methods", nargs="*", help="names of classifiers; default: all")
    parser.add_argument("--rows", action="store_true", help="a curve over the number of rows")
    parser.add_argument("--json", type=Path, help="write numbers to this file, and go on from it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    fits = {m: fit for m, fit in methods().items() if not given.methods or m in given.methods}
    sizes = [f"{name} {n}" for name in CURVES for n in ROWS] if given.rows else given.sets
    results: dict[str, dict[str, list]] = {}
    if given.json and given.json.exists():
        results = json.loads(given.json.read_text())
    for title in sizes:
        name, _, n = title.partition(" ")
        most = int(n) if n else given.most
        found = results.setdefault(title, {})
        for seed in range(given.splits):
            data = None
            for method, fit in fits.items():
                rows = found.setdefault(method, [])
                if len(rows) <= seed:
                    data = data or frequent(load(name, given.data, most, 2 / 3, seed, scaled=False))
                    rows.append(tried(fit, data))
                    print(title, seed, method, *(f"{v:.4g}" for v in rows[-1]), flush=True)
                    if given.json:
                        given.json.write_text(json.dumps(results))
    if given.rows:
        rows = [[t, *(f"{np.mean(r[m], axis=0)[1]:.4f}" for m in fits)] for t, r in results.items()]
        table("Log-loss by the number of rows", ["", *fits], rows)
    elif OURS in fits:
        summary({name: r for name, r in results.items() if name in sizes})


if __name__ == "__main__":
    main()
