"""Lazy predictions: dask arrays of the right shape, type and blocks."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
import dask.dataframe as dd
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.classifier.dask import DaskBayesPointClassifier

pytestmark = pytest.mark.xdist_group("dask")
METHODS = ["predict", "predict_proba", "decision_function"]
X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
PARAMS = {"kernel": "rbf", "ridge": "mean", "engine": "perceptron", "random_state": 0}


@pytest.fixture(scope="module")
def several(client):
    return DaskBayesPointClassifier(client=client, **PARAMS).fit(X, NAMES[y])


@pytest.fixture(scope="module")
def two(client):
    return DaskBayesPointClassifier(client=client, **PARAMS).fit(X, y == 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["several", "two"])
def test_answers_are_those_of_the_local_classifier(method, name, request):
    clf = request.getfixturevalue(name)
    lazy = getattr(clf, method)(da.from_array(X, chunks=(40, 2)))
    assert isinstance(lazy, da.Array)
    assert lazy.chunks[0] == (40, 40, 40, 30)
    local = getattr(clf.to_local(), method)(X)
    assert lazy.shape == local.shape
    assert lazy.dtype == local.dtype
    found = lazy.compute()
    assert found.dtype == local.dtype
    if method == "predict":
        np.testing.assert_array_equal(found, local)
    else:
        np.testing.assert_allclose(found, local, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_data_frames_give_arrays_of_unknown_length(several, method):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    lazy = getattr(several, method)(frame)
    assert isinstance(lazy, da.Array)
    assert np.isnan(lazy.shape[0])
    assert lazy.numblocks[0] == 3
    local = getattr(several.to_local(), method)(X)
    assert lazy.ndim == local.ndim
    np.testing.assert_array_equal(lazy.compute().shape, local.shape)


def test_blocks_of_unknown_and_of_no_rows(several):
    points = da.from_array(X, chunks=(50, -1))
    some = points[points[:, 0] > 6.9]  # none in the first block
    found = several.predict_proba(some)
    assert np.isnan(found.shape[0])
    np.testing.assert_allclose(
        found.compute(), several.to_local().predict_proba(X[X[:, 0] > 6.9]), rtol=1e-12
    )
    nothing = several.predict(points[points[:, 0] > 100]).compute()
    assert nothing.shape == (0,)
    assert nothing.dtype == several.classes_.dtype


def test_columns_of_a_data_frame_are_checked_by_name(client):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=3)
    clf = DaskBayesPointClassifier(client=client, **PARAMS).fit(frame, labels)
    assert clf.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(
        clf.predict(frame).compute(), clf.to_local().predict(frame.compute())
    )
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame.rename(columns={"a": "z"})).compute()


def test_the_model_is_one_node_of_the_graph(several):
    lazy = several.predict(da.from_array(X, chunks=(10, -1)))
    nodes = dict(lazy.__dask_graph__())
    models = [key for key in nodes if "BayesPointClassifier" in str(key)]
    assert len(models) == 1
    assert len(nodes) < 3 * 15 + 3


def test_arrays_of_other_kinds_become_dask_arrays(several):
    lazy = several.predict(X)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), several.to_local().predict(X))
    with pytest.raises(ValueError, match="rows and columns"):
        several.predict(da.from_array(X[:, 0]))


def test_errors_of_a_block_arrive(several):
    bad = X.copy()
    bad[70, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        several.predict(da.from_array(bad, chunks=(50, -1))).compute()


def test_the_local_classifier_is_an_ordinary_one(several):
    local = several.to_local()
    assert type(local) is BayesPointClassifier
    assert local.get_params()["kernel"] == "rbf"
    np.testing.assert_array_equal(local.predict(X), several.predict(X).compute())
