"""Simulation-based calibration: do posteriors of weights know how far off they are?

    python benchmarks/calibration.py            # 1000 problems a line, some minutes
    python benchmarks/calibration.py --runs 200

Weights are drawn from the prior, points from N(0, I), labels from the engine's own model. Were a
posterior exact, the true weight would be anywhere in it: u = Phi((w - mu) / sd) of a weight would
be uniform, central intervals would hold as many true weights as they promise, and the mean of
(w - mu)^2 / sd^2 would be 1. The last columns judge the predicted probability p of the label of one
new point: the mean of (y - p) and that of (y - p)^2 - p (1 - p), both 0 if it is exact. Standard
errors over problems are in brackets; KS and chi-square (20 bins) take one weight of each problem.
"""

from __future__ import annotations

import argparse

import numpy as np
from _report import table
from scipy import stats
from scipy.special import expit, ndtr

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation

MODELS = {"EP": (ExpectationPropagation, ndtr), "Laplace": (LaplaceApproximation, expit)}
LEVELS = (0.5, 0.8, 0.95)
PROBLEMS = (
    (5, 5, 1.0),
    (20, 2, 1.0),
    (20, 10, 1.0),
    (20, 2, 3.0),
    (50, 5, 3.0),
    (200, 5, 1.0),
    (200, 20, 1.0),
    (50, 50, 1.0),
    (50, 5, 10.0),
)


def simulate(name: str, n: int, d: int, scale: float, n_runs: int) -> tuple[np.ndarray, np.ndarray]:
    """(w - mu) / sd of all weights, and (y, p) of one new point, for each problem."""
    engine, link = MODELS[name]
    rng = np.random.default_rng(0)
    errors, predictions = np.empty((n_runs, d)), np.empty((n_runs, 2))
    for run in range(n_runs):
        w, X = scale * rng.normal(size=d), rng.normal(size=(n + 1, d))
        y = np.where(rng.random(n + 1) < link(X @ w), 1, -1)
        clf = BayesPointClassifier(fit_intercept=False, engine=engine(prior_scale=scale))
        clf.partial_fit(X[:n], y[:n], classes=[-1, 1])  # a problem may have labels of one kind
        mean, covariance = clf.posterior_.mean[:, 0], clf.posterior_.covariance[0]
        errors[run] = (w - mean) / np.sqrt(covariance.diagonal())
        predictions[run] = y[n] > 0, clf.predict_proba(X[n:])[0, 1]
    return errors, predictions


def with_error(values: np.ndarray, digits: int = 3) -> str:
    """Mean and its standard error over problems."""
    return f"{values.mean():.{digits}f} ({values.std() / np.sqrt(len(values)):.{digits}f})"


def line(name: str, n: int, d: int, scale: float, n_runs: int) -> list[str]:
    """One problem size, judged."""
    errors, predictions = simulate(name, n, d, scale, n_runs)
    half = stats.norm.ppf(0.5 + np.array(LEVELS) / 2)
    covered = [(np.abs(errors) < width).mean(axis=1) for width in half]
    u = ndtr(errors[:, 0])
    ks = stats.kstest(u, "uniform")
    chi = stats.chisquare(np.histogram(u, bins=20, range=(0, 1))[0])
    y, p = predictions.T
    return [
        f"{name}, n = {n}, d = {d}, prior scale {scale:g}",
        *(with_error(share) for share in covered),
        with_error(np.square(errors).mean(axis=1), 2),
        f"{ks.statistic:.3f} (p = {ks.pvalue:.2f})",
        f"{chi.statistic:.0f} (p = {chi.pvalue:.2f})",
        with_error(y - p),
        with_error((y - p) ** 2 - p * (1 - p)),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="problems of each kind")
    n_runs = parser.parse_args().runs
    header = [
        "",
        "in 50 %",
        "in 80 %",
        "in 95 %",
        "mean z^2",
        "KS",
        "chi^2 / 19",
        "y - p",
        "surplus of (y - p)^2",
    ]
    rows = [line(name, *problem, n_runs) for name in MODELS for problem in PROBLEMS]
    table(f"True weights in their posterior, {n_runs} problems a line", header, rows)


if __name__ == "__main__":
    main()
