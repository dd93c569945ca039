"""What a fit of the default classifier costs: processor seconds, memory, and what was chosen.

    python benchmarks/costs.py --data FOLDER            # some minutes
    python benchmarks/costs.py --data FOLDER --quick    # at most 20 000 points
    python benchmarks/costs.py --data FOLDER --tables   # tables of at most 2 240 rows to train

With ``--tables`` the sets are those of ``rivals.py``, two thirds of the rows to train, as data
frames. Predictions are of one row and of 1 000 (test rows, repeated if they are fewer), the least
of several times, and the size is that of the model file. The first fit of a fresh process imports
Numba and reads compiled code from its cache; the second does not.

Otherwise every fit has a process of its own, whose largest memory is shown. The sets that are made
up are ``make_classification`` with ten informative features. Test errors are those of at most 4 000
points that were not learned from.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _report import peak_memory, table
from _tables import Halves, frequent, load, load_frames, measure
from rivals import SETS as TABLES
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bayespoint
from bayespoint import BayesPointClassifier

SETS = {
    "half of scikit-learn's digits": (898, None),
    "made up, 2 240 x 36": (2_240, (36, 6)),
    "letter": (8_000, None),
    "adult": (8_000, None),
    "made up, 20 000 x 20": (20_000, (20, 2)),
    "made up, 20 000 x 20, ten classes": (20_000, (20, 10)),
    "made up, 200 000 x 20": (200_000, (20, 2)),
    "made up, 1 000 000 x 20": (1_000_000, (20, 2)),
}
N_TEST = 4_000
QUICK = 20_000  # points


def points(name: str, folder: Path) -> Halves:
    """The points of a set, to train and to test."""
    n, made_up = SETS[name]
    if made_up is not None:
        n_features, n_classes = made_up
        X, y = make_classification(
            n + N_TEST, n_features, n_informative=10, n_classes=n_classes, random_state=0
        )
    elif "digits" in name:
        X, y = load_digits(return_X_y=True)
    else:
        return load(name, folder, most=n, share=0.8)
    X, X_new, y, y_new = train_test_split(X, y, train_size=n, random_state=0)
    return Halves(X, y, X_new[:N_TEST], y_new[:N_TEST])


def fit(name: str, folder: Path) -> tuple:
    """A row of the table."""
    data = points(name, folder)
    start = time.process_time()
    clf = BayesPointClassifier(random_state=0).fit(data.X, data.y)
    seconds = time.process_time() - start
    memory = peak_memory()
    p = clf.predict_proba(data.X_new)
    wrong = (clf.predict(data.X_new) != data.y_new).mean()
    loss = log_loss(data.y_new, p, labels=clf.classes_)
    sizes = f"{len(data.y)}, {data.X.shape[1]}, {len(clf.classes_)}"
    return (
        name,
        sizes,
        f"{seconds:.0f}",
        f"{memory:.1f}",
        f"{100 * wrong:.1f}",
        f"{loss:.3f}",
        chosen(clf),
    )


def cpu(function: Callable[[], object], times: int = 1) -> float:
    """Seconds of the processor that a call takes, the least of several times."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        function()
        spent.append(time.process_time() - start)
    return min(spent)


def of_table(name: str, folder: Path) -> list[float]:
    """Rows, CPU s of a first and a second fit, ms of one row and of 1 000, MB, and log-loss."""
    warnings.simplefilter("ignore")
    data, clf = frequent(load_frames(name, folder, 2240, 2 / 3)), BayesPointClassifier()
    fits = [cpu(lambda: clf.fit(data.X, data.y)) for _ in range(2)]
    many = data.X_new.iloc[np.resize(np.arange(len(data.y_new)), 1000)]
    row = cpu(lambda: clf.predict_proba(many[:1]), times=9)
    thousand = cpu(lambda: clf.predict_proba(many), times=5)
    with TemporaryDirectory() as place:
        file = Path(place, "model.bpm")
        bayespoint.save(clf, file)
        size = file.stat().st_size / 1e6
    loss = measure(clf.predict_proba(data.X_new), data.y_new)[1]
    return [len(data.y), *fits, 1e3 * row, 1e3 * thousand, size, loss]


def of_tables(folder: Path) -> None:
    """What tables cost, each in a process of its own, and the medians."""
    rows = []
    for name in TABLES:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            rows.append(process.apply(of_table, (name, folder)))
            print(name, *(f"{value:.3g}" for value in rows[-1]), sep=" | ", flush=True)
    named = [*zip(TABLES, rows, strict=True), ("median", np.median(rows, axis=0))]
    table(
        "BayesPointClassifier() on tables",
        (
            "set",
            "rows",
            "first fit, CPU s",
            "second",
            "one row, ms",
            "1 000 rows, ms",
            "MB",
            "loss",
        ),
        [(name, *(f"{value:.3g}" for value in row)) for name, row in named],
    )


def chosen(clf: BayesPointClassifier) -> str:
    """The machines of a mixture with their weights, without those that hardly count."""
    if clf.posterior_.n_samples is not None:
        return "perceptrons"
    lines = [line.split(":")[0].strip() for line in clf.run_.choice if "%" in line]
    return ", ".join(line for line in lines if not line.startswith("0%"))


def main() -> None:
    """Fit all, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="data folder")
    parser.add_argument("--quick", action="store_true", help="at most 20 000 points")
    parser.add_argument("--tables", action="store_true", help="tables of at most 2 240 rows")
    given = parser.parse_args()
    if given.tables:
        of_tables(given.data)
        return
    names = [name for name, (n, _) in SETS.items() if n <= QUICK or not given.quick]
    rows = []
    for name in names:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            rows.append(process.apply(fit, (name, given.data)))
            print(*rows[-1], sep=" | ", flush=True)
    table(
        "BayesPointClassifier()",
        ("set", "points, features, classes", "CPU s", "GB", "error %", "log-loss", "chosen"),
        rows,
    )


if __name__ == "__main__":
    main()
