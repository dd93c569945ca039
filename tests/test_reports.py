"""Numbers of an evaluation, and the page that tells them."""

import base64
import json
import re
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import norm
from sklearn import metrics as reference
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tests.pages import problems_in_source
from tests.reports import EVIL, digits_evaluation, digits_page, names_page

from bayespoint import BayesPointClassifier
from bayespoint.reject import SelectiveClassifier, rejection_curve
from bayespoint.reports import (
    examples,
    intervals,
    measure,
    metrics,
    pictures,
    sections,
    write_evaluation,
)
from bayespoint.reports.model import describe_model

N_SETS = 300  # data sets to count how often intervals hold the truth


class Oracle:
    """Says the probabilities that it is given; X is the number of the row."""

    def __init__(self, probabilities, classes):
        self.probabilities, self.classes_ = np.asarray(probabilities), np.asarray(classes)

    def predict_proba(self, X):
        return self.probabilities[np.asarray(X)[:, 0]]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def ask(probabilities, y, classes, **options):
    X = np.arange(len(y))[:, None]
    return measure(Oracle(probabilities, classes), X, y, **options)


def random_answers(n, n_classes, seed=0):
    """Rough probabilities (with ties), and labels of them."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(n_classes), size=n).round(2)
    probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    probabilities = probabilities.clip(0, 1)
    classes = np.array(["a", "b", "c", "d"])[:n_classes]
    y = np.array([rng.choice(classes, p=p / p.sum()) for p in probabilities])
    return probabilities, y, classes, rng.integers(1, 4, n).astype(float)


# Beside scikit-learn -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_numbers_are_those_of_scikit_learn(n_classes, weighted):
    p, y, classes, weight = random_answers(200, n_classes)
    weight = weight if weighted else None
    found = ask(p, y, classes, sample_weight=weight)
    answers, options = classes[p.argmax(axis=1)], {"sample_weight": weight}
    assert found.accuracy == pytest.approx(reference.accuracy_score(y, answers, **options))
    assert found.balanced_accuracy == pytest.approx(
        reference.balanced_accuracy_score(y, answers, **options)
    )
    assert found.log_loss == pytest.approx(reference.log_loss(y, p, **options))
    two = n_classes == 2
    assert found.brier_score == pytest.approx(
        reference.brier_score_loss(y, p[:, 1], pos_label="b", **options)
        if two
        else reference.brier_score_loss(y, p, labels=classes, **options)
    )
    scores = {"y_score": p[:, 1]} if two else {"y_score": p, "multi_class": "ovr"}
    assert found.auc == pytest.approx(reference.roc_auc_score(y, **scores, **options))
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


def test_a_case_by_hand():
    p = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]
    found = ask(p, [0, 0, 1, 1], [0, 1])
    assert found.accuracy == 0.75
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.7]).mean())
    assert found.brier_score == pytest.approx((0.1**2 + 0.2**2 + 0.6**2 + 0.3**2) / 4)
    # The bins (0.5, 0.6], (0.6, 0.7], (0.7, 0.8] and (0.8, 0.9] hold one point each.
    assert [one.weight for one in found.reliability] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert found.calibration_error == pytest.approx((0.6 + 0.3 + 0.2 + 0.1) / 4)
    assert found.auc == 1.0
    assert found.intervals["auc"] is None  # no variation to judge by
    assert found.confusion.tolist() == [[2, 0], [1, 1]]
    assert found.rejection.error_at([0, 0.25]) == pytest.approx([0.25, 0])


def test_bins_hold_their_upper_ends():
    confidence = np.append(np.arange(1, 11) / 10, 0.0)  # 0.3 * 10 is more than 3
    bins = metrics.calibration_bins(confidence, confidence > 0, np.ones(11))
    assert [one.weight for one in bins] == [2, *[1] * 9]


def test_calibration_error_of_true_probabilities_is_small():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 50_000)
    right = rng.random(50_000) < p
    bins = metrics.calibration_bins(p, right, np.ones(50_000))
    assert metrics.calibration_error(bins) < 0.01
    # The control: the same answers, said to be surer than they are.
    bins = metrics.calibration_bins((1 + p) / 2, right, np.ones(50_000))
    assert metrics.calibration_error(bins) == pytest.approx(0.125, abs=0.01)


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
        found.append(ask(np.column_stack([1 - p, p]), y, [0, 1]).intervals)
    for name, value in truth.items():
        low, high = np.array([ends[name] for ends in found]).T
        share = ((low <= value) & (value <= high)).mean()
        assert abs(share - 0.95) < 5 * np.sqrt(0.95 * 0.05 / N_SETS), name
        # The control: a value half an interval away is covered too seldom.
        other = value + (high - low).mean() / 2
        assert ((low <= other) & (other <= high)).mean() < 0.7


def test_score_interval_is_wilsons():
    low, high = intervals.score_interval(0.9, 100)
    for end in (low, high):
        assert abs(end - 0.9) == pytest.approx(intervals.NORMAL_95 * np.sqrt(end * (1 - end) / 100))
    assert intervals.score_interval(1.0, 10)[0] < 0.75


# What can be asked -------------------------------------------------------------------------------


def test_a_class_may_be_absent():
    p, y, classes, _ = random_answers(100, 3)
    there = y != "c"
    found = ask(p[there], y[there], classes)
    assert found.auc is None
    assert found.intervals["auc"] is None
    assert found.per_class[2].recall is None
    assert found.per_class[2].auc is None
    assert found.per_class[0].auc is not None
    recalls = [one.recall for one in found.per_class[:2]]
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_point_is_enough(tmp_path):
    found = ask([[0.2, 0.8]], ["b"], ["a", "b"])
    assert found.accuracy == 1.0
    assert found.intervals["log_loss"] is None
    page = write_evaluation(found, tmp_path / "one.html").read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    assert "None: all answers are right." in page
    assert "No test points of class a" in page


@pytest.mark.parametrize("labels", [[0, 1, 2], ["x", "y", "z"], [1.0, 2.0, 3.0]])
def test_labels_of_any_type(labels):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = pd.Series(np.array(labels)[y])
    found = measure(LogisticRegression(max_iter=500).fit(X, names), X, names)
    assert found.accuracy > 0.95
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
    assert found.accuracy == pytest.approx((answers == y).mean())
    assert found.rejection_score == "gap"
    bare = measure(pipeline[-1], pipeline[0].transform(X), y)
    assert bare.selective == found.selective
    assert measure(pipeline[-1].estimator_, pipeline[0].transform(X), y).selective is None


def test_a_classifier_that_refuses_all():
    X, y = load_iris(return_X_y=True)
    machine = SelectiveClassifier(LogisticRegression(max_iter=500), threshold=np.inf).fit(X, y)
    found = measure(machine, X, y)
    assert (found.selective.rejected, found.selective.accuracy) == (1.0, None)
    assert found.to_dict()["selective"]["threshold"] is None
    assert "refuses all answers" in sections.refusals(found)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a", "b", "c"], {}, r"y holds labels that are not among the classes: \['c'\]"),
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
    assert measure(CalibratedClassifierCV(LinearSVC()).fit(X, y), X, y).accuracy > 0.9
    with pytest.raises(NotFittedError):
        measure(LogisticRegression(), X, y)
    with pytest.raises(NotFittedError):
        measure(BayesPointClassifier(), X, y)


# The model in words ------------------------------------------------------------------------------


def test_words_on_models():
    X, y = load_iris(return_X_y=True)
    engine = describe_model(BayesPointClassifier(engine="laplace").fit(X, y))
    assert engine["engine"] == "LaplaceApproximation()"
    assert engine["features"] == "4"
    assert float(engine["log evidence"]) < 0
    chains = describe_model(
        BayesPointClassifier(engine="gibbs", random_state=0).fit(X[:100], y[:100])
    )
    assert {"samples", "R-hat", "effective samples"} <= chains.keys()
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {
        "logisticregression__C": [0.1, 1.0]
    }).fit(X, y)  # fmt: skip
    words = describe_model(search)
    assert words["model"] == "GridSearchCV > Pipeline > StandardScaler > LogisticRegression"
    assert words["chosen"].startswith("logisticregression__C = ")


# Examples ----------------------------------------------------------------------------------------


def test_examples_are_in_order():
    p = [[0.9, 0.1], [0.45, 0.55], [0.2, 0.8], [0.6, 0.4], [0.99, 0.01]]
    found = ask(p, [1, 1, 0, 0, 0], [0, 1], sample_weight=[1, 1, 1, 1, 0])
    assert examples.most_uncertain(found, 2).tolist() == [1, 3]
    assert examples.most_confidently_wrong(found, 5).tolist() == [0, 2]
    p = [[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]]
    assert examples.most_confidently_wrong(ask(p, [1, 1], [0, 1, 2]), 5).tolist() == [1, 0]


def test_pictures_are_told_from_tables():
    _, rows = digits_evaluation()
    for pictures_of_digits in (rows, rows / 16, pd.DataFrame(rows), rows.tolist()):
        assert examples.picture_shape(pictures_of_digits, "auto") == (8, 8)
    assert examples.picture_shape(rows, None) is None
    assert examples.picture_shape(rows[:, :40], (5, 8)) == (5, 8)
    shuffled = rows[:, np.random.default_rng(0).permutation(64)]
    for no_picture in (shuffled, rows - 1, rows + 0.5, rows[:, :63], 20 * rows, rows.astype(str)):
        assert examples.picture_shape(no_picture, "auto") is None
    for bad in ("square", (8, 9), (64,)):
        with pytest.raises(ValueError, match="The 'image_shape' parameter of write_evaluation"):
            examples.picture_shape(rows, bad)


@pytest.mark.parametrize(
    "rows",
    [
        [["x", 1.23456789], ["y", 2.0]],
        np.array([[1.23456789, 1.0], [2.0, 3.0]]),
        csr_array([[1.23456789, 1.0], [2.0, 3.0]]),
        pd.DataFrame({"a": ["x", "y"], "b": [1.23456789, 2]}),
        pd.Series([1.23456789, 2.0]),
        [1.23456789, 2.0],
    ],
)
def test_rows_of_many_kinds(rows):
    found = ask([[0.6, 0.4], [0.1, 0.9]], [0, 1], [0, 1])
    assert examples.picture_shape(rows, "auto") is None
    listed = examples.listing(found, np.arange(2), rows, "rows")
    assert "<td>1.235</td>" in listed
    assert listed.count("<tr>") == 3


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, list])
def test_pictures_are_those_of_their_rows(make):
    evaluation, rows = digits_evaluation()
    one = examples.most_uncertain(evaluation, 1)
    shown = examples.gallery(evaluation, one, make(rows), (8, 8))
    content = base64.b64decode(re.search('base64,([^"]+)', shown)[1])
    grey = imread(BytesIO(content))[:, :, 0]
    expected = rows[one[0]].reshape(8, 8)
    assert_allclose(grey, expected / expected.max(), atol=0.01)


def test_rows_must_be_those_that_were_measured(tmp_path):
    found = ask([[0.6, 0.4], [0.1, 0.9]], [0, 1], [0, 1], sample_weight=[0, 1])
    with pytest.raises(ValueError, match=r"rows must be the 2 test points .* Got 3 rows"):
        write_evaluation(found, tmp_path / "rows.html", rows=np.zeros((3, 2)))


# The page ----------------------------------------------------------------------------------------


def test_page_tells_all(tmp_path):
    evaluation, _ = digits_evaluation()
    page = digits_page(tmp_path).read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    for name in ("accuracy", "balanced_accuracy", "log_loss", "brier_score", "auc"):
        low, high = evaluation.intervals[name]
        cells = f"<td>{getattr(evaluation, name):.3f}</td><td>{low:.3f}–{high:.3f}</td>"
        assert cells in page
    assert page.count('alt="row ') == 24  # twelve of each kind, as pictures
    assert "LogisticRegression(C=0.01" in page
    assert "scikit-learn" in page
    for row in evaluation.confusion:
        for count in row:
            assert f">{count}</td>" in page


def test_drawings_are_the_same_every_time():
    evaluation, _ = digits_evaluation()
    light, again, dark = (
        pictures.as_svg(pictures.draw_rejection, evaluation, dark) for dark in (False, False, True)
    )
    assert light == again
    assert light != dark


def test_many_classes_are_not_drawn_as_a_matrix():
    p = np.full((5, 40), 1 / 40)
    p[:, 3] += 0.5
    found = ask(p / 1.5, [3, 7, 7, 2, 3], np.arange(40))
    shown = sections.confusion(found)
    assert '<th scope="row">7</th><td>3</td><td>2</td>' in shown
    assert shown.count("<tr>") == 3
    assert "all answers are right" in sections.confusion(ask(p / 1.5, [3] * 5, np.arange(40)))


def test_all_that_users_bring_is_escaped(tmp_path):
    page = names_page(tmp_path).read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    assert EVIL not in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&quot;&amp;") > 40
    assert "11 more columns are not shown." in page
