"""One random split of a data set: every method chooses its parameters by folds, and is tested."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint.classifier import BayesPointClassifier
from bayespoint.datasets import UCI, load_uci
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from bayespoint.experiments.base import Context
from bayespoint.selection import KnapsackCV

N_FOLDS = 5  # of section 5
TEST_SHARE = 0.2
SVM, EP, KNAP, MODE, ONE = "SVM", "EP", "knapsack", "knapsack, β = ∞", "knapsack, β = 1"
METHODS = (SVM, EP, KNAP, MODE, ONE)
# Chosen once, by folds of training data alone (benchmarks/knapsack_schedule.py): mean error over
# four sets and all pairs of C and beta 22.7 % (128 bins: 22.7; damping 0.5: 24.9; plain: 25.8).
VARIANT: Mapping[str, Any] = {"schedule": "heskes", "bins": 64, "n_iter": 50}


class Grids(NamedTuple):
    """Parameters that each method may choose from."""

    svm: Sequence[float]
    ep: Sequence[float]
    costs: Sequence[float]
    betas: Sequence[float]


BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, np.inf)
FULL = Grids(
    svm=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    ep=tuple(np.sqrt((0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)).tolist()),
    costs=(0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    betas=BETAS,
)
QUICK = Grids(
    svm=(0.03, 0.3, 3.0), ep=(0.3, 1.0, 3.0), costs=(1.0, 10.0), betas=(0.1, 1.0, 10.0, np.inf)
)


class DataSet(NamedTuple):
    """A problem of two classes."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.bool_]


class SplitErrors(NamedTuple):
    """Test errors of all methods on one split, and what they chose."""

    data: str
    split: int
    errors: dict[str, float]
    chosen: dict[str, list[float]]


def load_sets(context: Context) -> list[DataSet]:
    """The seven sets of Table 1, the first class against the rest; or two of scikit-learn's."""
    if context.full:
        loaded = {name: load_uci(name, context.data) for name in PAPER_ORDER}
        return [DataSet(name, X, y == np.unique(y)[0]) for name, (X, y) in loaded.items()]
    (iris, iris_y), (wine, wine_y) = (load(return_X_y=True) for load in (load_iris, load_wine))
    return [
        DataSet("iris, 1 against 2", iris[iris_y > 0], iris_y[iris_y > 0] == 1),
        DataSet("wine, 1 against 2", wine[wine_y > 0], wine_y[wine_y > 0] == 1),
    ]


PAPER_ORDER = tuple(
    name
    for name in ("liver", "sonar", "heart", "contraceptive", "pima", "australian", "breast")
    if name in UCI
)


def machine(engine: Any) -> Pipeline:
    """Standardised features, an intercept, and an engine."""
    return make_pipeline(StandardScaler(), BayesPointClassifier(engine=engine))


def solve_split(data: DataSet, split: int, seed: int, grids: Grids) -> SplitErrors:
    """Split at random, choose by folds of the training part, and test: the same for all methods."""
    state = np.random.SeedSequence([seed, split]).generate_state(2)
    train, test = train_test_split(
        np.arange(len(data.y)), test_size=TEST_SHARE, random_state=int(state[0])
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=int(state[1]))
    X, y = data.X[train], data.y[train]

    def error(fitted: Any) -> float:
        return float(np.mean(fitted.predict(data.X[test]) != data.y[test]))

    errors, chosen = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of runs with extreme parameters, which are not chosen
        svm = make_pipeline(StandardScaler(), SVC(kernel="linear"))
        search = GridSearchCV(svm, {"svc__C": list(grids.svm)}, cv=folds).fit(X, y)
        errors[SVM], chosen[SVM] = error(search), list(search.best_params_.values())
        scale = "bayespointclassifier__engine__prior_scale"
        search = GridSearchCV(
            machine(ExpectationPropagation()), {scale: list(grids.ep)}, cv=folds
        ).fit(X, y)
        errors[EP], chosen[EP] = error(search), list(search.best_params_.values())
    knapsack = KnapsackCV(
        machine(KnapsackPropagation(**VARIANT)), Cs=grids.costs, betas=grids.betas, cv=folds
    ).fit(X, y)
    fitted = {knapsack.best_params_["C"]: knapsack.best_estimator_}
    for method, betas in ((KNAP, grids.betas), (MODE, [np.inf]), (ONE, [1.0])):
        pair = best_pair(knapsack.cv_results_, betas)
        C = pair["C"]
        if C not in fitted:
            fitted[C] = machine(KnapsackPropagation(C=C, **VARIANT)).fit(X, y)
        classifier = fitted[C][-1]
        classifier.posterior_ = classifier.posterior_.at(pair["beta"])
        errors[method], chosen[method] = error(fitted[C]), [C, pair["beta"]]
    return SplitErrors(data.name, split, errors, chosen)


def best_pair(results: Mapping[str, Any], betas: Sequence[float]) -> dict[str, float]:
    """Best pair of a search with one of these betas; ties as in ``KnapsackCV``."""
    allowed = np.isin(results["param_beta"], betas)
    mean = np.where(allowed, results["mean_test_score"].round(12), -np.inf)
    ties = np.flatnonzero(mean == mean.max())
    return results["params"][ties[np.argmax(results["smoothed_test_score"][ties])]]
