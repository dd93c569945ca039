"""Model files made to do harm: nothing of them runs, and no memory is taken for them."""

import io
import json
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder
from tests.helpers.model_files import archive, forged, judge, members, mutable_models

import bayespoint
from bayespoint.exceptions import ModelFileError
from bayespoint.storage.archive import MANIFEST


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return mutable_models(tmp_path_factory.mktemp("models") / "model", "ep", "linear")


@pytest.fixture
def outcome(tmp_path):
    return partial(judge, tmp_path / "mutant")


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return open, (str(self.target), "w")


def npy(descr, shape, data, *, fortran=False):
    """A .npy file by hand."""
    head = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


def test_pickled_arrays_do_not_run(models, outcome, tmp_path):
    flag = tmp_path / "flag"
    buffer = io.BytesIO()
    array = np.empty(4, dtype=object)
    array[:] = [Payload(flag)] * 4
    np.save(buffer, array, allow_pickle=True)
    data, X, expected = models["linear"]
    contents = members(data)
    for name in contents.keys() - {MANIFEST}:
        for attack in (buffer.getvalue(), pickle.dumps(Payload(flag))):
            assert outcome(forged({**contents, name: attack}), X, expected) == "refused"
    assert outcome(pickle.dumps(Payload(flag)), X, expected) == "refused"
    assert not flag.exists()
    np.load(io.BytesIO(buffer.getvalue()), allow_pickle=True)  # this is what would have happened
    assert flag.exists()


@pytest.mark.parametrize(
    "array",
    [
        npy("'<f8'", (10**12,), b""),
        npy("'<f8'", (2**40, 2**40), bytes(8)),
        npy("'<f8'", (-1, -1), bytes(8)),
        npy("'<U0'", (10**12,), b""),
        npy("'<U500000000'", (1,), b""),
        npy("'|V8'", (1,), bytes(8)),
        npy("'|O'", (1,), bytes(8)),
        npy("[('a', '<f8')]", (1,), bytes(8)),
        npy("'<f8'", (1,), bytes(8), fortran=True),
        npy("'<f8'", "(" * 3000 + ")" * 3000, b""),
        npy("__import__('os').system('true')", (1,), bytes(8)),
        b"\x93NUMPY\x02\x00" + bytes(200),
        b"",
    ],
)
def test_arrays_that_lie(models, outcome, array):
    data, X, expected = models["linear"]
    contents = {**members(data), "arrays/1.npy": array}
    assert outcome(forged(contents), X, expected) == "refused"


@pytest.mark.parametrize(
    "tree",
    [
        {"object": "builtins.eval", "number": 0, "state": {}},
        {"object": "sklearn.ensemble.RandomForestClassifier", "number": 0, "state": {}},
        {"object": "sklearn.svm.SVC", "number": 0, "state": {}},
        {"object": ["bayespoint.BayesPointClassifier"], "number": 0, "state": {}},
        {"object": "bayespoint.BayesPointClassifier", "number": 0, "state": {"__class__": "x"}},
        {"object": "bayespoint.BayesPointClassifier", "number": 0, "state": {"predict": "x"}},
        {
            "object": "bayespoint.BayesPointClassifier",
            "number": 0,
            "state": {"kernel": {"same": 0}},
        },
        {"object": "sklearn.pipeline.Pipeline", "number": 0, "state": {"steps": []}},
        {"object": "sklearn.pipeline.Pipeline", "number": 0, "state": {"memory": "//host/pickles"}},
        {"dict": []},
        {"array": "../../etc/passwd"},
        None,
        17,
    ],
)
def test_trees_that_are_no_model(models, outcome, tree):
    data, X, expected = models["linear"]
    contents = members(data)
    manifest = {**json.loads(contents[MANIFEST]), "model": tree}
    assert outcome(forged(contents, manifest), X, expected) == "refused"


@pytest.mark.parametrize("depth", [150, 100_000])
def test_deep_trees(models, outcome, depth):
    data, X, expected = models["linear"]
    contents = members(data)
    text = json.dumps({**json.loads(contents[MANIFEST]), "model": "HERE"})
    contents[MANIFEST] = text.replace('"HERE"', "[" * depth + "]" * depth).encode()
    assert outcome(archive(contents), X, expected) == "refused"


def test_many_features(models, outcome):
    # A trial prediction for as many features as the file claims would fill the memory.
    data, X, expected = models["ep"]
    contents = members(data)
    manifest = json.loads(contents[MANIFEST])
    manifest["model"]["state"]["n_features_in_"] = 10**15
    assert outcome(forged(contents, manifest), X, expected) == "refused"


def encoder():
    X = np.array([[5.0, 0.0], [1.0, 0.0], [3.0, 1.0], [3.0, np.nan]])
    return OneHotEncoder(sparse_output=False, drop=[3.0, 0.0], max_categories=2).fit(X)


def all_one(state):
    state["_n_features_outs"] = [0, 0]


def one_less(state):
    state["_n_features_outs"][0] -= 1


def unsorted(state):
    state["categories_"][0] = {"objects": [5.0, 3.0, 1.0], "shape": [3]}


def missing_first(state):
    state["categories_"][1] = {"objects": [{"float": "nan"}, 0.0, 1.0], "shape": [3]}


def words_and_numbers(state):
    state["categories_"][0] = {"objects": ["a", 5.0, 1.0], "shape": [3]}


def not_dropped(state):
    state["_drop_idx_after_grouping"] = None


def dropped_beyond(state):
    state["_drop_idx_after_grouping"] = {"objects": [7, 7], "shape": [2]}


def not_grouped(state):
    state["_infrequent_enabled"] = False


def other_groups(state):
    state["_default_to_infrequent_mappings"] = [None, None]


@pytest.mark.parametrize(
    "change",
    [
        all_one, one_less, unsorted, missing_first, words_and_numbers, not_dropped, dropped_beyond,
        not_grouped, other_groups,
    ],
)  # fmt: skip
def test_columns_that_are_not_there(tmp_path, change):
    # SciPy would write the categories of an encoder outside the memory of the result.
    path = tmp_path / "encoder"
    bayespoint.save(encoder(), path)
    contents = members(path.read_bytes())
    manifest = json.loads(contents[MANIFEST])
    change(manifest["model"]["state"])
    path.write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match="model is invalid"):
        bayespoint.load(path)
