"""Transduction and rejection by vote, where labels are flipped."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.exceptions import ChainsDisagreeWarning
from papers.base import Column, Context, Result, Row, Table
from papers.gibbs.sphere import flipped
from papers.verdicts import mean_row, standard_error

DIMENSION, N_TRAIN, N_TEST = 10, 60, 1000
FLIPPED = 0.05
N_SETS = {"quick": 10, "full": 40}
RATES = (0.0, 0.1, 0.2, 0.5)


def run(context: Context) -> Result:
    """Errors of votes, with and without rejection."""
    with context.part("votes"):
        found = solve_votes(N_SETS[context.mode], context.seed)
    return Result({}, [votes_table(found)])


def solve_votes(n_sets: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Errors in % on clean test labels, (n_sets,) or, by rejection rate, (n_sets, n_rates)."""
    found: dict[str, list] = {"single": [], "by vote": [], "by size": []}
    for number in range(n_sets):
        rng = np.random.default_rng((seed, 10, number))
        X = rng.normal(size=(N_TRAIN + N_TEST, DIMENSION))
        y = np.where(X @ rng.normal(size=DIMENSION) > 0, 1, -1)
        seen = flipped(y[:N_TRAIN], FLIPPED, rng)
        engine = GibbsSampler(label_noise=FLIPPED, n_samples=400, thin=20)
        clf = BayesPointClassifier(
            kernel="linear",
            temperature=1.0,
            engine=engine,
            fit_intercept=False,
            random_state=number,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChainsDisagreeWarning)
            clf.fit(X[:N_TRAIN], seen)
        new, truth = X[N_TRAIN:], y[N_TRAIN:]
        signs = np.sign(clf.sample_outputs(new)[:, :, 0])
        share = clf.vote_shares(new)[:, 1] - 0.5
        size = new @ clf.coef_[0]
        found["single"].append((signs != truth[:, None]).mean())
        found["by vote"].append(rejected(share, truth))
        found["by size"].append(rejected(size / np.linalg.norm(new, axis=1), truth))
    return {name: 100 * np.array(values) for name, values in found.items()}


def rejected(score: NDArray, truth: NDArray) -> list[float]:
    """Errors on what is left when the points of the smallest scores are rejected."""
    wrong = (np.where(score > 0, 1, -1) != truth)[np.argsort(-np.abs(score), kind="stable")]
    return [float(wrong[: len(wrong) - round(rate * len(wrong))].mean()) for rate in RATES]


def votes_table(found: dict[str, NDArray[np.float64]]) -> Table:
    """Errors of the machine as a whole, and where it refuses to answer."""
    nothing: list[float | None] = [None] * (len(RATES) - 1)
    single = found["single"]
    rows = [
        Row("single sample", [single.mean(), *nothing], "no rejection", [standard_error(single)]),
        votes_row("Bayes point, by |output|", found["by size"]),
        votes_row("vote, by its majority", found["by vote"]),
    ]
    columns = [Column(f"{100 * rate:.0f} %", 1) for rate in RATES]
    caption = (
        f"Mean error in % on the accepted of {N_TEST} clean test points, by the share rejected; "
        f"{DIMENSION} features, {N_TRAIN} training points, {100 * FLIPPED:.0f} % of their labels "
        f"flipped, {len(single)} data sets (± standard errors over them). The paper "
        "says that rejecting the closest votes reduces the error greatly; the verdict compares the "
        "last column with the first."
    )
    return Table("Transduction: rejection by vote", caption, columns, rows)


def votes_row(name: str, errors: NDArray[np.float64]) -> Row:
    """Mean errors by rejection rate, and whether rejecting half of the points helps."""
    saved = errors[:, 0] - errors[:, -1]
    helps = saved.mean() > 2 * standard_error(saved)
    return mean_row(name, errors, "better" if helps else "no better")
