"""Model files made to do harm: nothing of them runs, and no memory is taken for them."""

import io
import json
import pickle
import re
import struct
import tracemalloc
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.helpers.model_files import archive, forged, judge, members, mutable_models, points

import bayespoint
from bayespoint.exceptions import ModelFileError
from bayespoint.storage.archive import MANIFEST, check_density
from bayespoint.storage.decode import Decoder
from bayespoint.storage.registry import OBJECTS
from bayespoint.tools.attributes import ContentError


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
        npy("'|a8'", (1,), bytes(8)),  # NumPy warns of it
        npy("'<f8'", (1,) * 99, bytes(8)),
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert outcome(forged(contents), X, expected) == "refused"
    assert not caught


@pytest.mark.filterwarnings("error")
def test_old_names_of_types_are_refused_without_a_warning():
    for name in ("a8", "|a8", "O8", "float64", "<f8,<f8", "x" * 10**6, 8, ["<f8"]):
        with pytest.raises(ContentError, match="not a dtype"):
            Decoder(dict, 0).decode({"dtype": name}, "x")


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
        {"array": "arrays/0.npy", "triangle": "lowest"},
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
        all_one,
        one_less,
        unsorted,
        missing_first,
        words_and_numbers,
        not_dropped,
        dropped_beyond,
        not_grouped,
        other_groups,
    ],
)
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


# More memory or time than the file is worth ------------------------------------------------------


def with_model(data, text):
    """A file whose model is this JSON."""
    contents = members(data)
    whole = json.dumps({**json.loads(contents[MANIFEST]), "model": "HERE"})
    contents[MANIFEST] = whole.replace('"HERE"', text).encode()
    return archive(contents)


@pytest.mark.parametrize("item", ["[]", "{}", '{"a":1}', "[[]]", "0", '""'])
def test_json_that_swells(models, outcome, item):
    """Of 3 bytes of text each, lists take 64 bytes of memory, and dicts 184."""
    data, X, expected = models["linear"]
    attack = with_model(data, "[" + ",".join([item] * (2_000_000 // len(item))) + "]")
    tracemalloc.start()
    assert outcome(attack, X, expected) == "refused"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(attack)


def directory_of(n):
    """An archive of n entries, all of one empty member, so that nearly all of it is directory."""
    name = b"a"
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0, 0, 0, 1, 0) + name
    entry = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
    )
    size = n * (len(entry) + 1)
    shown = min(n, 0xFFFF)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, shown, shown, size, len(local), 0)
    return local + n * (entry + name) + end


def test_a_directory_that_swells(models, outcome):
    """An entry of 47 bytes is an object of 900: an archive of 25 MB took 437 MB."""
    _, X, expected = models["linear"]
    attack = directory_of(100_000)
    with zipfile.ZipFile(io.BytesIO(attack)) as archive:  # it is an archive
        assert len(archive.infolist()) == 100_000
    tracemalloc.start()
    assert outcome(attack, X, expected) == "refused"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(attack)


@pytest.mark.parametrize(
    "node",
    [
        {"scalar": "<f2", "value": 1e10},  # would be infinite
        {"scalar": "<f4", "value": 1e300},
        {"scalar": "<f4", "value": 0.1},  # would be another number
        {"scalar": "|u1", "value": 300},
        {"dict": [["a", 1], ["a", 2]]},
        {"objects": ["a"], "shape": [-1]},
        {"array": "arrays/0.npy", "readonly": "x"},
        {"array": "arrays/0.npy", "axes": [True, False]},
    ],
)
def test_values_are_exact(models, node):
    data, _, _ = models["linear"]
    contents = members(data)
    with pytest.raises((ContentError, OverflowError)):
        Decoder(contents.__getitem__).decode(node, "x")


