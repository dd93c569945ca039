"""What cannot be saved in a model file, and files that are not model files."""

import json
import pickle
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from tests.helpers.model_files import archive, fitted, forged, members, points

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from bayespoint.exceptions import ModelFileError
from bayespoint.kernels import RadialKernel
from bayespoint.reject import SelectiveClassifier
from bayespoint.selection import EvidenceSearch
from bayespoint.storage import describe


def kernel(A, B):
    return A @ B.T


class MyMachine(BayesPointClassifier):
    pass


def looped():
    pipeline = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel="linear", temperature=1.0)
    )
    pipeline.steps.append(("again", pipeline))
    return pipeline


def search():
    X, y = points(2)
    machine = BayesPointClassifier(temperature=1.0, kernel="rbf", engine=ExpectationPropagation())
    return EvidenceSearch(machine, param_grid={"gamma": [0.1, 1.0]}).fit(X, y)


# Models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: BayesPointClassifier(temperature=1.0, kernel=kernel),
            ["model.kernel is <function", "no code"],
        ),
        (
            lambda: BayesPointClassifier(engine=KnapsackPropagation(prior=lambda w: -abs(w))),
            ["model.engine.prior", "prior='l2'"],
        ),
        (
            lambda: make_pipeline(
                FunctionTransformer(np.log1p),
                BayesPointClassifier(kernel="linear", temperature=1.0),
            ),
            ["model.steps['functiontransformer'][1].func", "numpy.ufunc", "no code"],
        ),
        (
            lambda: SelectiveClassifier(RandomForestClassifier(), rate=0.1),
            ["model.estimator", "RandomForestClassifier", "joblib", "StandardScaler"],
        ),
        (
            lambda: ColumnTransformer([("all", StandardScaler(), lambda frame: frame.columns)]),
            ["model.transformers['all'][2]", "no code"],
        ),
        (MyMachine, ["MyMachine"]),
        (search, ["Save its best_estimator_"]),
        (
            lambda: GridSearchCV(
                BayesPointClassifier(kernel="linear", temperature=1.0), {"gamma": [1.0]}
            ).fit(*points(2)),
            ["Save its best_estimator_"],
        ),
        (
            lambda: BayesPointClassifier(
                kernel="linear", temperature=1.0, random_state=np.random.RandomState(0)
            ),
            ["model.random_state", "Use an int"],
        ),
        (
            lambda: Pipeline(
                [("a", BayesPointClassifier(kernel="linear", temperature=1.0))], memory="/tmp/cache"
            ),
            ["model is invalid", "memory=None"],
        ),
        (lambda: FunctionTransformer(kw_args={"a": b"bytes"}), ["model.kw_args['a']", "bytes"]),
        (lambda: FunctionTransformer(kw_args={("a",): 1}), ["a key of model.kw_args", "tuple"]),
        (
            lambda: FunctionTransformer(kw_args={"a": np.array([object()])}),
            ["an entry of model.kw_args['a']", "builtins.object"[9:]],
        ),
        (
            lambda: FunctionTransformer(kw_args={"a": np.zeros(2, dtype=complex)}),
            ["model.kw_args['a'] is an array of complex128", "Convert it"],
        ),
        (
            lambda: FunctionTransformer(kw_args={"a": np.ma.masked_array([1.0])}),
            ["model.kw_args['a']", "MaskedArray"],
        ),
        (lambda: FunctionTransformer(kw_args={"a": np.zeros(1, "M8[s]")}), ["datetime64"]),
        (lambda: OneHotEncoder(dtype=dict), ["model.dtype", "dict"]),
        (looped, ["contains itself"]),
        (lambda: np.zeros(3), ["not an estimator"]),
        (RadialKernel, ["not an estimator"]),
        (ExpectationPropagation, ["not an estimator"]),
        (lambda: {"a": 1}, ["not an estimator"]),
        (lambda: BayesPointClassifier, ["model is <class"]),
    ],
)
def test_models(tmp_path, make, words):
    path = tmp_path / "model.bpm"
    with pytest.raises(ModelFileError) as caught:
        bayespoint.save(make(), path)
    assert caught.value.path == path
    for word in words:
        assert word in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_not_finite(tmp_path):
    machine, _ = fitted("ep", "linear", 2)
    machine.posterior_.factor[0, 0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"model_\.posterior is invalid.*NaN or infinity"):
        bayespoint.save(machine, tmp_path / "model")


# Files -----------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    machine, _ = fitted("ep", "linear", 2)
    bayespoint.save(machine, tmp_path / "good")
    return (tmp_path / "good").read_bytes()


