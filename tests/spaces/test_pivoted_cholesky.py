"""Bases of some of the points: the decomposition, and that it never forms the kernel matrix."""

import numpy as np
import pytest
from tests.helpers.kernel_formulas import SPACES as KERNELS
from tests.helpers.kernel_formulas import normal_points as points

from bayespoint.exceptions import KernelError, NotEnoughMemoryError
from bayespoint.kernels import FunctionKernel, PrecomputedKernel, RadialKernel
from bayespoint.spaces import BasisSpace, PrincipalSpace, ProcessSpace
from bayespoint.spaces import pivoted_cholesky as pivoted

RADIAL = RadialKernel(gamma=0.5)


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks, parts and pools even of few points."""
    monkeypatch.setattr(pivoted, "SMALLEST_BLOCK", 3)
    monkeypatch.setattr(pivoted, "PART", 7)


def projection(K, pivots):
    """The slow way: K_nM K_MM^-1 K_Mn."""
    return K[:, pivots] @ np.linalg.pinv(K[np.ix_(pivots, pivots)], rcond=1e-12) @ K[pivots]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_components", [1, 2, 9, 24])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_coordinates_are_those_of_the_projection(kernel, n_components, dtype, small_blocks):
    X, new = points(25, dtype=dtype), points(10, seed=1, dtype=dtype)
    space = BasisSpace(kernel, 0.0, n_components).fit(X)
    if space.is_linear:
        return
    X, new = X.astype(np.float64), new.astype(np.float64)
    K, p = kernel(X, X), space.pivots
    assert len(set(p)) == len(p) <= n_components
    largest = K.diagonal().max()
    np.testing.assert_allclose(space.Z_ @ space.Z_.T, projection(K, p), atol=1e-7 * largest)
    left = (K.diagonal() - np.square(space.Z_).sum(axis=1)).max()
    assert space.left == pytest.approx(left, abs=1e-9 * largest)
    assert len(p) == n_components or space.left < 1e-8 * largest
    # New points are projected on the same basis.
    np.testing.assert_allclose(space.transform(X), space.Z_, atol=1e-4 * np.sqrt(largest))
    cross = kernel(new, X)[:, p] @ np.linalg.pinv(K[np.ix_(p, p)], rcond=1e-12) @ K[p]
    np.testing.assert_allclose(space.transform(new) @ space.Z_.T, cross, atol=1e-6 * largest)


def test_pivots_have_large_remainders():
    """Far less is left of the worst point than with points chosen at random."""
    X = points(2000, d=2)
    X[:20] *= 10 + np.arange(20)[:, None]  # outliers
    space = BasisSpace(RADIAL, 0.0, 100).fit(X)
    K, chosen = RADIAL(X, X), np.random.default_rng(1).choice(2000, 100, replace=False)
    at_random = (K - projection(K, chosen)).diagonal()
    assert space.left < 0.5 * at_random.max()
    greedy = K.diagonal().copy()
    Z = np.zeros((2000, 100))
    for m in range(100):  # the textbook: the largest remainder of all points, one at a time
        p = greedy.argmax()
        Z[:, m] = (K[:, p] - Z[:, :m] @ Z[p, :m]) / np.sqrt(greedy[p])
        greedy -= Z[:, m] ** 2
    assert space.left < 2 * greedy.max()


def test_a_basis_that_begins_with_given_points():
    X = points(200, d=2)
    first = BasisSpace(RadialKernel(gamma=5.0), 0.0, 12).fit(X).pivots
    again = BasisSpace(RADIAL, 0.0, 12).fit(X, first)
    assert set(again.pivots) == set(first)
    more = BasisSpace(RADIAL, 0.0, 20).fit(X, first)
    assert set(more.pivots[:12]) == set(first)
    assert len(set(more.pivots)) == 20
    K = RADIAL(X, X)
    np.testing.assert_allclose(more.Z_ @ more.Z_.T, projection(K, more.pivots), atol=1e-7)
    copies = BasisSpace(RADIAL, 0.0, 20).fit(np.vstack([X, X]), np.append(first, first + 200))
    assert len(set(copies.pivots % 200)) == 20  # copies are left out, and others come instead


def test_no_block_of_the_kernel_is_large():
    sizes = []

    def recorded(A, B):
        sizes.append((len(A), len(B)))
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    BasisSpace(FunctionKernel(recorded), 0.0, 80).fit(points(3000, d=1))
    assert max(a * b for a, b in sizes) <= max(pivoted.PART * 64, (2 * 64) ** 2)


@pytest.mark.parametrize("space", [BasisSpace, ProcessSpace, PrincipalSpace])
def test_copies_of_points_add_nothing(space, small_blocks):
    X = points(6, d=2)
    repeated = np.vstack([X, X, X])
    Z = space(RADIAL, 0.0, 17).fit(repeated).Z_
    assert Z.shape == (18, 6 + (space is ProcessSpace))
    np.testing.assert_allclose(Z @ Z.T, RADIAL(repeated, repeated), atol=1e-10)


def test_equal_remainders_are_not_taken_from_one_end_of_the_table():
    """All points of a Gaussian kernel begin equal, and tables are often sorted by class."""
    X = np.repeat(np.arange(10.0), 300)[:, None] + 0.01 * points(3000, d=1)
    pivots = BasisSpace(RadialKernel(gamma=20.0), 0.0, 10).fit(X).pivots
    assert set(pivots // 300) == set(range(10))


def test_the_first_of_equal_points_is_chosen_whatever_rounding_does():
    X = points(50)
    chosen = [
        BasisSpace(RadialKernel(gamma=0.5 * (1 + change)), 0.0, 8).fit(X).pivots.tolist()
        for change in (0.0, 1e-13, -1e-13)
    ]
    assert chosen[0] == chosen[1] == chosen[2]


@pytest.mark.parametrize("space", [BasisSpace, ProcessSpace, PrincipalSpace])
def test_a_kernel_that_is_zero_everywhere(space):
    zero = FunctionKernel(lambda A, B: np.zeros((len(A), len(B))))
    for most in (3, None):
        with pytest.raises(KernelError, match=r"All kernel values are 0.*constant feature"):
            space(zero, 0.0, most).fit(points(9))


def test_as_many_components_as_points_are_all_points():
    X = points(25)
    whole = BasisSpace(RADIAL).fit(X).Z_
    for most in (25, 26, 10**9):
        assert np.array_equal(BasisSpace(RADIAL, 0.0, most).fit(X).Z_, whole)


def test_what_components_are_taken_of_many_points():
    def most(n, ridge=0.0):
        return BasisSpace(RADIAL, ridge, "auto")._most_components(n)

    assert [most(n) for n in (10, 2000, 2001, 10**5, 2 * 10**5, 10**7)] == [
        None,
        None,
        1000,
        200,
        141,
        100,
    ]
    assert most(10**5, ridge=0.5) is most(10**5, ridge="mean") is None


@pytest.mark.parametrize("ridge", [0.5, "mean"])
def test_a_ridge_has_no_small_basis(ridge):
    with pytest.raises(
        KernelError, match=r"n_components=3 needs ridge=0.*raise the engine's noise"
    ):
        BasisSpace(RADIAL, ridge, 3).fit(points(9))


def test_kernel_that_is_not_positive_semi_definite():
    K = np.eye(5)
    K[0, 1] = K[1, 0] = 2.0
    with pytest.raises(KernelError, match="not positive semi-definite"):
        BasisSpace(PrecomputedKernel(), 0.0, 3).fit(K)


def test_only_the_columns_of_a_matrix_are_kept():
    X, new = points(25), points(10, seed=1)
    matrix = BasisSpace(PrecomputedKernel(), 0.0, 8).fit(RADIAL(X, X))
    by_kernel = BasisSpace(RADIAL, 0.0, 8).fit(X)
    expected = by_kernel.transform(new)
    matrix.forget()
    assert matrix._points.rows.size == 0
    np.testing.assert_allclose(matrix.transform(RADIAL(new, X)), expected, atol=1e-10)
    matrix.check_state()


def test_only_what_no_training_point_leaves_counts_as_unknown():
    """A new point that is as far from the basis as a training point is treated like one."""
    X = points(200, d=2)
    space = ProcessSpace(RADIAL, 0.0, 10).fit(X)
    rest = space.transform(X)[:, -1]
    np.testing.assert_allclose(rest, 0, atol=1e-7)
    far = space.transform(np.full((1, 2), 1e3))
    np.testing.assert_allclose(far[0, :-1], 0, atol=1e-12)
    assert far[0, -1] ** 2 == pytest.approx(1 - space.left)


def test_coordinates_that_do_not_fit_are_not_begun(monkeypatch):
    monkeypatch.setattr("bayespoint.tools.memory.SMALL", 0)
    monkeypatch.setattr("bayespoint.tools.memory.available_memory", lambda: 2 * 50 * 10 * 8 - 1)
    with pytest.raises(NotEnoughMemoryError, match="10 coordinates of each of 50") as caught:
        BasisSpace(RADIAL, 0.0, 10).fit(points(50))
    assert "smaller n_components" in caught.value.remedy
    monkeypatch.setattr("bayespoint.tools.memory.available_memory", lambda: 2 * 50 * 10 * 8)
    assert BasisSpace(RADIAL, 0.0, 10).fit(points(50)).Z_.shape == (50, 10)
    assert pivoted.LARGE == 2000


@pytest.mark.parametrize("n_components", [None, 60])
@pytest.mark.parametrize("shift", [0, 10])
@pytest.mark.parametrize("seed", range(3))
def test_float32_matrices_of_low_rank_are_positive_semi_definite(seed, shift, n_components):
    """Their rounding is far larger than that of float64, and must not look like a wrong kernel."""
    X = (points(300, d=20, seed=seed) + shift).astype(np.float32)
    space = BasisSpace(PrecomputedKernel(), 0.0, n_components).fit(X @ X.T)
    assert space.Z_.shape == (300, 20)
    rounding = 1e-5 * np.square(X).sum(axis=1).max()
    np.testing.assert_allclose(space.Z_ @ space.Z_.T, X @ X.T, atol=rounding)
    indefinite = X @ X.T - np.float32(0.01) * np.outer(X[:, 0] ** 2, X[:, 0] ** 2)
    with pytest.raises(KernelError, match=r"not positive semi-definite|must not be negative"):
        BasisSpace(PrecomputedKernel(), 0.0, n_components).fit(indefinite)
