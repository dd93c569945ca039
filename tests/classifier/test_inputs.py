"""Points and labels as people have them, in data frames: what is said of those of no use."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from bayespoint import BayesPointClassifier
from bayespoint.classifier import parameters
from bayespoint.exceptions import KernelError, SparseInputWarning
from bayespoint.tools import validation

N = 60
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])
LABELS = FRAME["a"] > 0
DATES = pd.date_range("2024-01-01", periods=N)


def fit(X, y):
    return BayesPointClassifier(kernel="linear").fit(X, y)


@pytest.mark.parametrize(
    "odd", [{"d": DATES}, {"e": DATES - DATES[0], "d": DATES}], ids=["dates", "times"]
)
def test_columns_that_are_no_numbers_are_named(odd):
    with pytest.raises((TypeError, ValueError)) as caught:
        fit(FRAME.assign(flag=LABELS, **odd), LABELS)
    (note,) = caught.value.__notes__
    assert f"no numbers: {', '.join(map(repr, odd))}. Name" in note


@pytest.mark.parametrize(
    "cells",
    [[[1]] * N, [{}] * N, DATES.to_period()],
    ids=["lists", "dictionaries", "periods"],
)
def test_columns_that_are_no_numbers_are_named_where_others_are_categories(cells):
    with pytest.raises((TypeError, ValueError)) as caught:
        fit(pd.DataFrame({"word": ["x"] * N, "odd": cells}), LABELS)
    assert "no numbers: " in "".join(caught.value.__notes__)


@pytest.mark.parametrize("fill", [0, 1, np.nan])
@pytest.mark.parametrize("others", [{}, {"word": ["x", "y"] * (N // 2)}, {"flag": LABELS}])
def test_sparse_columns_of_data_frames(fill, others):
    cells = np.where(np.arange(N) % 3, fill, np.arange(N))
    kept = {"a": pd.arrays.SparseArray(cells, fill_value=fill)} | others
    X, dense = pd.DataFrame(kept), pd.DataFrame({"a": cells} | others)
    expected = fit(dense, LABELS).predict_proba(dense)
    clf = fit(X, LABELS)
    for new in (X, dense, X[::-1][::-1]):
        np.testing.assert_allclose(clf.predict_proba(new), expected, rtol=1e-12)


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_complete_rows_of_a_table_with_missing_cells(columns):
    """Missing cells have a feature of their own, also for rows that lack none."""
    X = FRAME[columns].assign(a=FRAME["a"].where(np.arange(N) % 3 > 0))
    clf = fit(X, LABELS)
    assert len(clf.model_.table.flags) == 1
    expected = clf.predict_proba(X)[X["a"].notna()]
    for new in (X.dropna(), X.dropna().to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # arrays have no names
            np.testing.assert_allclose(clf.predict_proba(new), expected, rtol=1e-10)


def test_new_columns_that_are_no_numbers_are_named():
    for kind in ({}, {"word": "x"}):
        clf = fit(FRAME.assign(**kind), LABELS)
        with pytest.raises((TypeError, ValueError)) as caught:
            clf.predict(FRAME.assign(a=DATES.date, **kind))
        assert "no numbers: 'a'" in "".join(caught.value.__notes__)


def test_numbers_that_are_too_large():
    for frame in (FRAME, FRAME.assign(word="x")):
        for cells in ([10**400] * N, ["x"] + [10**400] * (N - 1)):
            large = frame.assign(c=pd.Series(cells, dtype=object))  # older pandas converts lists
            with pytest.raises(ValueError, match=r"float64 cannot hold|mixes text and numbers"):
                fit(large, LABELS)
    with pytest.raises(ValueError, match="float64 cannot hold"):
        fit([[10**400], [1]], [0, 1])
    clf = BayesPointClassifier(kernel="linear", categorical_features=[0])
    with pytest.raises(ValueError, match="float64 cannot hold"):
        clf.fit([[10**400], [1]], [0, 1])


def test_large_numbers_beside_categories_are_summed_without_a_warning():
    frame = FRAME.assign(word="x", c=[1.7e308, -1.7e308] * (N // 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KernelError, match=r"overflow\. Scale the features"):
            fit(frame, LABELS)


def test_labels_of_several_types():
    with pytest.raises(TypeError, match="all text or all numbers"):
        fit(FRAME, pd.Series(["a", 1] * (N // 2)))


def test_other_errors_have_no_note():
    with pytest.raises(ValueError, match="contains infinity") as caught:
        fit(FRAME.mask(FRAME > 1, np.inf).astype({"b": object}), LABELS)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    ("labels", "count", "first"),
    [
        ([None, *["a", "b"] * 29, None], 2, 0),
        (pd.Series(["a", "b"] * 29 + ["a", pd.NA], dtype="string"), 1, 59),
        (pd.Series([True, False] * 29 + [True, pd.NA], dtype="boolean"), 1, 59),
        (np.array(["a", np.nan] * 30, dtype=object), 30, 1),
        (pd.Series([*DATES[:2]] * 29 + [pd.NaT] * 2, dtype=object), 2, 58),
    ],
    ids=["None", "NA", "NA or truth", "NaN", "NaT"],
)
def test_missing_labels(labels, count, first):
    words = rf"y has missing labels \({count}, the first one at row {first}\)"
    with pytest.raises(ValueError, match=words):
        fit(FRAME, labels)


def test_small_sparse_rows_become_dense():
    """After a OneHotEncoder, neither column decides alone: a linear kernel would be useless."""
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.integers(0, 3, 300), rng.integers(0, 2, 300)])
    y = (columns[:, 0] == 1) ^ (columns[:, 1] == 1)
    X = OneHotEncoder().fit_transform(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = BayesPointClassifier().fit(X, y)
    assert any("made dense" in line for line in clf.run_.choice)
    assert clf.score(X, y) == clf.score(X.toarray(), y) == 1.0


@pytest.mark.parametrize("is_wide", [False, True], ids=["many rows", "wide"])
def test_large_sparse_rows_stay_linear_with_a_warning(is_wide, monkeypatch):
    X = sparse.random_array((40, 60 if is_wide else 5), density=0.5, random_state=0, format="csr")
    monkeypatch.setattr(parameters, "MOST_DENSE", 100)
    with pytest.warns(SparseInputWarning, match="kernel='auto' is linear"):
        clf = BayesPointClassifier().fit(X, np.arange(40) % 2)
    assert clf.kernel_.is_linear
    with warnings.catch_warnings():
        warnings.simplefilter("error", SparseInputWarning)
        BayesPointClassifier(kernel="linear").fit(X, np.arange(40) % 2)


def test_a_frame_of_categories_and_missing_cells():
    """New levels and cells that were never missing can be predicted; stored models as well."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "kind": rng.choice([*"abc"], 200)})
    y = (frame["size"] > 0) ^ (frame["kind"] == "c")
    clf = BayesPointClassifier(random_state=0).fit(frame, y)
    assert clf.score(frame, y) > 0.9
    new = pd.DataFrame({"size": [np.nan, 1.0, 0.0], "kind": ["a", "new", None]})
    mean = new.assign(size=[frame["size"].mean(), 1.0, 0.0])
    np.testing.assert_allclose(clf.predict_proba(new), clf.predict_proba(mean), rtol=1e-9)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))
    with pytest.raises(ValueError, match="levels of text in training"):
        clf.predict(new.assign(kind=[1, 2, 3]))
    with pytest.raises(ValueError, match="'taste', which is not a column"):
        BayesPointClassifier(categorical_features=["taste"]).fit(frame, y)


