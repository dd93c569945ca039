"""Permuted perceptrons on a cluster: the bits of the local fit."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
from sklearn.datasets import load_digits

from bayespoint import BayesPointClassifier
from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import NotSeparableWarning, StoppedEarlyWarning
from bayespoint.rows.dask.perceptrons import cache_of_worker
from bayespoint.tools.monitor import Monitor, watch

pytestmark = pytest.mark.xdist_group("dask")
X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
ARRAYS = {"points": da.from_array(X, chunks=(150, 30)), "labels": da.from_array(y, chunks=200)}
SETTINGS = [
    {"kernel": "poly", "degree": 5, "gamma": 1 / 256, "normalize": True},
    {"kernel": "rbf", "ridge": "mean", "standardize": True},
    {"kernel": "linear", "ridge": 10.0, "class_weight": "balanced"},
    {"kernel": "rbf", "decision": "vote", "ridge": 0.1},
]


def assert_same_bits(one, two):
    """All that predictions are made of, and the out-of-bag scores, are equal to the bit."""
    assert one.classes_.tolist() == two.classes_.tolist()
    for name in ("weights", "support", "mean"):
        np.testing.assert_array_equal(getattr(one.posterior_, name), getattr(two.posterior_, name))
    np.testing.assert_array_equal(one.posterior_.log_odds.matrix, two.posterior_.log_odds.matrix)
    if one.decision == "bayes_point":
        np.testing.assert_array_equal(one.oob_decision_function_, two.oob_decision_function_)


@pytest.mark.parametrize("params", SETTINGS)
def test_bits_of_the_local_fit(client, params):
    params = {"engine": "perceptron", "random_state": 0, **params}
    local = BayesPointClassifier(**params).fit(X, y)
    clf = DaskBayesPointClassifier(client=client, **params)
    clf.fit(ARRAYS["points"], ARRAYS["labels"])
    assert_same_bits(clf.to_local(), local)
    np.testing.assert_array_equal(clf.to_local().predict_proba(X), local.predict_proba(X))


def test_other_seeds_give_other_bits(client):
    params = {"kernel": "rbf", "ridge": "mean", "engine": "perceptron"}
    local = BayesPointClassifier(random_state=0, **params).fit(X, y)
    clf = DaskBayesPointClassifier(client=client, random_state=1, **params).fit(X, y)
    with pytest.raises(AssertionError):
        assert_same_bits(clf.to_local(), local)


def test_sample_weights_and_rows_of_weight_zero(client):
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = {"kernel": "rbf", "ridge": 1.0, "engine": "perceptron", "random_state": 0}
    local = BayesPointClassifier(**params).fit(X, y, weight)
    clf = DaskBayesPointClassifier(client=client, **params)
    clf.fit(ARRAYS["points"], ARRAYS["labels"], da.from_array(weight, chunks=250))
    assert_same_bits(clf.to_local(), local)


def test_float32_stays_float32(client):
    params = {"kernel": "rbf", "ridge": 1.0, "engine": "perceptron", "random_state": 0}
    local = BayesPointClassifier(**params).fit(X.astype(np.float32), y)
    clf = DaskBayesPointClassifier(client=client, **params)
    assert_same_bits(clf.fit(X.astype(np.float32), y).to_local(), local)


def test_warnings_of_the_local_fit(client):
    engine = PermutedPerceptron(n_samples=4, max_epochs=1)
    params = {"kernel": "linear", "engine": engine, "random_state": 0}
    with pytest.warns(NotSeparableWarning) as here:
        BayesPointClassifier(**params).fit(X, y)
    with pytest.warns(NotSeparableWarning) as there:
        DaskBayesPointClassifier(client=client, **params).fit(X, y)
    assert str(here[0].message) == str(there[0].message)


class Stop(Monitor):
    """Counts what it is told, and stops at the first sample."""

    def __init__(self):
        self.told = []

    def update(self, done):
        self.told.append(done)

    def should_stop(self):
        return len(self.told) > 0


def test_a_monitor_can_stop_the_fit(client):
    engine = PermutedPerceptron(n_samples=2000)
    params = {"kernel": "rbf", "ridge": "mean", "engine": engine, "random_state": 0}
    with watch(Stop()) as monitor, pytest.warns(StoppedEarlyWarning):
        clf = DaskBayesPointClassifier(client=client, **params).fit(X, y)
    assert 1 <= clf.posterior_.n_samples < 2000
    assert monitor.told == sorted(monitor.told)
    assert clf.score(X, y) > 0.9


def test_kernel_rows_take_a_share_of_the_memory_of_a_worker(client):
    assert cache_of_worker("auto") == "auto"  # no worker here
    assert client.submit(cache_of_worker, 5.0).result() == 5.0
    limit = next(iter(client.scheduler_info()["workers"].values()))["memory_limit"]
    assert client.submit(cache_of_worker, "auto").result() == pytest.approx(0.3 * limit / 1e6)


def test_a_kernel_matrix_is_refused(client):
    clf = DaskBayesPointClassifier(client=client, kernel="precomputed", engine="perceptron")
    with pytest.raises(ValueError, match="precomputed"):
        clf.fit(X @ X.T, y)
