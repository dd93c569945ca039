"""Perceptrons on a device learn what those of the compiled loop learn."""

import pickle
import threading
import warnings

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import CacheTooSmallError, DeviceError, StoppedEarlyWarning
from bayespoint.gpu import perceptrons, rows, windows
from bayespoint.gpu.rows import DeviceRows
from bayespoint.tools.monitor import Monitor, watch

torch = pytest.importorskip("torch", reason="torch is not installed")

rng = np.random.default_rng(1)
X = rng.integers(0, 4, size=(60, 6)).astype(float)  # kernel values are exact in float32
y = (X @ rng.normal(size=(6, 3))).argmax(axis=1)
weight = rng.choice([1.0, 2.0, 4.0], size=60)
POLY = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
SETTINGS = {
    "linear": {"kernel": "linear"},
    "no intercept": {"kernel": "linear", "fit_intercept": False},
    "poly": POLY,
    "ridge": dict(**POLY, ridge=64.0),
    "weights": {"kernel": "linear", "ridge": 16.0, "class_weight": {0: 2.0, 1: 1.0, 2: 1.0}},
}


def fitted(device, params, X=X, y=y, n_samples=3, sample_weight=None, **engine):
    engine = PermutedPerceptron(n_samples=n_samples, **{"max_epochs": 8, **engine})
    clf = BayesPointClassifier(engine=engine, random_state=0, device=device, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y, sample_weight)


def assert_same(one, other):
    """The same coefficients, to the bit; what is divided by lengths in float32 to its accuracy."""
    assert np.array_equal(one.posterior_.support, other.posterior_.support)
    assert np.array_equal(one.posterior_.weights, other.posterior_.weights)
    assert np.allclose(one.posterior_.mean, other.posterior_.mean, rtol=1e-12, atol=1e-15)
    first, second = one.posterior_.visits, other.posterior_.visits
    assert np.array_equal(first.counts, second.counts)
    for name in ("outputs", "first_square", "final_square", "noise"):
        assert np.allclose(getattr(first, name), getattr(second, name), rtol=1e-5, atol=1e-5)
    assert np.isclose(one.oob_score_, other.oob_score_)
    assert np.allclose(
        one.oob_decision_function_, other.oob_decision_function_, atol=1e-3, equal_nan=True
    )


@pytest.mark.parametrize("labels", [y, y > 0], ids=["three classes", "two classes"])
@pytest.mark.parametrize("name", SETTINGS)
def test_coefficients_are_equal_where_kernel_values_are_exact(name, labels, device):
    params = SETTINGS[name]
    if name == "weights" and labels.dtype == bool:
        params = params | {"class_weight": {False: 2.0, True: 1.0}}
    given = weight if name == "ridge" else None
    here = fitted(None, params, y=labels, sample_weight=given)
    there = fitted("cuda", params, y=labels, sample_weight=given)
    assert_same(here, there)
    assert here.run_.summary == there.run_.summary and here.n_iter_ == there.n_iter_
    new = rng.normal(size=(20, 6))
    assert np.allclose(here.decision_function(new), there.decision_function(new), atol=1e-3)
    assert np.array_equal(here.predict(X), there.predict(X))


