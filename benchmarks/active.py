"""Active learning on the sphere: strategies, batches, and what choosing a batch costs.

    python benchmarks/active.py --repeats 20

300 points on the sphere in ten dimensions, cut by a plane; error in % on fresh points with 42
labels, the first of them drawn at random. A crowded pool has 60 places with five near neighbours
each. "top" takes the points of largest entropy whatever else is in the batch: what batches would
be without their conditioning.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _report import table, timed

from bayespoint import BayesPointClassifier
from bayespoint.active import query
from bayespoint.engines import Engine, ExpectationPropagation, PermutedPerceptron
from bayespoint.exceptions import NotSeparableWarning

N_POOL, D, N_LABELS = 300, 10, 42
ENGINES: dict[str, Engine] = {
    "ep, noise 0.1": ExpectationPropagation(noise=0.1),
    "100 perceptrons": PermutedPerceptron(n_samples=100),
}
STRATEGIES = ("entropy", "margin", "bald", "top", "random")


def batch(clf: BayesPointClassifier, X: np.ndarray, n: int, strategy: str, asked: list) -> list:
    """Indices of the next n points."""
    seed = len(asked)
    if strategy != "top":
        return query(clf, X, n, strategy=strategy, exclude=asked, random_state=seed).tolist()
    chosen = list(asked)
    for _ in range(n):
        chosen += query(clf, X, 1, exclude=chosen, random_state=seed).tolist()
    return chosen[-n:]


def error(engine: Engine, strategy: str, batch_size: int, crowded: bool, seed: int) -> float:
    """Error in % with the last label."""
    rng = np.random.default_rng(seed)
    plane, X = rng.normal(size=D), rng.normal(size=(N_POOL, D))
    if crowded:
        X = np.repeat(X[: N_POOL // 5], 5, axis=0) + 0.05 * rng.normal(size=X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X_test = rng.normal(size=(4000, D))
    y, y_test = X @ plane > 0, X_test @ plane > 0
    order = rng.permutation(N_POOL)
    n_start = max(2, 1 + int(np.argmax(y[order] != y[order[0]])))  # until both classes are there
    asked = order[:n_start].tolist()
    clf = BayesPointClassifier(kernel="linear", engine=engine, fit_intercept=False, random_state=0)
    while True:
        clf.fit(X[asked], y[asked])
        n = min(batch_size, N_LABELS - len(asked))
        if n <= 0:
            return 100 * (1 - clf.score(X_test, y_test))
        asked += batch(clf, X, n, strategy, asked)


def compare(n_repeats: int) -> None:
    rows = []
    for name, engine in ENGINES.items():
        for crowded in (False, True):
            for batch_size in (1, 10, 20):
                cells = []
                for strategy in STRATEGIES:
                    errors = np.array(
                        [error(engine, strategy, batch_size, crowded, s) for s in range(n_repeats)]
                    )
                    standard_error = errors.std(ddof=1) / np.sqrt(n_repeats)
                    cells.append(f"{errors.mean():.1f} ± {standard_error:.1f}")
                rows.append((f"{name}{', crowded' * crowded}, batches of {batch_size}", *cells))
    table(f"error in % with {N_LABELS} labels, {n_repeats} repeats", ["", *STRATEGIES], rows)


def cost() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n_classes in (2, 5):
        X = rng.normal(size=(200, D))
        clf = BayesPointClassifier(kernel="linear").fit(
            X, (X @ rng.normal(size=(D, n_classes))).argmax(1)
        )
        for n_pool in (1000, 10_000, 50_000):
            pool = rng.normal(size=(n_pool, D))
            clf.predict(pool)
            seconds = [
                timed(query, clf, pool, n, strategy=strategy, random_state=0)[1]
                for strategy in ("entropy", "bald")
                for n in (1, 10, 20)
            ]
            rows.append((f"{n_classes} classes, {n_pool} points", *(f"{s:.2f}" for s in seconds)))
    header = [f"{strategy}, {n}" for strategy in ("entropy", "bald") for n in (1, 10, 20)]
    table("seconds to choose 1, 10 and 20 points, ep", ["", *header], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    # A few perceptrons of thousands need more epochs than they are given; the rest vote.
    warnings.simplefilter("ignore", NotSeparableWarning)
    cost()
    compare(parser.parse_args().repeats)
