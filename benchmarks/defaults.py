"""The default classifier beside what people use: error, log-loss, calibration, rejection, seconds.

    python benchmarks/defaults.py --data FOLDER               # some minutes
    python benchmarks/defaults.py --data FOLDER --splits 5 --json results.json
    python benchmarks/defaults.py --data FOLDER --plot ranks.svg

Every classifier is as it comes, without arguments, but for the support vector machine, whose C and
gamma are chosen from nine pairs by folds and whose probabilities are calibrated by folds. The rules
of the default classifier were chosen on the sets called TUNED; the summary is over the others.
Features are standardised and categories are 0 and 1 for all. Two thirds of the points, at most
2 240, are for training. Risk-coverage is the area under the error of the most certain points, over
all shares of points. The process of a Gaussian process classifier takes n^3 operations for each
class and step, so it is tried on at most 500 points and not ranked.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from _tables import Halves, load
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier

TUNED = ("heart", "pima", "liver", "contraceptive", "crabs", "zoo", "soybean", "cells", "musk",
         "dna", "letter", "cox2")  # fmt: skip
OTHERS = ("australian", "breast", "sonar", "house-votes", "promoter", "mdrr", "dhfr",
          "german-credit", "golub", "synth", "shuttle", "ticdata", "adult")  # fmt: skip
MEASURES = ("error", "log-loss", "calibration", "risk-coverage")
OURS = "BayesPointClassifier"
MOST_OF_PROCESS = 500


def support_vectors(X: NDArray, y: NDArray) -> Any:
    """A support vector machine that was tuned and calibrated."""
    folds = int(np.clip(np.bincount(y).min(), 2, 5))
    pairs = {"C": [0.1, 1, 10], "gamma": list(np.array([0.3, 1, 3]) / X.shape[1])}
    best = GridSearchCV(SVC(), pairs, cv=folds).fit(X, y).best_estimator_
    return CalibratedClassifierCV(best, cv=folds, ensemble=False).fit(X, y)


def process(X: NDArray, y: NDArray) -> Any:
    """A Gaussian process classifier, if there are not too many points."""
    if len(y) > MOST_OF_PROCESS:
        return None
    kernel = ConstantKernel(1.0) * RBF(np.sqrt(X.shape[1] / 2))
    return GaussianProcessClassifier(kernel, random_state=0).fit(X, y)


CLASSIFIERS = {
    OURS: lambda X, y: BayesPointClassifier(random_state=0).fit(X, y),
    "LogisticRegression": lambda X, y: LogisticRegression(max_iter=5000).fit(X, y),
    "SVC, tuned, calibrated": support_vectors,
    "RandomForest": lambda X, y: RandomForestClassifier(random_state=0).fit(X, y),
    "HistGradientBoosting": lambda X, y: HistGradientBoostingClassifier(random_state=0).fit(X, y),
    "GaussianProcess": process,
}
RANKED = list(CLASSIFIERS)[:-1]


def measure(p: NDArray, y: NDArray) -> list[float]:
    """Error, log-loss, calibration error (15 bins) and area under the risk-coverage curve."""
    p = np.maximum(p, 1e-15)
    wrong, sure, n = p.argmax(axis=1) != y, p.max(axis=1), len(y)
    bins = np.minimum((15 * sure).astype(int), 14)
    gap = np.bincount(bins, sure - ~wrong, minlength=15)
    risk = np.cumsum(wrong[np.argsort(-sure, kind="stable")]) / np.arange(1, n + 1)
    loss = -np.log(p[np.arange(n), y] / p.sum(axis=1)).mean()
    return [wrong.mean(), loss, np.abs(gap).sum() / n, risk.mean()]


def frequent(data: Halves) -> Halves:
    """Without classes of which there are fewer than four points to train, too few for folds."""
    counts = np.bincount(data.y)
    kept = np.flatnonzero(counts >= 4)
    train, new = np.isin(data.y, kept), np.isin(data.y_new, kept)
    return Halves(
        data.X[train], np.searchsorted(kept, data.y[train]),
        data.X_new[new], np.searchsorted(kept, data.y_new[new]),
    )  # fmt: skip


def compare(name: str, folder: Path, n_splits: int) -> dict[str, NDArray]:
    """Measures, seconds to fit, milliseconds to predict 1 000 points and megabytes, by split."""
    found: dict[str, list] = {}
    for seed in range(n_splits):
        data = frequent(load(name, folder, most=2240, share=2 / 3, seed=seed))
        for method, fit in CLASSIFIERS.items():
            start = time.process_time()
            classifier = fit(data.X, data.y)
            seconds = time.process_time() - start
            if classifier is None:
                continue
            start = time.process_time()
            p = classifier.predict_proba(data.X_new)
            latency = 1e6 * (time.process_time() - start) / len(data.y_new)
            size = len(pickle.dumps(classifier)) / 1e6
            row = [*measure(p, data.y_new), seconds, latency, size]
            found.setdefault(method, []).append(row)
    return {method: np.array(rows) for method, rows in found.items()}


def summary(results: dict[str, dict[str, NDArray]]) -> None:
    """Mean ranks, and wins and losses of the default classifier."""
    means = np.array([[r[m].mean(axis=0) for m in RANKED] for r in results.values()])
    ranks = np.stack([rankdata(means[:, :, i].round(9), axis=1) for i in range(4)], axis=2)
    rows = []
    for k, method in enumerate(RANKED):
        seconds = np.median(means[:, k, 4])
        costs = [f"{seconds:.2f}", f"{means[:, k, 5].mean():.0f}", f"{means[:, k, 6].mean():.1f}"]
        rows.append([method, *(f"{rank:.2f}" for rank in ranks[:, k].mean(axis=0)), *costs])
    header = ["mean rank", *MEASURES, "median fit, CPU s", "predict 1000, CPU ms", "MB"]
    table(f"Mean ranks over {len(results)} sets", header, rows)
    rows = []
    for k, method in enumerate(RANKED[1:], start=1):
        cells = []
        for i in range(4):
            difference = means[:, k, i] - means[:, 0, i]
            p = wilcoxon(difference).pvalue if difference.any() else 1.0
            cells.append(f"{(difference > 0).sum()}-{(difference < 0).sum()} (p {p:.2g})")
        rows.append([method, *cells])
    table(f"Sets won and lost by {OURS} (Wilcoxon's signed ranks)", ["", *MEASURES], rows)


def plot(results: dict[str, dict[str, NDArray]], path: str) -> None:
    """Mean ranks as a picture."""
    import matplotlib.pyplot as plt

    means = np.array([[r[m].mean(axis=0)[:4] for m in RANKED] for r in results.values()])
    ranks = np.stack([rankdata(means[:, :, i].round(9), axis=1) for i in range(4)], axis=2)
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    for k, method in enumerate(RANKED):
        own = {"color": "#1f5fa8", "zorder": 3} if k == 0 else {"color": f"{0.35 + 0.12 * k:.2f}"}
        marker = "osD^v"[k]
        axes.plot(ranks[:, k].mean(axis=0), range(4), marker, ms=9, label=method, **own)
    axes.set(yticks=range(4), yticklabels=MEASURES, xlim=(1, len(RANKED)))
    axes.set(xlabel=f"mean rank over {len(results)} data sets (1 is best)", ylim=(3.5, -0.5))
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Compare on all sets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with uci/ and tables/")
    parser.add_argument("--splits", type=int, default=3, help="random splits of each set")
    parser.add_argument("--sets", nargs="*", default=[*TUNED, *OTHERS], help="names of sets")
    parser.add_argument(
        "--json", type=Path, help="write all numbers to this file, and go on from it"
    )
    parser.add_argument("--plot", help="draw the mean ranks on the sets that were not tuned on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = {}
    if options.json and options.json.exists():
        known = json.loads(options.json.read_text())
    results = {}
    for name in options.sets:
        if name in known:
            results[name] = {m: np.array(rows) for m, rows in known[name].items()}
            continue
        results[name] = compare(name, options.data, options.splits)
        rows = [
            [method, *(f"{v:.4f}" for v in r.mean(axis=0)[:4]), f"{r[:, 4].mean():.2f}"]
            for method, r in results[name].items()
        ]
        table(f"{name}{' (tuned on)' * (name in TUNED)}", ["", *MEASURES, "fit, CPU s"], rows)
        if options.json:
            numbers = {k: {m: r.tolist() for m, r in v.items()} for k, v in results.items()}
            options.json.write_text(json.dumps(numbers))
    kept_apart = {name: r for name, r in results.items() if name not in TUNED}
    for chosen in filter(None, (kept_apart, results if len(kept_apart) < len(results) else None)):
        summary(chosen)
    if options.plot and kept_apart:
        plot(kept_apart, options.plot)


if __name__ == "__main__":
    main()
