"""The classifier that refuses among scikit-learn's tools: checks, searches, tables, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint.reject import SelectiveClassifier

X, Y = make_classification(
    n_samples=22_000, n_features=6, n_informative=4, n_classes=3, random_state=0
)
SMALL = slice(0, 300)

A_REJECTION_IS_NO_CLASS = (
    "compares predict with the class of the largest output: rejected points differ by design"
)


def excused(estimator):
    if estimator.threshold is not None:
        return {}  # at threshold 0 nothing is rejected: every check must hold
    checks = {"check_classifiers_train": A_REJECTION_IS_NO_CLASS}
    if estimator.cv == "train":
        checks["check_classifiers_classes"] = A_REJECTION_IS_NO_CLASS
    return checks


@pytest.mark.filterwarnings("ignore:Every row will be rejected")  # some checks pass noise
@parametrize_with_checks(
    [
        SelectiveClassifier(LogisticRegression(), threshold=0.0),
        SelectiveClassifier(LogisticRegression(), rate=0.1, cv=3),
        SelectiveClassifier(LogisticRegression(), rate=0.1, cv="train", confidence="gap"),
        SelectiveClassifier(LogisticRegression(), rate=0.1, cv="holdout", random_state=0),
        SelectiveClassifier(LogisticRegression(), cost=0.3, confidence="proba", cv=3),
    ],
    expected_failed_checks=excused,  # strict, by the pytest settings of the project
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_methods_are_those_of_the_estimator():
    assert hasattr(SelectiveClassifier(LogisticRegression()), "predict_proba")
    assert not hasattr(SelectiveClassifier(Perceptron()), "predict_proba")
    assert not hasattr(SelectiveClassifier(DecisionTreeClassifier()), "decision_function")
    assert not hasattr(SelectiveClassifier(LogisticRegression()), "vote_shares")
    assert not hasattr(SelectiveClassifier(LogisticRegression()), "n_features_in_")
    with pytest.raises(NotFittedError):
        SelectiveClassifier(LogisticRegression(), rate=0.1).rejects(X[SMALL])


def test_parameters_nest_and_searches_work():
    search = GridSearchCV(
        SelectiveClassifier(LogisticRegression(), rate=0.1, cv=3),
        {"estimator__C": [0.01, 1.0], "rate": [0.0, 0.2]},
        cv=3,
    ).fit(X[SMALL], Y[SMALL])
    assert search.best_params_["rate"] == 0.2  # accuracy on the accepted ones rises with the rate
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1)
    assert cross_val_score(machine, X[SMALL], Y[SMALL], cv=3).min() > 0.5


def test_data_frames_sparse_matrices_pipelines_and_precomputed_kernels():
    frame = pd.DataFrame(X[SMALL], columns=list("abcdef"))
    plain = SelectiveClassifier(LogisticRegression(), rate=0.1).fit(X[SMALL], Y[SMALL])
    named = clone(plain).fit(frame, pd.Series(Y[SMALL]))
    assert list(named.feature_names_in_) == list("abcdef")
    assert named.n_features_in_ == plain.n_features_in_ == 6
    assert named.threshold_ == plain.threshold_
    assert not hasattr(named.fit(X[SMALL], Y[SMALL]), "feature_names_in_")
    rows = clone(plain).fit(sparse.csr_array(X[SMALL]), Y[SMALL])
    assert rows.threshold_ == pytest.approx(plain.threshold_, rel=1e-3)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    machine = SelectiveClassifier(pipeline, rate=0.1).fit(frame, Y[SMALL])
    assert list(machine.feature_names_in_) == list("abcdef")

    kernel = rbf_kernel(X[SMALL], gamma=0.1)
    by_kernel = SelectiveClassifier(SVC(kernel="precomputed"), rate=0.1).fit(kernel, Y[SMALL])
    by_points = SelectiveClassifier(SVC(gamma=0.1), rate=0.1).fit(X[SMALL], Y[SMALL])
    assert by_kernel.threshold_ == pytest.approx(by_points.threshold_, rel=1e-6)


def test_splits_of_ones_own_and_parallel_folds():
    plain = SelectiveClassifier(LogisticRegression(), rate=0.1, cv=KFold(4))
    plain.fit(X[SMALL], Y[SMALL])
    splits = list(KFold(4).split(X[SMALL]))
    for options in ({"cv": splits}, {"n_jobs": 2}):
        same = clone(plain).set_params(**options).fit(X[SMALL], Y[SMALL])
        assert same.threshold_ == plain.threshold_


def test_cross_validated_scores_by_a_plain_loop():
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1, cv=KFold(4))
    machine.fit(X[SMALL], Y[SMALL])
    scores = np.empty(300)
    for train, test in KFold(4).split(X[SMALL]):
        fold = LogisticRegression().fit(X[train], Y[train])
        scores[test] = fold.decision_function(X[test]).max(axis=1)
    assert np.sum(scores < machine.threshold_) == 30


def test_sample_weight_reaches_the_estimator_and_the_calibration():
    weight = np.random.default_rng(0).integers(0, 4, 300)
    estimator = LogisticRegression(tol=1e-10, max_iter=1000)
    machine = SelectiveClassifier(estimator, rate=0.1, cv="train")
    weighted = clone(machine).fit(X[SMALL], Y[SMALL], sample_weight=weight)
    copies = clone(machine).fit(np.repeat(X[SMALL], weight, 0), np.repeat(Y[SMALL], weight))
    assert weighted.threshold_ == pytest.approx(copies.threshold_, rel=1e-4)
    assert weighted.calibration_rate_ == pytest.approx(copies.calibration_rate_)
    crossed = SelectiveClassifier(estimator, rate=0.1)
    crossed.fit(X[SMALL], Y[SMALL], sample_weight=weight)
    assert crossed.threshold_ != clone(crossed).fit(X[SMALL], Y[SMALL]).threshold_
    # Prefit: the weights are those of the calibration points, and nothing else can be passed on.
    prefit = SelectiveClassifier(weighted.estimator_, rate=0.1, cv="prefit")
    prefit.fit(X[SMALL], Y[SMALL], sample_weight=weight)
    assert prefit.threshold_ == pytest.approx(weighted.threshold_)
    with pytest.raises(ValueError, match=r"Got \['colour'\] with cv='prefit'"):
        prefit.fit(X[SMALL], Y[SMALL], colour="red")


def test_fit_parameters_of_a_step_are_cut_to_the_fold():
    weight = np.random.default_rng(0).uniform(size=300)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    machine = SelectiveClassifier(pipeline, rate=0.1)
    machine.fit(X[SMALL], Y[SMALL], logisticregression__sample_weight=weight)
    assert machine.threshold_ != clone(machine).fit(X[SMALL], Y[SMALL]).threshold_


def test_metadata_routing():
    weight = np.random.default_rng(0).uniform(size=300)
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1)
    expected = clone(machine).fit(X[SMALL], Y[SMALL], sample_weight=weight).threshold_
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError):
            clone(machine).fit(X[SMALL], Y[SMALL], sample_weight=weight)
        machine.set_params(estimator=LogisticRegression().set_fit_request(sample_weight=True))
        assert machine.fit(X[SMALL], Y[SMALL], sample_weight=weight).threshold_ == expected


def test_predictions_do_not_change_the_machine_nor_warn():
    machine = SelectiveClassifier(LogisticRegression(), cost=0.2).fit(X[SMALL], Y[SMALL])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(machine.predict(X[SMALL]), machine.predict(X[SMALL]))
