"""Files of models: their bytes, how they are written and described, what is refused."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
)
from tests.helpers.model_files import (
    fitted,
    forged,
    members,
)

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.exceptions import ModelFileError, ModelVersionWarning
from bayespoint.storage import describe
from bayespoint.storage.archive import VERSION
from bayespoint.storage.registry import CLASSES


def test_the_same_model_has_the_same_bytes(tmp_path):
    machine, X = fitted("perceptron", "rbf", 3)
    bayespoint.save(machine, tmp_path / "a", metadata={"data": "none"})
    machine.predict_proba(X)  # which caches a scale
    bayespoint.save(machine, str(tmp_path / "b"), metadata={"data": "none"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_another_process_predicts_the_same(tmp_path):
    machine, X = fitted("ep", "rbf", 3)
    bayespoint.save(machine, tmp_path / "model")
    code = (
        "import sys, bayespoint, numpy as np;"
        "X = np.frombuffer(sys.stdin.buffer.read()).reshape(-1, 3);"
        "sys.stdout.buffer.write(bayespoint.load(sys.argv[1]).predict_proba(X).tobytes())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    done = subprocess.run(command, input=X.tobytes(), capture_output=True, check=True)
    assert done.stdout == machine.predict_proba(X).tobytes()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model"
    bayespoint.save(BayesPointClassifier(kernel="linear", temperature=1.0), path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        bayespoint.save(BayesPointClassifier(temperature=1.0, kernel=lambda A, B: A @ B.T), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    path = tmp_path / "model"
    bayespoint.save(BayesPointClassifier(kernel="linear", temperature=1.0), path)
    before = path.read_bytes()
    monkeypatch.setattr("bayespoint.storage.archive.Writer.finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bayespoint.save(fitted("ep", "linear", 2)[0], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    bayespoint.save(BayesPointClassifier(kernel="linear", temperature=1.0), tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "model").is_file()


def test_missing_places(tmp_path):
    with pytest.raises(FileNotFoundError):
        bayespoint.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        bayespoint.save(
            BayesPointClassifier(kernel="linear", temperature=1.0), tmp_path / "nowhere" / "model"
        )


def test_describe(tmp_path):
    metadata = {"data": "iris", "accuracy": 0.95, "columns": ["a", None], "nested": {"x": [1]}}
    pipeline = make_pipeline(MinMaxScaler(), BayesPointClassifier(kernel="linear", temperature=1.0))
    bayespoint.save(pipeline, tmp_path / "model", metadata=metadata)
    found = describe(tmp_path / "model")
    assert found.metadata == metadata
    assert found.model == "sklearn.pipeline.Pipeline"
    assert found.libraries["bayespoint"] == bayespoint.__version__
    assert found.path == tmp_path / "model"


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_metadata_is_json(tmp_path, metadata):
    with pytest.raises(ModelFileError, match="metadata must be valid JSON"):
        bayespoint.save(
            BayesPointClassifier(kernel="linear", temperature=1.0),
            tmp_path / "model",
            metadata=metadata,
        )
    assert not os.listdir(tmp_path)


def test_another_release_of_scikit_learn(tmp_path):
    path = tmp_path / "model"

    def pretend(model, version):
        bayespoint.save(model, path)
        contents = members(path.read_bytes())
        contents["manifest.json"] = contents["manifest.json"].replace(
            f'"scikit-learn": "{sklearn_version}"'.encode(), f'"scikit-learn": "{version}"'.encode()
        )
        path.write_bytes(forged(contents))

    from sklearn import __version__ as sklearn_version

    pipeline = make_pipeline(MinMaxScaler(), BayesPointClassifier(kernel="linear", temperature=1.0))
    pretend(pipeline, "0.99.1")
    with pytest.warns(
        ModelVersionWarning, match=f"0.99.1 and is read with {sklearn_version}"
    ) as got:
        bayespoint.load(path)
    assert got[0].filename == __file__
    assert (got[0].message.saved, got[0].message.running) == ("0.99.1", sklearn_version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pretend(
            BayesPointClassifier(kernel="linear", temperature=1.0), "0.99.1"
        )  # nothing of scikit-learn in it
        bayespoint.load(path)
        pretend(pipeline, ".".join(sklearn_version.split(".")[:2]) + ".99")
        bayespoint.load(path)


def test_the_page_names_what_can_be_kept():
    page = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text(encoding="utf-8")
    parts = [name.split(".")[-1] for name in CLASSES if name.startswith("sklearn")]
    assert parts and not [part for part in parts if f"`{part}" not in page]
    assert f"The format version is {VERSION};" in page


def test_names_of_the_package():
    assert {"load", "save"} <= set(dir(bayespoint))
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        bayespoint.lod  # noqa: B018
