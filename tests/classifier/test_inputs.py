"""Points and labels as people have them, in data frames: what is said of those of no use."""

import pickle
import re
import warnings
from datetime import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from bayespoint import BayesPointClassifier
from bayespoint.active import query
from bayespoint.classifier import parameters
from bayespoint.exceptions import KernelError, SparseInputWarning
from bayespoint.reports import explain
from bayespoint.tools import validation

N = 60
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])
LABELS = FRAME["a"] > 0
DATES = pd.date_range("2024-01-01", periods=N)


def fit(X, y):
    return BayesPointClassifier(kernel="linear").fit(X, y)


def refused(match, error=(TypeError, ValueError)):
    return pytest.raises(error, match=re.compile(match, re.DOTALL))


# Kinds of columns, and what an error says of them: with numbers only, beside categories, and in new
# rows of a classifier that knows a column of numbers by this name.
SECONDS = DATES - DATES[0]
ODD = {
    "dates": (DATES, "dates .datetime64.*the year or the days since the first, or leave"),
    "dates with a zone": (DATES.tz_localize("UTC"), "dates .datetime64.*UTC.*the year"),
    "dates as objects": ([day.date() for day in DATES], r"date\(2024, 1, 1\).* row 0.*the year"),
    "periods": (DATES.to_period(), "dates .period.*the year"),
    "durations": (SECONDS, "durations .timedelta64.*Make numbers of them, such as seconds"),
    "durations as objects": (
        pd.Series(list(SECONDS.to_pytimedelta()), dtype=object),
        r"timedelta.* row 0.*such as seconds",
    ),
    "lists": ([[1, 2]] * N, r"\[1, 2\] \(list\) in row 0. Make a column of each entry"),
    "tuples": ([(1, 2)] * N, r"\(1, 2\) \(tuple\) in row 0. Make a column of each entry"),
    "arrays": ([np.ones(2)] * N, r"array.* \(ndarray\) in row 0. Make a column of each entry"),
    "dictionaries": ([{}] * N, r"\{\} \(dict\) in row 0. Make a column of each entry"),
    "bytes": ([b"x"] * N, r"b'x' \(bytes\) in row 0. Make numbers of its cells"),
    "objects": ([1.0] * 7 + [object()] * (N - 7), r"object.* in row 7. Make numbers of its cells"),
}


