"""Columns of tables as features: numbers, categories and missing cells."""

import numpy as np
import pandas as pd
import pytest

from bayespoint.kernels import PolynomialKernel, RadialKernel
from bayespoint.spaces.columns import (
    MISSING_CELLS,
    MOST_LEVELS,
    Columns,
    category_columns,
    means,
)
from bayespoint.spaces.scaling import RARE, Scaling

FRAME = pd.DataFrame(
    {
        "size": [1.0, 3.0, np.nan, 2.0],
        "colour": ["red", "blue", "red", None],
        "ripe": [True, False, True, True],
        "kind": pd.Categorical([10, 20, 10, 10], categories=[10, 20, 30]),
    }
)


def learned(frame=FRAME):
    return Columns.of(frame, category_columns(frame, "from_dtype"))


def test_features():
    columns = learned()
    assert columns.feature_names == [
        "size",
        "colour=blue",
        "colour=red",
        "colour=missing",
        "colour=other",
        "ripe=False",
        "ripe=True",
        "ripe=other",
        "kind=10.0",
        "kind=20.0",
        "kind=other",
    ]
    expected = [
        [1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0],
        [3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        [2, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0],
        [2, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0],
    ]
    np.testing.assert_array_equal(columns.transform(FRAME), expected)
    assert columns.owner.tolist() == columns.block.tolist() == [0, *[1] * 4, *[2] * 3, *[3] * 3]


def test_kernels_see_the_hamming_distance():
    """Against the plain formula, with a level that no training row has, and missing cells."""
    rng = np.random.default_rng(0)
    cells = rng.choice(["a", "b", "c"], size=(30, 4)).astype(object)
    columns = Columns.of(cells, range(4))
    new = rng.choice(["a", "b", "c", "new", None], size=(20, 4)).astype(object)
    points, others = columns.transform(cells), columns.transform(new)
    widths = np.array([0.1, 0.5, 1.0, 2.0])
    differ = np.array([[[x != z for x, z in zip(a, b, strict=True)] for b in cells] for a in new])
    expected = np.exp(-2 * differ @ widths)
    found = RadialKernel(gamma=widths[columns.block])(others, points)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    same = PolynomialKernel(gamma=1.0)(others, points)  # effects of levels
    np.testing.assert_allclose(same, (~differ).sum(axis=2), atol=1e-12)


def test_missing_numbers():
    X = np.column_stack([np.arange(100.0), np.arange(100.0)])
    X[: MISSING_CELLS - 1, 0], X[:MISSING_CELLS, 1] = np.nan, np.nan
    columns = Columns.of(X)
    assert columns.feature_names == ["x0", "x1", "x1 is missing"]
    assert columns.block.tolist() == [0, 1, 2] and columns.owner.tolist() == [0, 1, 1]
    features = columns.transform(np.array([[np.nan, np.nan], [5.0, 6.0]]))
    np.testing.assert_allclose(features, [[54, 54.5, 1], [5, 6, 0]], rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_means_of_the_largest_numbers():
    most = np.finfo(np.float64).max
    mean, lost = means(np.array([[most, -most], [most, np.nan], [most / 2, -most]]))
    np.testing.assert_allclose(mean, [most / 6 * 5, -most])
    assert lost.tolist() == [0, 1]


def test_plain_numbers_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert Columns.of(X).transform(X) is X


def test_many_levels_are_grouped():
    often = [f"often{i}" for i in range(MOST_LEVELS - 1)]
    cells = np.array([*often * 2, *(f"rare{i}" for i in range(50))], dtype=object)[:, None]
    columns = Columns.of(cells, [0])
    assert columns.levels[0].tolist() == sorted(often)
    assert columns.transform(cells)[-50:, -1].all() and columns.n_features == MOST_LEVELS
    (remark,) = columns.remarks()
    assert remark.startswith("column 0 has many levels: the 99 most frequent are kept")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("from_dtype", [1, 2, 3]),
        (None, []),
        ([True, False, False, True], [0, 3]),
        ([3, 1], [1, 3]),
        (["ripe", "size"], [0, 2]),
    ],
    ids=["types", "none", "mask", "indices", "names"],
)
def test_which_columns_are_categories(given, expected):
    assert category_columns(FRAME, given) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["colour", "taste"], "'taste', which is not a column. The columns are 'size', 'colour'"),
        ([4], "indices from 0 to 3"),
        ([-1], "indices from 0 to 3"),
        ([True, False], "a mask of 4 columns"),
        ([0.5], "names of the columns"),
    ],
    ids=["name", "index", "negative", "mask", "float"],
)
def test_unknown_columns_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        category_columns(FRAME, given)


