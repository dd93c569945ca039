"""What a page tells of an evaluation."""

import base64
import pickle
import re
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.pages import problems_in_source
from tests.helpers.reports import (
    EVIL,
    ask,
    columns_page,
    digits_evaluation,
    digits_page,
    names_page,
)

from bayespoint import BayesPointClassifier
from bayespoint.reject import SelectiveClassifier, label_sets
from bayespoint.reports import examples, figures, html, measure, sections, write_evaluation
from bayespoint.reports.evaluation import Report
from bayespoint.reports.measurement import describe_model

# The model in words ------------------------------------------------------------------------------


def test_words_on_models():
    X, y = load_iris(return_X_y=True)
    engine = describe_model(
        BayesPointClassifier(kernel="linear", temperature=1.0, engine="laplace").fit(X, y)
    )
    assert engine["engine"] == "LaplaceApproximation()"
    assert engine["features"] == "4"
    assert float(engine["log evidence"]) < 0
    chains = describe_model(
        BayesPointClassifier(engine="gibbs", random_state=0).fit(X[:100], y[:100])
    )
    assert {"samples", "steps"} <= chains.keys()
    assert "R-hat" in chains["convergence"]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}
    ).fit(X, y)
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
    page = write_evaluation(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Evaluation of Oracle</title>" in page
    with pytest.raises(ValueError, match=r"rows must be the 2 test rows .* Got 3 rows"):
        write_evaluation(found, tmp_path / "rows.html", rows=np.zeros((3, 2)))


# The page ----------------------------------------------------------------------------------------


def test_page_tells_all(tmp_path):
    evaluation, _ = digits_evaluation()
    page = digits_page(tmp_path).read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    for name in ("accuracy", "balanced_accuracy", "log_loss", "brier_score", "auc"):
        value, (low, high) = evaluation.metrics[name]
        baseline = evaluation.baseline[name]
        cells = f"<td>{value:.3f}</td><td>{baseline:.3f}</td><td>{low:.3f}–{high:.3f}</td>"
        assert cells in page
    assert page.count('alt="row ') == 24  # twelve of each kind, as pictures
    assert "LogisticRegression(C=0.01" in page
    assert "scikit-learn" in page
    for row in evaluation.confusion:
        for count in row:
            assert f">{count}</td>" in page


def test_drawings_are_the_same_every_time():
    evaluation, _ = digits_evaluation()
    first, again = (figures.as_svg(figures.draw_rejection, evaluation) for _ in range(2))
    assert first == again


def test_many_classes_are_not_drawn_as_a_matrix():
    p = np.full((5, 40), 1 / 40)
    p[:, 3] += 0.5
    found = ask(p / 1.5, [3, 7, 7, 2, 3], np.arange(40))
    shown = sections.mistakes(found)
    assert '<th scope="row">7</th><td>3</td><td>2</td>' in shown
    assert shown.count("<tr>") == 3
    assert "all predictions are correct" in sections.mistakes(ask(p / 1.5, [3] * 5, np.arange(40)))


def test_names_of_classes_and_columns_are_shown_as_they_are(tmp_path):
    page = columns_page(tmp_path).read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    assert EVIL not in page
    assert "Different from the training data: x0." in page
    drawings = [
        base64.b64decode(one).decode() for one in re.findall(r'svg\+xml;base64,([^"]+)', page)
    ]
    assert len(drawings) == 4  # rejection, reliability, two curves
    assert sum("<!--  _yes $1{ -->" in one for one in drawings) >= 2  # in legends
    assert figures.plain("a\x1b") == "a?"


def test_all_that_users_bring_is_escaped(tmp_path):
    page = names_page(tmp_path).read_text(encoding="utf-8")
    assert problems_in_source(page) == []
    assert EVIL not in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&quot;&amp;") > 40
    assert "11 more columns are not shown." in page


def test_cells_of_a_column_are_even():
    assert examples.even([44.9, 45.0, np.nan, 0.126]) == ["44.90", "45.00", "–", "0.13"]
    assert examples.even([1.0, 2.0, None]) == ["1", "2", "–"]
    assert examples.even(["a", None, 3]) == ["a", "–", "3"]
    assert examples.even([0.0, 1e12]) == ["0", "1e+12"]
    assert [html.short(one) for one in (np.nan, None, 0.12345)] == ["missing", "missing", "0.1235"]
    assert html.decimals([0.0, 0.25, 1.5, None]) == 2
    assert html.decimals([]) == 2
    assert html.decimals([0.012, -0.034]) == 4


def test_the_calibration_of_the_baseline_is_not_compared(tmp_path):
    evaluation, _ = digits_evaluation()
    assert evaluation.baseline["calibration_error"] is None
    assert evaluation.metrics["calibration_error"].value > 0
    assert sum(value is None for value in evaluation.baseline.values()) == 1
    page = digits_page(tmp_path).read_text(encoding="utf-8")
    assert page.count("<dd>baseline ") == 3  # of four tiles


# Sets of labels ----------------------------------------------------------------------------------


def test_coverage_of_label_sets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(300) > 0).astype(int)
    machine = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[:100], y[:100])
    shown = sections.sets(Report(measure(machine, X[100:], y[100:])))
    sets = label_sets(machine, X[100:], coverage=0.9).contains
    observed = 100 * sets[np.arange(200), y[100:]].mean()
    row = re.search(r"<tr><th scope=.row.>90.%</th>(.*?)</tr>", shown).group(1)
    cells = re.findall(r"<td>(.*?)</td>", row)
    assert cells[0].startswith(f"{observed:.2f}")
    assert cells[2] == f"{sets.sum(axis=1).mean():.3f}"
    few = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[:20], y[:20])
    shown = sections.sets(Report(measure(few, X, y)))  # 99 % needs 99 rows
    assert re.findall(r"row.>(\d+).%", shown) == ["80", "90", "95"]
    other = LogisticRegression().fit(X, y)
    assert sections.sets(Report(measure(other, X, y))) == ""


