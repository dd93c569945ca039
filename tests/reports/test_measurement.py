"""Numbers of an evaluation."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn import metrics as reference
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tests.helpers.pages import problems_in_source
from tests.helpers.reports import Oracle, ask, random_answers

from bayespoint import BayesPointClassifier
from bayespoint.reject import SelectiveClassifier, rejection_curve
from bayespoint.reports import Answers, measure, metrics, sections, write_evaluation
from bayespoint.reports.answers import NORMAL_95, score_interval

N_SETS = 300  # data sets to count how often intervals hold the truth


# Beside scikit-learn -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_numbers_are_those_of_scikit_learn(n_classes, weighted):
    p, y, classes, weight = random_answers(200, n_classes)
    weight = weight if weighted else None
    found = ask(p, y, classes, sample_weight=weight)
    answers, options = classes[p.argmax(axis=1)], {"sample_weight": weight}
    two = n_classes == 2
    brier = {"y_proba": p[:, 1], "pos_label": "b"} if two else {"y_proba": p, "labels": classes}
    scores = {"y_score": p[:, 1]} if two else {"y_score": p, "multi_class": "ovr"}
    expected = {
        "accuracy": reference.accuracy_score(y, answers, **options),
        "balanced_accuracy": reference.balanced_accuracy_score(y, answers, **options),
        "log_loss": reference.log_loss(y, p, **options),
        "brier_score": reference.brier_score_loss(y, **brier, **options),
        "auc": reference.roc_auc_score(y, **scores, **options),
    }
    assert {name: found.metrics[name].value for name in expected} == pytest.approx(expected)
    assert_array_equal(found.confusion, reference.confusion_matrix(y, answers, **options))
    precision, recall, _, support = reference.precision_recall_fscore_support(y, answers, **options)
    assert_allclose([one.precision for one in found.per_class], precision)
    assert_allclose([one.recall for one in found.per_class], recall)
    assert_allclose([one.weight for one in found.per_class], support)
    curve = rejection_curve(y, p, classes=classes, score="proba", sample_weight=weight)
    assert_array_equal(found.rejection.error, curve.error)


def test_weight_k_is_k_copies():
    p, y, classes, weight = random_answers(150, 3)
    weight[::7] = 0
    copies = np.repeat(np.arange(150), weight.astype(int))
    weighted = ask(p, y, classes, sample_weight=weight).to_dict()
    copied = ask(p[copies], y[copies], classes).to_dict()
    assert (weighted.pop("n"), copied.pop("n")) == ((weight > 0).sum(), len(copies))
    # Coverages are counted in points, and there are fewer of them.
    weighted["rejection"].pop("aurc"), copied["rejection"].pop("aurc")
    weighted.pop("model"), copied.pop("model")
    assert json.dumps(rounded(weighted)) == json.dumps(rounded(copied))


@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_the_order_of_points_does_not_matter(seed, n_classes):
    p, y, classes, weight = random_answers(30, n_classes, seed)
    order = np.random.default_rng(seed).permutation(30)
    one = ask(p, y, classes, sample_weight=weight).to_dict()
    other = ask(p[order], y[order], classes, sample_weight=weight[order]).to_dict()
    one.pop("model"), other.pop("model")
    assert rounded(one) == rounded(other)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(inner) for inner in value]
    return round(value, 9) + 0.0 if isinstance(value, float) else value


# By hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [0.0, 1e-3])  # the second is wrong
def test_the_loss_of_a_surprise_is_not_cut_off(clip):
    p = np.maximum([[1 - 1e-6, 1e-6], [0.5, 0.5]], clip)
    value = ask(p.tolist(), [1, 0], [0, 1]).metrics["log_loss"].value
    assert (value == pytest.approx(-np.log(1e-6 * 0.5) / 2)) == (clip == 0)


def test_a_case_by_hand():
    p = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]
    found = ask(p, [0, 0, 1, 1], [0, 1])
    assert found.metrics["accuracy"].value == 0.75
    assert found.metrics["log_loss"].value == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.7]).mean())
    assert found.metrics["brier_score"].value == pytest.approx(
        (0.1**2 + 0.2**2 + 0.6**2 + 0.3**2) / 4
    )
    # The bins (0.5, 0.6], (0.6, 0.7], (0.7, 0.8] and (0.8, 0.9] hold one point each.
    assert [one.weight for one in found.answers.bins] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert found.metrics["calibration_error"].value == pytest.approx((0.6 + 0.3 + 0.2 + 0.1) / 4)
    assert found.metrics["auc"].value == 1.0
    assert found.metrics["auc"].interval is None  # no variation to judge by
    assert found.confusion.tolist() == [[2, 0], [1, 1]]
    assert found.rejection.error_at([0, 0.25]) == pytest.approx([0.25, 0])


def sure_answers(confidence, right):
    """Answers "class 1" of this confidence."""
    ones = np.ones(len(confidence), dtype=int)
    return Answers(
        right.astype(int), ones, np.column_stack([1 - confidence, confidence]), 1.0 * ones
    )


def test_bins_hold_their_upper_ends():
    confidence = np.append(np.arange(1, 11) / 10, 0.0)  # 0.3 * 10 is more than 3
    bins = sure_answers(confidence, confidence > 0).bins
    assert [one.weight for one in bins] == [2, *[1] * 9]


def test_calibration_error_of_true_probabilities_is_small():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 50_000)
    right = rng.random(50_000) < p
    assert metrics.calibration_error(sure_answers(p, right)).value < 0.01
    # The control: the same answers, said to be surer than they are.
    found = metrics.calibration_error(sure_answers((1 + p) / 2, right))
    assert found.value == pytest.approx(0.125, abs=0.01)
    assert found.interval is None


def test_intervals_cover_the_truth():
    # Scores N(±1/2, 1) of two equal classes, and what they say as probabilities.
    def scores(y, rng):
        return expit(y - 0.5 + rng.normal(size=len(y)))

    p = scores(np.ones(1_000_000), np.random.default_rng(1))
    truth = {
        "accuracy": norm.cdf(0.5),
        "balanced_accuracy": norm.cdf(0.5),
        "log_loss": -np.log(p).mean(),
        "brier_score": ((1 - p) ** 2).mean(),
        "auc": norm.cdf(1 / np.sqrt(2)),
    }
    found = []
    for seed in range(N_SETS):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 150)
        p = scores(y, rng)
        found.append(ask(np.column_stack([1 - p, p]), y, [0, 1]).metrics)
    for name, value in truth.items():
        low, high = np.array([metrics[name].interval for metrics in found]).T
        share = ((low <= value) & (value <= high)).mean()
        assert abs(share - 0.95) < 5 * np.sqrt(0.95 * 0.05 / N_SETS), name
        # The control: a value half an interval away is covered too seldom.
        other = value + (high - low).mean() / 2
        assert ((low <= other) & (other <= high)).mean() < 0.7


def test_score_interval_is_wilsons():
    low, high = score_interval(0.9, 100)
    for end in (low, high):
        assert abs(end - 0.9) == pytest.approx(NORMAL_95 * np.sqrt(end * (1 - end) / 100))
    assert score_interval(1.0, 10)[0] < 0.75


# What can be asked -------------------------------------------------------------------------------


def test_a_class_may_be_absent():
    p, y, classes, _ = random_answers(100, 3)
    there = y != "c"
    found = ask(p[there], y[there], classes)
    assert found.metrics["auc"].value is None
    assert found.metrics["auc"].interval is None
    assert found.per_class[2].recall is None
    assert found.per_class[2].auc is None
    assert found.per_class[0].auc is not None
    recalls = [one.recall for one in found.per_class[:2]]
    assert found.metrics["balanced_accuracy"].value == pytest.approx(np.mean(recalls))
    json.dumps(found.to_dict(), allow_nan=False)


def test_no_interval_goes_below_what_is_possible():
    p = np.array([0.999, 0.999, 0.999, 0.6])
    found = ask(np.c_[p, 1 - p], ["a", "a", "a", "b"], ["a", "b"], costs=[[0, 1], [4, 0]])
    for one in (found.metrics["log_loss"], found.metrics["brier_score"]):
        low, high = one.interval
        assert low == 0 < one.value < high
    expense = found.expected_costs[0]
    assert expense.interval[0] == 0 < expense.cost


def test_one_point_is_enough(tmp_path):
    found = ask([[0.2, 0.8]], ["b"], ["a", "b"])
    assert found.metrics["accuracy"].value == 1.0
    assert found.metrics["log_loss"].interval is None
    page = write_evaluation(found, tmp_path / "one.html").read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    assert "None: all predictions are correct." in page
    assert "no test rows of class a" in page


@pytest.mark.parametrize("labels", [[0, 1, 2], ["x", "y", "z"], [1.0, 2.0, 3.0]])
def test_labels_of_any_type(labels):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = pd.Series(np.array(labels)[y])
    found = measure(LogisticRegression(max_iter=500).fit(X, names), X, names)
    assert found.metrics["accuracy"].value > 0.95
    assert found.to_dict()["classes"] == labels


def test_a_pipeline_that_refuses():
    X, y = load_iris(return_X_y=True)
    machine = SelectiveClassifier(LogisticRegression(), rate=0.2, confidence="gap")
    pipeline = make_pipeline(StandardScaler(), machine).fit(X, y)
    found = measure(pipeline, X, y)
    refused = pipeline.predict(X) == -1
    answers = pipeline[-1].estimator_.predict(pipeline[0].transform(X))
    assert found.selective.rejected == pytest.approx(refused.mean())
    assert found.selective.accuracy == pytest.approx((answers == y)[~refused].mean())
    assert found.metrics["accuracy"].value == pytest.approx((answers == y).mean())
    assert found.rejection_score == "gap"
    bare = measure(pipeline[-1], pipeline[0].transform(X), y)
    assert bare.selective[:-1] == found.selective[:-1]
    np.testing.assert_array_equal(bare.selective.confusion, found.selective.confusion)
    assert measure(pipeline[-1].estimator_, pipeline[0].transform(X), y).selective is None


def test_a_classifier_that_refuses_all():
    X, y = load_iris(return_X_y=True)
    machine = SelectiveClassifier(LogisticRegression(max_iter=500), threshold=np.inf).fit(X, y)
    found = measure(machine, X, y)
    assert (found.selective.rejected, found.selective.accuracy) == (1.0, None)
    assert found.to_dict()["selective"]["threshold"] is None
    assert "rejects all rows" in sections.refusals(found.selective)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a", "b", "c"], {}, r"y contains labels that are not among the classes: \['c'\]"),
        ([0, 1, 0], {}, "of the same type"),
        (["a", "b"], {}, "inconsistent numbers of samples"),
        (["a", "b", "a"], {"sample_weight": [1.0, 2.0]}, r"must have shape \(3,\)"),
        (["a", "b", "a"], {"sample_weight": [1.0, -2.0, 1.0]}, "not negative"),
        (["a", "b", "a"], {"sample_weight": [0.0, 0.0, 0.0]}, "not zero everywhere"),
        (["a", "b", "a"], {"sample_weight": [np.nan, 0.0, 0.0]}, "must be finite"),
    ],
)
def test_bad_labels_and_weights(y, options, message):
    oracle = Oracle(np.full((3, 2), 0.5), ["a", "b"])
    with pytest.raises(ValueError, match=message):
        measure(oracle, np.arange(3)[:, None], y, **options)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5, 0.6]], "sum to 1. Oracle did not in 1 of 1 rows, first in row 0"),
        ([[np.nan, 1.0]], "numbers in"),
        ([[1.5, -0.5]], "numbers in"),
        ([[0.2, 0.3, 0.5]], "one column for each of the 2 classes"),
    ],
)
def test_bad_probabilities(p, message):
    with pytest.raises(ValueError, match=message):
        ask(p, ["a"], ["a", "b"])


def test_bad_estimators():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba: wrap it in"):
        measure(LinearSVC().fit(X, y), X, y)
    assert (
        measure(CalibratedClassifierCV(LinearSVC()).fit(X, y), X, y).metrics["accuracy"].value > 0.9
    )
    with pytest.raises(NotFittedError):
        measure(LogisticRegression(), X, y)
    with pytest.raises(NotFittedError):
        measure(BayesPointClassifier(kernel="linear", temperature=1.0), X, y)
