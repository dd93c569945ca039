"""Engines that are only named have parameters, in all searches."""

from functools import partial

import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.selection import EvidenceSearch

SCALE = "engine__prior_scale"
linear = partial(BayesPointClassifier, kernel="linear")
PAIRS = [
    (linear(), ExpectationPropagation),
    (linear(engine="ep"), ExpectationPropagation),
    (linear(engine="laplace"), LaplaceApproximation),
]


@pytest.mark.parametrize(("named", "engine"), PAIRS)
def test_a_grid_search_of_scikit_learn(named, engine):
    X, y = problem(n=60)
    grid = {SCALE: [1e-3, 0.5]}
    by_name = GridSearchCV(named, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    given = linear(engine=engine())
    by_instance = GridSearchCV(given, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert by_name.best_params_ == {SCALE: 0.5}
    assert by_name.best_estimator_.engine.prior_scale == 0.5
    assert isinstance(by_name.best_estimator_.engine, engine)
    assert (by_name.predict_proba(X) == by_instance.predict_proba(X)).all()
    assert not isinstance(named.engine, engine)  # what was given stays a name


@pytest.mark.parametrize(("named", "engine"), PAIRS)
@pytest.mark.parametrize("how", ["param_grid", "param_bounds"])
def test_a_search_by_evidence(named, engine, how):
    X, y = problem(n=60)
    values = {f"bayespointclassifier__{SCALE}": {"param_grid": [0.1, 1.0]}.get(how, (0.1, 10.0))}
    one, other = (
        EvidenceSearch(make_pipeline(StandardScaler(), clf), **{how: values}).fit(X, y)
        for clf in (named, linear(engine=engine()))
    )
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == other.best_score_


def test_names_of_engines_in_a_grid():
    X, y = problem(n=60)
    grid = {"engine": ["ep", "laplace"]}
    search = EvidenceSearch(linear(), grid, param_bounds={SCALE: (0.1, 10.0)}).fit(X, y)
    assert set(search.cv_results_["param_engine"]) == {"ep", "laplace"}
    assert search.best_estimator_.log_evidence_.sum() == search.best_score_
