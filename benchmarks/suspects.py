"""Labels that are probably wrong: leave-one-out of one fit against cleanlab's five folds.

    python benchmarks/suspects.py [--data FOLDER] [--tables heart,sonar]

Flips 10 % of the labels of a table, at random, or where classes are near: among the points that a
fit to the right labels is least sure of. Prints the AUC of finding the flipped labels: of
``suspect_labels``, and of cleanlab (``get_label_quality_scores``) with five folds of the same
classifier and of logistic regression. Times: the fit with leave-one-out, ``suspect_labels`` of the
fitted classifier alone, and cleanlab's folds. Needs ``pip install cleanlab``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from _report import table, timed
from _tables import load
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bayespoint import BayesPointClassifier
from bayespoint.active import suspect_labels

TABLES = "heart,sonar,australian,breast,liver,pima,crabs,house-votes,synth,german-credit"
SHARE = 0.1  # of the labels are flipped
MOST = 300  # rows of a table
ROUNDING = 5e-4  # of the numbers in the table
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def flip(X: NDArray, y: NDArray, near: bool, rng: np.random.Generator) -> NDArray[np.intp]:
    """The labels with a share of them wrong, anywhere or among the least sure third."""
    n, n_classes = len(y), int(y.max()) + 1
    among = np.arange(n)
    if near:
        p = cross_val_predict(
            LogisticRegression(max_iter=1000), X, y, cv=FOLDS, method="predict_proba"
        )
        among = np.argsort(p.max(axis=1))[: n // 3]
    chosen = rng.choice(among, round(SHARE * n), replace=False)
    wrong = y.copy()
    wrong[chosen] = (y[chosen] + rng.integers(1, n_classes, len(chosen))) % n_classes
    return wrong


def by_folds(estimator: Any, X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """cleanlab's scores, from probabilities of five folds."""
    from cleanlab.rank import get_label_quality_scores

    p = cross_val_predict(estimator, X, y, cv=FOLDS, method="predict_proba")
    return -get_label_quality_scores(y, p)


def compare(X: NDArray, y: NDArray, near: bool, seed: int) -> NDArray[np.float64]:
    """AUC of ours and of both rivals, and the seconds of the fit, of ours, and of the folds."""
    wrong = flip(X, y, near, np.random.default_rng(seed))
    machine = BayesPointClassifier(random_state=0)
    fitted, fit_time = timed(machine.fit, X, wrong)
    found, own_time = timed(suspect_labels, fitted, X, wrong)
    folds, fold_time = timed(by_folds, machine, X, wrong)
    logistic = by_folds(LogisticRegression(max_iter=1000), X, wrong)
    aucs = [roc_auc_score(wrong != y, one) for one in (found.score, folds, logistic)]
    return np.array([*aucs, fit_time, own_time, fold_time])


def main() -> None:
    """Print a table for each way to flip."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("BAYESPOINT_DATA"))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--draws", type=int, default=4, help="of flipped labels")
    given = parser.parse_args()
    for near in (False, True):
        rows, won = [], np.zeros(2, dtype=int)
        for name in given.tables.split(","):
            X, y, _, _ = load(name, given.data, most=MOST, share=0.99)
            draws = [compare(X, y, near, seed) for seed in range(given.draws)]
            own, same, other, fit_time, own_time, fold_time = np.mean(draws, axis=0)
            won += own >= np.array([same, other]) - ROUNDING
            rows.append(
                [
                    name,
                    len(y),
                    f"{own:.3f}",
                    f"{same:.3f}",
                    f"{other:.3f}",
                    f"{fit_time:.1f} s",
                    f"{1e3 * own_time:.1f} ms",
                    f"{fold_time:.1f} s",
                ]
            )
        heads = ["", "rows", "ours", "same, folds", "logistic, folds", "fit", "suspects", "folds"]
        where = "where classes are near" if near else "at random"
        score = f"ours is at least as good on {won[0]} and {won[1]} of {len(rows)}"
        table(f"10 % flipped {where}: AUC; {score}", heads, rows)


if __name__ == "__main__":
    main()
