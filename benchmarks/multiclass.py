"""Several classes in one posterior beside one against the rest.

    python benchmarks/multiclass.py --data FOLDER                  # some ten minutes
    python benchmarks/multiclass.py --data FOLDER --most 300 --splits 2 --json results.json

The same kernel for both, linear or Gaussian, the prior scale by the evidence of each (linear
machines one against the rest keep the scale 1, as by default), and the temperature by the
leave-one-out predictions of each ("T = 1" is without it). Half of the points, at most 400, are for
training. Seconds are those of the processor, for fitting and for predicting 1 000 points.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from _report import table
from _tables import MEASURES, Halves, frequent, load, measure
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier

SETS = ("letter", "shuttle", "dna", "soybean", "zoo", "crabs", "digits", "iris", "wine")
SHIPPED = {"digits": load_digits, "iris": load_iris, "wine": load_wine}
METHODS = [
    (engine, kernel, how)
    for engine in ("ep", "laplace")
    for kernel in ("linear", "rbf")
    for how in ("one_vs_rest", "joint")
]


def halves(name: str, folder: Path, most: int, seed: int) -> Halves:
    """Training and test points of a set of the folder, or of scikit-learn."""
    if name not in SHIPPED:
        return frequent(load(name, folder, most=most, seed=seed))
    X, y = SHIPPED[name](return_X_y=True)
    size = min(most, len(y) // 2)
    X, X_new, y, y_new = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    return Halves(scaler.transform(X), y, scaler.transform(X_new), y_new)


def compare(name: str, folder: Path, most: int, n_splits: int) -> dict[str, list[float]]:
    """Mean measures and seconds of each method, with and without the temperature."""
    found: dict[str, list] = {}
    for seed in range(n_splits):
        data = halves(name, folder, most, seed)
        for engine, kernel, how in METHODS:
            method = f"{engine}, {kernel}, {how}"
            begin = time.process_time()
            clf = BayesPointClassifier(kernel=kernel, engine=engine, multi_class=how)
            clf.fit(data.X, data.y)
            fitted = time.process_time()
            p = clf.predict_proba(data.X_new)
            costs = [fitted - begin, 1000 * (time.process_time() - fitted) / len(data.y_new)]
            found.setdefault(method, []).append([*measure(p, data.y_new), *costs])
            log_p = clf.predict_log_proba(data.X_new) * clf.coding_.temperature
            plain = np.exp(log_p - log_p.max(axis=1, keepdims=True))
            plain /= plain.sum(axis=1, keepdims=True)
            row = [*measure(plain, data.y_new), *costs]
            found.setdefault(f"{method}, T = 1", []).append(row)
    return {method: np.mean(rows, axis=0).tolist() for method, rows in found.items()}


def main() -> None:
    """Compare on all sets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with tables/")
    parser.add_argument("--most", type=int, default=400, help="most points to train")
    parser.add_argument("--splits", type=int, default=2, help="random splits of each set")
    parser.add_argument("--sets", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--json", type=Path, help="write all numbers to this file, and go on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = options.json and options.json.exists()
    results = json.loads(options.json.read_text()) if known else {}
    for name in options.sets:
        if name not in results:
            results[name] = compare(name, options.data, options.most, options.splits)
            if options.json:
                options.json.write_text(json.dumps(results))
        rows = [
            [method, *(f"{v:.4f}" for v in row[:4]), *(f"{v:.2f}" for v in row[4:])]
            for method, row in results[name].items()
        ]
        header = ["", *MEASURES, "fit, CPU s", "predict 1000, CPU s"]
        table(name, header, rows)
    for machine in dict.fromkeys(f"{engine}, {kernel}" for engine, kernel, _ in METHODS):
        wins = []
        for k, what in enumerate(MEASURES):
            gaps = [
                results[name][f"{machine}, one_vs_rest"][k] - results[name][f"{machine}, joint"][k]
                for name in options.sets
            ]
            better, worse = sum(g > 1e-9 for g in gaps), sum(g < -1e-9 for g in gaps)
            wins.append([what, f"{better}-{worse}", f"{np.mean(gaps):+.4f}"])
        table(f"{machine}: sets on which joint is better-worse", ["", "sets", "mean gain"], wins)


if __name__ == "__main__":
    main()
