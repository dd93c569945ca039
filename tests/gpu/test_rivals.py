"""The rivals of benchmarks/gpu.py solve the problems that they say they solve."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bayespoint.kernels import PolynomialKernel

torch = pytest.importorskip("torch", reason="torch is not installed")

PATH = Path(__file__).parents[2] / "benchmarks" / "_rivals.py"
SPEC = importlib.util.spec_from_file_location("rivals", PATH)
rivals = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rivals)

rng = np.random.default_rng(0)
PIXELS = (rng.integers(0, 256, size=(300, 20)) / 255).astype(np.float32)
y = rng.integers(0, 10, size=300)
KERNEL = PolynomialKernel(degree=5, coef0=1.0, normalize=True)
K = KERNEL(PIXELS.astype(float), PIXELS.astype(float))


def on(device):
    return torch.tensor(PIXELS, device=device), torch.tensor(y, device=device)


def test_the_kernel(device):
    X, _ = on(device)
    assert np.allclose(rivals.Gram(X).block(rivals.Gram(X)).cpu(), K, atol=1e-5)


@pytest.mark.parametrize("n_landmarks", [20, 300])
def test_kernel_ridge_regression(n_landmarks, device):
    X, labels = on(device)
    rival = rivals.KernelRidge(0.1, n_landmarks, tol=1e-5).fit(X, labels)
    alpha = np.linalg.solve(K + 0.1 * np.eye(300), 2.0 * np.eye(10)[y] - 1)
    assert np.allclose(rival.outputs(X).cpu(), K @ alpha, atol=1e-3)
    rival.calibrate(X, labels)
    assert rivals.log_loss(rival.log_probabilities(X), labels) < np.log(10)


def test_softmax_regression(device):
    X, labels = on(device)
    rival = rivals.NystroemSoftmax(1e-2, n_landmarks=300).fit(X, labels)
    W, b = (one.cpu().double().numpy() for one in rival.weights)
    features = (rivals.Gram(X).block(rival.some) @ rival.root).cpu().double().numpy()
    assert np.allclose(features @ features.T, K, atol=1e-3)
    p = np.exp(features @ W + b)
    miss = p / p.sum(axis=1, keepdims=True) - np.eye(10)[y]
    assert np.abs(features.T @ miss / 300 + 1e-2 * W).max() < 1e-4  # the slope of the loss
    assert np.abs(miss.mean(axis=0)).max() < 1e-4
