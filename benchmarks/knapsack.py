"""Knapsack propagation: time of 50 passes on UCI sets, growth with data and weights, exactness.

    python benchmarks/knapsack.py            # all of it: a few minutes
    python benchmarks/knapsack.py --no-growth

One thread. Seconds are those of the processor (a machine with other work on it has longer walls),
medians of several runs after one that compiles; whole fits of the engine are timed, with the
posterior. The paper's times are those of a 2.8 GHz Xeon of 2011. The UCI sets come from the data
folder (BAYESPOINT_DATA, or --data), or else from OpenML.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _report import peak_memory, table
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from papers.datasets import load_uci

SETS = {"liver": ("0.1", "12"), "contraceptive": ("0.7", "57"), "sonar": ("0.6", "-")}
RUNS = 7
SETTING = {"C": 1.0, "bins": 128, "schedule": "heskes"}  # those of the paper


def fit_seconds(X, y, runs: int = RUNS, **parameters) -> float:
    """Median processor time of a fit."""
    engine = KnapsackPropagation(**SETTING | parameters)
    machine = BayesPointClassifier(kernel="linear", engine=engine)
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        machine.fit(X, y)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def training_part(name: str, folder: str | None) -> tuple[np.ndarray, np.ndarray]:
    """80 % of a set, standardised."""
    X, y = load_uci(name, folder)
    X, _, y, _ = train_test_split(X, y, train_size=0.8, random_state=0)
    return StandardScaler().fit_transform(X), y == np.unique(y)[0]


def made_up(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A noisy linear problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) / np.sqrt(d) + 0.5 * rng.normal(size=n) > 0


def uci_table(folder: str | None) -> None:
    """50 passes at 128 bins, beside the targets and the paper."""
    rows = []
    for name, (target, paper) in SETS.items():
        X, y = training_part(name, folder)
        size = f"{len(X)} x {X.shape[1] + 1}"
        times = [fit_seconds(X, y, C=C) for C in (1.0, 10.0)]
        plain = fit_seconds(X, y, schedule="plain")
        rows.append([name, size, *(f"{t:.3f}" for t in (*times, plain)), target, paper])
    header = ["50 passes, 128 bins", "points x weights", "C = 1 s", "C = 10 s", "plain s"]
    table("UCI sets", [*header, "target s", "paper s"], rows)


def growth_table(what: str, sizes, problems) -> None:
    """Seconds for 50 passes against one size, its exponent, and memory."""
    rows, times = [], []
    for size, (n, d) in zip(sizes, problems, strict=True):
        X, y = made_up(n, d - 1)
        times.append(fit_seconds(X, y, runs=1 if n * d > 20_000 else 3))
        messages = 8 * n * d * 128 / 1e6
        rows.append(
            [
                size,
                f"{n} x {d}",
                f"{times[-1]:.2f}",
                f"{times[-1] / n / d / 128 / 50 * 1e9:.1f}",
                f"{messages:.0f}",
                f"{peak_memory():.2f}",
            ]
        )
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    header = [what, "points x weights", "seconds", "ns a bin", "messages MB", "peak GB"]
    table(f"Growth with {what}: time ~ {what}^{exponent:.2f}", header, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", help="folder with uci/")
    parser.add_argument("--no-growth", action="store_true", help="leave out the large problems")
    arguments = parser.parse_args()
    fit_seconds(*made_up(20, 3), runs=1)  # compiles
    uci_table(arguments.data)
    if not arguments.no_growth:
        growth_table("D", (8, 32, 125, 500), [(200, d) for d in (8, 32, 125, 500)])
        growth_table("S", (100, 1000, 10_000), [(n, 10) for n in (100, 1000, 10_000)])


if __name__ == "__main__":
    main()