def test_confusion_has_a_column_for_rejected_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(200) > 0).astype(int)
    machine = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[:100], y[:100])
    selective = SelectiveClassifier(machine, threshold=0.8, confidence="proba")
    evaluation = measure(selective, X[100:], y[100:])
    counts = evaluation.selective.confusion
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(y[100:]))
    assert counts[:, 2].sum() == selective.rejects(X[100:]).sum()
    shown = sections.matrix(evaluation)
    assert ">rejected</th>" in shown
    assert f">{counts[0, 2]:g}</td>" in shown
    assert "rejected" not in sections.matrix(measure(machine, X[100:], y[100:]))


def test_suspect_labels_are_listed():
    rng = np.random.default_rng(0)
    X = np.append(rng.standard_normal(50) - 3, rng.standard_normal(50) + 3)[:, None]
    y = np.repeat(["a", "b"], 50)
    machine = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[::2], y[::2])
    assert examples.suspects(Report(measure(machine, X, y))) == ""
    y[7] = "b"
    shown = examples.suspects(Report(measure(machine, X, y)))
    assert '<th scope="row">7</th><td>b</td><td>a</td>' in shown


def test_least_certain_points_are_explained():
    X, y = load_iris(return_X_y=True)
    machine = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[::2], y[::2])
    evaluation = measure(machine, X[1::2], y[1::2])
    shown = examples.explanations(Report(evaluation))
    first = evaluation.positions[evaluation.answers.confidence.argmin()]
    assert f"<h3>Row {first}</h3><pre>label" in shown
    assert shown.count("uncertainty") == 3
    assert "Rows for and against" in shown and "rows for" in shown
    loaded = pickle.loads(pickle.dumps(machine))  # knows its training rows no more
    shown = examples.explanations(Report(measure(loaded, X[1::2], y[1::2])))
    assert "log-odds" in shown and "Rows for and against" not in shown and "rows for" not in shown
    other = LogisticRegression().fit(X, y)
    assert examples.explanations(Report(measure(other, X, y))) == ""
