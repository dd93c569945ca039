"""Inner products of float32 accuracy from float16 parts."""

import numpy as np
import pytest

from bayespoint.gpu.products import Halves, inner_products, rounded, split

torch = pytest.importorskip("torch", reason="torch is not installed")


def matrices(device, integers=False):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(70, 130)), 1e-3 * rng.normal(size=(90, 130))
    if integers:
        A, B = (rng.integers(-200, 200, size=M.shape).astype(float) for M in (A, B))
    return [torch.tensor(M, dtype=torch.float32, device=device) for M in (A, B)]


def relative_error(A, B, left, right):
    values = inner_products(left, right) * (left.unit[:, None] * right.unit)
    exact = A.double() @ B.double().T
    return float((values - exact).abs().max() / (A.norm(dim=1).max() * B.norm(dim=1).max()))


def test_three_products_have_float32_accuracy_and_one_has_not(device):
    A, B = matrices(device)
    left, right = split(A), split(B)
    assert left.low is not None
    assert relative_error(A, B, left, right) < 1e-6
    left, right = (Halves(half.high, None, half.unit) for half in (left, right))
    assert relative_error(A, B, left, right) > 1e-5


@pytest.mark.parametrize("scale", [1.0, 1 / 255, 3e-7])
def test_points_on_a_grid_need_one_product(device, scale):
    A, B = (np.float32(scale) * M for M in matrices(device, integers=True))
    left, right = split(A), split(B)
    assert left.low is None and right.low is None
    assert relative_error(A, B, left, right) < 3e-7


def test_integers_are_exact(device):
    A, B = matrices(device, integers=True)
    assert relative_error(A, B, split(A), split(B)) == 0


def test_a_grid_and_other_points(device):
    A, _ = matrices(device)
    _, B = matrices(device, integers=True)
    assert split(A).low is not None and split(B).low is None
    for left, right in ((A, B), (B, A)):
        assert relative_error(left, right, split(left), split(right)) < 1e-6


def test_zeros_and_many_sizes(device):
    A = torch.zeros((3, 5), device=device)
    A[1] = torch.tensor([1e-30, 1.5, 1e-3, 0, 7e8], device=device)
    A[2, 2] = 1.1e-30
    halves = split(A)
    values = inner_products(halves, halves).double()
    values *= halves.unit[:, None].double() * halves.unit.double()
    exact = A.double() @ A.double().T
    assert torch.allclose(values, exact, rtol=1e-6)


def test_rounded_points_need_one_product(device):
    A, B = matrices(device)
    near = rounded(A)
    assert 1e-5 < float(((near - A).abs() / A.abs()).max()) <= 2.0**-11
    assert split(near).low is None
    assert torch.equal(rounded(near), near)
    assert relative_error(near, B, split(near), split(B)) < 1e-6
