"""Choice of C and beta: against scikit-learn's search, which refits for every pair."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from papers.knapsack.search import KnapsackCV

CS, BETAS = (0.5, 3.0), (0.3, 1.0, np.inf)


def quick(**parameters):
    return BayesPointClassifier(engine=KnapsackPropagation(bins=24, n_iter=6), **parameters)


def search(estimator=None, **parameters):
    estimator = quick() if estimator is None else estimator
    return KnapsackCV(estimator, **{"Cs": CS, "betas": BETAS, "cv": 3} | parameters)


def assert_same_scores(found, grid):
    for params, mean in zip(
        grid.cv_results_["params"], grid.cv_results_["mean_test_score"], strict=True
    ):
        C, beta = (
            next(v for k, v in params.items() if k.endswith(f"__{name}")) for name in ("C", "beta")
        )
        place = found.cv_results_["params"].index({"C": C, "beta": beta})
        assert found.cv_results_["mean_test_score"][place] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "roc_auc"])
def test_scores_are_those_of_a_search_that_refits(scoring):
    X, y = problem(60, 3)
    found = search(scoring=scoring, rule="best").fit(X, y)
    grid = GridSearchCV(
        quick(), {"engine__C": CS, "engine__beta": BETAS}, cv=3, scoring=scoring
    ).fit(X, y)
    assert_same_scores(found, grid)
    assert found.best_score_ == pytest.approx(grid.best_score_)


def test_a_pipeline_standardises_each_fold_by_itself():
    X, y = problem(60, 3)
    X = X * [1, 50, 1] + 7
    machine = make_pipeline(StandardScaler(), quick())
    found = search(machine).fit(X, y)
    name = "bayespointclassifier__engine__"
    grid = GridSearchCV(machine, {f"{name}C": CS, f"{name}beta": BETAS}, cv=3).fit(X, y)
    assert_same_scores(found, grid)
    assert found.best_params_["C"] == found.best_estimator_[-1].engine.C


def test_a_kernel_matrix_is_cut_on_both_sides():
    X, y = problem(40, 2)
    K = rbf_kernel(X, gamma=0.5)
    found = search(quick(kernel="precomputed")).fit(K, y)
    grid = GridSearchCV(
        quick(kernel="precomputed"), {"engine__C": CS, "engine__beta": BETAS}, cv=3
    ).fit(K, y)
    assert_same_scores(found, grid)
    np.testing.assert_array_equal(found.predict(K[:7]), found.best_estimator_.predict(K[:7]))


def test_messages_are_not_passed_again_for_every_beta(monkeypatch):
    X, y = problem(40, 2)
    runs, run = [], KnapsackPropagation.run

    def counted(self, *arguments, **named):
        runs.append(self.C)
        return run(self, *arguments, **named)

    monkeypatch.setattr(KnapsackPropagation, "run", counted)
    search().fit(X, y)
    assert len(runs) == 2 * 3 + 1


@pytest.mark.parametrize("rule", ["smoothed", "best"])
def test_the_chosen_pair_is_best_by_the_rule(rule):
    X, y = problem(60, 3)
    axes = {"Cs": (0.1, 0.3, 1, 3, 10), "betas": (0.1, 0.3, 1, 3, 10, np.inf)}
    found = search(rule=rule, **axes).fit(X, y)
    results, place = found.cv_results_, divmod(found.best_index_, 6)
    means = results["mean_test_score"].reshape(5, 6)
    padded = np.pad(means, 1, mode="edge")
    around = np.array([[padded[i : i + 3, j : j + 3].mean() for j in range(6)] for i in range(5)])
    np.testing.assert_allclose(results["smoothed_test_score"], around.ravel())
    first, then = (around, means) if rule == "smoothed" else (means, around)
    assert first[place] == pytest.approx(first.max())
    assert then[place] == pytest.approx(then[first > first.max() - 1e-9].max())
    assert found.best_params_ == results["params"][found.best_index_]
    assert found.best_score_ == means[place]
    other = search(rule="best" if rule == "smoothed" else "smoothed", **axes).fit(X, y)
    assert other.best_index_ != found.best_index_  # here luck and neighbourhood disagree


def test_results_are_those_of_the_folds():
    X, y = problem(80, 3)
    results = search().fit(X, y).cv_results_
    folds = np.stack([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(folds.mean(axis=0), results["mean_test_score"])
    np.testing.assert_allclose(folds.std(axis=0), results["std_test_score"])
    assert all(len(values) == 6 for values in results.values())


def test_the_best_pair_is_fitted_to_all_data():
    X, y = problem(60, 3)
    found = search().fit(X, y)
    engine = KnapsackPropagation(bins=24, n_iter=6, **found.best_params_)
    alone = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    np.testing.assert_array_equal(found.best_estimator_.coef_, alone.coef_)
    assert found.score(X, y) == alone.score(X, y)


def test_weights_are_cut_with_the_folds():
    X, y = problem(60, 3)
    weight = np.random.default_rng(0).integers(1, 3, 60).astype(float)
    cv = KFold(3)
    train, test = next(cv.split(X))
    pipeline = make_pipeline(StandardScaler(), quick())
    for machine, prefix in ((quick(), ""), (pipeline, "bayespointclassifier__")):
        found = search(machine, cv=cv).fit(X, y, sample_weight=weight)
        fitted = clone(found.best_estimator_)
        fitted.fit(X[train], y[train], **{f"{prefix}sample_weight": weight[train]})
        score = found.cv_results_["split0_test_score"][found.best_index_]
        assert score == fitted.score(X[test], y[test])


def test_works_where_estimators_do():
    X, y = problem(60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.where(y > 0, "yes", "no")
    found = make_pipeline(StandardScaler(), search()).fit(frame, labels)
    assert set(found.predict(frame)) <= {"yes", "no"}
    assert cross_val_score(search(), X, y, cv=3).mean() > 0.6
    same = [search(n_jobs=n, cv=StratifiedKFold(3)).fit(X, y).cv_results_ for n in (None, 2)]
    np.testing.assert_array_equal(same[0]["mean_test_score"], same[1]["mean_test_score"])
    named = search().fit(frame, labels)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clone(search()).get_params()["estimator__engine__bins"] == 24


def test_default_needs_no_arguments():
    X, y = problem(30, 2)
    found = KnapsackCV().fit(X, y)
    assert len(found.cv_results_["params"]) == 42
    assert set(found.best_params_) == {"C", "beta"}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("Cs", []),
        ("Cs", [1, 0.1]),
        ("Cs", [0, 1]),
        ("Cs", [1, np.inf]),
        ("Cs", "abc"),
        ("Cs", 1.0),
        ("rule", "first"),
        ("rule", None),
        ("betas", []),
        ("betas", [1, 1]),
        ("betas", [-1, 1]),
        ("betas", [np.nan]),
        ("estimator", SVC()),
        ("estimator", BayesPointClassifier(kernel="linear", temperature=1.0)),
        ("estimator", BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep")),
        ("estimator", make_pipeline(StandardScaler(), SVC())),
    ],
)
def test_bad_parameters(parameter, value):
    X, y = problem(30, 2)
    message = f"The '{parameter}' parameter of KnapsackCV must be .* Got .* instead"
    with pytest.raises(ValueError, match=message):
        KnapsackCV(**{parameter: value}).fit(X, y)


@parametrize_with_checks(
    [search(BayesPointClassifier(engine=KnapsackPropagation(bins=16, n_iter=3)), Cs=(1.0,), cv=2)]
)
def test_scikit_learn(estimator, check):
    check(estimator)
