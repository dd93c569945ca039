"""Arrays in and out, pickles and model files."""

import pickle

import numpy as np
import pytest

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.gpu import arrays, devices

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:.*perceptrons still made mistakes")

rng = np.random.default_rng(2)
X = rng.normal(size=(50, 4)).astype(np.float32)
y = (X @ rng.normal(size=(4, 3))).argmax(axis=1)
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "vote_shares",
    "class_shares",
    "sample_outputs",
    "latent_mean_and_variance",
    "predict_log_proba",
)


def machine(**params):
    engine = PermutedPerceptron(n_samples=2, max_epochs=5)
    params = {"engine": engine, "kernel": "rbf", "random_state": 0, **params}
    return BayesPointClassifier(**params)


def test_predictions_are_arrays_of_the_kind_of_x(device):
    clf = machine(device="cuda").fit(X, y)
    T = torch.tensor(X, device=device)
    for method in METHODS:
        plain, tensor = getattr(clf, method)(X), getattr(clf, method)(T)
        pairs = zip(plain, tensor, strict=True) if isinstance(plain, tuple) else [(plain, tensor)]
        for one, other in pairs:
            assert isinstance(one, np.ndarray) and other.device == device
            assert np.allclose(one, other.cpu().numpy())
    for draw in (clf.draw_outputs, clf.sample_proba):
        assert np.allclose(draw(X, 3, random_state=0), draw(T, 3, random_state=0).cpu())


def test_tensors_as_training_data(gpu):
    weight = np.ones(50)
    T, t, w = (torch.tensor(array, device=gpu) for array in (X, y, weight))
    clf = machine(ridge=1.0).fit(T, t, w)  # follows X
    same = machine(ridge=1.0, device="cuda").fit(X, y, weight)
    assert np.array_equal(clf.posterior_.weights, same.posterior_.weights)
    assert isinstance(clf.classes_, np.ndarray) and clf.predict(T).device == gpu
    host = machine(ridge=1.0, device="cpu").fit(T, t, w)  # work on the CPU
    assert np.mean(host.predict(X) == clf.predict(X)) > 0.95


def test_cupy_arrays(gpu):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    clf = machine().fit(cupy.asarray(X), cupy.asarray(y))
    predicted = clf.predict(cupy.asarray(X))
    assert isinstance(predicted, cupy.ndarray)
    assert np.array_equal(cupy.asnumpy(predicted), machine(device="cuda").fit(X, y).predict(X))


def test_tensors_of_the_cpu_work_without_a_device():
    clf = machine().fit(torch.tensor(X), torch.tensor(y))
    assert np.array_equal(clf.predict(torch.tensor(X)).numpy(), machine().fit(X, y).predict(X))


def test_labels_of_text_come_back_as_text(device):
    names = np.array(["a", "b", "c"])[y]
    clf = machine(device="cuda").fit(X, names)
    assert set(clf.predict(torch.tensor(X, device=device))) <= {"a", "b", "c"}


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.uint16])
def test_types_of_numbers(dtype, device):
    points = rng.integers(0, 9, size=(50, 4)).astype(dtype)
    clf = machine(device="cuda").fit(points, y)
    same = machine(device="cuda").fit(points.astype(np.float32), y)
    assert np.array_equal(clf.posterior_.weights, same.posterior_.weights)


def test_a_large_array_goes_in_pieces(gpu, monkeypatch):
    monkeypatch.setattr(arrays, "STAGE", 1 << 22)
    many = rng.normal(size=(3000, 1000)).astype(np.float32)
    for array in (many, many[::2], many.T.astype(np.float64), many[:, :999]):
        assert np.array_equal(arrays.to_device(array, gpu).cpu().numpy(), array)


def test_buffers_are_not_filled_before_they_are_copied(gpu):
    busy = torch.randn((8192, 8192), device=gpu)
    for _ in range(50):
        busy = busy @ busy  # copies have to wait for these
    several = [np.full(100_000, i, dtype=np.int32) for i in range(3 * arrays.N_STAGES)]
    there = [arrays.to_device(array, gpu) for array in several]
    assert all(np.array_equal(one.cpu(), array) for one, array in zip(there, several, strict=True))


BAD = {
    "features": (X[:, :3], "X has 3 features, but BayesPointClassifier is expecting 4"),
    "dimensions": (X[0], "2D array"),
    "NaN": (np.where(X.max() == X, np.nan, X), "NaN"),
    "infinity": (np.where(X.max() == X, np.inf, X), "infinity"),
    "no rows": (X[:0], "0 sample|shape"),
}


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("case", BAD)
def test_bad_points(case, kind, device):
    if kind == "tensor" and device.type == "cpu":
        pytest.skip("a tensor of the CPU is checked by scikit-learn")
    points, message = BAD[case]
    points = torch.tensor(points, device=device) if kind == "tensor" else points
    clf = machine(device="cuda").fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.predict(points)


def test_bad_labels(device):
    for labels, message in ((None, "requires y"), (y[:3], "inconsistent"), (y / 3, "continuous")):
        with pytest.raises(ValueError, match=message):
            machine(device="cuda").fit(X, labels)


def test_pickles_and_model_files_need_no_device(device, monkeypatch, tmp_path):
    clf = machine(device="cuda").fit(X, y)
    expected = clf.decision_function(X)
    copies = [pickle.loads(pickle.dumps(clf))]
    clf = machine(device="cuda").fit(X, y)
    bayespoint.save(clf, tmp_path / "model.bpm")
    copies.append(bayespoint.load(tmp_path / "model.bpm"))
    monkeypatch.setattr(devices, "STAND_IN", None)
    monkeypatch.setattr(devices, "is_installed", lambda library: False)
    for copy in copies:
        assert isinstance(copy.model_.space.points.rows, np.ndarray)
        assert not copy.model_.space.on_device
        assert isinstance(copy.posterior_.weights, np.ndarray)
        assert np.allclose(copy.decision_function(X), expected, atol=1e-3)
        assert np.allclose(copy.oob_decision_function_, clf.oob_decision_function_, equal_nan=True)


def test_a_machine_of_the_cpu_predicts_on_a_device(device):
    clf = machine().fit(X, y)
    expected = clf.decision_function(X)
    clf.set_params(device="cuda")
    assert np.allclose(clf.decision_function(X), expected, atol=1e-3)
    assert list(clf.model_.space.on_device) == [device]
    gibbs = machine(engine="gibbs").fit(X, y)
    expected = gibbs.predict(X)
    assert np.array_equal(gibbs.set_params(device="cuda").predict(X), expected)  # on the CPU


def test_standardized_features(device):
    scaled = X * [1, 10, 100, 1000] + 5
    here, there = (
        machine(kernel="linear", standardize=True, device=name).fit(scaled, y)
        for name in (None, "cuda")
    )
    assert np.allclose(here.coef_, there.coef_, rtol=0.2, atol=0.02)
    assert np.mean(here.predict(scaled) == there.predict(scaled)) > 0.95