@pytest.mark.parametrize(("cells", "words"), ODD.values(), ids=ODD)
@pytest.mark.parametrize("word", [{}, {"word": ["x", "y"] * (N // 2)}], ids=["numbers", "levels"])
def test_columns_of_neither_numbers_nor_levels_are_named(cells, words, word):
    for alone in ({}, FRAME):
        with refused(f"Column 'odd' has .*{words}"):
            fit(pd.DataFrame({**word, **alone, "odd": cells}), LABELS)
    clf = fit(FRAME.assign(odd=0.0, **word), LABELS)
    for new in (FRAME.assign(odd=cells, **word), FRAME.assign(odd=cells, **word)[::-1][::-1]):
        with refused(f"Column 'odd' has .*{words}"):
            clf.predict(new)
    with refused(f"Column 'odd' has .*{words}"):
        BayesPointClassifier(kernel="linear").partial_fit(FRAME.assign(odd=cells), LABELS)


def test_several_columns_of_dates_are_named():
    with refused("Columns 'd', 'e' have dates"):
        fit(FRAME.assign(d=DATES, e=DATES), LABELS)


def test_cells_of_arrays_and_lists_are_placed():
    array = np.array([[[1, 2], 3]] * N, dtype=object)
    for rows, words in (
        (array, r"Column 0 has a cell that is not a number: \[1, 2\] \(list\) in row 0"),
        ([[1.0, "red"]] * N, r"Column 1 .* 'red' \(str\) in row 0. Name columns of categories"),
        ([[1, 2], [3]] * (N // 2), "equal numbers of cells. Got 2 in row 0 and 1 in row 1"),
        (DATES.to_numpy()[:, None], "X has dates .datetime64"),
        (SECONDS.to_numpy()[:, None], "X has durations .timedelta64"),
    ):
        with refused(words):
            fit(rows, LABELS)
    clf = BayesPointClassifier(kernel="linear", categorical_features=[0])
    with refused(r"Column 2 has a cell that is not a number: 'red' \(str\) in row 0"):
        clf.fit([["a", 1.0, "red"]] * N, LABELS)


def test_nested_columns_of_polars_are_named():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"a": FRAME["a"].to_numpy()})
    clf = fit(table.with_columns(odd=pl.lit(0.0)), LABELS)
    for cells, words in (
        (pl.Series(DATES.to_pydatetime().tolist()), "dates .Datetime.*the year"),
        (pl.Series(SECONDS.to_pytimedelta().tolist()), "durations .Duration.*seconds"),
        (pl.Series([time(1, 2)] * N), "times .Time.*seconds since midnight"),
        (pl.Series([[1, 2]] * N), "nested values .List.*column of each entry"),
        (pl.Series([{"x": 1}] * N), "nested values .Struct.*column of each entry"),
        (pl.Series([b"x"] * N), "bytes .Binary.*Decode"),
        (pl.Series([object()] * N), "objects, .*Make text or numbers"),
    ):
        odd = table.with_columns(odd=cells)
        for task in (lambda odd=odd: fit(odd, LABELS), lambda odd=odd: clf.predict(odd)):
            with refused(f"Column 'odd' has {words}"):
                task()


# Tables of other kinds ---------------------------------------------------------------------------


def lazy_frame():
    return pytest.importorskip("polars").LazyFrame({"a": FRAME["a"].to_numpy()})


def arrow_table(name):
    table = pytest.importorskip("pyarrow").table({"a": FRAME["a"].to_numpy()})
    return table if name == "table" else table.to_batches()[0]


OTHER_TABLES = {
    "a column": (lambda: FRAME["a"], r"got 1D Series 'a'.*X.to_frame\(\)"),
    "a row": (lambda: FRAME.iloc[3], r"got 1D Series 3.*frame.iloc\[\[0\]\]"),
    "a column of Polars": (
        lambda: pytest.importorskip("polars").Series("a", FRAME["a"].to_numpy()),
        r"got 1D Series 'a'.*X.to_frame\(\)",
    ),
    "an index": (lambda: FRAME.index, "got 1D RangeIndex None"),
    "lazy": (lazy_frame, r"Polars LazyFrame, which has no rows yet. Pass X.collect\(\)"),
    "pyarrow": (lambda: arrow_table("table"), r"Table of pyarrow.*X.to_pandas\(\)"),
    "a batch of pyarrow": (lambda: arrow_table("batch"), r"RecordBatch of pyarrow.*X.to_pandas"),
    "a dictionary": (lambda: dict(FRAME), "X is a dict, which is not a table.*Pass a data frame"),
    "a generator": (lambda: iter(FRAME.to_numpy()), "which is not a table.*Pass a data frame"),
}


@pytest.mark.parametrize(("make", "words"), OTHER_TABLES.values(), ids=OTHER_TABLES)
@pytest.mark.filterwarnings("error")
def test_other_tables_are_refused_with_what_to_pass(make, words):
    with refused(words):
        fit(make(), LABELS)
    with refused(words):
        BayesPointClassifier(kernel="linear").partial_fit(make(), LABELS)
    for known in (FRAME, FRAME.to_numpy(), FRAME.assign(word=["x", "y"] * (N // 2))):
        clf = fit(known, LABELS)
        for task in (clf.predict, clf.predict_set, partial(query, clf), partial(explain, clf)):
            with refused(words):
                task(make())


@pytest.mark.parametrize("others", [{}, {"word": ["x", "y"] * (N // 2)}])
def test_columns_of_equal_names(others):
    frame = FRAME.assign(c=1.0, d=2.0, **others)
    doubled = frame.rename(columns={"b": "a", "d": "c"})
    words = r"different names. Got 'a' \(2 columns\), 'c' \(2 columns\). Rename them, or keep"
    with refused(words):
        fit(doubled, LABELS)
    with refused(words):
        fit(frame, LABELS).predict(doubled)
    kept = doubled.loc[:, ~doubled.columns.duplicated()]  # the remedy
    assert list(fit(kept, LABELS).feature_names_in_) == ["a", "c", *others]


@pytest.mark.parametrize("kernel", ["auto", "linear"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, bool])
def test_sparse_rows_of_any_type_of_numbers(kernel, kind):
    rows = sparse.csr_array(FRAME.to_numpy().round())
    rows.data = rows.data.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseInputWarning)
        clf = BayesPointClassifier(kernel=kernel).fit(rows, LABELS)
    dense = FRAME.to_numpy().round().astype(kind).astype(np.float64)
    np.testing.assert_allclose(clf.predict_proba(rows), clf.predict_proba(dense), rtol=1e-5)


def test_sparse_rows_of_complex_numbers():
    with refused("Complex data not supported. Got complex128: take the real part"):
        fit(sparse.csr_array(FRAME.to_numpy()) * 1j, LABELS)


# Weights -----------------------------------------------------------------------------------------

ONES = [1.0] * (N - 1)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (pd.Series([*ONES, pd.NA], dtype=object), f"finite.* Got nan at row {N - 1}"),
        (pd.Series([*ONES, pd.NA], dtype="Float64"), f"finite.* Got nan at row {N - 1}"),
        (pd.array([1] * (N - 1) + [pd.NA], dtype="Int64"), f"finite.* Got nan at row {N - 1}"),
        ([*ONES, None], f"finite.* Got nan at row {N - 1}"),
        ([*ONES, pd.NaT], f"finite.* Got nan at row {N - 1}"),
        (pd.Series([*ONES, "many"], dtype=object), rf"Got 'many' \(str\) at row {N - 1}"),
        (pd.Series([*ONES, [1]], dtype=object), rf"Got \[1\] \(list\) at row {N - 1}"),
        (DATES, "real numbers. Got datetime64"),
        (SECONDS, "real numbers. Got timedelta64"),
    ],
)
def test_weights_that_are_missing_or_not_numbers(weight, words):
    with refused(f"Sample weights must be .*{words}", ValueError):
        BayesPointClassifier(kernel="linear").fit(FRAME, LABELS, sample_weight=weight)


def test_weights_of_objects_are_numbers():
    weight = np.arange(N) % 3 + 1
    expected = BayesPointClassifier(kernel="linear").fit(FRAME, LABELS, sample_weight=weight)
    for same in (pd.Series(weight, dtype=object), pd.Series(weight, dtype="Int64")):
        clf = BayesPointClassifier(kernel="linear").fit(FRAME, LABELS, sample_weight=same)
        np.testing.assert_array_equal(clf.predict_proba(FRAME), expected.predict_proba(FRAME))


# Sparse columns, missing cells, numbers ----------------------------------------------------------


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


def test_other_errors_stay_as_they_are():
    with pytest.raises(ValueError, match=r"^Input X contains infinity"):
        fit(FRAME.mask(FRAME > 1, np.inf).astype({"b": object}), LABELS)


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