@pytest.mark.parametrize("cache_size", ["auto", 20 * 4 * 64 / 1e6], ids=["all rows", "some"])
def test_a_kernel_matrix_on_a_device(cache_size, device):
    K, params = (X @ X.T + 1.0) ** 2, {"kernel": "precomputed", "ridge": 64.0}
    given = np.where(np.arange(60) % 7, weight, 0.0)  # points and columns that do not count
    here, there = (
        fitted(name, params, X=K, sample_weight=given, cache_size=cache_size)
        for name in (None, "cuda")
    )
    assert_same(here, there)
    new = (rng.integers(0, 4, size=(20, 6)) @ X.T + 1.0) ** 2
    expected = here.predict_proba(new)
    assert np.allclose(there.predict_proba(new), expected, atol=1e-5)
    tensor = there.predict_proba(torch.tensor(new, device=device))
    assert np.allclose(tensor.cpu(), expected, atol=1e-5)
    for copy in (pickle.loads(pickle.dumps(there)).set_params(device="cpu"), here):
        assert np.allclose(copy.predict_proba(new), expected, atol=1e-5)
        assert np.allclose(copy.set_params(device="cuda").predict_proba(new), expected, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_other_kernel_values_give_nearly_the_same_machine(kernel, device):
    Z = X + np.random.default_rng(1).normal(size=X.shape)
    here, there = (fitted(name, {"kernel": kernel}, X=Z) for name in (None, "cuda"))
    assert np.mean(here.predict(Z) == there.predict(Z)) > 0.97
    assert abs(here.oob_score_ - there.oob_score_) < 0.05


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_half_precision(kernel, device):
    """Points on a grid keep their values; others give nearly the same machine."""
    params = {"kernel": kernel, "gamma": 0.25}
    assert_same(fitted("cuda", params), fitted("cuda", params, precision="half"))
    Z = X + np.random.default_rng(1).normal(size=X.shape)
    single, half = (fitted("cuda", params, X=Z, precision=name) for name in ("single", "half"))
    assert np.mean(single.predict(Z) == half.predict(Z)) > 0.9  # of labels learned in 8 epochs
    assert np.allclose(
        half.decision_function(Z), half.set_params(device=None).decision_function(Z), atol=1e-2
    )
    with pytest.raises(ValueError, match="precision"):
        fitted("cuda", params, precision="double")


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("n_rows", "width"), [(3, 64), (30, 32), (59, 32)])
def test_windows_change_nothing(n_rows, width, name, device, monkeypatch):
    """Whatever their width, and however many rows they have: few, or those that may be wanted."""
    monkeypatch.setattr(windows, "WIDTH", width)
    monkeypatch.setattr(windows, "SQUARE", width)
    monkeypatch.setattr(windows, "FEW", 4)
    monkeypatch.setattr(windows, "EXTRA", 2)
    monkeypatch.setattr(rows, "PRODUCTS", 1)
    cache = 4 * 64 * n_rows / 1e6
    given = weight if name == "ridge" else None
    here = fitted(None, SETTINGS[name], sample_weight=given)
    assert_same(here, fitted("cuda", SETTINGS[name], sample_weight=given, cache_size=cache))


signs = np.random.default_rng(2)
SIGNS = signs.choice([-1.0, 1.0], size=(60, 16))  # exact in float16, too
SIGN_LABELS = (SIGNS @ signs.normal(size=(16, 3))).argmax(axis=1)


@pytest.mark.parametrize("ridge", [0.0, 0.25])
@pytest.mark.parametrize("n_rows", [60, 58, 50, 10])
def test_rows_of_half_precision_change_nothing_where_they_are_exact(
    n_rows, ridge, device, monkeypatch
):
    """All of them, those that the first pass needs and then those that are missing, or some."""
    monkeypatch.setattr(rows, "SPARE", 4 * 64)
    monkeypatch.setattr(windows, "WIDTH", 32)
    monkeypatch.setattr(windows, "SQUARE", 32)
    monkeypatch.setattr(windows, "SHARE", 1.0)
    monkeypatch.setattr(perceptrons, "AHEAD", 1)
    half = []
    monkeypatch.setattr(
        perceptrons.DeviceRounds,
        "_load",
        lambda self, missing, load=perceptrons.DeviceRounds._load: half.append(load(self, missing)),
    )
    params = {"kernel": "linear", "fit_intercept": False, "normalize": True, "ridge": ridge}
    cache = (2 * 64 * n_rows + 4 * 64) / 1e6
    here = fitted(None, params, X=SIGNS, y=SIGN_LABELS)
    assert_same(here, fitted("cuda", params, X=SIGNS, y=SIGN_LABELS, cache_size=cache))
    assert half or n_rows != 58


def test_a_window_that_forgets_what_was_learned_elsewhere_fails(device, monkeypatch):
    monkeypatch.setattr(windows, "WIDTH", 32)
    monkeypatch.setattr(windows.Windows, "_tell", lambda *args: 0)
    here, there = fitted(None, POLY), fitted("cuda", POLY, cache_size=4 * 64 * 10 / 1e6)
    assert not np.array_equal(here.posterior_.weights, there.posterior_.weights)


def test_a_cache_without_room_for_a_row(device):
    with pytest.raises(CacheTooSmallError):
        fitted("cuda", POLY, cache_size=1e-4)


def test_launches_can_be_short_and_samples_go_in_waves(device, monkeypatch):
    monkeypatch.setattr(perceptrons, "SLICE", 1)
    monkeypatch.setattr("bayespoint.engines.sampling.waves.DEVICE_SHARE", 1e-12)
    assert_same(fitted(None, POLY), fitted("cuda", POLY))


def test_warm_start_adds_samples(device):
    clf = fitted("cuda", POLY, n_samples=2)
    clf.set_params(warm_start=True, engine__n_samples=5).fit(X, y)
    assert_same(fitted("cuda", POLY, n_samples=5), clf)
    clf.set_params(engine__n_samples=6)
    with pytest.raises(ValueError, match="some of these have changed"):
        clf.fit(X + (X == 3), y)


