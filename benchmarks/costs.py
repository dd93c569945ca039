"""What a fit of the default classifier costs: processor seconds, memory, and what was chosen.

    python benchmarks/costs.py --data FOLDER            # some minutes
    python benchmarks/costs.py --data FOLDER --quick    # at most 20 000 points

Every fit has a process of its own, whose largest memory is shown. The sets that are made up are
``make_classification`` with ten informative features. Test errors are those of at most 4 000 points
that were not learned from.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path

from _report import peak_memory, table
from _tables import Halves, load
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

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
        name, sizes, f"{seconds:.0f}", f"{memory:.1f}", f"{100 * wrong:.1f}", f"{loss:.3f}",
        chosen(clf),
    )  # fmt: skip


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
    given = parser.parse_args()
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
