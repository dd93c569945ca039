"""A search prepares its data once, and finds what separate fits find."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.classifier.problem import Problem
from bayespoint.engines import ExpectationPropagation, GibbsSampler, LaplaceApproximation
from bayespoint.selection import EvidenceSearch
from bayespoint.spaces import BasisSpace

SCALE, NOISE = "engine__prior_scale", "engine__noise"


@pytest.fixture
def counts(monkeypatch):
    """How often a problem was posed, and a space fitted."""
    found = {"posed": 0, "spaces": 0}
    pose, fit = Problem.pose.__func__, BasisSpace.fit

    def counted_pose(cls, *arguments, **named):
        found["posed"] += 1
        return pose(cls, *arguments, **named)

    def counted_fit(self, X, *pivots):
        found["spaces"] += 1
        return fit(self, X, *pivots)

    monkeypatch.setattr(Problem, "pose", classmethod(counted_pose))
    monkeypatch.setattr(BasisSpace, "fit", counted_fit)
    return found


def search_rbf(names, **parameters):
    bounds = {name: pair for name, pair in BOUNDS.items() if name in names}
    classifier = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=0.2)
    return EvidenceSearch(classifier, param_bounds=bounds, refit=False, **parameters)


BOUNDS = {SCALE: (0.1, 1000.0), "gamma": (1e-4, 3.0)}


def test_one_problem_for_a_search_and_one_space_for_an_evaluation(counts):
    search = search_rbf(BOUNDS).fit(*problem(n=40))
    n_evaluations = len(search.cv_results_["params"])
    assert n_evaluations > 4
    assert counts == {"posed": 1, "spaces": n_evaluations}


def test_one_space_where_only_the_engine_changes(counts):
    search = search_rbf([SCALE]).fit(*problem(n=40))
    assert len(search.cv_results_["params"]) > 2
    assert counts == {"posed": 1, "spaces": 1}


@pytest.mark.parametrize("engine", [ExpectationPropagation(), LaplaceApproximation()])
@pytest.mark.parametrize("names", [[SCALE], ["gamma"], [SCALE, "gamma"]])
def test_evaluations_are_separate_fits_to_the_bit(engine, names):
    X, y = problem(n=40)
    weight = np.tile([1.0, 0.0, 2.0, 1.0], 10)
    search = search_rbf(names).set_params(estimator__engine=engine)
    results = search.fit(X, y, sample_weight=weight).cv_results_
    for params, evidence in zip(results["params"], results["log_evidence"], strict=True):
        alone = clone(search.estimator).set_params(**params).fit(X, y, sample_weight=weight)
        assert alone.log_evidence_.sum() == evidence


def test_seeds_of_evaluations_are_those_of_fits():
    X, y = problem(n=30)
    engine = GibbsSampler(n_samples=200, label_noise=0.1, evidence=True)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", engine=engine, random_state=3)
    search = EvidenceSearch(clf, {"gamma": [0.1, 1.0]}, refit=False).fit(X, y)
    alone = [clone(clf).set_params(gamma=g).fit(X, y).log_evidence_[0] for g in (0.1, 1.0)]
    assert search.cv_results_["log_evidence"].tolist() == alone
