"""Which schedule, damping and bins knapsack propagation should have: by folds of training data.

    python benchmarks/knapsack_schedule.py

For each set one training part (80 %, drawn with a seed that the experiment does not use) is cut
into five folds; errors are those on the held-out folds, in %, for the best pair of C and beta, and
the mean over all pairs. Test parts are not looked at. The choice is VARIANT in
``papers.knapsack.splits``. Needs the data folder (BAYESPOINT_DATA, or --data).
"""

from __future__ import annotations

import argparse

import numpy as np
from _report import table
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from papers.datasets import load_uci
from papers.knapsack.search import KnapsackCV

SEED = 2**31 - 1  # not one of the experiment's
SETS = ("liver", "heart", "sonar", "pima")
COSTS, BETAS = (1.0, 3.0, 10.0, 30.0), (0.3, 1.0, 3.0, 10.0, np.inf)
VARIANTS = {
    "averaged, 64 bins": {"schedule": "averaged"},
    "heskes, 64 bins": {"schedule": "heskes"},
    "heskes, 128 bins": {"schedule": "heskes", "bins": 128},
    "heskes, 64 bins, damping 0.8": {"schedule": "heskes", "damping": 0.8},
    "heskes, 64 bins, damping 0.5": {"schedule": "heskes", "damping": 0.5},
    "plain, 64 bins, damping 0.3": {"schedule": "plain"},
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", help="folder with uci/")
    arguments = parser.parse_args()
    errors: dict[str, list[str]] = {name: [] for name in VARIANTS}
    means: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for data in SETS:
        X, y = load_uci(data, arguments.data)
        X, _, y, _ = train_test_split(X, y, train_size=0.8, random_state=SEED)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for name, parameters in VARIANTS.items():
            classifier = BayesPointClassifier(
                kernel="linear", engine=KnapsackPropagation(**parameters)
            )
            machine = make_pipeline(StandardScaler(), classifier)
            search = KnapsackCV(machine, Cs=COSTS, betas=BETAS, rule="best", cv=folds).fit(X, y)
            best = 100 * (1 - search.best_score_)
            mean = 100 * (1 - search.cv_results_["mean_test_score"].mean())
            errors[name].append(f"{best:.1f} / {mean:.1f}")
            means[name] += [best, mean]
    rows = [
        [name, *own, f"{np.mean(means[name][::2]):.2f} / {np.mean(means[name][1::2]):.2f}"]
        for name, own in errors.items()
    ]
    table("Error on held-out folds: best pair / mean over pairs", ["", *SETS, "mean"], rows)


if __name__ == "__main__":
    main()
