"""Memory is asked for before it is taken."""

import pickle
import threading

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation, PermutedPerceptron
from bayespoint.exceptions import CacheTooSmallError, NotEnoughMemoryError
from bayespoint.kernels import PolynomialKernel
from bayespoint.spaces import DualSpace, rows
from bayespoint.spaces.rows import UNIT
from bayespoint.tools import memory, threads
from bayespoint.tools.memory import available_memory, check_fits
from bayespoint.tools.threads import ThreadPool, in_parallel

# What the system tells ----------------------------------------------------------------------------


def system(folder, monkeypatch, files):
    """Let the files of the system be these."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(memory, "MEMINFO", folder / "meminfo")
    monkeypatch.setattr(memory, "OWN_GROUP", folder / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", folder / "groups")
    monkeypatch.setattr("os.sysconf", lambda name: 1000)


MEMINFO = "MemTotal:   9000 kB\nMemFree:     10 kB\nMemAvailable:    4000 kB\n"
NO_LIMIT = {"groups/memory.max": "max\n", "groups/memory.current": "77\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 1_000_000),  # pages times their size
        ({"meminfo": MEMINFO}, 4_096_000),
        ({"meminfo": MEMINFO, "cgroup": "0::/\n", **NO_LIMIT}, 4_096_000),
        # Version 2: the limit of a group above, without copies of files that can be dropped.
        (
            {
                "meminfo": MEMINFO,
                "cgroup": "0::/user/job\n",
                "groups/user/job/memory.max": "max\n",
                "groups/user/job/memory.current": "10\n",
                "groups/user/memory.max": "3000000\n",
                "groups/user/memory.current": "1000000\n",
                "groups/user/memory.stat": "anon 5\ninactive_file 500\nactive_file 7\n",
                **NO_LIMIT,
            },
            2_000_500,
        ),
        # Version 1, with a name that is not to be found in a container.
        (
            {
                "meminfo": MEMINFO,
                "cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n",
                "groups/memory/memory.limit_in_bytes": "2000000\n",
                "groups/memory/memory.usage_in_bytes": "2500000\n",
            },
            0,
        ),
    ],
)
def test_memory_of_the_machine_and_of_its_groups(tmp_path, monkeypatch, files, expected):
    system(tmp_path, monkeypatch, files)
    assert available_memory() == expected


def test_the_limit_of_a_process(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    system(tmp_path, monkeypatch, {"meminfo": MEMINFO, "statm": "100 50 20 1 0 30 0\n"})
    monkeypatch.setattr(memory, "OWN_SIZE", tmp_path / "statm")
    pages = 100 * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda what: (pages + 5000, -1))
    assert available_memory() == 5000


def test_a_system_that_does_not_tell(tmp_path, monkeypatch):
    system(tmp_path, monkeypatch, {})
    monkeypatch.delattr("os.sysconf")
    assert available_memory() == np.inf
    check_fits(1e30, "Nothing", "do nothing")


def test_the_error_carries_its_numbers(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2e9)
    check_fits(2e9, "It", "take less")
    with pytest.raises(NotEnoughMemoryError, match=r"It needs at least 3.2 TB") as caught:
        check_fits(3.2e12, "It", "take less")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.what, error.needed, error.available) == ("It", 3.2e12, 2e9)
    assert str(error) == (
        "It needs at least 3.2 TB of memory, and 2 GB are available. Remedy: take less."
    )


# Kernel matrices ----------------------------------------------------------------------------------


def problem(n=50, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=(3, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("engine", ["ep", "laplace", "gibbs", "billiard", "knapsack"])
def test_a_kernel_matrix_that_does_not_fit_is_not_begun(monkeypatch, engine):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 6 * 50**2 * 8 - 1)
    classifier = BayesPointClassifier(temperature=1.0, kernel="rbf", engine=engine)
    with pytest.raises(NotEnoughMemoryError, match="kernel matrix of 50 rows") as caught:
        classifier.fit(*problem())
    assert isinstance(caught.value, MemoryError)
    for remedy in ("fewer rows", "engine='perceptron'", "n_components='auto'"):
        assert remedy in caught.value.remedy
    monkeypatch.setattr(memory, "SMALL", 10**8)  # so little is always there
    classifier.set_params(ridge=0.1).fit(*problem())


def test_200_000_points(monkeypatch):
    """Refused at once, with the numbers, on any machine of today."""
    monkeypatch.setattr(memory, "available_memory", lambda: 64e9)
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    with pytest.raises(NotEnoughMemoryError, match=r"needs at least 1\.92 TB"):
        BayesPointClassifier(kernel="rbf", n_components=None).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_posteriors_of_many_classes_that_do_not_fit(monkeypatch, engine):
    """Two matrices of 4 x 4 weights for each of ten classes, and three to work with."""
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 23 * 16 * 8 - 1)
    X, y = problem()[0], np.arange(50) % 10
    with pytest.raises(NotEnoughMemoryError, match="The posterior of 10 binary tasks"):
        BayesPointClassifier(kernel="linear", multi_class="one_vs_rest", engine=engine).fit(X, y)
    monkeypatch.setattr(memory, "available_memory", lambda: 23 * 16 * 8)
    BayesPointClassifier(kernel="linear", multi_class="one_vs_rest", engine=engine).fit(X, y)


def test_messages_that_do_not_fit(monkeypatch):
    """Of 50 points to 4 weights, in 10 bins."""
    monkeypatch.setattr(memory, "SMALL", 0)
    classifier = BayesPointClassifier(engine=KnapsackPropagation(bins=10, n_iter=2))
    monkeypatch.setattr(memory, "available_memory", lambda: 50 * 4 * 10 * 8 - 1)
    with pytest.raises(NotEnoughMemoryError, match="from each of 50 rows to each of 4 weights"):
        classifier.fit(*problem())
    monkeypatch.setattr(memory, "available_memory", lambda: 50 * 4 * 10 * 8)
    classifier.fit(*problem())


def test_no_more_items_side_by_side_than_memory_allows(monkeypatch):
    monkeypatch.setattr(threads, "available_memory", lambda: 2.5e9)
    running, most, lock = set(), [], threading.Lock()

    def work(item):
        with lock:
            running.add(item)
            most.append(len(running))
        threading.Event().wait(0.01)
        with lock:
            running.remove(item)
        return item

    assert in_parallel(work, range(12), n_jobs=6, n_bytes=1e9) == list(range(12))
    assert max(most) == 2
    most.clear()
    in_parallel(work, range(3), n_jobs=3, n_bytes=1e12)  # at least one
    assert max(most) == 1


# The cache of kernel rows -------------------------------------------------------------------------


def auto_cache(monkeypatch, m, free, block=0):
    """A cache for m rows of 8 m bytes; ``free`` is the number of rows that memory has room for."""
    left = [free * 8 * m]
    monkeypatch.setattr(rows, "BLOCK", block)
    monkeypatch.setattr(rows, "available_memory", lambda: left[0])
    X = np.random.default_rng(0).normal(size=(m, 2))
    return DualSpace(PolynomialKernel()).fit(X).rows("auto", ThreadPool(1)), left


def load(cache, begin, end):
    missing = np.arange(begin, end)
    cache.load(missing[cache.slot_of[begin:end] < 0], np.array([], dtype=int))


def test_the_cache_takes_half_of_what_is_free(monkeypatch):
    assert auto_cache(monkeypatch, 1000, free=10_000)[0].capacity == 1000
    assert auto_cache(monkeypatch, 1000, free=700)[0].capacity == 350
    assert auto_cache(monkeypatch, 1000, free=0, block=10**9)[0].capacity == 1000  # small
    with pytest.raises(CacheTooSmallError, match=r"0\.004 MB cannot hold one kernel row"):
        auto_cache(monkeypatch, 1000, free=1)


def test_the_cache_stops_growing_when_others_take_memory(monkeypatch):
    cache, left = auto_cache(monkeypatch, 1000, free=4000)
    load(cache, 0, 300)
    left[0] = (4000 - 300) * 8000
    load(cache, 300, 600)
    assert (cache.slot_of[:600] >= 0).all()
    left[0] = 650 * 8000  # 600 rows are held: half of 1250 is hardly more
    load(cache, 600, 800)
    assert cache.capacity == 600
    assert (cache.slot_of[600:800] >= 0).all()
    assert (cache.slot_of >= 0).sum() == 600
    used = cache.slot_of[cache.slot_of >= 0]
    K = cache._kernel.block(cache._points, cache._points)
    np.testing.assert_allclose(cache.values[used], K[cache.slot_of >= 0], rtol=1e-12)


def test_the_cache_keeps_a_block_in_any_case(monkeypatch):
    cache, left = auto_cache(monkeypatch, 1000, free=4000)
    left[0] = 0
    load(cache, 0, 1000)
    assert cache.capacity == UNIT
    assert (cache.slot_of >= 0).sum() == UNIT


def test_results_do_not_depend_on_memory(monkeypatch):
    X, y = problem(300, 3)
    expected = BayesPointClassifier(engine="perceptron", kernel="rbf", random_state=0).fit(X, y)
    monkeypatch.setattr(rows, "BLOCK", 0)
    monkeypatch.setattr(rows, "available_memory", lambda: 20 * 300 * 8)
    engine = PermutedPerceptron()
    few = BayesPointClassifier(temperature=1.0, engine=engine, kernel="rbf", random_state=0).fit(
        X, y
    )
    assert np.array_equal(few.decision_function(X), expected.decision_function(X))
