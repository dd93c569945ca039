"""Data sets from a folder or from OpenML, and what is said where there are none."""

import csv
import re
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from tests.helpers.real_data import REAL_DATA

from papers import datasets
from papers.datasets import (
    SHIPPED,
    UCI,
    DataUnavailableError,
    Source,
    available,
    data_folder,
    load_mnist,
    load_uci,
)


@pytest.fixture(autouse=True)
def no_named_folder(request, monkeypatch):
    if "data" not in request.keywords:
        monkeypatch.delenv("BAYESPOINT_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Stand in for OpenML: set ``openml.answer`` to a frame and labels, or to an error."""

    class OpenML:
        answer = URLError("no network in tests")
        asked = None

        def fetch(self, name, **options):
            self.asked = {"name": name, **options}
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    service = OpenML()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", service.fetch)
    return service


def mnist_arrays(n_train=20, n_test=10, shape=(4, 4)):
    rng = np.random.default_rng(0)
    return {
        "Xtr": rng.integers(256, size=(n_train, *shape), dtype=np.uint8),
        "ytr": rng.integers(10, size=n_train, dtype=np.uint8),
        "Xte": rng.integers(256, size=(n_test, *shape), dtype=np.uint8),
        "yte": rng.integers(10, size=n_test, dtype=np.uint8),
    }


def write_uci(folder, name, *, rows=None, columns=None, value="1.5"):
    n, d = UCI[name].shape
    (folder / "uci").mkdir(exist_ok=True)
    path = folder / "uci" / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k + 1}" for k in range(d)), "y"])
        row = [value] * (d if columns is None else columns)
        writer.writerows([*row, "no" if k % 2 else "yes"] for k in range(rows or n))
    return path


# The folder ------------------------------------------------------------------------------------


def test_argument_goes_before_variable(tmp_path, monkeypatch):
    assert data_folder() is None
    named, given = tmp_path / "named", tmp_path / "given"
    named.mkdir()
    given.mkdir()
    monkeypatch.setenv("BAYESPOINT_DATA", str(named))
    assert data_folder() == named
    assert data_folder(str(given)) == given
    monkeypatch.setenv("BAYESPOINT_DATA", "")
    assert data_folder() is None


def test_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(DataUnavailableError, match="nowhere: no such folder") as caught:
        load_mnist(tmp_path / "nowhere")
    assert caught.value.wanted == "the data folder"
    (tmp_path / "file").touch()
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path / "file"))
    with pytest.raises(DataUnavailableError, match="file, named by BAYESPOINT_DATA: not a folder"):
        load_uci("heart")


def test_available(tmp_path):
    assert available(tmp_path) == []
    np.savez(tmp_path / "mnist.npz", **mnist_arrays())
    write_uci(tmp_path, "heart")
    assert available(tmp_path) == ["mnist", "heart"]


# Files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 4), (16,)])
def test_mnist_from_folder(tmp_path, shape):
    arrays = mnist_arrays(shape=shape)
    np.savez_compressed(tmp_path / "mnist.npz", **arrays)
    split = load_mnist(tmp_path)
    assert split.X_train.dtype == split.X_test.dtype == np.float32
    assert split.X_train.shape == (20, 16)
    assert split.X_test.shape == (10, 16)
    assert np.array_equal(np.round(255 * split.X_test), arrays["Xte"].reshape(10, 16))
    assert split.X_train.max() <= 1
    assert np.array_equal(split.y_train, arrays["ytr"])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_mnist_cut_short(tmp_path, share):
    path = tmp_path / "mnist.npz"
    np.savez_compressed(path, **mnist_arrays())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataUnavailableError, match=r"mnist\.npz: .*Remedy: replace"):
        load_mnist(tmp_path)


def test_mnist_with_damaged_bytes(tmp_path):
    path = tmp_path / "mnist.npz"
    np.savez_compressed(path, **mnist_arrays())
    content = bytearray(path.read_bytes())
    content[100:160] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(DataUnavailableError, match=r"Cannot load mnist\.npz"):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ytr": None}, "ytr"),
        ({"Xte": np.zeros((10, 4, 4))}, "uint8"),
        ({"ytr": np.zeros(19, np.uint8)}, "one label for each image"),
        ({"Xte": np.zeros((10, 5, 5), np.uint8)}, "the same size"),
        ({"Xtr": np.zeros((0, 4, 4), np.uint8), "ytr": np.zeros(0, np.uint8)}, "the same size"),
        ({"Xtr": np.uint8(1)}, "TypeError"),
    ],
)
def test_mnist_with_wrong_arrays(tmp_path, changes, message):
    arrays = {k: v for k, v in {**mnist_arrays(), **changes}.items() if v is not None}
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(DataUnavailableError, match=rf"mnist\.npz: .*{message}"):
        load_mnist(tmp_path)


