"""What EvidenceSearch refuses, and fits that fail."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.helpers.probit import problem, separable

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, GibbsSampler, PermutedPerceptron
from bayespoint.selection import EvidenceSearch

SCALE = "engine__prior_scale"
EP = BayesPointClassifier(kernel="linear", temperature=1.0, engine=ExpectationPropagation())
# At rest to more than the seven digits that the check of sample weights compares.
EXACT = BayesPointClassifier(
    kernel="linear", temperature=1.0, engine=ExpectationPropagation(tol=1e-9)
)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.BoundReachedWarning")
@parametrize_with_checks(
    [
        EvidenceSearch(EXACT, param_bounds={SCALE: (0.1, 10.0)}, tol=0.1),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def fails(match, estimator=EP, error=ValueError, **parameters):
    X, y = problem(n=30)
    search = EvidenceSearch(estimator, **parameters)
    with pytest.raises(error, match=re.compile(match, re.DOTALL)):
        search.fit(X, y)
    with pytest.raises(NotFittedError):
        search.predict(X)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({}, "nothing to search: set param_grid, param_bounds, or both"),
        ({"param_bounds": {}}, "nothing to search"),
        ({"param_grid": []}, "'param_grid' parameter of EvidenceSearch must be .*not empty"),
        ({"param_grid": 3}, "'param_grid' parameter of EvidenceSearch must be .*Got 3"),
        ({"param_grid": {"width": [1]}}, "Invalid parameter 'width'"),
        ({"param_bounds": {"width": (1, 2)}}, "Invalid parameter 'width' in param_bounds.*gamma"),
        ({"param_bounds": [1, 2]}, "'param_bounds' parameter of EvidenceSearch must be .*a dict"),
        ({"param_bounds": {SCALE: (0, 1)}}, r"0 < low < high < inf.*Got \(0, 1\)"),
        ({"param_bounds": {SCALE: (2.0, 1.0)}}, r"0 < low < high < inf.*Got \(2.0, 1.0\)"),
        ({"param_bounds": {SCALE: (1.0, np.inf)}}, "0 < low < high < inf"),
        ({"param_bounds": {SCALE: (1.0, np.nan)}}, "0 < low < high < inf"),
        ({"param_bounds": {SCALE: 1.0}}, "must be a pair"),
        ({"param_bounds": {SCALE: ("a", "b")}}, "must be a pair"),
        ({"param_bounds": {"degree": (1, 5)}}, "'degree' cannot be searched.*Use param_grid"),
        (
            {"param_grid": {SCALE: [1]}, "param_bounds": {SCALE: (1, 2)}},
            "is in param_grid and in param_bounds",
        ),
        ({"param_grid": {SCALE: [1]}, "n_starts": 0}, "'n_starts' parameter of EvidenceSearch"),
        ({"param_grid": {SCALE: [1]}, "tol": 0}, "'tol' parameter of EvidenceSearch"),
        ({"param_grid": {SCALE: [1]}, "max_iter": 0.5}, "'max_iter' parameter of EvidenceSearch"),
        ({"param_grid": {SCALE: [1]}, "refit": "log_evidence"}, "'refit' parameter"),
    ],
)
def test_parameters(parameters, match):
    fails(match, **parameters)


@pytest.mark.parametrize(
    ("kernel", "name"), [("linear", "gamma"), ("linear", "coef0"), ("rbf", "coef0")]
)
def test_bounds_without_effect(kernel, name):
    estimator, bounds = BayesPointClassifier(kernel=kernel), {name: (0.1, 1)}
    match = f"'{name}' in param_bounds has no effect with kernel='{kernel}'"
    fails(match, estimator, param_bounds=bounds)
    grid = {"kernel": ["linear", "poly"]}  # one kernel of these uses it
    X, y = problem(n=30)
    search = EvidenceSearch(estimator, grid, param_bounds=bounds, refit=False, tol=1.0).fit(X, y)
    assert name in search.best_params_


def test_a_kernel_that_is_chosen_is_not_searched():
    chosen = BayesPointClassifier()
    fails("Got kernel='auto'.*name kernels in param_grid", chosen, param_grid={SCALE: [1, 2]})
    fails("Got kernel='auto'", param_grid={"kernel": ["linear", "auto"]})
    X, y = problem(n=30)
    search = EvidenceSearch(chosen, {"kernel": ["linear", "rbf"]}, refit=False).fit(X, y)
    assert search.best_params_["kernel"] in ("linear", "rbf")


def test_names_that_are_no_engine_s():
    named = BayesPointClassifier(kernel="linear", engine="magic")
    fails("'engine' parameter.*Got 'magic'", named, param_bounds={SCALE: (0.1, 1)})
    fails("'engine' parameter.*Got 'magic'", named, param_grid={SCALE: [0.1, 1]})
    fails("'engine' parameter.*Got 'magic'", param_grid={"engine": ["ep", "magic"]})


def test_bounds_are_for_the_classifier_alone():
    pipeline = make_pipeline(StandardScaler(), EP)
    bounds = {"standardscaler__copy": (0.1, 1.0)}
    fails(
        "cannot be searched between bounds.*bayespointclassifier__gamma",
        pipeline,
        param_bounds=bounds,
    )


@pytest.mark.parametrize("engine", ["perceptron", PermutedPerceptron(n_samples=3)])
def test_an_engine_without_evidence(engine):
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine, ridge=1.0)
    fails("needs an engine that knows the evidence.*Got", clf, TypeError, param_grid={"gamma": [1]})


def test_an_evidence_from_random_draws_has_no_differences():
    clf = BayesPointClassifier(
        kernel="rbf",
        gamma=0.5,
        random_state=0,
        engine=GibbsSampler(n_samples=20, burn_in=50, label_noise=0.1, evidence=True),
    )
    fails(
        "estimate from random draws.*Use param_grid",
        clf,
        TypeError,
        param_bounds={"gamma": (0.1, 1.0)},
    )
    search = EvidenceSearch(clf, {"gamma": [0.1, 1.0]}, refit=False)
    with pytest.warns(ConvergenceWarning, match="None of the fits.*chains"):  # so few draws
        search.fit(*problem(n=20))
    assert np.isfinite(search.cv_results_["log_evidence"]).all()


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_other_estimators(estimator):
    fails(
        "must be a BayesPointClassifier, or a Pipeline", estimator, TypeError, param_grid={"C": [1]}
    )


def test_failed_fits_are_left_out_and_told():
    X, y = problem()
    with pytest.warns(FitFailedWarning, match=r"1 of 2 fits of EvidenceSearch failed"):
        search = EvidenceSearch(EP, {SCALE: [-1.0, 1.0]}).fit(X, y)
    assert search.best_index_ == 1
    assert np.isnan(search.cv_results_["log_evidence"][0])
    assert search.cv_results_["rank"].tolist() == [2, 1]
    assert "prior_scale" in search.cv_results_["message"][0]


def test_an_error_gives_the_reasons_if_all_fits_failed():
    fails("All 2 fits.*'prior_scale' parameter.*Got -1.*Got -2", param_grid={SCALE: [-1.0, -2.0]})
    bounds = {"engine__label_noise": (0.6, 0.9)}
    fails("All 1 fits.*'label_noise' parameter", param_bounds=bounds)


def test_fits_that_have_not_converged_are_not_chosen():
    X, y = problem()
    grid = {"engine__max_iter": [2, 200]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = EvidenceSearch(EP, grid).fit(X, y)
    assert search.cv_results_["converged"].tolist() == [False, True]
    assert search.best_params_ == {"engine__max_iter": 200}
    assert "max_iter was reached" in search.cv_results_["message"][0]
    with pytest.warns(ConvergenceWarning, match="None of the fits of EvidenceSearch converged"):
        EvidenceSearch(EP, {"engine__max_iter": [2]}, refit=False).fit(X, y)


def test_a_search_that_is_not_done_says_so():
    with pytest.warns(ConvergenceWarning, match="had not converged when it reached max_iter=1"):
        EvidenceSearch(EP, param_bounds={SCALE: (1e-3, 1e3)}, max_iter=1).fit(*separable())
