"""Kernel values on a device are those of NumPy."""

import numpy as np
import pytest

from bayespoint.gpu import kernels as on_device
from bayespoint.gpu import source
from bayespoint.gpu.rows import DeviceRows
from bayespoint.kernels import (
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    MaternKernel,
    PolynomialKernel,
    RadialKernel,
    SumKernel,
)

torch = pytest.importorskip("torch", reason="torch is not installed")

rng = np.random.default_rng(0)
KERNELS = {
    "linear": PolynomialKernel(coef0=1.0),
    "poly": PolynomialKernel(degree=3, gamma=0.5, coef0=1.0),
    "normalised poly": PolynomialKernel(degree=5, gamma="scale", normalize=True),
    "rbf": RadialKernel(gamma="scale"),
    "rbf by feature": RadialKernel(gamma=[1.0, 2.0, 0.3, 0.1, 0.5]),
    "matern": MaternKernel(gamma=0.3),
    "exponential": ExponentialKernel(gamma=0.3),
    "ranks": ExponentialKernel(gamma=2.0, ranks=True) + AdditiveKernel(),
    "sum": RadialKernel(gamma=0.3) + 2 * PolynomialKernel(coef0=1.0) + ConstantKernel(),
    "linear sum": PolynomialKernel() + ConstantKernel(),
    "normalised sum": SumKernel([RadialKernel(), PolynomialKernel(degree=2)], normalize=True),
}
POINTS = {
    "any": rng.normal(size=(37, 5)),
    "on a grid": rng.integers(-30, 30, size=(37, 5)) / 10,
    "with zeros": rng.normal(size=(37, 5)) * [1, 0, 1, 1, 0],
}


def prepared(name, points, device):
    X = POINTS[points].astype(np.float32)
    kernel = KERNELS[name].fitted(X)
    T = torch.tensor(X, device=device)
    there = on_device.on_grid(KERNELS[name].fitted(T), T)
    return kernel, kernel.prepare(X, training=True), there, on_device.prepare(there, T)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("name", KERNELS)
def test_values_between_training_points_and_with_new_ones(name, points, device):
    kernel, here, there, on = prepared(name, points, device)
    exact = kernel.block(here, here)
    values = on_device.block(there, on, on).cpu().numpy()
    assert np.allclose(values, exact, atol=2e-5)
    assert np.allclose(on.norm.cpu(), here.norm, atol=1e-6) and on.log_unit == here.log_unit
    new = rng.normal(size=(11, 5)).astype(np.float32)
    exact = kernel.block(kernel.prepare(new, unit=True), here)
    left = on_device.prepare(there, torch.tensor(new, device=device), unit=True)
    for right in (on, on_device.from_points(there, on_device.to_points(there, on), device)):
        assert np.allclose(on_device.block(there, left, right).cpu(), exact, atol=2e-5)
        weights = torch.tensor(rng.normal(size=(37, 3)), dtype=torch.float32, device=device)
        product = on_device.multiplied(there, left, right, weights).cpu()
        assert np.allclose(product, exact @ weights.cpu().numpy(), atol=2e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_half_precision_is_the_kernel_of_rounded_points(name, device):
    X = torch.tensor(POINTS["any"].astype(np.float32), device=device)
    kernel = on_device.on_grid(KERNELS[name].fitted(X), X)
    exact = on_device.prepare(kernel, X)
    half = on_device.prepare(kernel, X, half=True)
    assert not isinstance(half, on_device.FusedPoints) or half.halves.low is None
    values, about = (on_device.block(kernel, one, one).cpu().numpy() for one in (half, exact))
    assert np.allclose(values, about, rtol=1e-2, atol=1e-2)
    assert np.abs(values - about).max() > 1e-7
    back = on_device.to_points(kernel, half)
    assert np.allclose(kernel.block(back, back), values, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_points_come_back_as_numpy_prepares_them(name, device):
    kernel, here, there, on = prepared(name, "any", device)
    back = on_device.to_points(there, on)
    assert back.rows.shape == here.rows.shape
    assert np.allclose(back.rows, here.rows, atol=1e-6)
    assert np.allclose(there.block(back, back), kernel.block(here, here), atol=2e-5)


@pytest.mark.parametrize("degree", [0, 1, 5])
@pytest.mark.parametrize("n_weights", [1, 10, 17, 32])
@pytest.mark.parametrize("shape", [(1, 1), (33, 5), (70, 3001)])
def test_the_source_of_sums_over_kernel_values(shape, n_weights, degree, gpu):
    rng = np.random.default_rng(0)
    n, m = shape
    sides = (rng.random(size) for size in (n, m, n, m))
    arrays = rng.normal(size=shape), *sides, rng.normal(size=(m, n_weights))
    values, *others, weights = (torch.tensor(array, dtype=torch.float32) for array in arrays)
    padded = torch.nn.functional.pad(values, (0, -m % 4 + 4)).to(gpu)[:, :m]
    there = [one.to(gpu) for one in others]
    found = source.multiply(padded, *there, degree, weights.to(gpu))
    exact = [one.double() for one in (values, *others)]
    expected = source.multiply(*exact, degree, weights.double())
    assert torch.allclose(found.cpu().double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_all_rows_at_once(name, device):
    kernel, here, there, on = prepared(name, "any", device)
    every = DeviceRows(there, on, "auto")
    every.prepare()
    assert every.holds_all
    assert np.allclose(every.values[:, :37].cpu(), kernel.block(here, here), atol=2e-5)
    few = DeviceRows(there, on, cache_size=36 * 4 * 64 / 1e6)
    few.prepare()
    assert not few.holds_all and len(few.values) < 37
    for some in (torch.arange(37), torch.tensor([36, 2, 36]), torch.arange(20, 23)):
        for point in some.to(device).split(few.together):
            slot = few.slots(point)
            found = few.values[slot.long(), :37].float().cpu()
            assert np.allclose(found, kernel.block(here, here)[point.cpu()], atol=5e-4)
    assert (few.slot_of >= 0).sum() == len(few.values)  # no room is left
