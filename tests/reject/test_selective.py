"""The classifier that refuses: its threshold and its labels."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bayespoint.reject import SelectiveClassifier, confidence
from bayespoint.reports import measure

X, Y = make_classification(
    n_samples=22_000, n_features=6, n_informative=4, n_classes=3, random_state=0
)
TRAIN, FRESH = slice(0, 2000), slice(2000, None)
SMALL = slice(0, 300)


class TruePosterior(ClassifierMixin, BaseEstimator):
    """Two classes, x uniform in [0, 1], and the true probability P(y = 1 | x) = x."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return (X[:, 0] > 0.5).astype(int)


class Contrary(TruePosterior):
    """Decides against its own outputs."""

    def predict(self, X):
        return 1 - super().predict(X)


class Committee(TruePosterior):
    def vote_shares(self, X):
        return np.round(self.predict_proba(X), 1)


def uniform_points(n, seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n, 1))
    return points, (rng.uniform(size=n) < points[:, 0]).astype(int)


# The threshold.


@pytest.mark.parametrize("score", ["max", "gap", "proba"])
def test_the_rate_is_met_on_fresh_data(score):
    rate, n_train, n_fresh = 0.1, 2000, 20_000
    machine = SelectiveClassifier(LogisticRegression(), rate=rate, confidence=score)
    machine.fit(X[TRAIN], Y[TRAIN])
    assert machine.calibration_rate_ == pytest.approx(rate)
    # The threshold is a quantile of n_train points, the rate a mean over n_fresh points.
    standard_error = np.sqrt(rate * (1 - rate) * (1 / n_train + 1 / n_fresh))
    assert abs(machine.rejects(X[FRESH]).mean() - rate) < 5 * standard_error
    assert machine.score(X[FRESH], Y[FRESH]) > machine.estimator_.score(X[FRESH], Y[FRESH])
    # Negative control: a threshold that was set for another score misses the rate.
    other = "gap" if score != "gap" else "proba"
    wrong = clone(machine).set_params(rate=None, threshold=machine.threshold_, confidence=other)
    wrong.fit(X[TRAIN], Y[TRAIN])
    assert abs(wrong.rejects(X[FRESH]).mean() - rate) > 5 * standard_error


def test_the_training_data_themselves_are_optimistic():
    rng = np.random.default_rng(0)
    noisy = np.where(rng.uniform(size=len(Y)) < 0.2, rng.integers(0, 3, len(Y)), Y)
    tree = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0)
    train = SelectiveClassifier(tree, rate=0.2, cv="train").fit(X[TRAIN], noisy[TRAIN])
    crossed = SelectiveClassifier(tree, rate=0.2).fit(X[TRAIN], noisy[TRAIN])
    true_error = 1 - train.score(X[FRESH], noisy[FRESH])
    assert train.calibration_error_ < 0.8 * true_error
    assert crossed.calibration_error_ > 0.8 * (1 - crossed.score(X[FRESH], noisy[FRESH]))


def test_cost_finds_chows_rule_where_probabilities_are_true():
    cost = 0.2
    points, labels = uniform_points(20_000, seed=1)
    machine = SelectiveClassifier(TruePosterior(), cost=cost, confidence="proba")
    machine.fit(points, labels)

    def risk(threshold):
        """Rejected width times cost, and the integral of 1 - p over the accepted rest."""
        return cost * (2 * threshold - 1) + (1 - threshold) ** 2

    # Chow: reject where 1 - p > cost. The risk is flat there: cube-root errors in the threshold,
    # about 20 000 ** (-1/3) = 0.04, cost their square.
    assert risk(machine.threshold_) - risk(1 - cost) < 0.005
    # Negative control: to take the cost for the threshold is to reject nothing.
    assert risk(0.5) - risk(1 - cost) > 0.005


def test_the_least_cost_on_the_calibration_data():
    machine = SelectiveClassifier(LogisticRegression(), cost=0.15, cv="train")
    machine.fit(X[SMALL], Y[SMALL])
    scores = confidence(machine.decision_function(X[SMALL]))
    wrong = machine.estimator_.predict(X[SMALL]) != Y[SMALL]
    costs = [np.where(scores < t, 0.15, wrong).mean() for t in [*scores, np.inf]]
    reached = np.where(machine.rejects(X[SMALL]), 0.15, wrong).mean()
    assert reached == pytest.approx(min(costs))
    assert machine.calibration_rate_ == pytest.approx(machine.rejects(X[SMALL]).mean())
    assert machine.calibration_error_ == pytest.approx(1 - machine.score(X[SMALL], Y[SMALL]))


