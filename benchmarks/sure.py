"""Very sure predictions: how often rows above 95 % are wrong, and how often they should be.

    python benchmarks/sure.py [--data FOLDER] [--rows 60,150,400] [--splits 3] [--spread 3]

The default classifier on tables that its rules were not chosen on, and on simulated ones: the share
of test rows whose largest probability is above 0.95, how many of these the classifier expects to be
wrong, and how many are. The next columns are those of probabilities that are averaged over unsure
temperatures, whose logarithms have a normal distribution of standard deviation c / sqrt(n) (c is
``--spread``), and by how much this changes the log-loss. The last one is the leave-one-out error
less the error on the test rows.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from _report import table
from _tables import frequent, load
from numpy.typing import NDArray
from scipy.special import softmax

from bayespoint import BayesPointClassifier

TABLES = (
    "golub,promoter,wine,sonar,synth,dhfr,house-votes,mdrr,breast_cancer,breast,australian,"
    "german-credit,ticdata"
)
SURE = 0.95
N_NEW = 1000  # rows of simulated tables to predict
Rows = tuple[NDArray, NDArray]


def rings(rng: np.random.Generator, n: int) -> Rows:
    """Two noisy rings among five irrelevant features."""
    X = rng.standard_normal((n, 7))
    return X, (np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.standard_normal(n) > 1.2).astype(int)


def skewed(rng: np.random.Generator, n: int) -> Rows:
    """Lognormal features, whose logarithms decide."""
    Z = rng.standard_normal((n, 6))
    return np.exp(1.5 * Z), (Z[:, 0] + Z[:, 1] + 0.5 * rng.standard_normal(n) > 0).astype(int)


def three(rng: np.random.Generator, n: int) -> Rows:
    """Three classes of unequal size and shape, in ten dimensions."""
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    centres = 0.8 * np.random.default_rng(0).standard_normal((3, 10))
    return centres[y] + np.array([0.7, 1.0, 1.3])[y, None] * rng.standard_normal((n, 10)), y


def steps(rng: np.random.Generator, n: int) -> Rows:
    """A tree of three splits, and 5 % of other labels."""
    X = rng.uniform(size=(n, 8))
    y = np.where(X[:, 0] > 0.5, X[:, 1] > 0.4, X[:, 2] > 0.6)
    return X, (y ^ (rng.random(n) < 0.05)).astype(int)


def weak(rng: np.random.Generator, n: int) -> Rows:
    """Forty features that all tell a little."""
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, 40)) + 0.45 * (2 * y[:, None] - 1), y


SIMULATED: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    one.__name__: one for one in (rings, skewed, three, steps, weak)
}


def problems(names: list[str], data: Path | None, n: int, n_splits: int) -> Iterator[tuple]:
    """Name, training rows and test rows of all tables."""
    for seed in range(n_splits):
        for name in names:
            halves = frequent(load(name, data, most=n, share=0.7, seed=seed))  # type: ignore[arg-type]
            if len(np.unique(halves.y)) > 1:
                yield name, *halves
        for name, draw in SIMULATED.items():
            X, y = draw(np.random.default_rng([seed, n]), n + N_NEW)
            yield name, X[:n], y[:n], X[n:], y[n:]


def sure(p: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Shares of rows: the sure ones, those expected to be sure and wrong, those that are."""
    largest, is_wrong = p.max(axis=1), p.argmax(axis=1) != y
    above = largest > SURE
    return np.array([above.mean(), ((1 - largest) * above).mean(), (is_wrong & above).mean()])


def log_loss(p: NDArray, y: NDArray) -> float:
    """Mean of -log p of the labels."""
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-300)).mean())


def averaged(p: NDArray, deviation: float) -> NDArray[np.float64]:
    """Mean probabilities at temperatures whose logarithms are normal around 0."""
    log_p, z = np.log(np.maximum(p, 1e-300)), np.linspace(-2.5, 2.5, 11)
    density = np.exp(-(z**2) / 2)
    parts = [softmax(log_p / np.exp(deviation * one), axis=1) for one in z]
    return np.einsum("t,tnk->nk", density / density.sum(), parts)


def main() -> None:
    """Print a table for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("BAYESPOINT_DATA"))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--rows", default="60,150,400")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--spread", type=float, default=3.0)
    given = parser.parse_args()
    for n in map(int, given.rows.split(",")):
        found: dict[str, list[NDArray]] = {}
        for name, X, y, X_new, y_new in problems(
            given.tables.split(","), given.data, n, given.splits
        ):
            clf = BayesPointClassifier(random_state=0).fit(X, y)
            p = clf.predict_proba(X_new)
            mixed = averaged(p, given.spread / np.sqrt(len(y)))
            losses = log_loss(p, y_new), log_loss(mixed, y_new)
            error = clf.left_out_error_ - np.mean(clf.predict(X_new) != y_new)
            one = [*sure(p, y_new), *sure(mixed, y_new), *losses, error]
            found.setdefault(name, []).append(np.array(one))
        means = {name: np.mean(each, axis=0) for name, each in found.items()}
        means["mean"] = np.mean(list(means.values()), axis=0)
        rows = []
        for name, one in means.items():
            says = [f"{v:.4f}" for part in (one[1:3], one[4:6]) for v in part / max(one[0], 1e-9)]
            says[2:] = [f"{v / max(one[3], 1e-9):.4f}" for v in one[4:6]]
            change = f"{one[7] - one[6]:+.4f}"
            rows.append([name, f"{one[0]:.2f}", *says, f"{one[6]:.3f}", change, f"{one[8]:+.3f}"])
        heads = ["", "sure", "said", "wrong", "said, c", "wrong, c", "log-loss", "change"]
        table(f"{n} rows to train, c = {given.spread:g}", [*heads, "left-out error"], rows)


if __name__ == "__main__":
    main()
