"""sklearn.model_selection with metadata routing: weights reach fits and scores of every fold."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:120, :5], y[:120]
WEIGHT = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
FOLDS = StratifiedKFold(3)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def machine(**parameters):
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, **parameters)
    return clf.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def scores(model, weight):
    """Scores of the folds, by a loop."""
    found = []
    for train, test in FOLDS.split(X, y):
        own = clone(model).fit(X[train], y[train], sample_weight=weight[train])
        found.append(own.score(X[test], y[test], sample_weight=weight[test]))
    return found


def test_cross_validation():
    found = cross_validate(machine(), X, y, cv=FOLDS, params={"sample_weight": WEIGHT})
    assert found["test_score"].tolist() == scores(machine(), WEIGHT)
    assert scores(machine(), WEIGHT) != scores(machine(), np.ones(len(y)))  # weights matter


def test_a_search_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine())
    pipeline.set_score_request(sample_weight=True)  # scikit-learn 1.7 asks the pipeline, too
    grid = {"bayespointclassifier__ridge": [0.0, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=FOLDS).fit(X, y, sample_weight=WEIGHT)
    best = clone(pipeline).set_params(**search.best_params_).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))


def test_weights_that_nobody_asked_for_are_refused():
    clf = BayesPointClassifier(kernel="linear")
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(clf, X, y, params={"sample_weight": WEIGHT})
