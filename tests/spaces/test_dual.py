"""Where weights live: coordinates against kernel matrices, rows in any order to the bit, caches."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.kernel_formulas import SPACES as KERNELS
from tests.helpers.kernel_formulas import normal_points as points

from bayespoint.exceptions import CacheTooSmallError, KernelError
from bayespoint.kernels import (
    FunctionKernel,
    Kernel,
    Points,
    PolynomialKernel,
    RadialKernel,
)
from bayespoint.spaces import DualSpace, RowCache
from bayespoint.spaces.dual import KernelMatrix
from bayespoint.spaces.rows import EDGE, STRIPE, TILE, UNIT, fill, filling, staircase
from bayespoint.tools.threads import ThreadPool, thread_pool

NOTHING = np.array([], dtype=np.int64)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}
ALL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)

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
    if kernel.is_linear:
        np.testing.assert_allclose(
            some.primal(alpha[support]), space.primal(alpha), atol=10 * TOLERANCE[dtype]
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


def filled(kernel, points, which, zeros=None):
    out = np.full((len(which), len(points)), np.nan, dtype=points.rows.dtype)
    with thread_pool() as pool:
        fill(kernel, points, which, out, np.arange(len(which)), pool, zeros)
    return out


@DTYPES
@pytest.mark.parametrize("m", [1, 100, 193, 512, 1300])
@ALL
def test_filled_tiles_are_the_block(kernel, m, dtype):
    space = DualSpace(kernel).fit(points(m, dtype=dtype))
    some = np.arange(0, m, 3)
    expected = kernel.block(space.points.take(some), space.points)
    np.testing.assert_allclose(filled(kernel, space.points, some), expected, atol=TOLERANCE[dtype])


@DTYPES
@pytest.mark.parametrize("m", [1, 5, 100, 193, 300, 511, 512, 513, 700, 1100])
@pytest.mark.parametrize("name", ["poly", "rbf", "sum"])
def test_values_do_not_depend_on_rows_asked_together(name, m, dtype):
    kernel = KERNELS[name]
    space = DualSpace(kernel).fit(points(m, d=65, dtype=dtype) / 8)
    together = filled(kernel, space.points, np.arange(m))
    rng = np.random.default_rng(0)
    for size in (1, 37, 65, 128, 200):
        order = rng.permutation(m)
        for start in range(0, min(m, 4 * size), size):
            some = order[start : start + size]
            assert np.array_equal(filled(kernel, space.points, some), together[some])


class Places(Kernel):
    """Tells where in its block a value was computed, and notes the shapes of blocks."""

    def __init__(self, axis=1):
        super().__init__()
        self.shapes, self.axis = set(), axis

    def prepare(self, X, *, unit=False, training=False):
        return Points(X, np.ones(len(X)), 0.0, np.arange(len(X)))

    def block(self, left, right):
        self.shapes.add((len(left), len(right)))
        return np.indices((len(left), len(right)))[self.axis].astype(float)


@pytest.mark.parametrize("m", [1, 64, 65, 511, 512, 513, 1000, 1024, 1700])
def test_every_value_is_written_once_from_products_of_fixed_shapes(m):
    kernel = Places()
    places = filled(kernel, kernel.prepare(np.zeros((m, 1))), np.arange(UNIT + 6) % m)
    j = np.arange(m)
    first_of_last = TILE * ((m - 1) // TILE)
    expected = np.where(j < first_of_last, j % TILE, j - max(m - TILE, 0))
    assert np.array_equal(places, np.tile(expected, (UNIT + 6, 1)))
    width = TILE if m >= TILE else -(-m // EDGE) * EDGE
    last = EDGE if m >= TILE else UNIT  # the last six rows
    assert kernel.shapes == {(UNIT, width), (last, width)}


@pytest.mark.parametrize("m", [200, 700])
def test_points_of_even_and_odd_number_have_stripes_that_blas_sums_alike(m):
    points = Places(axis=0).prepare(np.zeros((m, 1)))
    rng = np.random.default_rng(m)
    for size in (1, 7, 50, 100, 170):
        which = rng.permutation(m)[:size]
        place = filled(Places(axis=0), points, which)[:, 0]
        assert np.array_equal(place // STRIPE % 2, which % 2)
    assert not np.array_equal(np.arange(size) // STRIPE % 2, which % 2)  # one after another


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 13, 20, 64, 359, 718])
def test_rows_of_few_points_equal_those_of_all_to_the_bit(width, dtype):
    """However few rows the last product has: BLAS rounds multiples of EDGE alike."""
    rng, kernel, m = np.random.default_rng(width), PolynomialKernel(coef0=1.0), TILE + 9
    prepared = kernel.prepare(rng.normal(size=(m, width)).astype(dtype))
    whole = filled(kernel, prepared, np.arange(m))
    for size in (1, 12, 30, 47, 70, 100, 130, 200, 383):
        which = rng.permutation(m)[:size]
        assert np.array_equal(filled(kernel, prepared, which), whole[which])


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_welcome_fill_up_products(seed):
    rng = np.random.default_rng(seed)
    points = rng.permutation(1000)[: rng.integers(1, 900)]
    needed, welcome = np.split(points, [rng.integers(1, len(points) + 1)])
    chosen = filling(needed, welcome)
    places = max(UNIT, -(-2 * max(np.bincount(needed % 2)) // EDGE) * EDGE)
    for side in (0, 1):  # the first ones, and as many as there is room for
        these = chosen[welcome % 2 == side]
        assert not (np.diff(these.astype(int)) > 0).any()
        room = places // 2 - (needed % 2 == side).sum()
        assert these.sum() == min(room, len(these))


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
    assert cache.n_computed == UNIT + 200 + UNIT


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
        filled(kernel, space.points, np.arange(600))


# Points in an order that saves products -----------------------------------------------------------


def sparse_points(m, d=30, dtype=np.float64, seed=0):
    """Points with many zeros, and features of which some are rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) * (rng.random((m, d)) < rng.random(d) ** 2)
    return PolynomialKernel(degree=3, coef0=1.0).prepare(X.astype(dtype))


