"""Threads: tasks side by side, and the number of BLAS threads as it was afterwards."""

import signal
import threading
import time
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.tools import threads
from bayespoint.tools.threads import (
    ThreadPool,
    blas_threads,
    in_parallel,
    stop_if_cancelled,
    thread_pool,
    useful_threads,
)


def threads_of_blas():
    return {entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"}


@pytest.fixture
def four_threads():
    """Four threads for BLAS, and no thread of ours left at the end."""
    n_threads = threading.active_count()
    with threadpool_limits(4, user_api="blas"):
        if threads_of_blas() != {4}:
            pytest.skip("this BLAS cannot have four threads")
        yield
        assert threads_of_blas() == {4}
    assert threading.active_count() == n_threads


# A pool ----------------------------------------------------------------------------------------


def test_blas_has_one_thread_inside_a_pool(four_threads):
    with thread_pool(5) as pool:
        assert threads_of_blas() == {1}
        assert pool.n_threads == 5
        assert pool.map(lambda item: 2 * item, range(9)) == list(range(0, 18, 2))
    with thread_pool(1) as pool:
        assert pool.n_threads == 4  # what BLAS would have used


def test_blas_gets_its_number_back_after_an_error(four_threads):
    with pytest.raises(ZeroDivisionError), thread_pool(2) as pool:
        pool.map(lambda item: 1 / item, [1, 1, 0])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_of_tasks_come_through(n_threads):
    def task(item, done):
        if item == 2:
            raise KeyError("item 2 is bad")
        done.append(item)

    pool, done = ThreadPool(n_threads), []
    with pytest.raises(KeyError, match="item 2 is bad"):
        pool.map(task, [0, 1, 2], done)
    pool.map(task, [3, 4], done)  # the pool lives on
    pool.close()
    assert sorted(done) == [0, 1, 3, 4]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_nothing_starts_and_what_runs_is_told_to_end(error):
    started, runs = [], threading.Event()

    def task(item):
        started.append(item)
        if item == 1:
            runs.wait()  # until task 0 runs
            raise error
        runs.set()
        while True:  # only `stop_if_cancelled` ends it
            stop_if_cancelled()
            time.sleep(0.001)

    pool = ThreadPool(2)
    with pytest.raises(error):
        pool.map(task, range(50))
    pool.close()
    assert set(started[:2]) == {0, 1}
    assert len(started) <= 3  # the thread that failed may have taken one more


def test_outside_of_a_pool_nothing_is_cancelled():
    stop_if_cancelled()


def test_tasks_see_the_error_state_of_numpy():
    pool = ThreadPool(2)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        pool.map(np.exp, [1.0, 1e4])
    pool.close()


# Limits of BLAS ----------------------------------------------------------------------------------


def test_the_lowest_of_nested_limits_holds(four_threads):
    with blas_threads(2):
        assert threads_of_blas() == {2}
        with blas_threads(3):
            assert threads_of_blas() == {2}
        with blas_threads(1):
            assert threads_of_blas() == {1}
        assert threads_of_blas() == {2}
    with blas_threads(9):
        assert threads_of_blas() == {4}  # a limit never adds threads


def test_pools_keep_their_threads_where_products_are_small(four_threads):
    with useful_threads(9):
        assert threads_of_blas() == {1}
        with thread_pool(1) as pool:
            assert pool.n_threads == 4
            with thread_pool(1) as inner:  # a pool within a pool shares its threads
                assert inner.n_threads == 1
    with blas_threads(1), thread_pool(1) as pool:
        assert pool.n_threads == 1
    assert threads_of_blas() == {4}


def test_limits_that_overlap_in_several_threads_restore_the_number(four_threads):
    """Enter 1, enter 2, leave 1, leave 2: threadpoolctl's own limits end with one thread."""
    first, second = blas_threads(1), blas_threads(1)
    with ThreadPoolExecutor(2) as executor:
        for step in (first.__enter__, second.__enter__):
            executor.submit(step).result()
        executor.submit(first.__exit__, None, None, None).result()
        assert threads_of_blas() == {1}
        executor.submit(second.__exit__, None, None, None).result()
    assert threads_of_blas() == {4}


def test_threads_that_are_first_at_the_same_time_share_their_limits(four_threads, monkeypatch):
    """With limits of its own each, the second one would take the limit of the first for what was
    there before, and restore it when all have ended."""
    find, barrier = threads.ThreadpoolController, threading.Barrier(4)

    def slowly():
        time.sleep(0.05)  # so that all of them ask before the first has an answer
        return find()

    def limit(n):
        barrier.wait()
        with blas_threads(1):
            time.sleep(0.02 * n)  # they end one after another
            return threads._blas()

    monkeypatch.setattr(threads, "ThreadpoolController", slowly)
    monkeypatch.setattr(threads, "_made", [])
    with ThreadPoolExecutor(4) as executor:
        assert len(set(executor.map(limit, range(4)))) == 1
    assert threads_of_blas() == {4}


@pytest.mark.parametrize("engine", ["perceptron", "gibbs"])
def test_concurrent_fits_leave_the_number_of_threads(four_threads, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] > 0

    def fit(n):
        classifier = BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=engine, random_state=0
        )
        for size in (10, 20 + n, 40):
            classifier.fit(X[:size], y[:size])

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(fit, range(12)))
    assert threads_of_blas() == {4}


