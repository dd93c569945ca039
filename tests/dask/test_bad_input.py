"""Data that cannot be used: the error says which block and what to do."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
import dask.dataframe as dd

from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.exceptions import BlockError
from bayespoint.rows import from_batches

pytestmark = pytest.mark.xdist_group("dask")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(params=["laplace", "perceptron"])
def clf(client, request):
    return DaskBayesPointClassifier(client=client, kernel="linear", engine=request.param, ridge=0)


def test_nan_in_a_block(clf):
    bad = X.copy()
    bad[52, 1] = np.nan
    with pytest.raises(BlockError, match=r"Block 2 has nan in row 12 .*column 1"):
        clf.fit(da.from_array(bad, chunks=(20, -1)), Y)


def test_a_block_of_another_width(clf):
    def cut(part, block_info=None):
        return part[:, :2] if block_info[0]["chunk-location"][0] == 3 else part

    bad = da.from_array(X, chunks=(20, -1)).map_blocks(cut, dtype=float)
    with pytest.raises(BlockError, match="Block 3 must have 3 columns"):
        clf.fit(bad, Y)


def test_a_text_column(clf):
    frame = pd.DataFrame(X, columns=list("abc")).assign(city="Kiel")
    with pytest.raises(TypeError, match=r"Column 'city' .*must be numbers"):
        clf.fit(dd.from_pandas(frame, npartitions=2), Y)
    with pytest.raises(TypeError, match=r"Column 'city' .*must be numbers"):
        clf.fit(frame, Y)


def test_text_in_an_array(clf):
    with pytest.raises(BlockError, match="Block 0 must have numbers only"):
        clf.fit(da.from_array(np.full((90, 2), "a"), chunks=(50, -1)), Y)


def test_rows_and_labels_of_other_numbers(clf):
    with pytest.raises(ValueError, match="X has 90 rows, and y has 80"):
        clf.fit(da.from_array(X, chunks=(20, -1)), Y[:80])
    with pytest.raises(ValueError, match="X has 90 rows, and sample_weight has 91"):
        clf.fit(da.from_array(X, chunks=(20, -1)), Y, np.ones(91))


def test_other_chunks_of_labels_are_aligned(clf):
    one = clf.fit(da.from_array(X, chunks=(20, -1)), da.from_array(Y, chunks=45)).coef_
    two = clf.fit(da.from_array(X, chunks=(20, 1)), da.from_array(Y, chunks=20)).coef_
    if clf.engine == "laplace":
        np.testing.assert_array_equal(one, two)


def test_unknown_sizes(clf):
    points, labels = da.from_array(X, chunks=(20, -1)), da.from_array(Y, chunks=20)
    some = points[:, 1] > -1
    clf.fit(points[some], labels[some])  # the same blocks
    assert clf.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"5 blocks, and y has 1.*compute_chunk_sizes"):
        clf.fit(points[some], Y[X[:, 1] > -1])
    with pytest.raises(BlockError, match="one of its labels for each row"):
        clf.fit(points[some], labels)


def test_no_labels(clf):
    with pytest.raises(ValueError, match="y is None"):
        clf.fit(da.from_array(X, chunks=(20, -1)))
    with pytest.raises(ValueError, match="one column"):
        clf.fit(X, np.stack([Y, Y], axis=1))


def test_one_class(clf):
    with pytest.raises(ValueError, match="at least two classes"):
        clf.fit(da.from_array(X, chunks=(20, -1)), np.zeros(90))


def test_a_class_that_appears_in_the_last_block_only(clf):
    labels = np.array(["a", "b"], dtype=object)[Y]
    labels[-1] = "c"
    if clf.engine == "laplace":
        clf.fit(da.from_array(X, chunks=(20, -1)), labels)
        assert clf.classes_.tolist() == ["a", "b", "c"]


def test_an_empty_block(client):
    points = da.concatenate([da.from_array(X[:50]), da.empty((0, 3)), da.from_array(X[50:])])
    labels = da.concatenate(
        [da.from_array(Y[:50]), da.empty((0,), dtype=int), da.from_array(Y[50:])]
    )
    clf = DaskBayesPointClassifier(client=client, kernel="linear", engine="laplace")
    assert clf.fit(points, labels).score(X, Y) > 0.9


def test_other_shapes(clf):
    with pytest.raises(ValueError, match="rows and columns"):
        clf.fit(da.from_array(X[:, 0]), Y)
    with pytest.raises(TypeError, match="to_frame"):
        clf.fit(dd.from_pandas(pd.Series(X[:, 0]), npartitions=2), Y)


def test_blocks_in_a_fixed_order(clf):
    batches = from_batches(lambda: iter([(X[:40], Y[:40]), (X[40:], Y[40:])]))
    with pytest.raises(ValueError, match=r"one after another.*\.npy"):
        clf.fit(batches)


def test_a_file_that_is_not_there(clf, tmp_path):
    with pytest.raises(FileNotFoundError):
        clf.fit(tmp_path / "rows.parquet", "y")


def test_kernels_other_than_linear_need_perceptrons(client):
    clf = DaskBayesPointClassifier(client=client, kernel="rbf", engine="ep")
    with pytest.raises(ValueError, match="kernel='linear'"):
        clf.fit(X, Y)
