"""The least test error that linear classifiers reach with one parameter for all splits of a set.

    python benchmarks/knapsack_hindsight.py                # sonar; a quarter of an hour
    python benchmarks/knapsack_hindsight.py --set liver --splits 20

The splits are those of Table 1 (``python -m papers knapsack --full``). Parameters are chosen by
the test errors themselves, so this is no estimate of an error, but a bound on what a choice by
folds can reach. Needs the data folder (BAYESPOINT_DATA, or --data) with uci/.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from _report import table
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from papers.datasets import data_folder, load_uci
from papers.knapsack.splits import GRIDS, TEST_SHARE

COSTS, BETAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0), GRIDS["full"].betas[:-1]
SCHEDULES = (("averaged", 64), ("heskes", 128))


def errors(A: NDArray, a: NDArray, B: NDArray, b: NDArray) -> Iterator[tuple[str, str, float]]:
    """Method, parameters and test error in %, of classifiers trained on A and tested on B."""
    machines = [("SVM", f"C {C:g}", SVC(kernel="linear", C=C)) for C in GRIDS["full"].svm]
    for C in (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0):
        machines.append(("logistic", f"C {C:g}", LogisticRegression(C=C, max_iter=2000)))
    for share in ("auto", 0.3, 0.5, 0.7, 0.9):
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=share)
        machines.append(("discriminant", f"shrinkage {share}", lda))
    for scale in GRIDS["full"].ep:
        machines.append(("EP", f"variance {scale**2:.3g}", ep(scale)))
    for method, words, machine in machines:
        yield method, words, 100 * float(np.mean(machine.fit(A, a).predict(B) != b))
    Z = np.column_stack([B, np.ones(len(B))])
    for schedule, bins in SCHEDULES:
        for C in COSTS:
            engine = KnapsackPropagation(C=C, schedule=schedule, bins=bins)
            machine = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
            means = machine.fit(A, a).posterior_.means(np.array(BETAS))[:, :, 0]
            wrong = 100 * np.mean((Z @ means.T > 0) != b[:, None], axis=0)
            for beta, error in zip(BETAS, wrong, strict=True):
                yield f"knapsack, {schedule}, {bins} bins", f"C {C:g}, β {beta:g}", float(error)


def ep(scale: float) -> BayesPointClassifier:
    """EP with a prior scale."""
    engine = ExpectationPropagation(prior_scale=float(scale))
    return BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with uci/")
    parser.add_argument("--set", default="sonar", help="a set of Table 1")
    parser.add_argument("--splits", type=int, default=100)
    options = parser.parse_args()
    folder = data_folder(options.data)
    if folder is None:
        parser.error("name the data folder")
    warnings.simplefilter("ignore")
    X, y = load_uci(options.set, folder)
    y = y == np.unique(y)[0]
    found: dict[tuple[str, str], list[float]] = {}
    for split in range(options.splits):
        state = np.random.SeedSequence([0, split]).generate_state(2)
        A, B, a, b = train_test_split(X, y, test_size=TEST_SHARE, random_state=int(state[0]))
        scaler = StandardScaler().fit(A)
        for method, words, error in errors(scaler.transform(A), a, scaler.transform(B), b):
            found.setdefault((method, words), []).append(error)
    rows = []
    for method in dict.fromkeys(method for method, _ in found):
        own = {words: values for (name, words), values in found.items() if name == method}
        best = min(own, key=lambda words: float(np.mean(own[words])))
        spread = np.std(own[best], ddof=1) / np.sqrt(options.splits)
        rows.append([method, best, len(own), f"{np.mean(own[best]):.2f}", f"{spread:.2f}"])
    header = ["", "best in hindsight", "of", "test error %", "standard error"]
    table(f"{options.set}, {options.splits} splits", header, rows)


if __name__ == "__main__":
    main()