class Library:
    """A BLAS whose number of threads belongs to the process, or to each thread of Python."""

    def __init__(self, threading_layer):
        self.threading_layer = threading_layer
        self._numbers = defaultdict(lambda: 4)

    def _place(self):
        return threading.get_ident() if self.threading_layer == "openmp" else "process"

    @property
    def num_threads(self):
        return self._numbers[self._place()]

    def set_num_threads(self, n):
        self._numbers[self._place()] = n


@pytest.mark.parametrize("layer", ["pthreads", "openmp"])
def test_limits_where_each_thread_has_its_number(monkeypatch, layer):
    library = Library(layer)
    blas = threads._Blas([library])
    monkeypatch.setattr(threads, "_blas", lambda: blas)
    other = blas_threads(1)
    with ThreadPoolExecutor(1) as executor:
        with thread_pool(2) as pool:
            assert library.num_threads == 1
            assert pool.map(lambda item: library.num_threads, range(4)) == [1] * 4
            executor.submit(other.__enter__).result()
        assert library.num_threads == (4 if layer == "openmp" else 1)
        executor.submit(other.__exit__, None, None, None).result()
        assert executor.submit(lambda: library.num_threads).result() == 4
    assert library.num_threads == 4


# In parallel -------------------------------------------------------------------------------------


def test_results_in_parallel_are_in_order():
    def late(item):
        time.sleep(0.01 * (3 - item))
        return item

    assert in_parallel(late, range(4), n_jobs=4) == [0, 1, 2, 3]
    assert in_parallel(late, []) == []


@pytest.mark.parametrize(("n_items", "share"), [(1, 4), (2, 2), (3, 1), (10, 1)])
def test_threads_of_blas_depend_on_the_items_and_not_on_jobs(four_threads, n_items, share):
    for n_jobs in (None, 1, 2, 20):
        seen = in_parallel(lambda item: threads_of_blas(), range(n_items), n_jobs=n_jobs)
        assert seen == [{share}] * n_items


def threads_used(n_jobs=None):
    barrier, caller = threading.Barrier(3), threading.current_thread()

    def task(item):
        if threading.current_thread() is caller:
            return False
        barrier.wait()  # until there are three
        return True

    return in_parallel(task, range(3), n_jobs=n_jobs)


def test_joblib_decides_on_jobs_where_the_user_does_not():
    with threadpool_limits(1, user_api="blas"):
        assert threads_used(3) == [True] * 3
        assert threads_used() == [False] * 3
        with parallel_config(n_jobs=3):
            assert threads_used() == [True] * 3


# State of the process ----------------------------------------------------------------------------


def state_of_process():
    handler = signal.getsignal(signal.SIGINT)
    return list(warnings.filters), warnings.showwarning, np.geterr(), handler, threads_of_blas()


@pytest.mark.parametrize("engine", ["ep", "laplace", "perceptron", "gibbs", "billiard", "knapsack"])
def test_fits_in_threads_leave_the_process_as_it_was(four_threads, engine):
    """Filters of warnings, errors of NumPy, handlers of signals and threads of BLAS."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] > 0
    chosen = GibbsSampler(n_samples=20) if engine == "gibbs" else engine

    def fit(n):
        clf = BayesPointClassifier(kernel="linear", engine=chosen, random_state=n, n_jobs=2)
        return clf.fit(X[: 20 + n], y[: 20 + n]).predict_proba(X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = state_of_process()
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(fit, range(8)))
        with parallel_config("threading", n_jobs=4):
            Parallel()(delayed(fit)(n) for n in range(8))
        assert state_of_process() == before
