"""Sparse weights: priors beside LASSO, where most features do not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, RidgeCV

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from papers.base import Column, Context, Result, Table
from papers.knapsack.search import KnapsackCV
from papers.knapsack.splits import VARIANT, best_pair
from papers.verdicts import mean_row, standard_error

N_POINTS = 100
N_TEST = 5_000
N_FEATURES = 20
RELEVANT = np.array([1.0, -1.0, 1.0, -1.0])  # weights of the first features; others are 0
NOISE = 1.0  # standard deviation beside outputs of 2: the best classifier errs on 15 %
NEAR_ZERO = 0.05  # of the largest weight, below which one counts as 0
ALPHAS = np.geomspace(0.1, 1000, 9)  # of ridge regression
PRIORS = ("l2", "l1", "l0")
LASSO = "LASSO"


def run(context: Context) -> Result:
    """Knapsack propagation with three priors, LASSO and ridge regression."""
    with context.part("sparse weights"):
        found = solve_sparse(EFFORTS[context.mode], context.seed)
    return Result({}, [sparse_table(found)])


class Effort(NamedTuple):
    """Draws of the data, and what folds choose from."""

    n_draws: int
    n_folds: int
    costs: Sequence[float]
    betas: Sequence[float]


EFFORTS = {
    "full": Effort(10, 5, (0.3, 1.0, 3.0, 10.0, 30.0), (0.3, 1.0, 3.0, 10.0)),
    "quick": Effort(2, 3, (3.0,), (1.0,)),
}


class Found(NamedTuple):
    """Test error in %, and how many weights are near 0, of those that matter and the others."""

    error: float
    others_near_zero: int
    relevant_near_zero: int


def draw_sparse(seed: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Gaussian points, labelled by four of their features and noise: to train, and to test."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_POINTS + N_TEST, N_FEATURES))
    outputs = X[:, : len(RELEVANT)] @ RELEVANT + NOISE * rng.normal(size=len(X))
    y = np.where(outputs > 0, 1, -1)
    return X[:N_POINTS], y[:N_POINTS], X[N_POINTS:], y[N_POINTS:]


def judge(weights: NDArray[np.float64], X: NDArray, y: NDArray) -> Found:
    """Test weights, the intercept last."""
    answers = np.where(X @ weights[:-1] + weights[-1] > 0, 1, -1)
    sizes = np.abs(weights[:-1])
    near_zero = sizes <= NEAR_ZERO * sizes.max()
    n = len(RELEVANT)
    return Found(
        100 * float(np.mean(answers != y)), int(near_zero[n:].sum()), int(near_zero[:n].sum())
    )


def solve_sparse(effort: Effort, seed: int) -> dict[str, list[Found]]:
    """All methods on all draws."""
    found: dict[str, list[Found]] = {}
    for draw in range(effort.n_draws):
        X, y, *test = draw_sparse(seed + draw)
        for name, model in ((LASSO, LassoCV(cv=effort.n_folds)), ("ridge", RidgeCV(ALPHAS))):
            fitted = model.fit(X, y)
            weights = np.append(fitted.coef_, fitted.intercept_)
            found.setdefault(name, []).append(judge(weights, *test))
        for prior in PRIORS:
            for words, weights in fit_knapsack(X, y, prior, effort).items():
                found.setdefault(f"knapsack, {prior}, {words}", []).append(judge(weights, *test))
    return found


def fit_knapsack(
    X: NDArray, y: NDArray, prior: str, effort: Effort
) -> dict[str, NDArray[np.float64]]:
    """Bayes points and modes with one prior, C and beta chosen by folds."""
    machine = BayesPointClassifier(
        kernel="linear", engine=KnapsackPropagation(prior=prior, **VARIANT)
    )
    betas = (*effort.betas, np.inf)
    search = KnapsackCV(machine, Cs=effort.costs, betas=betas, cv=effort.n_folds).fit(X, y)
    weights = {}
    for words, allowed in (("mean", effort.betas), ("mode", (np.inf,))):
        pair = best_pair(search.cv_results_, allowed)
        engine = KnapsackPropagation(prior=prior, C=pair["C"], beta=pair["beta"], **VARIANT)
        weights[words] = (
            BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
            .fit(X, y)
            .posterior_.mean[:, 0]
        )
    return weights


def sparse_table(found: dict[str, list[Found]]) -> Table:
    """Errors and weights near 0, means over the draws."""
    n_others = N_FEATURES - len(RELEVANT)
    columns = (
        Column("test error %", 1),
        Column(f"near 0, of {n_others} irrelevant", 1),
        Column(f"near 0, of {len(RELEVANT)} relevant", 1),
    )
    lasso = np.array(found[LASSO])[:, 0]
    rows = []
    for name, own in found.items():
        values = np.array(own)
        gap = values[:, 0] - lasso
        words = f"{gap.mean():+.1f} ± {standard_error(gap):.1f} against LASSO"
        rows.append(mean_row(name, values, "reference" if name == LASSO else words))
    caption = (
        f"{len(own)} draws of {N_POINTS} points with {N_FEATURES} features, of which "
        f"{len(RELEVANT)} are relevant; parameters by folds. LASSO and ridge regress on labels. "
        f"Near 0 means below {NEAR_ZERO:.0%} of the largest weight: modes have weights of exactly "
        "0, means do not. The paper mentions sparse priors and shows no numbers."
    )
    return Table("Sparse weights: priors and LASSO", caption, columns, rows)
