"""Where weights live: coordinates against kernel matrices, rows in any order to the bit, caches."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.blas import skip_where_blas_rounds_by_place

from bayespoint.exceptions import CacheTooSmallError, KernelError
from bayespoint.kernels import (
    FunctionKernel,
    Kernel,
    Points,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
)
from bayespoint.spaces import BasisSpace, DualSpace, RowCache
from bayespoint.spaces.dual import KernelMatrix
from bayespoint.spaces.tiles import EDGE, TILE, UNIT, fill
from bayespoint.threads import ThreadPool, thread_pool

NOTHING = np.array([], dtype=np.int64)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def points(n, d=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def slow_inner(A, B):
    """A linear kernel with intercept that nobody recognises as one."""
    return A @ B.T + 1


KERNELS = {
    "linear": PolynomialKernel(coef0=1.0),
    "linear normalised": PolynomialKernel(coef0=1.0, normalize=True),
    "function": FunctionKernel(slow_inner),
    "poly": PolynomialKernel(degree=3, gamma=0.5, coef0=1.0),
    "rbf": RadialKernel(gamma=0.5),
    "rbf normalised": RadialKernel(gamma=0.5, normalize=True),
}
ALL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)

# BasisSpace ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 0.7, "mean"])
@ALL
def test_coordinates_give_the_kernel_and_the_ridge_on_training_points_only(kernel, ridge):
    X, new = points(25), points(10, seed=1)
    space = BasisSpace(kernel, ridge).fit(X)
    K = kernel(X, X)
    slack = np.trace(K) / len(K) if ridge == "mean" else ridge
    np.testing.assert_allclose(space.Z_ @ space.Z_.T, K + slack * np.eye(25), atol=1e-10)
    np.testing.assert_allclose(space.transform(new) @ space.Z_.T, kernel(new, X), atol=1e-10)
    # A new point that equals a training point is a new point all the same.
    np.testing.assert_allclose(space.transform(X) @ space.Z_.T, K, atol=1e-10)
    if ridge == 0:
        np.testing.assert_allclose(space.transform(X), space.Z_, atol=1e-8)


@pytest.mark.parametrize("normalize", [False, True])
def test_linear_shortcut_is_the_kernel_route_up_to_a_rotation(normalize):
    X, new = points(25), points(10, seed=1)
    short = BasisSpace(PolynomialKernel(coef0=1.0, normalize=normalize)).fit(X)
    long = BasisSpace(FunctionKernel(slow_inner, normalize=normalize)).fit(X)
    assert short.Z_.shape == long.Z_.shape == (25, 4)
    if not normalize:
        assert np.array_equal(short.Z_, np.c_[X, np.ones(25)])
    both = [np.vstack([space.Z_, space.transform(new)]) for space in (short, long)]
    np.testing.assert_allclose(both[0] @ both[0].T, both[1] @ both[1].T, atol=1e-12)
    rotation = np.linalg.lstsq(both[0], both[1])[0]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-12)


def test_rank_is_that_of_the_data():
    X = points(5, d=2)
    repeated = np.vstack([X, X, X])
    assert BasisSpace(RadialKernel(gamma=1.0)).fit(repeated).Z_.shape == (15, 5)
    assert BasisSpace(FunctionKernel(slow_inner)).fit(repeated).Z_.shape == (15, 3)
    assert BasisSpace(RadialKernel(gamma=1.0), ridge=0.1).fit(repeated).Z_.shape == (15, 15)


def test_kernel_that_is_not_positive_semi_definite():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues -1 and 3
    expected = r"eigenvalue -1 beside the largest, 3\. Use another kernel, or a ridge of at least 1"
    with pytest.raises(KernelError, match=expected):
        BasisSpace(PrecomputedKernel()).fit(K)
    Z = BasisSpace(PrecomputedKernel(), ridge=1.5).fit(K).Z_
    np.testing.assert_allclose(Z @ Z.T, K + 1.5 * np.eye(2), atol=1e-12)


def test_coordinates_of_a_matrix_are_those_of_its_kernel():
    X, new = points(25), points(10, seed=1)
    kernel = RadialKernel(gamma=0.5)
    by_kernel = BasisSpace(kernel).fit(X)
    by_matrix = BasisSpace(PrecomputedKernel()).fit(7 * kernel(X, X))
    Z = by_matrix.transform(7 * kernel(new, X))
    expected = 7 * by_kernel.transform(new) @ by_kernel.transform(new).T
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.5])  # by the shortcut, and by the kernel matrix
@pytest.mark.parametrize("normalize", [False, True])
def test_primal_weights_give_the_outputs(normalize, ridge):
    X, new = points(25), points(10, seed=1)
    space = BasisSpace(PolynomialKernel(coef0=1.0, normalize=normalize), ridge).fit(X)
    weights = points(space.Z_.shape[1], d=2, seed=2)
    features = np.hstack([new, np.ones((10, 1))])
    if normalize:
        features /= np.linalg.norm(features, axis=1, keepdims=True)
    expected = space.transform(new) @ weights
    np.testing.assert_allclose(features @ space.primal(weights), expected, atol=1e-12)


def test_coordinates_are_float64_for_any_input():
    space = BasisSpace(RadialKernel(gamma=0.5)).fit(points(9, dtype=np.float32))
    assert space.Z_.dtype == space.transform(points(2, dtype=np.float32)).dtype == np.float64


# DualSpace -------------------------------------------------------------------------------------


def per_length(kernel, new, X):
    """k(x, x_i) / |phi(x)|, one by one, in plain units."""
    return np.array([kernel(x[None], X)[0] / np.sqrt(kernel.diag(x[None])) for x in new])


@DTYPES
@pytest.mark.parametrize("size", [7, 300])
@ALL
def test_transform_divides_by_the_length_of_new_points(kernel, size, dtype):
    X, new = points(40, dtype=dtype), points(size, dtype=dtype, seed=1)
    space = DualSpace(kernel).fit(X)
    expected = per_length(kernel, new, X) / np.exp2(space.points.log_unit / 2)
    np.testing.assert_allclose(np.asarray(space.transform(new)), expected, atol=TOLERANCE[dtype])


@DTYPES
@ALL
def test_restricting_keeps_columns(kernel, dtype):
    X, new = points(40, dtype=dtype), points(12, dtype=dtype, seed=1)
    space = DualSpace(kernel).fit(X)
    support = np.array([3, 4, 17, 39])
    some = space.restrict(support)
    assert some.n_points == 4
    every = np.asarray(space.transform(new))
    np.testing.assert_allclose(
        np.asarray(some.transform(new)), every[:, support], atol=TOLERANCE[dtype]
    )
    # Coefficients elsewhere are zero, so outputs and primal weights are the same.
    alpha = np.zeros((40, 2))
    alpha[support] = points(4, d=2, seed=2)
    outputs = some.transform(new) @ alpha[support]
    np.testing.assert_allclose(outputs, space.transform(new) @ alpha, atol=10 * TOLERANCE[dtype])
    np.testing.assert_allclose(
        some.primal(alpha[support]), space.primal(alpha), atol=TOLERANCE[dtype]
    )


@DTYPES
@pytest.mark.parametrize("small", [0, 10**9])  # in tiles, and in one piece
def test_products_never_store_the_matrix_but_equal_it(monkeypatch, small, dtype):
    monkeypatch.setattr(KernelMatrix, "SMALL", small)
    X, new = points(1100, d=5, dtype=dtype), points(300, d=5, dtype=dtype, seed=1)
    Z = DualSpace(RadialKernel(gamma=0.1)).fit(X).transform(new)
    weights = points(1100, d=4, dtype=dtype, seed=2)
    assert len(Z) == 300
    expected = np.asarray(Z).astype(float) @ weights.astype(float)
    np.testing.assert_allclose(Z @ weights, expected, atol=1000 * TOLERANCE[dtype])


def test_ridge_in_the_unit_of_the_points():
    X = 100 * points(40)
    kernel = PolynomialKernel(degree=2)
    plain = kernel.diag(X)
    for ridge, expected in ((3.0, 3.0), ("mean", plain.mean())):
        space = DualSpace(kernel, ridge).fit(X)
        np.testing.assert_allclose(space.diagonal * np.exp2(space.points.log_unit), plain)
        assert space.scaled_ridge * np.exp2(space.points.log_unit) == pytest.approx(expected)


# Tiles -----------------------------------------------------------------------------------------


def filled(kernel, left, right):
    out = np.full((len(left), len(right)), np.nan, dtype=left.rows.dtype)
    with thread_pool() as pool:
        fill(kernel, left, right, out, np.arange(len(left)), pool)
    return out


@DTYPES
@pytest.mark.parametrize("m", [1, 100, 193, 512, 1300])
@ALL
def test_filled_tiles_are_the_block(kernel, m, dtype):
    space = DualSpace(kernel).fit(points(m, dtype=dtype))
    some = space.points.take(slice(None, None, 3))
    expected = kernel.block(some, space.points)
    np.testing.assert_allclose(filled(kernel, some, space.points), expected, atol=TOLERANCE[dtype])


@DTYPES
@pytest.mark.parametrize("m", [1, 5, 100, 193, 300, 511, 512, 513, 700, 1100])
@pytest.mark.parametrize("name", ["poly", "rbf"])
def test_values_do_not_depend_on_rows_asked_together(name, m, dtype):
    skip_where_blas_rounds_by_place(dtype)
    kernel = KERNELS[name]
    space = DualSpace(kernel).fit(points(m, d=65, dtype=dtype) / 8)
    together = filled(kernel, space.points, space.points)
    rng = np.random.default_rng(0)
    for size in (1, 37, 65, 128, 200):
        order = rng.permutation(m)
        for start in range(0, min(m, 4 * size), size):
            some = order[start : start + size]
            rows = filled(kernel, space.points.take(some), space.points)
            assert np.array_equal(rows, together[some])


class Places(Kernel):
    """Tells where in its block a value was computed, and notes the shapes of blocks."""

    def __init__(self):
        super().__init__()
        self.shapes = set()

    def prepare(self, X, *, unit=False, training=False):
        return Points(X, np.ones(len(X)), 0.0, np.arange(len(X)))

    def block(self, left, right):
        self.shapes.add((len(left), len(right)))
        return np.tile(np.arange(float(len(right))), (len(left), 1))


@pytest.mark.parametrize("m", [1, 64, 65, 511, 512, 513, 1000, 1024, 1700])
def test_every_value_is_written_once_from_products_of_fixed_shapes(m):
    kernel = Places()
    left, right = (kernel.prepare(np.zeros((n, 1))) for n in (130, m))
    places = filled(kernel, left, right)
    j = np.arange(m)
    first_of_last = TILE * ((m - 1) // TILE)
    expected = np.where(j < first_of_last, j % TILE, j - max(m - TILE, 0))
    assert np.array_equal(places, np.tile(expected, (130, 1)))
    width = TILE if m >= TILE else -(-m // EDGE) * EDGE
    last = EDGE if m >= TILE else UNIT  # the last two of the 130 rows
    assert kernel.shapes == {(UNIT, width), (last, width)}


# The cache -------------------------------------------------------------------------------------


def cache_of(capacity, m=40):
    """A cache of that many rows of a linear kernel, its points, and the whole matrix."""
    kernel = PolynomialKernel(coef0=1.0)
    prepared = kernel.prepare(points(m))
    cache = RowCache(kernel, prepared, capacity * m * 8 / 1e6 * 1.0001, ThreadPool(1))
    return cache, kernel.block(prepared, prepared)


def held(cache):
    return set(np.flatnonzero(cache.slot_of >= 0))


def check(cache, K):
    """No more than fits, no slot twice, and every row right."""
    there = np.flatnonzero(cache.slot_of >= 0)
    assert len(there) <= cache.capacity == len(cache.values)
    assert len(set(cache.slot_of[there])) == len(there)
    np.testing.assert_allclose(cache.values[cache.slot_of[there]], K[there], atol=1e-14)


def test_the_least_recently_used_row_goes_first():
    cache, K = cache_of(3)
    cache.load(np.array([10, 11, 12]), NOTHING)
    cache.round = 1
    cache.slot_used[cache.slot_of[[10, 12]]] = 1  # whoever uses rows writes it
    cache.load(np.array([13]), NOTHING)
    assert held(cache) == {10, 12, 13}
    cache.round = 2
    cache.slot_used[cache.slot_of[[10, 13]]] = 2
    cache.load(np.array([14]), NOTHING)
    assert held(cache) == {10, 13, 14}
    assert cache.n_computed == 5
    check(cache, K)


def test_welcome_rows_fill_the_block_up_but_never_beyond_the_capacity():
    cache, K = cache_of(4)
    cache.load(np.array([5]), np.array([6, 7, 8, 9]))
    assert held(cache) == {5, 6, 7, 8}
    assert cache.n_computed == 4
    check(cache, K)
    cache, _ = cache_of(200, m=400)
    cache.load(np.arange(100), np.arange(100, 400))
    assert held(cache) == set(range(UNIT))
    cache.load(np.arange(200, 400), NOTHING)  # more than fits: the first ones
    assert held(cache) == set(range(200, 400))
    cache.load(np.arange(150), np.arange(150, 200))
    assert cache.n_computed == UNIT + 200 + 200


def test_capacity_is_what_the_megabytes_hold_and_never_more_than_all_rows():
    assert cache_of(7)[0].capacity == 7
    assert cache_of(7.9)[0].capacity == 7
    assert cache_of(1000)[0].capacity == 40


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 45))
def test_any_history_agrees_with_a_slow_cache(seed, capacity):
    rng = np.random.default_rng(seed)
    cache, K = cache_of(capacity)
    slots = [(-1, None)] * cache.capacity  # (round of last use, point)
    n_computed = 0
    for now in range(1, 12):
        cache.round = now
        for slot, (_, point) in enumerate(slots):
            if point is not None and rng.random() < 0.5:
                slots[slot] = (now, point)
                cache.slot_used[cache.slot_of[point]] = now
        missing = rng.permutation(np.flatnonzero(cache.slot_of < 0))
        wanted = int(rng.integers(len(missing) + 1))
        cache.load(missing[:wanted], missing[wanted:][:3])
        loaded = [*missing[:wanted], *missing[wanted:][:3]][: cache.capacity]
        if wanted == 0:
            loaded = []
        oldest = sorted(range(cache.capacity), key=lambda slot: (slots[slot][0], slot))
        for slot, point in zip(oldest, loaded, strict=False):
            slots[slot] = (now, point)
        n_computed += len(loaded)
        assert held(cache) == {point for _, point in slots if point is not None}
        check(cache, K)
    assert cache.n_computed == n_computed


def test_a_cache_that_is_too_small_says_how_large_it_must_be():
    with pytest.raises(CacheTooSmallError, match=r"Set cache_size to at least") as caught:
        cache_of(0.5, m=250_000 // 8)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.row_size == pytest.approx(0.25)
    assert error.cache_size == pytest.approx(0.125, rel=1e-3)
    assert str(error) == str(caught.value)


def test_an_error_of_a_kernel_in_a_tile_comes_through():
    kernel = FunctionKernel(
        lambda A, B: np.full((len(A), len(B)), 1.0 if len(B) < TILE else np.nan)
    )
    space = DualSpace(kernel).fit(points(600))
    with pytest.raises(KernelError, match="NaN"):
        filled(kernel, space.points, space.points)