def test_missing_files(tmp_path):
    for load in (load_mnist, lambda folder: load_uci("sonar", folder)):
        with pytest.raises(DataUnavailableError, match="no such file"):
            load(tmp_path)


def test_uci_from_folder(tmp_path):
    write_uci(tmp_path, "liver")
    X, y = load_uci("liver", tmp_path)
    assert X.shape == (345, 6)
    assert X.dtype == np.float64
    assert set(y) == {"yes", "no"}
    with pytest.raises(ValueError, match=r"name must be one of australian, .* Got 'iris'"):
        load_uci("iris", tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 200}, "200 rows below the header, not 345"),
        ({"columns": 3}, "line 2 has 4 columns, not 7"),
        ({"value": "many"}, "could not convert string to float"),
    ],
)
def test_uci_file_is_broken(tmp_path, wrong, message):
    path = write_uci(tmp_path, "liver", **wrong)
    with pytest.raises(DataUnavailableError, match=message) as caught:
        load_uci("liver", tmp_path)
    assert str(path) in str(caught.value)


# The package ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(UCI) - {"pima"}))
def test_sets_that_come_with_the_package(name, openml):
    X, y = load_uci(name)
    assert X.shape == UCI[name].shape
    assert np.isfinite(X).all()
    assert 2 <= len(set(y)) <= 3
    assert openml.asked is None
    notice = (SHIPPED / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert re.search(rf"`{name}\.csv\.gz` \| .* https://doi\.org/10\.24432/C\w+ ", notice)
    assert "CC BY 4.0" in notice


def test_a_named_folder_goes_before_the_package(tmp_path):
    with pytest.raises(DataUnavailableError, match="no such file"):
        load_uci("heart", tmp_path)


def test_pima_is_not_shipped(openml):
    with pytest.raises(DataUnavailableError, match="OpenML"):
        load_uci("pima")
    assert openml.asked["name"] == "diabetes"


# OpenML ----------------------------------------------------------------------------------------


def test_mnist_from_openml(openml, monkeypatch):
    monkeypatch.setattr(datasets, "MNIST", Source((5, 2), "mnist_784", 1))
    monkeypatch.setattr(datasets, "MNIST_TRAIN", 3)
    pixels = pd.DataFrame({"a": [0, 51, 102, 153, 204], "b": [255] * 5})
    openml.answer = pixels, pd.Series(list("01234"), dtype="category")
    split = load_mnist()
    assert openml.asked["name"] == "mnist_784"
    assert openml.asked["version"] == 1
    assert np.allclose(split.X_train, [[0, 1], [0.2, 1], [0.4, 1]])
    assert split.X_train.dtype == np.float32
    assert split.y_test.tolist() == [3, 4]


@pytest.fixture
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "SHIPPED", tmp_path)


def test_uci_from_openml_drops_rows_with_gaps(openml, monkeypatch, nothing_shipped):
    monkeypatch.setitem(UCI, "breast", Source((2, 2), "breast-w", 1))
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.Categorical(["7", "8", "9"])})
    openml.answer = frame, pd.Series(["benign", "benign", "malignant"], dtype="category")
    X, y = load_uci("breast")
    assert X.tolist() == [[1, 7], [3, 9]]
    assert y.tolist() == ["benign", "malignant"]


def test_openml_has_something_else(openml, nothing_shipped):
    openml.answer = pd.DataFrame({"a": [1.0]}), pd.Series(["b"])
    with pytest.raises(DataUnavailableError, match=r"has shape \(1, 1\), expected \(345, 6\)"):
        load_uci("liver")
    assert openml.asked["target_column"] == "selector"


def test_openml_cannot_be_reached(openml):
    with pytest.raises(DataUnavailableError) as caught:
        load_mnist()
    message = str(caught.value)
    assert "\n" not in message
    for words in ("mnist", "OpenML (mnist_784, version 1)", "no network", "BAYESPOINT_DATA"):
        assert words in message
    assert isinstance(caught.value.__cause__, URLError)


# The real data ---------------------------------------------------------------------------------


class TestRealData:
    pytestmark = REAL_DATA

    def test_mnist(self):
        split = load_mnist()
        assert split.X_train.shape == (60_000, 784)
        assert split.X_test.shape == (10_000, 784)
        assert split.X_train.max() == 1
        assert np.bincount(split.y_test).tolist() == [
            980,
            1135,
            1032,
            1010,
            982,
            892,
            958,
            1028,
            974,
            1009,
        ]

    @pytest.mark.parametrize("name", UCI)
    def test_uci(self, name):
        X, y = load_uci(name)
        if datasets.is_shipped(name):
            np.testing.assert_array_equal(datasets.load_shipped(name).X, X)
        assert np.isfinite(X).all()
        assert 2 <= len(set(y)) <= 3