def test_time_limit_and_monitor_leave_a_valid_machine(device, monkeypatch):
    monkeypatch.setattr(perceptrons, "SLICE", 64)

    class Impatient(Monitor):
        done: list = []

        def update(self, done):
            self.done.append(done)

        def should_stop(self):
            return True

    for params, monitor in (({"max_time": 1e-9}, Monitor()), ({}, Impatient())):
        engine = PermutedPerceptron(n_samples=4, max_epochs=8, **params)
        clf = BayesPointClassifier(engine=engine, random_state=0, device="cuda", **POLY)
        with pytest.warns(StoppedEarlyWarning), watch(monitor):
            clf.fit(X, y)
        assert 1 <= clf.posterior_.n_samples < 4
        n = clf.posterior_.n_samples
        expected = fitted(None, POLY, n_samples=n).posterior_
        assert np.array_equal(expected.weights, clf.posterior_.weights)
    assert Impatient.done == sorted(Impatient.done)


def test_an_interrupt_leaves_nothing_behind(device):
    class Interrupt(Monitor):
        def update(self, done):
            raise KeyboardInterrupt

    clf = BayesPointClassifier(engine="perceptron", device="cuda", **POLY)
    with pytest.raises(KeyboardInterrupt), watch(Interrupt()):
        clf.fit(X, y)
    assert not hasattr(clf, "posterior_")
    assert_same(fitted(None, POLY), fitted("cuda", POLY))


def test_two_fits_in_two_threads(device):
    expected, found = fitted("cuda", POLY), []
    threads = [threading.Thread(target=lambda: found.append(fitted("cuda", POLY))) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    for one in found:
        assert_same(expected, one)


def test_equal_seeds_give_equal_results(device):
    one, other = (fitted("cuda", {"kernel": "rbf"}) for _ in range(2))
    assert np.array_equal(one.posterior_.weights, other.posterior_.weights)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("has_ridge", [False, True])
@pytest.mark.parametrize("m", [2, 63, 1500, 5001, 40_000])
def test_clusters_and_windows_agree_to_the_bit(m, has_ridge, gpu, monkeypatch):
    many = np.random.default_rng(m)
    points = many.integers(0, 4, size=(m, 6)).astype(float)  # exact values
    labels = (points @ many.normal(size=(6, 3))).argmax(axis=1)
    if m < 3:
        points, labels = points[:1] * [[1], [-1]] + [[1], [0]], np.arange(m)
    params = dict(**POLY, ridge=64.0 if has_ridge else 0.0)
    cluster = fitted("cuda", params, X=points, y=labels)
    monkeypatch.setattr(rows, "LARGEST_SLICE", 0)
    windowed = fitted("cuda", params, X=points, y=labels)
    assert np.array_equal(cluster.posterior_.weights, windowed.posterior_.weights)
    assert np.array_equal(cluster.posterior_.visits.outputs, windowed.posterior_.visits.outputs)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
@pytest.mark.parametrize("n_classes", [2, 10, 30])
def test_what_all_points_are_told_by_the_source(n_classes, kernel, gpu, monkeypatch):
    """Windows give the machine that all rows give, but for rounding, to float16 of some kernels."""
    many = np.random.default_rng(0)
    points = many.normal(size=(3001, 20))
    labels = (points @ many.normal(size=(20, n_classes))).argmax(axis=1)
    params = {"kernel": "exponential" if kernel == "laplacian" else kernel, "ridge": 0.1}
    whole = fitted("cuda", params, X=points, y=labels)
    monkeypatch.setattr(rows, "LARGEST_SLICE", 0)
    monkeypatch.setattr(windows, "SQUARE", 512)
    parts = fitted("cuda", params, X=points, y=labels)
    outputs = [one.decision_function(points[:500]) for one in (whole, parts)]
    agreement = np.corrcoef(*(np.ravel(one) for one in outputs))[0, 1]
    assert agreement > (0.999 if kernel == "poly" else 0.94)
    assert np.mean(whole.predict(points[:500]) == parts.predict(points[:500])) > 0.99
    assert abs(whole.oob_score_ - parts.oob_score_) < 0.01


def test_too_little_memory_for_all_rows(device, monkeypatch):
    """The estimate of what is free was wrong: machines go through windows instead."""

    def full(self):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TB")

    monkeypatch.setattr(DeviceRows, "_all", full)
    assert_same(fitted(None, POLY), fitted("cuda", POLY))


def test_no_memory_at_all_is_an_error_in_words(device, monkeypatch):
    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TB")

    monkeypatch.setattr(perceptrons.DeviceRounds, "run", full)
    clf = BayesPointClassifier(engine="perceptron", device="cuda", **POLY)
    with pytest.raises(DeviceError, match=r"memory is full .*smaller cache_size"):
        clf.fit(X, y)
    assert not hasattr(clf, "posterior_")