@pytest.mark.parametrize("text", ["1e999", "NaN", '1, "seconds": 2'])
def test_json_means_one_thing(models, outcome, text):
    """The seconds of a run may be any number, once."""
    data, X, expected = models["linear"]
    contents = members(data)
    for new, said in (("1", "right"), (text, "refused")):
        manifest = re.sub(
            rb'"seconds": [-.e\d]+', b'"seconds": ' + new.encode(), contents[MANIFEST]
        )
        assert manifest != contents[MANIFEST]
        assert outcome(archive({**contents, MANIFEST: manifest}), X, expected) == said


def test_ordinary_manifests_are_not_dense():
    names = np.array([f"a{number}" for number in range(20_000)], dtype=object)
    text = json.dumps({"objects": list(names), "shape": [len(names)]}, indent=1).encode()
    check_density(text)
    check_density(b"[]" * 10_000)  # small anyway


def test_a_long_name_takes_no_time(models, outcome, monkeypatch):
    """It is not repeated in the place of each value: 200 kB took seconds."""
    data, X, expected = models["linear"]
    run = {"object": "bayespoint.engines.Run", "number": 0}
    run["state"] = {"a" * 200_000: [0] * 200_000}
    attack = with_model(data, json.dumps(run, indent=4))
    lengths, decode = [], Decoder.decode

    def listen(self, node, place, depth=0):
        lengths.append(len(place))
        return decode(self, node, place, depth)

    monkeypatch.setattr(Decoder, "decode", listen)
    assert outcome(attack, X, expected) == "refused"
    assert lengths and sum(lengths) < 10_000


def test_arrays_are_not_used_without_end(models, outcome):
    """Each use of an array is a check of all its numbers."""
    data, X, expected = models["linear"]
    run = {"object": "bayespoint.scaling.Scaling", "state": {}}
    run["state"] = {name: {"array": "arrays/1.npy"} for name in ("mean", "scale")}
    nodes = [{**run, "number": number} for number in range(2000)]
    assert outcome(with_model(data, json.dumps(nodes)), X, expected) == "refused"


def test_too_many_objects(models, outcome):
    data, X, expected = models["linear"]
    one = {"object": "sklearn.preprocessing.MaxAbsScaler", "state": {}}
    nodes = [{**one, "number": number} for number in range(OBJECTS + 1)]
    attack = with_model(data, json.dumps(nodes, indent=4))
    assert outcome(attack, X, expected) == "refused"


@pytest.mark.parametrize("name", ["ColumnTransformer", "FeatureUnion"])
def test_processes_that_a_file_asks_for(tmp_path, name):
    step = ("a", StandardScaler(), [0]) if name == "ColumnTransformer" else ("a", StandardScaler())
    cls = {"ColumnTransformer": ColumnTransformer, "FeatureUnion": FeatureUnion}[name]
    bayespoint.save(cls([step]), tmp_path / "model")
    contents = members((tmp_path / "model").read_bytes())
    manifest = json.loads(contents[MANIFEST])
    manifest["model"]["state"]["n_jobs"] = 5000
    (tmp_path / "model").write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match="n_jobs is 5000: set n_jobs=None"):
        bayespoint.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input", "filename"),  # would read files of whoever loads the model
        ("token_pattern", r"(\w+\s?)*$"),  # would take for ever
        ("analyzer", "filename"),
        ("n_features", -1),
        ("ngram_range", {"tuple": [1, 10**9]}),
    ],
)
def test_texts_are_only_read_as_texts(tmp_path, name, value):
    bayespoint.save(HashingVectorizer(), tmp_path / "model")
    assert bayespoint.load(tmp_path / "model").transform(["a text"]).nnz == 1
    contents = members((tmp_path / "model").read_bytes())
    manifest = json.loads(contents[MANIFEST])
    manifest["model"]["state"][name] = value
    (tmp_path / "model").write_bytes(forged(contents, manifest))
    with pytest.raises(ModelFileError, match="model is invalid"):
        bayespoint.load(tmp_path / "model")


# Values that would be found out at the first prediction, or never --------------------------------


