"""Features and columns: weights, relevance, and how new data differ from the training."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.reports import compare, inputs, measure, profile
from bayespoint.reports.drift import difference
from bayespoint.reports.evaluation import Report
from bayespoint.reports.features import Features
from bayespoint.reports.inputs import weight_words

X, y = load_iris(return_X_y=True, as_frame=True)


def linear(**parameters):
    return BayesPointClassifier(kernel="linear", engine="laplace", **parameters)


# Features --------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("classes", ["two", "one_vs_rest", "joint"])
def test_weights_are_inside_their_intervals(standardize, classes):
    labels = y > 1 if classes == "two" else y
    together = {} if classes == "two" else {"multi_class": classes}
    clf = linear(standardize=standardize, temperature=1.0, **together).fit(X, labels)
    found = measure(clf, X, labels).features
    assert_allclose(found.weights, clf.coef_)
    assert (found.low < found.weights).all()
    assert (found.weights < found.high).all()
    drawn = clf.draw_weights(20_000, random_state=0)[:, :, :4]
    error = drawn.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(drawn.mean(axis=0) - clf.coef_) < 5 * error).all()
    assert found.classes == (["True"] if classes == "two" else ["0", "1", "2"])


def test_names_are_those_of_a_pipeline():
    model = make_pipeline(StandardScaler(), linear()).fit(X, y)
    found = measure(model, X, y).features
    assert found.names == list(X.columns)
    assert found.names[found.order[0]].startswith("petal")


def test_a_weight_in_large_units_keeps_its_digits():
    """Beside features in units, one in millions has a weight of some 1e-6: not 0.000."""
    weights = np.array([[1.25, -0.004, 3.217e-6]])
    found = Features(
        names=["a", "b", "money"],
        classes=["yes"],
        relevance=None,
        weights=weights,
        low=weights - 1e-6,
        high=weights + 1e-6,
    )
    shown = [weight_words(found, 0, j, 2) for j in range(3)]
    assert shown[0] == "1.25 (1.25 to 1.25)"
    assert shown[1] == "-4.00e-03 (-4.00e-03 to -4.00e-03)"
    assert shown[2] == "3.22e-06 (2.22e-06 to 4.22e-06)"


def test_kernels_have_relevance_but_no_weights():
    clf = BayesPointClassifier(kernel="rbf", engine="laplace").fit(X, y)
    found = measure(clf, X, y)
    assert found.features.weights is None
    shown = inputs.features(Report(found))
    assert "relevance" in shown
    assert "weight for" not in shown
    json.dumps(found.to_dict())


def test_weights_of_levels_have_no_column_of_relevance():
    frame = X.assign(colour=np.where(y > 0, "red", None))
    found = measure(linear().fit(frame, y), frame, y)
    assert found.features.relevance is None
    shown = inputs.features(Report(found))
    assert "weight for" in shown
    assert "elevance" not in shown


def test_other_classifiers_have_no_section():
    found = measure(LogisticRegression(max_iter=1000).fit(X, y), X, y)
    assert found.features is None
    assert inputs.features(Report(found)) == ""


# Columns ---------------------------------------------------------------------------------------


def test_the_test_is_that_of_scipy():
    rng = np.random.default_rng(0)
    before, now = rng.integers(1, 50, 7), rng.integers(1, 50, 7)
    distance, p_value = difference(before.astype(float), now.astype(float))
    expected = chi2_contingency([before, now], correction=False)
    assert p_value == pytest.approx(expected.pvalue)
    shares = before / before.sum() - now / now.sum()
    assert distance == pytest.approx(np.abs(shares).sum() / 2)


def make(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(10)})
    table["city"] = rng.choice(["Kiel", "Bonn", "Ulm"], n)
    table["x0"] += shift
    table.loc[rng.random(n) < 0.1, "x1"] = np.nan
    return table


def test_false_alarms_are_rare():
    """1 % of tables, at most; of 200, more than 12 would be five standard errors too many."""
    before = profile(make(500, 0))
    alarms = [
        any(one.is_shifted for one in compare(before, make(200, seed))) for seed in range(1, 201)
    ]
    assert sum(alarms) <= 2 + 5 * np.sqrt(200 * 0.01 * 0.99) + 1
    shifted = [compare(before, make(200, seed, shift=1.0))[0] for seed in range(1, 21)]
    assert all(one.is_shifted and one.column == "x0" for one in shifted)


def test_what_can_change():
    table = make(300, 0)
    before = profile(table)
    assert json.loads(json.dumps(before)) == before
    assert len(json.dumps(before)) < 600 * len(table.columns)
    for change in (
        {"city": "Rome"},  # a new category
        {"city": None},
        {"x3": np.nan},
        {"x3": 0.0},
    ):
        first = compare(before, table.assign(**change))[0]
        assert first.column == next(iter(change))
        assert first.is_shifted
        assert first.distance > 0.5
        assert not compare(before, table.assign(**change)[:5])[0].is_shifted  # too few rows


def test_data_frames_of_polars_have_the_same_profile():
    polars = pytest.importorskip("polars")
    table, later = make(60, 0), make(60, 1)
    frame = polars.DataFrame(table.to_dict("list"), strict=False)
    assert profile(frame) == profile(table)
    other = polars.DataFrame(later.to_dict("list"), strict=False)
    assert compare(profile(frame), other) == compare(profile(table), later)


def test_many_columns_are_folded():
    found = measure(linear().fit(X, y), X, y)
    shifts = compare(profile(make(100, 0)), make(100, 1))
    shown = inputs.columns(Report(found, shifts=shifts, preparation=["what was <done>"]))
    assert "<summary>1 more</summary>" in shown
    assert "<li>what was &lt;done&gt;</li>" in shown
    assert inputs.columns(Report(found)) == ""
