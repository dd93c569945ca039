"""Expectation propagation beside its neighbours in scikit-learn, in one process.

    python benchmarks/ep.py [--data FOLDER] [--digits N] [--only linear kernel sparse]

Three tables: the full covariance of 785 weights from all of MNIST, beside logistic regression,
which has none; the kernel form beside a Gaussian process classifier; independent weights on sparse
rows beside stochastic gradient descent.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _report import peak_memory, table, timed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.exceptions import FactorisedWarning
from papers.datasets import load_mnist

TOL = 1e-4  # relative change at which all machines of the first table stop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--digits", type=int, default=60_000, help="training digits")
    parser.add_argument("--only", nargs="+", default=["linear", "kernel", "sparse"])
    arguments = parser.parse_args()
    compile_everything()
    print(f"{os.cpu_count()} cores; seconds on a busy machine vary, ratios less so")
    if "linear" in arguments.only:
        linear(arguments.data, arguments.digits)
    if "kernel" in arguments.only:
        kernel(arguments.data)
    if "sparse" in arguments.only:
        independent()


def compile_everything() -> None:
    """Let the first calls, which compile, happen outside of all timings."""
    X, y = np.random.default_rng(0).normal(size=(300, 250)), np.arange(300) % 2
    for schedule in ("rounds", "sequential"):
        engine = ExpectationPropagation(schedule=schedule)
        BayesPointClassifier(kernel="linear", engine=engine).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        engine = FactorisedPropagation(max_iter=1)
        BayesPointClassifier(kernel="linear", engine=engine).fit(sparse.csr_array(X), y)


def linear(data: Path | None, n_digits: int) -> None:
    """All of MNIST, "0" against the rest, 785 weights."""
    split = load_mnist(data)
    X, y = split.X_train[:n_digits].astype(np.float64), split.y_train[:n_digits] == 0
    X_test, y_test = split.X_test.astype(np.float64), split.y_test == 0
    ours = BayesPointClassifier(kernel="linear", engine=ExpectationPropagation(tol=TOL))
    before = peak_memory()
    _, seconds = timed(ours.fit, X, y)
    memory = peak_memory() - before
    features = len(X) * (X.shape[1] + 1) * 8 / 1e9
    rival = LogisticRegression(tol=TOL, max_iter=1000)
    _, rival_seconds = timed(rival.fit, X, y)
    engine = ExpectationPropagation(tol=TOL, schedule="sequential")
    plain = BayesPointClassifier(kernel="linear", engine=engine)
    _, plain_seconds = timed(plain.fit, X, y)
    mean = plain.posterior_.mean[:, 0]
    gap = np.abs(mean - ours.posterior_.mean[:, 0]).max() / np.abs(mean).max()
    rows = [
        row("expectation propagation", ours, seconds, rival_seconds, X_test, y_test),
        row(
            "the same, one site after another", plain, plain_seconds, rival_seconds, X_test, y_test
        ),
        row("LogisticRegression", rival, rival_seconds, rival_seconds, X_test, y_test),
    ]
    table(
        f'MNIST, "0" against the rest, {len(X)} x 785, relative change {TOL:g}',
        ["", "seconds", "ratio", "error %", "log-loss", "log evidence"],
        rows,
    )
    print(
        f"The fixed point of both is the same: weights differ by {gap:.1e} of the largest.\n"
        f"Memory beyond the data: {memory:.2f} GB, of which the features with a constant are "
        f"{features:.2f} GB."
    )


def kernel(data: Path | None, n: int = 2000) -> None:
    """Digits 3 against 8 with an rbf kernel of three prior scales."""
    split = load_mnist(data)
    chosen = np.flatnonzero(np.isin(split.y_train, (3, 8)))[: 2 * n]
    X, y = split.X_train[chosen].astype(np.float64), split.y_train[chosen] == 8
    gamma = 1 / (X.shape[1] * X[:n].var())
    rows = []
    for scale in (1.0, 3.0, 10.0):
        process = GaussianProcessClassifier(
            ConstantKernel(scale**2) * RBF((2 * gamma) ** -0.5), optimizer=None
        )
        ours = BayesPointClassifier(
            kernel="rbf", gamma=gamma, engine=ExpectationPropagation(prior_scale=scale)
        )
        _, seconds = timed(ours.fit, X[:n], y[:n])
        _, rival_seconds = timed(process.fit, X[:n], y[:n])
        rows += [
            row(f"EP, prior scale {scale:g}", ours, seconds, rival_seconds, X[n:], y[n:]),
            row("GaussianProcessClassifier", process, rival_seconds, rival_seconds, X[n:], y[n:]),
        ]
    header = ["", "seconds", "ratio", "error %", "log-loss", "log evidence"]
    table(f"MNIST, 3 against 8, rbf kernel, {n} points to train and to test", header, rows)


def row(name: str, model, seconds: float, rival: float, X: np.ndarray, y: np.ndarray) -> list[str]:
    """Time and quality of a fitted machine."""
    probability = model.predict_proba(X)
    evidence = getattr(model, "log_evidence_", None)
    if evidence is None:
        evidence = getattr(model, "log_marginal_likelihood_value_", None)
    return [
        name,
        f"{seconds:.1f}",
        f"{seconds / rival:.2f}",
        f"{100 * (model.predict(X) != y).mean():.2f}",
        f"{log_loss(y, probability):.4f}",
        "" if evidence is None else f"{np.sum(evidence):.1f}",
    ]


def independent(n: int = 200_000, d: int = 20_000, entries: int = 50) -> None:
    """One pass over sparse rows."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, d, size=(n, entries), dtype=np.int32)
    begin = np.arange(0, n * entries + 1, entries, dtype=np.int32)
    X = sparse.csr_array((rng.normal(size=n * entries), columns.ravel(), begin), shape=(n, d))
    X.sum_duplicates()
    w = rng.normal(size=d) / np.sqrt(entries)
    y = X @ w + 0.5 * rng.normal(size=n) > 0
    test = np.arange(n) >= 0.9 * n
    ours = BayesPointClassifier(fit_intercept=False, engine=FactorisedPropagation(max_iter=1))
    converged = BayesPointClassifier(fit_intercept=False, engine=FactorisedPropagation(tol=1e-3))
    rival = SGDClassifier(
        loss="log_loss", fit_intercept=False, max_iter=1, tol=None, random_state=0
    )
    rows = []
    for name, model in [
        ("EP, one pass", ours),
        ("EP, to 1e-3", converged),
        ("SGDClassifier, one pass", rival),
    ]:
        _, seconds = timed(quiet(model.fit), X[~test], y[~test])
        passes = model.n_iter_
        probability = model.predict_proba(X[test])
        rows.append(
            [
                name,
                f"{seconds:.2f}",
                passes,
                f"{passes * (~test).sum() / seconds:,.0f}",
                f"{100 * (model.predict(X[test]) != y[test]).mean():.2f}",
                f"{log_loss(y[test], probability):.4f}",
            ]
        )
    header = ["", "seconds", "passes", "rows/s", "error %", "log-loss"]
    table(f"Sparse rows, {(~test).sum()} x {d}, {entries} entries each", header, rows)


def quiet(function: Callable) -> Callable:
    """The function, without the warnings that are expected here."""

    def run(*arguments: object) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FactorisedWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            return function(*arguments)

    return run


if __name__ == "__main__":
    main()
