"""Dask: joblib's backend runs searches of ours on a cluster, and the results are the same.

``tests/dask`` has fits of data that lie on a cluster.
"""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from bayespoint import BayesPointClassifier

distributed = pytest.importorskip("distributed", reason="dask is not installed")


def test_a_search_on_a_cluster():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="linear", engine="laplace", multi_class="one_vs_rest")
    search = GridSearchCV(clf, {"ridge": [0.0, 1.0]}, cv=3)
    alone = search.fit(X, y)
    expected = alone.cv_results_["mean_test_score"], alone.predict_proba(X)
    options = {"processes": False, "n_workers": 2, "dashboard_address": ":0"}
    with distributed.Client(**options), parallel_config(backend="dask"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected[0])
    np.testing.assert_array_equal(search.predict_proba(X), expected[1])