def complaint(tmp_path, data, reader=bayespoint.load):
    path = tmp_path / "file.bpm"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        reader(path)
    assert caught.value.path == path
    return str(caught.value)


def test_foreign_files(tmp_path, data):
    assert "it is empty" in complaint(tmp_path, b"")
    for text in (b"# some text\n", b"x,y\n1,2\n"):
        assert "not a bayespoint model file" in complaint(tmp_path, text)
    assert "looks like a pickle" in complaint(
        tmp_path, pickle.dumps(BayesPointClassifier(kernel="linear", temperature=1.0))
    )
    for compress in (0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)):
        joblib.dump(
            BayesPointClassifier(kernel="linear", temperature=1.0),
            tmp_path / "joblib",
            compress=compress,
        )
        assert "looks like a pickle" in complaint(tmp_path, (tmp_path / "joblib").read_bytes())
    np.savez(tmp_path / "arrays.npz", a=np.ones(2))
    found = complaint(tmp_path, (tmp_path / "arrays.npz").read_bytes())
    assert "zip archive without 'manifest.json'" in found and "bayespoint.save" in found
    other = archive({"manifest.json": b'{"format": "another"}'})
    assert "not that of a bayespoint model" in complaint(tmp_path, other)


def test_truncated_files(tmp_path, data):
    for reader in (bayespoint.load, describe):
        for length in (4, 1000, len(data) // 2, len(data) - 100):
            assert "it is truncated or damaged" in complaint(tmp_path, data[:length], reader)
        # Of the checksum at the end one digit is missing.
        assert "was changed or damaged" in complaint(tmp_path, data[:-1], reader)


def test_other_formats(tmp_path, data):
    contents = members(data)
    manifest = json.loads(contents["manifest.json"])
    manifest["libraries"]["bayespoint"] = "9.9"
    for number, remedy in (
        (1, "Fit and save the model again"),
        (5, "Fit and save the model again"),
        (7, "Upgrade bayespoint"),
    ):
        manifest["format_version"] = number
        for reader in (bayespoint.load, describe):
            found = complaint(tmp_path, forged(contents, manifest), reader)
            assert f"written by bayespoint 9.9 in format {number}" in found
            assert f"reads format 6. {remedy}" in found
    # The sentence must come even if nothing else is as it is today.
    strange = {"format": manifest["format"], "format_version": 7}
    found = complaint(
        tmp_path, archive({"manifest.json": json.dumps(strange).encode()}, comment=b"")
    )
    assert "of unknown version in format 7" in found


def test_changed_files(tmp_path, data):
    contents = members(data)
    changed = bytearray(contents["arrays/1.npy"])
    changed[-1] ^= 1
    found = complaint(tmp_path, archive({**contents, "arrays/1.npy": bytes(changed)}))
    assert "'arrays/1.npy' was changed or damaged" in found
    manifest = contents["manifest.json"].replace(b'"degree": 3', b'"degree": 4')
    assert manifest != contents["manifest.json"]
    with zipfile.ZipFile(tmp_path / "good") as file:
        comment = file.comment
    edited = archive({**contents, "manifest.json": manifest}, comment=comment)
    for reader in (bayespoint.load, describe):
        assert "manifest was changed or damaged" in complaint(tmp_path, edited, reader)
    fewer = {name: part for name, part in contents.items() if name != "arrays/1.npy"}
    assert "'arrays/1.npy' is missing" in complaint(tmp_path, archive(fewer))
    more = {**contents, "virus.py": b"print()"}
    assert "'virus.py' is not in the manifest" in complaint(tmp_path, archive(more))
    twice = [*contents.items(), ("arrays/1.npy", contents["arrays/1.npy"])]
    assert "two members 'arrays/1.npy'" in complaint(tmp_path, archive(twice))
    small = archive(contents, method=zipfile.ZIP_DEFLATED)
    assert "compressed or encrypted" in complaint(tmp_path, small)


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = archive({"manifest.json": b" " * 10**7}, method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    assert "compressed" in complaint(tmp_path, bomb)
    assert "compressed" in complaint(tmp_path, bomb, describe)


def test_frozen_estimators_that_hold_themselves_or_nothing(tmp_path):
    """They pass on what they are asked, for ever if there is no end."""
    itself, empty = FrozenEstimator(BayesPointClassifier()), FrozenEstimator(BayesPointClassifier())
    itself.estimator = itself
    del empty.estimator
    for model, words in (
        (itself, "contains itself"),
        (empty, "model has no attribute 'estimator'"),
    ):
        with pytest.raises(ModelFileError, match=words):
            bayespoint.save(model, tmp_path / "m.bpm")
