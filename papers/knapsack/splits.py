"""Random splits of data sets: every method chooses its parameters by folds, and is tested.

Many splits survive an interruption: each is written down when it is done.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from papers.base import Context
from papers.datasets import load_shipped, load_uci
from papers.knapsack.search import COSTS, KnapsackCV

N_FOLDS = 5  # of section 5
TEST_SHARE = 0.2
SETS = ("liver", "sonar", "heart", "contraceptive", "pima", "australian", "breast")  # of Table 1
QUICK_SETS = ("liver", "heart", "breast")  # of papers/data, those that take least time
SVM, EP, KNAP, MODE, ONE = "SVM", "EP", "knapsack", "knapsack, β = ∞", "knapsack, β = 1"
OURS, DEFAULT = "knapsack, averaged", "knapsack, averaged, no folds"
METHODS = (SVM, EP, KNAP, MODE, ONE, OURS, DEFAULT)
# The best of the paper's schedules, by folds of training data (benchmarks/knapsack_schedule.py):
# mean error over four sets and all pairs of C and beta 22.7 % (damping 0.5: 24.9; plain: 25.8).
VARIANT: Mapping[str, Any] = {"schedule": "heskes", "bins": 64, "n_iter": 50}
N_SPLITS = {"quick": 4, "full": 500}
STATE = "splits.jsonl"


class Grids(NamedTuple):
    """Parameters that each method may choose from."""

    svm: Sequence[float]
    ep: Sequence[float]
    costs: Sequence[float]
    betas: Sequence[float]
    ours: Sequence[float]


GRIDS = {
    "full": Grids(
        svm=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        ep=tuple(np.sqrt((0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)).tolist()),
        costs=(0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
        betas=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, np.inf),
        ours=COSTS,
    ),
    "quick": Grids(
        svm=(0.03, 0.3, 3.0),
        ep=(0.3, 1.0, 3.0),
        costs=(1.0, 10.0),
        betas=(0.1, 1.0, 10.0, np.inf),
        ours=(3.0, 10.0),
    ),
}


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
    """The seven sets of Table 1, the first class against the rest; or three of them."""
    if context.full:
        loaded = {name: load_uci(name, context.data) for name in SETS}
    else:
        loaded = {name: load_shipped(name) for name in QUICK_SETS}
    return [DataSet(name, X, y == np.unique(y)[0]) for name, (X, y) in loaded.items()]


def machine(engine: Any) -> Pipeline:
    """Standardised features, an intercept, and an engine."""
    return make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)
    )


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
    ours = KnapsackCV(machine(KnapsackPropagation()), Cs=grids.ours, cv=folds).fit(X, y)
    errors[OURS], chosen[OURS] = error(ours), list(ours.best_params_.values())
    errors[DEFAULT] = error(machine(KnapsackPropagation()).fit(X, y))
    knapsack = KnapsackCV(
        machine(KnapsackPropagation(**VARIANT)),
        Cs=grids.costs,
        betas=grids.betas,
        rule="best",
        cv=folds,
    ).fit(X, y)
    fitted = {knapsack.best_params_["C"]: knapsack.best_estimator_}
    for method, betas in ((KNAP, grids.betas), (MODE, [np.inf]), (ONE, [1.0])):
        pair = best_pair(knapsack.cv_results_, betas)
        C = pair["C"]
        if C not in fitted:
            fitted[C] = machine(KnapsackPropagation(C=C, **VARIANT)).fit(X, y)
        classifier = fitted[C][-1]
        model = classifier.model_
        classifier.model_ = replace(model, posterior=model.posterior.at(pair["beta"]))
        errors[method], chosen[method] = error(fitted[C]), [C, pair["beta"]]
    return SplitErrors(data.name, split, errors, chosen)


def best_pair(results: Mapping[str, Any], betas: Sequence[float]) -> dict[str, float]:
    """Best pair of a search with one of these betas; ties as in ``KnapsackCV``, rule "best"."""
    allowed = np.isin(results["param_beta"], betas)
    mean = np.where(allowed, results["mean_test_score"].round(12), -np.inf)
    ties = np.flatnonzero(mean == mean.max())
    return results["params"][ties[np.argmax(results["smoothed_test_score"][ties])]]


def settings(seed: int, grids: Grids) -> str:
    """What must be the same for splits of two runs to be put together."""
    return json.dumps([seed, dict(VARIANT), *map(list, grids)])


def solve_splits(sets: Sequence[DataSet], context: Context) -> list[SplitErrors]:
    """All splits of all sets; those that an earlier run has left in ``out`` are not done again."""
    seed, grids = context.seed, GRIDS[context.mode]
    key = settings(seed, grids)
    state = None if context.out is None else context.out / "knapsack" / context.mode / STATE
    done = {} if state is None else read_state(state, key)
    n_splits = context.n_splits or N_SPLITS[context.mode]
    jobs = [(data, split) for split in range(n_splits) for data in sets]
    missing = [(data, split) for data, split in jobs if (data.name, split) not in done]
    finished = Parallel(n_jobs=context.n_jobs, return_as="generator_unordered")(
        delayed(solve_split)(data, split, seed, grids) for data, split in missing
    )
    for number, errors in enumerate(finished, start=len(jobs) - len(missing) + 1):
        done[errors.data, errors.split] = errors
        context.tell(f"{number} of {len(jobs)} splits")
        if state is not None:
            write_state(state, key, errors)
    return [done[data.name, split] for data, split in jobs]


def read_state(path: Path, key: str) -> dict[tuple[str, int], SplitErrors]:
    """Splits of an earlier run with the same settings; a line cut short is passed over."""
    done: dict[tuple[str, int], SplitErrors] = {}
    if not path.is_file():
        return done
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            own_key, *fields = json.loads(line)
            errors = SplitErrors(*fields)
            if own_key == key:
                done[errors.data, errors.split] = errors
        except (ValueError, TypeError):
            continue
    return done


def write_state(path: Path, key: str, errors: SplitErrors) -> None:
    """Add a line for one split."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps([key, *errors], default=float) + "\n"
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":  # an earlier run was killed while it wrote
                line = "\n" + line
        file.write(line.encode("ascii"))


def error_matrix(results: Sequence[SplitErrors], data: str, methods: Sequence[str]) -> np.ndarray:
    """Errors of one set in per cent, shape (n_splits, n_methods)."""
    own = [errors for errors in results if errors.data == data]
    return 100 * np.array([[errors.errors[method] for method in methods] for errors in own])