def test_missing_numbers_of_an_array():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] > 0
    X[y & (rng.random(200) < 0.5), 1] = np.nan  # that it is missing tells the label
    clf = BayesPointClassifier(kernel="linear", standardize=True).fit(X, y)
    assert clf.model_.table.feature_names[-1] == "x1 is missing"
    assert clf.coef_[0, -1] > 0 and clf.coef_.shape == (1, 4)
    assert np.isfinite(clf.predict_proba(np.full((1, 3), np.nan))).all()


def test_new_levels_have_no_effect():
    cells = np.array([["a"], ["b"]] * 50, dtype=object)
    y = (cells[:, 0] == "a") ^ (np.arange(100) % 10 == 0)
    clf = BayesPointClassifier(kernel="linear", categorical_features=[0]).fit(cells, y)
    names = clf.model_.table.feature_names
    assert names == ["x0=a", "x0=b", "x0=other"]
    assert clf.coef_[0, 2] == 0 and clf.coef_[0, 0] > 0 > clf.coef_[0, 1]
    mean, _ = clf.latent_mean_and_variance(np.array([["new"]], dtype=object))
    np.testing.assert_allclose(mean, clf.intercept_, rtol=1e-9)


def test_new_rows_of_a_frame_with_the_columns_of_the_fit(monkeypatch):
    """Known columns of numbers need none of scikit-learn's checks; all others get them."""
    clf = fit(FRAME, LABELS)
    expected = clf.predict_proba(FRAME)
    lost, odd = FRAME.copy(), FRAME.copy()
    lost.iloc[0, 0], odd.iloc[0, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match="order"):
        clf.predict_proba(FRAME[["b", "a"]])
    with pytest.raises(ValueError, match="infinity"):
        clf.predict_proba(odd)
    with pytest.raises(ValueError, match="0 sample"):
        clf.predict_proba(FRAME[:0])
    assert np.isfinite(clf.predict_proba(lost)).all()
    monkeypatch.setattr(validation, "validate_data", None)
    assert np.array_equal(clf.predict_proba(FRAME), expected)
    with pytest.raises(TypeError, match="not callable"):
        clf.predict_proba(lost)