def test_objects_that_are_numbers_are_numbers():
    frame = pd.DataFrame({"a": np.array([1, 2.5, None], dtype=object), "b": [b"x", 1, 2]})
    assert category_columns(frame, "from_dtype") == []


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([None, np.nan, None], "Column 'a' has no values: all of its 3 cells are missing"),
        (["x", 1, "y"], "Column 'a' mixes text and numbers, such as 'y' and 1"),
        (["x", (1, 2), "y"], "Column 'a' has cells of type tuple"),
        (["x", [1], "y"], "Cells of column 'a' cannot be levels"),
    ],
    ids=["missing", "mixed", "tuples", "lists"],
)
def test_columns_that_cannot_be_categories(cells, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Columns.of(pd.DataFrame({"a": pd.Series(cells, dtype=object)}), [0])


def test_a_column_of_numbers_without_values_is_refused():
    with pytest.raises(ValueError, match="Column 1 has no values"):
        Columns.of(np.array([[1.0, np.nan], [2.0, np.nan]]))


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("colour", [1, 2], "levels of text in training, such as 'blue'. Got numbers, such as 1.0"),
        ("ripe", ["yes", "no"], "levels of true and false in training"),
    ],
)
def test_levels_of_another_type_are_refused(column, cells, words):
    with pytest.raises(ValueError, match=words):
        learned().transform(FRAME[:2].assign(**{column: cells}))


def test_scales_of_blocks():
    """A block of levels has the variance 1 as a whole, one scale, and stays where it is."""
    rng = np.random.default_rng(0)
    cells = np.array(
        list(zip(rng.normal(5, 3, 200), rng.choice(list("abb"), 200), strict=True)), dtype=object
    )
    columns = Columns.of(cells, [1])
    points = columns.transform(cells)
    scaling = Scaling.of(points, block=columns.block)
    variance = scaling.transform(points).var(axis=0)
    np.testing.assert_allclose([variance[0], variance[1:].sum()], 1)
    assert len(set(scaling.scale[1:])) == 1 and (scaling.mean[1:] == 0).all()


def test_rare_ones_are_not_far_away():
    X = np.zeros((1000, 2))
    X[0, 0], X[:500, 1] = 7.0, 1.0
    scaled = Scaling.of(X).transform(X)
    np.testing.assert_allclose(np.ptp(scaled, axis=0), [1 / RARE, 2])


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "size": [1.0, 3.0, None, 2.0],
            "colour": ["red", "blue", "red", None],
            "ripe": [True, False, True, True],
            "kind": ["10", "20", "10", "10"],
        }
    ).with_columns(polars.col("kind").cast(polars.Categorical))
    assert category_columns(frame, "from_dtype") == [1, 2, 3]
    found = Columns.of(frame, [1, 2, 3]).transform(frame)
    np.testing.assert_array_equal(found, learned().transform(FRAME))


def test_complex_columns_are_refused_beside_nullable_numbers():
    """Pandas would drop the imaginary part with a warning."""
    table = pd.DataFrame({"a": np.arange(6) + 1j, "b": pd.array([1, 2, None, 4, 5, 6], "Int64")})
    with pytest.raises(ValueError, match=r"Complex data not supported.*real part"):
        category_columns(table, "from_dtype")