def test_where_no_answer_pays_all_is_rejected_with_a_warning():
    labels = np.random.default_rng(0).integers(0, 2, 300)
    machine = SelectiveClassifier(LogisticRegression(), cost=0.01)
    with pytest.warns(UserWarning, match=r"Every row will be rejected: at cost=0.01"):
        machine.fit(X[SMALL], labels)
    assert machine.rejects(X[FRESH]).all()
    assert machine.calibration_rate_ == 1
    with pytest.warns(UndefinedMetricWarning, match="All 300 rows are rejected"):
        assert np.isnan(machine.score(X[SMALL], labels))


def test_rate_zero_rejects_nothing_anywhere():
    machine = SelectiveClassifier(LogisticRegression(), rate=0.0).fit(X[TRAIN], Y[TRAIN])
    assert not machine.rejects(X[FRESH]).any()
    np.testing.assert_array_equal(machine.predict(X), machine.estimator_.predict(X))


def test_a_given_threshold_is_used_as_it_is():
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1).fit(X[SMALL], Y[SMALL])
    assert hasattr(machine, "rejection_curve_")
    machine.set_params(rate=None, threshold=1.5, confidence="gap").fit(X[SMALL], Y[SMALL])
    gaps = confidence(machine.decision_function(X), "gap")
    np.testing.assert_array_equal(machine.rejects(X), gaps < 1.5)
    # Nothing of the calibration before is left.
    assert not hasattr(machine, "rejection_curve_")
    assert not hasattr(machine, "calibration_rate_")


@pytest.mark.parametrize("wrap", [lambda fitted: fitted, FrozenEstimator])
def test_a_fitted_estimator_and_a_threshold_need_no_fit(wrap):
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], Y[TRAIN])
    parameters = {"threshold": 0.9, "confidence": "proba"}
    machine = SelectiveClassifier(wrap(fitted), **parameters)
    expected = SelectiveClassifier(fitted, cv="prefit", **parameters).fit(X[SMALL], Y[SMALL])
    for name in ("predict", "rejects", "predict_proba", "decision_function"):
        one, other = (getattr(each, name)(X[SMALL]) for each in (machine, expected))
        np.testing.assert_array_equal(one, other)
    assert machine.score(X[SMALL], Y[SMALL]) == expected.score(X[SMALL], Y[SMALL])
    for name in ("threshold_", "threshold_source_", "reject_label_", "n_features_in_"):
        assert getattr(machine, name) == getattr(expected, name)
    np.testing.assert_array_equal(machine.classes_, expected.classes_)
    assert measure(machine, X[SMALL], Y[SMALL]).selective.threshold == 0.9
    # Nothing is kept: another threshold holds at once.
    assert not any(name.endswith("_") for name in vars(machine))
    assert machine.set_params(threshold=0.0).rejects(X[SMALL]).sum() == 0
    assert pickle.loads(pickle.dumps(machine)).threshold_ == 0.0
    # A clone of a classifier has forgotten its fit, a frozen one has not.
    if wrap is FrozenEstimator:
        assert clone(machine).predict(X[SMALL]).shape == (300,)
    else:
        with pytest.raises(NotFittedError):
            clone(machine).predict(X[SMALL])


def test_a_frozen_estimator_is_calibrated_and_not_fitted():
    frozen = FrozenEstimator(LogisticRegression().fit(X[TRAIN], Y[TRAIN]))
    machine = SelectiveClassifier(frozen, rate=0.1).fit(X[FRESH], Y[FRESH])
    assert machine.estimator_ is frozen
    prefit = SelectiveClassifier(frozen, rate=0.1, cv="prefit").fit(X[FRESH], Y[FRESH])
    assert machine.threshold_ == prefit.threshold_


