"""EP and Laplace on a cluster: the bits of the local fit over the same blocks."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
import dask.dataframe as dd
from distributed import Client
from scipy import sparse

from bayespoint import BayesPointClassifier, load, save
from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.engines import FactorisedPropagation
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.rows import checkpoints, from_arrays, from_npy
from bayespoint.tools.monitor import Monitor, watch

pytestmark = pytest.mark.xdist_group("dask")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(1100, 5)) + 1
OUTPUTS = X @ RNG.normal(size=(5, 3)) + RNG.normal(size=(1100, 3))
LABELS = {"two": OUTPUTS[:, 0] > 1, "three": np.array(list("abc"))[OUTPUTS.argmax(axis=1)]}
WEIGHT = RNG.integers(0, 3, 1100).astype(float)
ROWS = 200
DIAGONAL = FactorisedPropagation(tol=0.01)
ENGINES = ["ep", "laplace", DIAGONAL]


def assert_same_bits(one, two):
    assert one.classes_.tolist() == two.classes_.tolist()
    for name in ("mean", "factor", "log_evidence"):
        np.testing.assert_array_equal(getattr(one.posterior_, name), getattr(two.posterior_, name))
    assert one.expected_scores_ == two.expected_scores_
    assert one.coding_.temperature == two.coding_.temperature
    assert one.run_.history == two.run_.history


def arrays(y, weight=None):
    weights = None if weight is None else da.from_array(weight, chunks=300)
    return da.from_array(X, chunks=(ROWS, 2)), da.from_array(y, chunks=500), weights


@pytest.mark.parametrize("engine", ENGINES, ids=["ep", "laplace", "diagonal"])
@pytest.mark.parametrize("labels", LABELS)
def test_bits_of_the_local_fit_over_the_same_blocks(client, engine, labels):
    y, params = LABELS[labels], {"kernel": "linear", "engine": engine}
    local = BayesPointClassifier(**params).fit(from_arrays(X, y, WEIGHT, block_rows=ROWS))
    clf = DaskBayesPointClassifier(client=client, **params).fit(*arrays(y, WEIGHT))
    assert_same_bits(clf.to_local(), local)


def test_another_division_gives_other_bits(client):
    y, params = LABELS["two"], {"kernel": "linear", "engine": "ep"}
    local = BayesPointClassifier(**params).fit(from_arrays(X, y, block_rows=ROWS + 1))
    clf = DaskBayesPointClassifier(client=client, **params).fit(*arrays(y))
    np.testing.assert_allclose(clf.coef_, local.coef_, rtol=1e-9)
    with pytest.raises(AssertionError):
        assert_same_bits(clf.to_local(), local)


def test_any_number_of_workers():
    found = []
    for n in (1, 2, 3):
        options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
        with Client(n_workers=n, set_as_default=False, **options) as client:
            clf = DaskBayesPointClassifier(client=client, kernel="linear", engine="ep")
            found.append(clf.fit(*arrays(LABELS["three"])).to_local())
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_the_fixed_point_is_that_of_the_fit_in_memory(client, engine):
    params = {"kernel": "linear", "engine": engine, "multi_class": "one_vs_rest"}
    y = LABELS["three"]
    memory = BayesPointClassifier(**params).set_params(engine__tol=1e-8).fit(X, y)
    clf = DaskBayesPointClassifier(client=client, **params).set_params(engine__tol=1e-8)
    clf.fit(*arrays(y))
    np.testing.assert_allclose(clf.coef_, memory.coef_, rtol=1e-6)
    np.testing.assert_allclose(clf.log_evidence_, memory.log_evidence_, rtol=1e-8)
    np.testing.assert_allclose(
        clf.predict_proba(X).compute(), memory.predict_proba(X), rtol=1e-5, atol=1e-7
    )


def test_data_frames(client):
    frame = pd.DataFrame(X, columns=list("pqrst")).assign(label=LABELS["three"], w=WEIGHT)
    whole = dd.from_pandas(frame, npartitions=4)
    clf = DaskBayesPointClassifier(client=client, engine="laplace")
    clf.fit(whole[list("pqrst")], whole["label"], whole["w"])
    assert clf.feature_names_in_.tolist() == list("pqrst")
    assert clf.classes_.tolist() == list("abc")
    assert set(whole.map_partitions(len).compute()) == {275}
    local = BayesPointClassifier(engine="laplace")
    local.fit(from_arrays(X, LABELS["three"], WEIGHT, block_rows=275))
    assert_same_bits(clf.to_local(), local)


def test_files_that_workers_read(client, tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", LABELS["two"])
    blocks = from_npy(tmp_path / "X.npy", tmp_path / "y.npy", block_rows=ROWS)
    local = BayesPointClassifier(kernel="linear").fit(blocks)
    clf = DaskBayesPointClassifier(client=client, kernel="linear").fit(blocks)
    assert_same_bits(clf.to_local(), local)
    perceptrons = {"kernel": "rbf", "ridge": "mean", "engine": "perceptron", "random_state": 0}
    there = DaskBayesPointClassifier(client=client, **perceptrons).fit(blocks)
    here = BayesPointClassifier(**perceptrons).fit(X, LABELS["two"])
    np.testing.assert_array_equal(there.posterior_.weights, here.posterior_.weights)


def test_a_path(client, tmp_path):
    frame = pd.DataFrame(X, columns=list("pqrst")).assign(label=LABELS["three"], w=WEIGHT)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=ROWS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    np.save(tmp_path / "X.npy", X)
    clf = DaskBayesPointClassifier(client=client, kernel="linear", engine="laplace")
    one = clf.fit(tmp_path / "rows.parquet", "label", "w").to_local()
    assert one.feature_names_in_.tolist() == list("pqrst")
    two = clf.fit(str(tmp_path / "rows.csv"), "label", "w").to_local()
    three = clf.fit(tmp_path / "X.npy", LABELS["three"], WEIGHT).to_local()
    assert_same_bits(one, two)
    assert_same_bits(one, three)
    with pytest.raises(ValueError, match=r"rows\.txt.*\.parquet"):
        clf.fit("rows.txt", "label")
    with pytest.raises(ValueError, match="name of the column"):
        clf.fit(tmp_path / "rows.csv", LABELS["three"])


def test_sparse_blocks(client):
    dense = np.where(RNG.random(X.shape) < 0.6, 0.0, X)
    params = {"kernel": "linear", "engine": DIAGONAL}
    rows = sparse.csr_array(dense)
    local = BayesPointClassifier(**params)
    local.fit(from_arrays(rows, LABELS["two"], block_rows=ROWS))
    blocks = da.from_array(dense, chunks=(ROWS, -1)).map_blocks(sparse.csr_array)
    clf = DaskBayesPointClassifier(client=client, **params).fit(blocks, LABELS["two"])
    assert_same_bits(clf.to_local(), local)
    np.testing.assert_array_equal(clf.predict(blocks).compute(), local.predict(rows))


def test_model_files(client, tmp_path):
    clf = DaskBayesPointClassifier(client=client, kernel="linear").fit(*arrays(LABELS["three"]))
    save(clf.to_local(), tmp_path / "model.bpm")
    np.testing.assert_array_equal(
        load(tmp_path / "model.bpm").predict_proba(X), clf.to_local().predict_proba(X)
    )


class Watcher(Monitor):
    """Notes what it is told, and stops after some rounds."""

    def __init__(self, stop_after=np.inf):
        self.begun, self.done, self.stop_after = [], [], stop_after

    def begin(self, total, unit):
        self.begun.append((total, unit))

    def update(self, done):
        self.done.append(done)

    def should_stop(self):
        return len(self.done) >= self.stop_after


def test_progress_is_told_round_by_round(client):
    clf = DaskBayesPointClassifier(client=client, kernel="linear", engine="ep")
    with watch(Watcher()) as watcher:
        clf.fit(*arrays(LABELS["two"]))
    assert watcher.begun[-1][1] == "sweeps"
    assert watcher.done == sorted(watcher.done)
    assert len(watcher.done) >= clf.n_iter_


def test_a_stopped_fit_continues_from_its_checkpoint(client, tmp_path):
    path = tmp_path / "fit.checkpoint"
    params = {"client": client, "kernel": "linear", "engine": "ep"}
    whole = DaskBayesPointClassifier(**params).fit(*arrays(LABELS["two"]))
    with checkpoints(path), watch(Watcher(stop_after=2)), pytest.warns(NotConvergedWarning):
        DaskBayesPointClassifier(**params).fit(*arrays(LABELS["two"]))
    assert path.exists()
    with checkpoints(path), watch(Watcher()) as watcher:
        again = DaskBayesPointClassifier(**params).fit(*arrays(LABELS["two"]))
    assert_same_bits(again.to_local(), whole.to_local())
    assert len(watcher.done) < whole.n_iter_ + 1  # not from the beginning
