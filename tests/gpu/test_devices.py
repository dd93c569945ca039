"""Which device is taken, and what is said where none can be."""

import numpy as np
import pytest
from scipy import sparse

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import DeviceError
from bayespoint.gpu import devices

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 3.0]])
y = np.array([0, 1, 1, 0])


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "", 0, "cuda:-1", "mps"])
def test_a_wrong_name_is_refused(name):
    clf = BayesPointClassifier(engine="perceptron", kernel="linear", device=name)
    with pytest.raises(ValueError, match=r"The 'device' parameter of BayesPointClassifier must be"):
        clf.fit(X, y)


def test_numpy_stays_on_the_cpu_unless_a_device_is_asked_for(device):
    assert devices.find_device(None, X) is None
    assert devices.find_device("cpu", X) is None
    assert devices.find_device("auto", X) == device


@pytest.mark.parametrize("missing", ["torch", "cuda.core"])
def test_a_missing_library_is_named(missing, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda library: library != missing)
    clf = BayesPointClassifier(engine="perceptron", kernel="linear", device="cuda")
    with pytest.raises(DeviceError, match=rf"{missing} is not installed.*bayespoint\[gpu\]"):
        clf.fit(X, y)
    assert devices.find_device("auto", X) is None


def test_a_number_that_no_gpu_has(gpu):
    with pytest.raises(DeviceError, match="numbered from 0"):
        devices.find_device("cuda:99", X)


def test_without_a_gpu_auto_is_the_cpu():
    if not devices.what_is_missing("cuda"):
        pytest.skip("there is a GPU")
    auto = BayesPointClassifier(engine="perceptron", device="auto", random_state=0).fit(X, y)
    plain = BayesPointClassifier(engine="perceptron", random_state=0).fit(X, y)
    assert np.array_equal(auto.coef_, plain.coef_)
    with pytest.raises(DeviceError, match="Set device=None"):
        auto.set_params(device="cuda").fit(X, y)
    assert np.array_equal(auto.predict(X), plain.predict(X))  # predictions need no GPU


REFUSED = {
    "an engine": ({"engine": "gibbs", "kernel": "linear"}, "GibbsSampler has no GPU path"),
    "a function": (
        {"engine": "perceptron", "kernel": lambda A, B: A @ B.T},
        "FunctionKernel stays on the CPU",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_gpu_path_says_so(case, device):
    params, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        BayesPointClassifier(**params, device="cuda").fit(X, y)


def test_sparse_input_and_batches_stay_on_the_cpu(device):
    clf = BayesPointClassifier(kernel="linear", device="cuda")
    with pytest.raises(TypeError, match="Sparse input"):
        clf.fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="partial_fit works on the CPU"):
        clf.partial_fit(X, y, classes=[0, 1])


def test_nothing_is_left_behind_by_a_fit_that_fails(device):
    clf = BayesPointClassifier(engine=PermutedPerceptron(), kernel="linear", device="cuda")
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(np.array([[np.nan], [1.0]]), [0, 1])
    assert not hasattr(clf, "posterior_") and not hasattr(clf, "n_features_in_")