@pytest.mark.parametrize("parameters", [{"rate": 0.1}, {"cost": 0.1}, {}])
def test_a_fitted_estimator_without_a_threshold_needs_a_fit(parameters):
    fitted = LogisticRegression().fit(X[SMALL], Y[SMALL])
    machine = SelectiveClassifier(fitted, **parameters)
    assert not hasattr(machine, "classes_")
    with pytest.raises(NotFittedError):
        machine.predict(X[SMALL])


def test_parameters_are_checked_without_a_fit():
    fitted = LogisticRegression().fit(X[SMALL], Y[SMALL])
    with pytest.raises(ValueError, match="exactly one of 'rate', 'threshold', 'cost' and 'risk'"):
        SelectiveClassifier(fitted, threshold=0.9, rate=0.1).predict(X[SMALL])
    with pytest.raises(ValueError, match="The reject label 0 is one of the classes"):
        SelectiveClassifier(fitted, threshold=0.9, reject_label=0).predict(X[SMALL])
    with pytest.raises(NotFittedError):
        SelectiveClassifier(LogisticRegression(), threshold=0.9).predict(X[SMALL])


def test_prefit_calibrates_on_held_out_data():
    fitted = LogisticRegression().fit(X[SMALL], Y[SMALL])
    machine = SelectiveClassifier(fitted, rate=0.1, cv="prefit").fit(X[FRESH], Y[FRESH])
    assert machine.estimator_ is fitted
    assert machine.rejects(X[FRESH]).mean() == pytest.approx(0.1)
    # scikit-learn's own way to say the same.
    frozen = SelectiveClassifier(FrozenEstimator(fitted), rate=0.1).fit(X[FRESH], Y[FRESH])
    assert frozen.threshold_ == pytest.approx(machine.threshold_)
    with pytest.raises(NotFittedError):
        SelectiveClassifier(LogisticRegression(), rate=0.1, cv="prefit").fit(X[SMALL], Y[SMALL])
    with pytest.raises(ValueError, match=r"y contains labels.*\[9\].*the estimator was fitted"):
        machine.fit(X[SMALL], np.where(Y[SMALL] == 2, 9, Y[SMALL]))


def test_the_answers_are_those_of_predict():
    points, labels = uniform_points(400, seed=2)
    machine = SelectiveClassifier(Contrary(), rate=0.1).fit(points, labels)
    accepted = ~machine.rejects(points)
    np.testing.assert_array_equal(machine.predict(points)[accepted], points[accepted, 0] <= 0.5)
    assert machine.calibration_error_ == pytest.approx(1 - machine.score(points, labels))
    assert machine.calibration_error_ > 0.5


def test_coarse_votes_never_reject_more_than_the_rate():
    points, labels = uniform_points(1000, seed=3)
    machine = SelectiveClassifier(Committee(), rate=0.25, confidence="vote").fit(points, labels)
    shares = machine.vote_shares(points).max(axis=1)
    assert machine.calibration_rate_ == pytest.approx(np.mean(shares < machine.threshold_))
    next_value = shares[shares >= machine.threshold_].min()
    assert machine.calibration_rate_ <= 0.25 < np.mean(shares <= next_value)
    # A score at the threshold is accepted.
    given = clone(machine).set_params(rate=None, threshold=next_value).fit(points, labels)
    assert given.rejects(points).mean() == machine.calibration_rate_


# The reject label.


@pytest.mark.parametrize(
    ("classes", "label", "dtype"),
    [
        (np.array([0, 1, 2]), -1, np.int64),
        (np.array([0, 1, 2], dtype=np.uint8), -1, np.int64),
        (np.array([-1, 1]), 0, np.int64),
        (np.array([-1, 0, 1]), -2, np.int64),
        (np.array([0.0, 1.0]), -1.0, np.float64),
        (np.array([False, True]), -1, np.int64),
        (np.array(["a", "bc"]), "reject", "<U6"),
        (np.array(["no", "yes, certainly"]), "reject", "<U14"),
        (np.array(["a", "bc"], dtype=object), "reject", object),
        (np.array([b"a", b"bc"]), b"reject", "S6"),
        (np.array([1, 2**63 + 5], dtype=np.uint64), -1, object),
    ],
)
def test_default_labels_fit_the_classes(classes, label, dtype):
    from bayespoint.reject.labels import joint_dtype, resolve_reject_label

    resolved = resolve_reject_label("auto", classes)
    assert resolved == label
    assert type(resolved) is type(label)
    assert joint_dtype(classes, resolved) == np.dtype(dtype)
    together = np.array([*classes.tolist(), resolved], dtype=joint_dtype(classes, resolved))
    assert together.tolist() == [*classes.tolist(), label]


