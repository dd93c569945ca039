"""SelectiveClassifier with a guaranteed error: held-out points, fitted classifiers, estimates."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import Guarantee, SelectiveClassifier, error_bound
from bayespoint.reject.calibration import hold_out

X, Y = make_classification(
    n_samples=22_000, n_features=6, n_informative=4, n_classes=3, class_sep=1.5, random_state=0
)
DATA, FRESH = slice(0, 2000), slice(2000, None)


def selective(estimator=None, **parameters):
    estimator = LogisticRegression() if estimator is None else estimator
    return SelectiveClassifier(estimator, **{"risk": 0.1, "random_state": 0, **parameters})


def counts(fitted, X_held, y_held):
    """Accepted points and errors among them."""
    accepted = ~fitted.rejects(X_held)
    wrong = fitted.estimator_.predict(X_held) != y_held
    return int(accepted.sum()), int(wrong[accepted].sum())


def test_a_part_is_held_out_by_default():
    clf = selective().fit(X[DATA], Y[DATA])
    train, held = hold_out(Y[DATA], 0.3, 0)
    alone = LogisticRegression().fit(X[train], Y[train])
    np.testing.assert_array_equal(clf.estimator_.coef_, alone.coef_)
    accepted, errors = counts(clf, X[held], Y[held])
    assert clf.guarantee_ == Guarantee(0.1, 0.95, 600, accepted, errors, held_out=True)
    assert clf.coverage_ == accepted / 600 == pytest.approx(1 - clf.calibration_rate_)
    assert clf.risk_bound_ == error_bound(errors, accepted) <= 0.1
    assert clf.calibration_error_ == pytest.approx(errors / accepted)
    assert clf.threshold_source_ == "threshold set on a held-out part of the data"
    assert 1 - clf.score(X[FRESH], Y[FRESH]) < 0.1 < 1 - clf.estimator_.score(X[FRESH], Y[FRESH])
    # One more calibration point of the next lower score would not have passed.
    curve = clf.rejection_curve_
    following = np.flatnonzero(curve.threshold < clf.threshold_)[-1]
    assert curve.promised_error(0.1)[following] > 0.1


def test_a_lower_risk_and_a_higher_confidence_reject_more():
    coverage = [
        selective(risk=risk, confidence_level=level).fit(X[DATA], Y[DATA]).coverage_
        for risk, level in [(0.1, 0.8), (0.1, 0.95), (0.1, 0.999), (0.09, 0.999)]
    ]
    assert coverage == sorted(coverage, reverse=True)
    assert coverage[0] > coverage[-1]


def test_held_out_parts_have_all_classes_and_follow_the_seed():
    labels = np.array([*"aaaaaaaaaabbbbbbbbbbbbbbbbbbbbc"])
    train, held = hold_out(labels, 0.3, 0)
    assert sorted([*train, *held]) == list(range(31))
    assert dict(zip(*np.unique(labels[held], return_counts=True), strict=True)) == {"a": 3, "b": 6}
    assert "c" in labels[train]
    np.testing.assert_array_equal(held, hold_out(labels, 0.3, 0)[1])
    assert set(held) != set(hold_out(labels, 0.3, 1)[1])
    first, again, other = (selective(random_state=seed).fit(X[DATA], Y[DATA]) for seed in (0, 0, 1))
    assert first.threshold_ == again.threshold_ != other.threshold_


@pytest.mark.parametrize("size", [0.2, 0.5])
def test_size_of_the_held_out_part(size):
    clf = selective(calibration_size=size).fit(X[DATA], Y[DATA])
    assert clf.guarantee_.n_points == 2000 * size


@pytest.mark.parametrize(
    ("wrap", "parameters"),
    [
        (FrozenEstimator, {}),
        (FrozenEstimator, {"cv": "prefit"}),
        (lambda clf: clf, {"cv": "prefit"}),
    ],
)
def test_a_fitted_estimator_with_calibration_points(wrap, parameters):
    fitted = LogisticRegression().fit(X[DATA], Y[DATA])
    clf = selective(wrap(fitted), **parameters).fit(X[2000:3000], Y[2000:3000])
    assert clf.guarantee_.n_points == 1000
    assert clf.guarantee_.held_out
    assert (clf.guarantee_.n_accepted, clf.guarantee_.n_errors) == counts(
        clf, X[2000:3000], Y[2000:3000]
    )
    np.testing.assert_array_equal(clf.estimator_.predict(X), fitted.predict(X))


def test_cross_validation_gives_an_estimate():
    clf = selective(cv=5).fit(X[DATA], Y[DATA])
    assert not clf.guarantee_.held_out
    assert clf.guarantee_.kind == "estimate"
    assert clf.guarantee_.n_points == 2000
    assert "estimated, not guaranteed" in clf.guarantee_.summary
    assert "by cross-validation" in clf.threshold_source_


def test_other_rules_can_use_a_held_out_part():
    by_rate = selective(risk=None, rate=0.2, cv="holdout").fit(X[DATA], Y[DATA])
    assert by_rate.rejection_curve_.n_samples == 600
    assert by_rate.calibration_rate_ == pytest.approx(0.2)
    assert not hasattr(by_rate, "guarantee_")
    for name in ("risk_bound_", "coverage_"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(by_rate, name)
    # Weights are cut as the points are.
    weight = np.arange(2000) % 3
    weighted = clone(by_rate).fit(X[DATA], Y[DATA], sample_weight=weight)
    train, held = hold_out(Y[DATA], 0.3, 0)
    alone = LogisticRegression().fit(X[train], Y[train], sample_weight=weight[train])
    np.testing.assert_allclose(weighted.estimator_.coef_, alone.coef_)
    assert weighted.rejection_curve_.n_samples == np.count_nonzero(weight[held])


def test_frozen_estimators_of_other_rules_are_not_fitted_again():
    frozen = FrozenEstimator(LogisticRegression().fit(X[DATA], Y[DATA]))
    clf = SelectiveClassifier(frozen, rate=0.1).fit(X[FRESH], Y[FRESH])
    assert clf.threshold_source_ == "threshold set on held-out calibration data"


def test_tables_pipelines_kernels_and_fit_parameters():
    plain = selective().fit(X[DATA], Y[DATA])
    frame = pd.DataFrame(X[DATA], columns=list("abcdef"))
    named = selective().fit(frame, pd.Series(Y[DATA]))
    assert named.threshold_ == plain.threshold_
    assert list(named.feature_names_in_) == list("abcdef")
    words = np.array(["x", "y", "z"])[Y]
    assert selective().fit(X[DATA], words[DATA]).predict(X[DATA]).dtype.kind == "U"
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    weight = 1 + np.arange(2000) % 3
    weighted = selective(pipeline).fit(X[DATA], Y[DATA], logisticregression__sample_weight=weight)
    assert weighted.threshold_ != selective(pipeline).fit(X[DATA], Y[DATA]).threshold_
    some = slice(0, 600)
    by_kernel = selective(SVC(kernel="precomputed"), risk=0.2)
    by_kernel.fit(rbf_kernel(X[some], gamma=0.1), Y[some])
    by_points = selective(SVC(gamma=0.1), risk=0.2).fit(X[some], Y[some])
    assert by_kernel.threshold_ == pytest.approx(by_points.threshold_, rel=1e-6)
    with config_context(enable_metadata_routing=True):
        assert selective().fit(X[DATA], Y[DATA]).threshold_ == plain.threshold_


def test_nothing_to_hold_out():
    with pytest.raises(ValueError, match="no class has two rows"):
        selective().fit(X[:3], ["a", "b", "c"])


def test_a_class_that_is_only_held_out_counts_as_an_error():
    labels = np.where(np.arange(1000) % 50 == 0, 9, Y[:1000])
    clf = selective(calibration_size=0.97, risk=0.5).fit(X[:1000], labels)
    _, held = hold_out(labels, 0.97, 0)
    assert (clf.guarantee_.n_accepted, clf.guarantee_.n_errors) == counts(
        clf, X[held], labels[held]
    )


def test_a_risk_that_is_not_reached():
    clf = selective().fit(X[DATA], Y[DATA])
    before = dict(vars(clf))
    clf.set_params(risk=0.001)
    with pytest.raises(RiskNotReachedError, match="at least 2995 calibration rows") as info:
        clf.fit(X[3000:5000], Y[3000:5000])
    assert info.value.share == 0.3
    assert "With 30 % of the data held out, this takes 9984 rows in all" in str(info.value)
    # The earlier fit is untouched: no threshold of one classifier with another classifier.
    assert vars(clf) == {**before, "risk": 0.001}
    with pytest.raises(RiskNotReachedError) as info:
        selective(risk=0.001, cv=3).fit(X[DATA], Y[DATA])
    assert "held out" not in str(info.value)
    assert pickle.loads(pickle.dumps(info.value)).n_needed == info.value.n_needed


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rate": 0.1}, "exactly one of.*Got rate=0.1, risk=0.1 instead"),
        ({"threshold": 0.1}, "exactly one of.*Got threshold=0.1, risk=0.1 instead"),
        ({"cost": 0.1}, "exactly one of.*Got cost=0.1, risk=0.1 instead"),
        (
            {"risk": 0.0},
            r"'risk' parameter of SelectiveClassifier must be a float in the range \(0",
        ),
        ({"risk": 1}, "Got 1 instead"),
        ({"confidence_level": 95}, "'confidence_level' parameter of SelectiveClassifier must be"),
        ({"calibration_size": 1.0}, "'calibration_size' parameter of SelectiveClassifier must"),
        ({"cv": "train"}, "risk and cv='train' exclude each other"),
        ({"cv": "some"}, "'holdout', 'prefit' or 'train'. Got 'some' instead"),
    ],
)
def test_contradictions_and_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        selective(**parameters).fit(X[DATA], Y[DATA])


@pytest.mark.parametrize("cv", [None, 3, "prefit"])
def test_weights_are_refused(cv):
    clf = selective(LogisticRegression().fit(X[DATA], Y[DATA]), cv=cv)
    with pytest.raises(ValueError, match="a row of weight k is not k independent rows"):
        clf.fit(X[DATA], Y[DATA], sample_weight=np.ones(2000))


def test_a_fitted_estimator_and_a_risk_need_a_fit():
    clf = selective(FrozenEstimator(LogisticRegression().fit(X[DATA], Y[DATA])))
    with pytest.raises(NotFittedError):
        clf.predict(X[DATA])


def test_model_files_keep_the_guarantee(tmp_path):
    clf = selective(BayesPointClassifier(kernel="linear", engine="laplace"), risk=0.2).fit(
        X[:1500], Y[:1500]
    )
    bayespoint.save(clf, tmp_path / "m.bpm")
    again = bayespoint.load(tmp_path / "m.bpm")
    assert again.guarantee_ == clf.guarantee_
    assert (again.risk_bound_, again.coverage_) == (clf.risk_bound_, clf.coverage_)
    np.testing.assert_array_equal(again.predict(X[FRESH]), clf.predict(X[FRESH]))
    frozen = selective(FrozenEstimator(clf.estimator_), risk=0.2).fit(X[FRESH], Y[FRESH])
    bayespoint.save(frozen, tmp_path / "frozen.bpm")
    again = bayespoint.load(tmp_path / "frozen.bpm")
    np.testing.assert_array_equal(again.predict(X[FRESH]), frozen.predict(X[FRESH]))
    clf.guarantee_ = Guarantee(0.1, 0.95, n_points=100, n_accepted=200, n_errors=3)
    with pytest.raises(bayespoint.exceptions.ModelFileError, match="guarantee_ is invalid"):
        bayespoint.save(clf, tmp_path / "m.bpm")


def test_a_fit_that_reaches_no_guarantee_keeps_its_estimator():
    X, y = make_classification(n_samples=60, random_state=0)
    with pytest.raises(RiskNotReachedError) as caught:
        SelectiveClassifier(LogisticRegression(), risk=0.001, random_state=0).fit(X, y)
    assert caught.value.estimator.predict(X).shape == y.shape
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.estimator is not None