@pytest.mark.parametrize("m", [1, 2, 40, 700])
def test_a_staircase_has_zeros_below_every_step(m):
    points = sparse_points(m)
    order, zeros, arranged = staircase(points)
    assert np.array_equal(np.sort(order), np.arange(m))
    assert (np.diff(zeros) >= 0).all()
    kernel = PolynomialKernel(degree=3, coef0=1.0)
    expected = kernel.block(points, points)[np.ix_(order, order)]
    np.testing.assert_allclose(kernel.block(arranged, arranged), expected, atol=1e-14)
    for place, n in enumerate(zeros):
        assert not arranged.rows[place:, :n].any()
        assert arranged.rows[place, n] != 0  # no step could be higher
    assert m < 40 or zeros.mean() > 3


def test_points_without_zeros_and_points_of_zeros_keep_their_order():
    for X in (points(50), np.zeros((50, 4)), np.empty((0, 4))):
        prepared = PolynomialKernel().prepare(X)
        order, zeros, arranged = staircase(prepared)
        assert np.array_equal(order, np.arange(len(X)))
        assert not zeros.any()
        assert np.array_equal(arranged.rows, prepared.rows)


@DTYPES
@pytest.mark.parametrize("m", [100, 513, 1300])
def test_rows_of_a_staircase_are_those_of_whole_products(m, dtype):
    """And equal to the bit whichever rows are asked together; one step too far is noticed."""
    kernel = PolynomialKernel(degree=3, coef0=1.0)
    _, zeros, arranged = staircase(sparse_points(m, dtype=dtype))
    expected = kernel.block(arranged, arranged)
    together = filled(kernel, arranged, np.arange(m), zeros)
    np.testing.assert_allclose(together, expected, atol=TOLERANCE[dtype])
    wrong = filled(kernel, arranged, np.arange(m), zeros + 1)
    assert not np.allclose(wrong, expected, atol=TOLERANCE[dtype])
    rng = np.random.default_rng(0)
    for size in (1, 37, 130, 200):
        some = rng.permutation(m)[:size]
        assert np.array_equal(filled(kernel, arranged, some, zeros), together[some])


def test_a_cache_numbers_points_by_their_place():
    points = sparse_points(700)
    kernel = PolynomialKernel(degree=3, coef0=1.0)
    cache = RowCache(kernel, points, 100.0, ThreadPool(1))
    assert not np.array_equal(cache.order, np.arange(700))
    cache.load(np.arange(700), NOTHING)
    check(cache, kernel.block(points, points)[np.ix_(cache.order, cache.order)])
    dense = RowCache(RadialKernel(), RadialKernel().prepare(points.rows), 100.0, ThreadPool(1))
    assert np.array_equal(dense.order, np.arange(700))  # products of other kernels need all