@pytest.mark.parametrize(
    "classes", [["a", "b", "c"], [False, True, True], [-1, 1, 1], [0.0, 1.0, 2.0]]
)
def test_predictions_are_the_labels_or_the_reject_label(classes):
    labels = np.array(classes)[Y]
    machine = SelectiveClassifier(LogisticRegression(), rate=0.2).fit(X[SMALL], labels[SMALL])
    predictions, rejected = machine.predict(X[SMALL]), machine.rejects(X[SMALL])
    assert 0 < rejected.sum() < len(rejected)
    np.testing.assert_array_equal(predictions == machine.reject_label_, rejected)
    answers = machine.estimator_.predict(X[SMALL])
    np.testing.assert_array_equal(predictions[~rejected], answers[~rejected])


@pytest.mark.parametrize("label", ["?", None, 99, np.nan])
def test_a_label_of_ones_own(label):
    machine = SelectiveClassifier(LogisticRegression(), rate=0.2, reject_label=label)
    machine = clone(machine).fit(X[SMALL], Y[SMALL])
    predictions, rejected = machine.predict(X[SMALL]), machine.rejects(X[SMALL])
    assert all(value == label or value != value for value in predictions[rejected])
    answers = machine.estimator_.predict(X[SMALL])
    np.testing.assert_array_equal(predictions[~rejected].astype(int), answers[~rejected])


@pytest.mark.parametrize(
    ("labels", "reject_label"),
    [
        (np.array(["reject", "accept", "wait"])[Y], "auto"),
        (Y, 1),
        (Y > 0, 1),
        (np.array(["a", "b", "c"])[Y], "b"),
    ],
)
def test_a_label_that_is_a_class_is_refused(labels, reject_label):
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1, reject_label=reject_label)
    with pytest.raises(ValueError, match=r"is one of the classes.*Set reject_label"):
        machine.fit(X[SMALL], labels[SMALL])


# Bad parameters.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "exactly one of 'rate', 'threshold', 'cost' and 'risk'. Got none of them"),
        ({"rate": 0.1, "cost": 0.2}, "exactly one of.*Got rate=0.1, cost=0.2 instead"),
        (
            {"rate": 1.0},
            r"'rate' parameter of SelectiveClassifier must be a float in the range \[0",
        ),
        ({"rate": -0.1}, "Got -0.1 instead"),
        ({"rate": "few"}, "Got 'few' instead"),
        ({"rate": False}, "Got False instead"),
        ({"rate": np.nan}, "Got nan instead"),
        ({"cost": 0}, r"'cost' parameter of SelectiveClassifier must be a float in the range \(0"),
        ({"cost": 1.0}, "Got 1.0 instead"),
        (
            {"threshold": np.nan},
            "'threshold' parameter of SelectiveClassifier must be a float in the range",
        ),
        ({"rate": 0.1, "confidence": "best"}, "'confidence' parameter of SelectiveClassifier must"),
        ({"rate": 0.1, "cv": "loo"}, "'cv' parameter of SelectiveClassifier must be an int of"),
        ({"rate": 0.1, "cv": 1}, "Got 1 instead"),
        ({"rate": 0.1, "reject_label": [1, 2]}, "must be a scalar"),
    ],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(ValueError, match=message):
        SelectiveClassifier(LogisticRegression(), **parameters).fit(X[SMALL], Y[SMALL])


def test_a_score_that_the_estimator_cannot_give():
    machine = SelectiveClassifier(LogisticRegression(), rate=0.1, confidence="vote")
    with pytest.raises(AttributeError, match="vote_shares, which LogisticRegression does not"):
        machine.fit(X[SMALL], Y[SMALL])


def test_a_point_counts_once():
    X, y = load_iris(return_X_y=True)
    twice = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    clf = SelectiveClassifier(LogisticRegression(max_iter=1000), rate=0.1, cv=twice)
    with pytest.raises(ValueError, match="the test parts of cv overlap"):
        clf.fit(X, y)
