"""DaskBayesPointClassifier as an estimator: parameters, copies, pickles, clients."""

import pickle

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
from distributed import Client
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from bayespoint import BayesPointClassifier, load, save
from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import ClusterError

pytestmark = pytest.mark.xdist_group("dask")
X, y = load_iris(return_X_y=True)
PARAMS = {"kernel": "rbf", "ridge": "mean", "engine": "perceptron", "random_state": 0}


@pytest.fixture(scope="module")
def fitted(client):
    return DaskBayesPointClassifier(client=client, **PARAMS).fit(da.from_array(X, chunks=40), y)


def test_parameters_are_those_of_the_local_classifier():
    here, there = DaskBayesPointClassifier().get_params(), BayesPointClassifier().get_params()
    assert set(here) - set(there) == {"client"}
    assert all(there[name] == value for name, value in here.items() if name != "client")


def test_engine_parameters_can_be_set_by_name():
    clf = DaskBayesPointClassifier(engine="perceptron").set_params(engine__n_samples=3)
    assert clf.engine.n_samples == 3
    assert DaskBayesPointClassifier(engine="ep").get_params()["engine__noise"] is not None


def test_a_clone_keeps_the_client_and_drops_the_fit(fitted, client):
    copy = clone(fitted)
    assert copy.client is client
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    inner = clone(make_pipeline(fitted))[0]
    assert inner.client is client


def test_a_pickle_has_the_fit_and_no_client(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.client is None
    np.testing.assert_array_equal(
        again.predict_proba(X).compute(scheduler="sync"),
        fitted.predict_proba(X).compute(scheduler="sync"),
    )
    assert pickle.loads(pickle.dumps(DaskBayesPointClassifier(degree=5))).degree == 5


def test_the_client_of_the_process_is_the_default(client):
    clf = DaskBayesPointClassifier(**PARAMS).fit(X, y)
    assert clf.client is None
    assert clf.score(X, y) > 0.9


def test_without_a_client(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("bayespoint.rows.dask.cluster.get_client", none)
    with pytest.raises(ValueError, match=r"needs a Dask client.*dask\.distributed\.Client\(\)"):
        DaskBayesPointClassifier(**PARAMS).fit(X, y)


def test_a_client_of_another_kind():
    with pytest.raises(TypeError, match=r"'client' parameter .* 'tcp://here:8786' instead"):
        DaskBayesPointClassifier(client="tcp://here:8786").fit(X, y)


def test_a_closed_client():
    with Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as one:
        pass
    with pytest.raises(ClusterError, match="connection to its scheduler is lost"):
        DaskBayesPointClassifier(client=one, **PARAMS).fit(X, y)


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr("bayespoint.rows.dask.cluster.NO_WORKERS", 0.1)
    options = {"processes": False, "n_workers": 0, "dashboard_address": ":0"}
    with (
        Client(set_as_default=False, **options) as one,
        pytest.raises(ClusterError, match="no workers for 0 s"),
    ):
        DaskBayesPointClassifier(client=one, **PARAMS).fit(X, y)


def test_a_client_that_is_not_the_default(monkeypatch):
    monkeypatch.setattr("distributed.client._global_clients", {})
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with Client(set_as_default=False, **options) as one:
        for engine in ("perceptron", "laplace"):
            clf = DaskBayesPointClassifier(client=one, kernel="linear", engine=engine)
            assert clf.set_params(random_state=0).fit(X, y == 0).score(X, y == 0) == 1


def test_a_failed_fit_leaves_the_classifier_as_it_was(fitted, client):
    copy = pickle.loads(pickle.dumps(fitted)).set_params(client=client)
    before = copy.to_local()
    with pytest.raises(ValueError):
        copy.fit(np.full_like(X, np.nan), y)
    assert copy.to_local() is before


def test_other_engines_are_refused(client):
    with pytest.raises(ValueError, match=r"GibbsSampler.*perceptron"):
        DaskBayesPointClassifier(client=client, kernel="linear", engine="gibbs").fit(X, y)


def test_wrong_parameters_have_the_same_errors(client):
    with pytest.raises(ValueError, match="'degree' parameter of DaskBayesPointClassifier"):
        DaskBayesPointClassifier(client=client, degree=0).fit(X, y)


def test_model_files_of_the_local_classifier(fitted, tmp_path):
    save(fitted.to_local(), tmp_path / "iris.bpm")
    again = load(tmp_path / "iris.bpm")
    np.testing.assert_array_equal(again.predict_proba(X), fitted.to_local().predict_proba(X))


def test_fitted_attributes_are_at_hand(fitted):
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 4
    assert fitted.run_.unit == "epochs"
    assert fitted.oob_score_ > 0.9
    with pytest.raises(AttributeError, match="nothing_"):
        _ = fitted.nothing_
    with pytest.raises(AttributeError, match="coef_"):
        _ = DaskBayesPointClassifier().coef_


def test_score_is_the_accuracy(fitted):
    local = fitted.to_local().score(X, y)
    assert fitted.score(da.from_array(X, chunks=50), da.from_array(y, chunks=50)) == local


def test_engine_objects(client):
    engine = PermutedPerceptron(n_samples=3)
    clf = DaskBayesPointClassifier(client=client, kernel="rbf", ridge=1, engine=engine)
    assert clf.fit(X, y).posterior_.n_samples == 3