def classes_changed(path, change, dtype=None):
    """A file with other classes, and what loading it says."""
    X, y = points(3)
    labels = np.array(["a", "b", "c"])[np.unique(y, return_inverse=True)[1]]
    clf = bayespoint.BayesPointClassifier(kernel="linear").fit(X, labels)
    bayespoint.save(clf, path)
    contents = members(path.read_bytes())
    for name, content in contents.items():
        if name != MANIFEST and b"<U1" in content[:128]:
            classes = np.load(io.BytesIO(content))
            buffer = io.BytesIO()
            np.save(buffer, change(classes.copy()), allow_pickle=False)
            contents[name] = buffer.getvalue()
    path.write_bytes(forged(contents))
    with pytest.raises(ModelFileError) as caught:
        bayespoint.load(path)
    return str(caught.value)


def test_classes_that_are_not_sorted(tmp_path):
    path = tmp_path / "model"
    assert "classes are not sorted" in classes_changed(path, lambda classes: classes[::-1].copy())
    assert "classes are not sorted" in classes_changed(path, lambda classes: classes[[0, 0, 1]])
    assert "not sorted" in classes_changed(path, lambda classes: np.array([0.0, 1.0, np.nan]))


def test_text_that_is_not_unicode(tmp_path):
    """NumPy would raise a SystemError when the label is read."""

    def change(classes):
        classes.view(np.uint32)[-1] = 0x110000
        return classes

    assert "not Unicode characters" in classes_changed(tmp_path / "model", change)


@pytest.mark.parametrize("name", ["knapsack", "sum", "ep", "perceptron", "gibbs", "linear"])
def test_what_loads_predicts_numbers(tmp_path, name):
    """Each array in turn is full of NaN, infinity or numbers that overflow."""
    [(data, X, _)] = mutable_models(tmp_path / "model", name).values()
    contents = members(data)
    for member in contents.keys() - {MANIFEST}:
        array = np.load(io.BytesIO(contents[member]))
        if array.dtype.kind != "f":
            continue
        for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324):
            buffer = io.BytesIO()
            np.save(buffer, np.full_like(array, value), allow_pickle=False)
            (tmp_path / "mutant").write_bytes(forged({**contents, member: buffer.getvalue()}))
            try:
                found = bayespoint.load(tmp_path / "mutant").predict_proba(X)
            except ValueError:  # a ModelFileError, or predictions that overflow
                continue
            assert np.isfinite(found).all(), (member, value)
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


# State of the process ----------------------------------------------------------------------------


def test_loading_in_threads_leaves_warnings_as_they_were(models, tmp_path):
    """``warnings.catch_warnings`` in threads can leave all warnings of a process silenced."""
    (tmp_path / "model").write_bytes(models["ep"][0])
    before, state = list(warnings.filters), np.geterr()
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda _: bayespoint.load(tmp_path / "model"), range(40)))
    assert warnings.filters == before and np.geterr() == state
    source = Path(bayespoint.__file__).parent
    for folder in ("storage", "engines", "posteriors", "spaces", "kernels", "_core"):
        for file in (source / folder).rglob("*.py"):
            assert "catch_warnings" not in file.read_text(), file


def test_a_frozen_estimator_that_holds_nothing(outcome, tmp_path):
    model = bayespoint.BayesPointClassifier(engine="laplace", kernel="linear")
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    bayespoint.save(FrozenEstimator(model.fit(X, y)), tmp_path / "m.bpm")
    assert bayespoint.load(tmp_path / "m.bpm").predict(X).tolist() == y
    contents = members((tmp_path / "m.bpm").read_bytes())
    manifest = json.loads(contents[MANIFEST])
    manifest["model"]["state"] = {}
    (tmp_path / "empty.bpm").write_bytes(forged({MANIFEST: contents[MANIFEST]}, manifest))
    with pytest.raises(ModelFileError, match="model has no attribute 'estimator'"):
        bayespoint.load(tmp_path / "empty.bpm")
