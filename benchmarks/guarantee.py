"""Is the error that SelectiveClassifier(risk=) guarantees kept, and what does it cost?

    python benchmarks/guarantee.py              # some minutes, needs MNIST
    python benchmarks/guarantee.py --runs 200

A classifier is trained on 4 000 digits of MNIST. The other 56 000 training digits are the
population: calibration points are drawn from them with replacement, so the true error at every
threshold is known. Three ways to choose the threshold: "guarantee" is that of the library, "from
the fewest" starts at the smallest number of points that can pass, and "in hindsight" takes the
lowest threshold that passes alone, which guarantees nothing. "nothing" is the share of runs without
a threshold, "coverage" the mean share of digits that are accepted, "best" the largest one that the
true errors allow, and "broken" the share of runs whose true error is above the risk: at most 5 %.
The last table has a score without information, where all errors are equally probable.
"""

from __future__ import annotations

import argparse

import numpy as np
from _report import table

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.reject import RejectionCurve, error_bound, estimator_outputs
from bayespoint.reject.guarantee import first_test, points_needed, promised_errors
from papers.datasets import load_mnist

LEVEL = 0.95
SETTINGS = ((0.05, 1000), (0.02, 1000), (0.02, 3000), (0.01, 1000), (0.01, 3000), (0.01, 10_000))
N_TRAIN = 4000


def digits(folder: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Scores of digits that the classifier was not trained on, and whether it is wrong."""
    data = load_mnist(folder)
    X, y = data.X_train, data.y_train
    clf = BayesPointClassifier(
        kernel="poly",
        degree=5,
        gamma=1,
        normalize=True,
        random_state=0,
        engine=PermutedPerceptron(n_samples=10),
    ).fit(X[:N_TRAIN], y[:N_TRAIN])
    parts = np.array_split(np.arange(N_TRAIN, len(y)), 20)
    outputs = np.concatenate([estimator_outputs(clf, X[part]) for part in parts])
    return outputs.max(axis=1), clf.classes_[outputs.argmax(axis=1)] != y[N_TRAIN:]


def choices(curve: RejectionCurve, risk: float) -> dict[str, np.ndarray]:
    """The error that each way believes to guarantee at each threshold."""
    accepted = np.rint(curve.n_samples * (1 - curve.rate)).astype(int)
    errors = np.rint(accepted * curve.error).astype(int)
    start, fewest = first_test(curve.n_samples, risk, LEVEL), points_needed(risk, LEVEL)
    alone = np.where(accepted >= start, error_bound(errors, accepted, LEVEL), np.inf)
    return {
        "guarantee": promised_errors(accepted, errors, start, LEVEL),
        "from the fewest": promised_errors(accepted, errors, fewest, LEVEL),
        "in hindsight": alone,
    }


def simulate(
    scores: np.ndarray, wrong: np.ndarray, risk: float, n: int, runs: int
) -> list[list[str]]:
    """One line for each way: how often it breaks the promise, and how much it accepts."""
    truth = RejectionCurve.from_confidence(scores, wrong)
    best = (1 - truth.rate[truth.error <= risk]).max(initial=0.0)
    rng, found = np.random.default_rng(0), {}
    for _ in range(runs):
        drawn = rng.integers(len(scores), size=n)
        curve = RejectionCurve.from_confidence(scores[drawn], wrong[drawn])
        for name, promised in choices(curve, risk).items():
            passing = np.flatnonzero(promised <= risk)
            point = (0.0, 0.0)  # coverage and error in the population, if nothing passes
            if len(passing):
                index = np.searchsorted(truth.threshold, curve.threshold[passing[0]])
                index = min(index, len(truth.rate) - 1)
                point = 1 - truth.rate[index], truth.error[index]
            found.setdefault(name, []).append(point)
    lines = []
    for name, points in found.items():
        coverage, error = np.array(points).T
        shares = coverage == 0, coverage, error > risk
        numbers = [f"{100 * share.mean():.1f} %" for share in shares]
        lines.append([name, f"{100 * risk:g} %", n, *numbers, f"{100 * best:.1f} %"])
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with mnist.npz")
    parser.add_argument("--runs", type=int, default=1000, help="calibrations for each line")
    arguments = parser.parse_args()
    scores, wrong = digits(arguments.data)
    heads = ["", "risk", "points", "nothing", "coverage", "broken", "best"]
    lines = [
        line for setting in SETTINGS for line in simulate(scores, wrong, *setting, arguments.runs)
    ]
    title = f"{len(scores)} digits, error {100 * wrong.mean():.2f} %, {arguments.runs} calibrations"
    table(title, heads, lines)
    order = np.arange(100_000)  # of the scores; the errors are evenly spread
    flat = np.diff(np.floor(0.0501 * order), prepend=0) > 0
    title = "A score without information, error 5.01 %"
    table(title, heads, simulate(order, flat, 0.05, 1000, arguments.runs))


if __name__ == "__main__":
    main()
