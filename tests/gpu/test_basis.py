"""Kernel spaces of EP and Laplace on a device: values, bases and coordinates in float64."""

import gc

import numpy as np
import pytest

from bayespoint.exceptions import KernelError
from bayespoint.gpu.linear_algebra import pivoted_cholesky
from bayespoint.kernels import (
    ConstantKernel,
    MaternKernel,
    PolynomialKernel,
    RadialKernel,
    SumKernel,
)
from bayespoint.spaces import BasisSpace, ProcessSpace
from bayespoint.spaces.pivoted_cholesky import gram_schmidt, partial_cholesky
from bayespoint.tools import arrays

torch = pytest.importorskip("torch", reason="torch is not installed")

rng = np.random.default_rng(5)
X = rng.normal(size=(90, 4)) * [1.0, 3.0, 0.2, 0.0] + [2.0, 0.0, 0.0, 0.0]
NEW = rng.normal(size=(31, 4))
TERMS = [RadialKernel(gamma=0.3), PolynomialKernel(degree=2, gamma=0.5, coef0=2.0)]
KERNELS = {
    "linear": PolynomialKernel(gamma=2.0, coef0=3.0),
    "linear, normalised": PolynomialKernel(coef0=1.0, normalize=True),
    "poly": PolynomialKernel(degree=3, gamma=0.1, coef0=0.0),
    "poly, normalised": PolynomialKernel(degree=3, gamma="scale", coef0=1.0, normalize=True),
    "rbf": RadialKernel(gamma="scale"),
    "rbf of each feature": RadialKernel(gamma=[0.1, 0.2, 0.3, 0.4]),
    "matern": MaternKernel(nu=2.5, gamma=[0.1, 0.2, 0.3, 0.4]),
    "constant": ConstantKernel(),
    "sum": SumKernel([*TERMS, ConstantKernel()], weights=[2.0, 0.1, 3.0]),
    "sum, normalised": SumKernel([*TERMS, PolynomialKernel()], normalize=True),
    "sum of linear ones": SumKernel([PolynomialKernel(gamma=0.5), ConstantKernel()]),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_take_tensors(name, device):
    kernel = KERNELS[name].fitted(X)
    T, new = torch.tensor(X, device=device), torch.tensor(NEW, device=device)
    there = KERNELS[name].fitted(T)
    for parameter, value in kernel.get_params().items():
        if isinstance(value, float):
            assert np.isclose(there.get_params()[parameter], value, rtol=1e-12)
    exact = kernel(NEW, X)
    found = there(new, T).cpu().numpy()
    assert found.dtype == np.float64
    assert np.allclose(found, exact, rtol=1e-12, atol=1e-13 * np.abs(exact).max())
    assert np.allclose(there.diag(new).cpu(), kernel.diag(NEW), rtol=1e-12)
    on_cpu, on = (kernel.prepare(one, training=True) for one in (X, T))
    for parameter in kernel.positive_parameters:
        change, same = (kernel.derivative(one, one, parameter) for one in (on_cpu, on))
        assert np.allclose(change, same.cpu(), rtol=1e-10, atol=1e-12)


def test_a_point_without_features_has_length_0(device):
    zero = torch.zeros((1, 2), device=device)
    kernel = PolynomialKernel(normalize=True)
    assert kernel.diag(zero).tolist() == [0.0] and kernel(zero, zero).tolist() == [[0.0]]


@pytest.mark.parametrize("kernel", [PolynomialKernel(degree=3), RadialKernel(gamma=1.0)])
def test_values_that_overflow(kernel, device):
    huge = torch.full((2, 2), 1e160, dtype=torch.float64, device=device)
    with pytest.raises(KernelError, match="overflow"):
        kernel(huge, huge)


@pytest.mark.parametrize("rank", [300, 170, 1])
def test_pivots_and_factor_are_those_of_lapack(rank, device):
    A = rng.normal(size=(300, rank)) * np.geomspace(1, 1e-2, rank)
    K = A @ A.T
    exact, order = gram_schmidt(K.copy(), 1e-10, 1e-6)
    tolerance = 1e-10 * K.diagonal().max()
    Z, pivots = pivoted_cholesky(torch.tensor(K, device=device), tolerance)
    assert Z.shape == (300, rank) and np.array_equal(pivots.cpu(), order)
    assert np.allclose(Z.cpu(), exact, atol=1e-7)
    assert np.array_equal(Z[pivots].triu(1).cpu(), np.zeros((rank, rank)))


@pytest.mark.parametrize("n_components", [10, 80])
@pytest.mark.parametrize("name", ["rbf", "poly, normalised", "sum"])
def test_a_basis_of_some_points_is_that_of_the_cpu(name, n_components, device, monkeypatch):
    monkeypatch.setattr("bayespoint.spaces.pivoted_cholesky.DEVICE_PART", 32)
    kernel = KERNELS[name].fitted(X)
    here = partial_cholesky(kernel, X, n_components)
    there = partial_cholesky(kernel, torch.tensor(X, device=device), n_components)
    assert np.array_equal(here.pivots, there.pivots)
    assert np.allclose(here.Z, there.Z.cpu(), atol=1e-6)
    assert np.isclose(here.left, there.left, atol=1e-10)
    assert np.allclose(here.points.rows, there.points.rows.cpu())


# A basis of some points has no ridge.
@pytest.mark.parametrize(
    ("n_components", "ridge"), [(None, 0.0), (None, 0.5), (None, "mean"), (30, 0.0)]
)
@pytest.mark.parametrize("name", KERNELS)
def test_coordinates_are_those_of_the_cpu(name, n_components, ridge, device):
    kernel, new = KERNELS[name].fitted(X), torch.tensor(NEW, device=device)
    here = ProcessSpace(kernel, ridge, n_components).fit(X)
    there = ProcessSpace(kernel, ridge, n_components).fit(torch.tensor(X, device=device))
    assert there.device == device and there.n_points == 90
    assert there.n_coordinates == here.n_coordinates
    assert np.isclose(there.largest, here.largest)
    assert np.allclose(there.gram(), here.gram(), rtol=1e-9, atol=1e-9 * here.largest**2)
    exact = here.transform(NEW)
    for space in (here, there):  # a space of the CPU, too, takes points on a device
        Z = space.transform(new).cpu().numpy()
        assert np.allclose(Z @ Z.T, exact @ exact.T, rtol=1e-6, atol=1e-8 * np.abs(exact).max())
    weights = rng.normal(size=(there.n_coordinates, 2))
    there.forget()
    assert not hasattr(there, "Z_")
    here_again, there_again = there.transform(NEW), there.transform(new).cpu().numpy()
    assert np.allclose(here_again @ weights, there_again @ weights, atol=1e-6)


def test_other_spaces_stay_on_the_cpu():
    assert not BasisSpace(RadialKernel()).has_device_form


def test_a_device_copy_lives_as_long_as_its_array(device):
    gc.collect()
    before = len(arrays._copies)
    array = np.arange(3.0)
    near = torch.zeros(1, device=device)
    copy = arrays.kept(near, array)
    assert copy.tolist() == [0.0, 1.0, 2.0] and arrays.kept(near, array) is copy
    assert len(arrays._copies) == before + 1
    del array
    gc.collect()
    assert len(arrays._copies) == before
