"""Faults of a cluster: each fit ends in time, with the same bits or with a clear error."""

import contextlib
import os
from functools import partial

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
import dask.array as da
from distributed import Client
from tests.helpers import faults
from tests.helpers.faults import After, LoggedBlocks, kill, within

from bayespoint import BayesPointClassifier
from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.exceptions import BlockError, ClusterError
from bayespoint.rows import checkpoints, from_npy, from_parquet
from bayespoint.rows.executor import executed_by
from bayespoint.tools.monitor import Monitor, watch

pytestmark = pytest.mark.xdist_group("dask")
LIMIT = 600.0  # seconds after which a fit hangs, on the busiest machine
N_BLOCKS = 8
SECOND_ROUND = 2 * N_BLOCKS + 4  # readings: all blocks at first, then in every round
# Label noise, so that sites are kept from round to round: what a fault could lose.
PARAMS = {"kernel": "linear", "engine": ExpectationPropagation(label_noise=0.01)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = (X @ rng.normal(size=6) + rng.normal(size=4000) > 0).astype(int)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return folder


def stored(folder):
    return from_npy(folder / "X.npy", folder / "y.npy", block_rows=500)


@pytest.fixture(scope="module")
def expected(folder):
    """The fit of one process, without Dask, and how often it reads a block."""
    blocks = LoggedBlocks(stored(folder), folder / "log")
    clf = BayesPointClassifier(**PARAMS).fit(blocks)
    clf.n_readings = len(blocks.readings)
    return clf


@pytest.fixture
def slow(folder, tmp_path):
    """Blocks that take their time, so that there is a middle of a round."""
    return LoggedBlocks(stored(folder), tmp_path / "log", seconds=0.05)


def fit(client, *data):
    clf = DaskBayesPointClassifier(client=client, **PARAMS)
    return within(LIMIT, lambda: clf.fit(*data).to_local())


def assert_same_bits(one, two):
    for name in ("mean", "factor", "log_evidence"):
        np.testing.assert_array_equal(getattr(one.posterior_, name), getattr(two.posterior_, name))
    assert one.expected_scores_ == two.expected_scores_
    assert one.run_.history == two.run_.history


class KillAfterRound(Monitor):
    """Kills a process after so many rounds."""

    def __init__(self, n_rounds, pid):
        self.n_rounds, self.pid, self.done = n_rounds, pid, False

    def update(self, done):
        if done >= self.n_rounds and not self.done:
            kill(self.pid)
            self.done = True


def worker_pids(client):
    return list(client.run(os.getpid).values())


def has_workers(client, n):
    client.wait_for_workers(n, timeout=LIMIT)
    return client


def test_without_a_fault(workers, slow, expected):
    assert_same_bits(fit(has_workers(workers, 3), slow), expected)
    assert len({pid for _, pid in slow.readings}) == 3
    assert len(slow.readings) == expected.n_readings


def test_a_worker_is_killed_in_the_second_round(workers, slow, expected):
    has_workers(workers, 3)
    death = After(slow, SECOND_ROUND, lambda: kill(slow.readings[-1][1]))
    death.start()
    assert_same_bits(fit(workers, slow), expected)
    assert death.happened


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
def test_state_on_workers_is_noticed(workers, slow, folder):
    """The tests here can fail: sites that stay on workers are lost with them."""

    params = {**PARAMS, "engine": ExpectationPropagation(max_iter=5)}

    def stateful():
        clf = BayesPointClassifier(**params)
        with executed_by(faults.StatefulExecutor(has_workers(workers, 3))):
            clf.fit(slow)
        return clf

    expected = BayesPointClassifier(**params).fit(stored(folder))
    assert_same_bits(within(LIMIT, stateful), expected)
    with watch(KillAfterRound(2, worker_pids(workers)[0])) as monitor:
        other = within(LIMIT, stateful)
    assert monitor.done
    with pytest.raises(AssertionError, match="not equal"):
        assert_same_bits(other, expected)


def test_a_worker_is_killed_that_has_blocks_in_memory(workers, folder, expected):
    has_workers(workers, 3)
    X, y = (np.load(folder / name) for name in ("X.npy", "y.npy"))
    arrays = da.from_array(X, chunks=(500, 3)), da.from_array(y, chunks=500)
    with watch(KillAfterRound(2, worker_pids(workers)[0])) as monitor:
        assert_same_bits(fit(workers, *arrays), expected)
    assert monitor.done


def test_all_workers_are_gone_and_come_back(workers, slow, expected):
    pids = worker_pids(has_workers(workers, 3))
    death = After(slow, SECOND_ROUND, lambda: kill(*pids))
    death.start()
    assert_same_bits(fit(workers, slow), expected)
    assert death.happened


def test_a_worker_joins_late(workers, slow, expected, tmp_path):
    joined = tmp_path / "joined"
    slow.fault = partial(faults.wait_for, path=joined)  # however long the worker takes to start
    before = set(worker_pids(has_workers(workers, 3)))
    with contextlib.ExitStack() as stack:

        def join():
            stack.enter_context(faults.worker(workers.scheduler.address))
            has_workers(workers, 4)
            joined.touch()

        After(slow, 4, join).start()
        assert_same_bits(fit(workers, slow), expected)
        assert {pid for _, pid in slow.readings} - before  # it has done something


def test_a_worker_has_too_little_memory(workers, slow, expected, tmp_path):
    has_workers(workers, 3)
    begun, survived = tmp_path / "begun", tmp_path / "survived"
    slow.fault = partial(faults.hoard, begun=begun, survived=survived)
    assert_same_bits(fit(workers, slow), expected)
    assert begun.exists()
    if survived.exists():
        pytest.skip("Dask does not see the memory of its workers on this machine")
    assert len(slow.readings) > expected.n_readings  # a block was begun, and lost


def test_a_task_that_ends_its_workers(workers, slow, monkeypatch):
    monkeypatch.setattr(has_workers(workers, 3).cluster.scheduler, "allowed_failures", 0)
    slow.fault = faults.die
    with pytest.raises(ClusterError, match=r"lost 1 times.*memory"):
        fit(workers, slow)


def test_a_block_that_raises(workers, slow):
    slow.fault = faults.catch_fire
    with pytest.raises(BlockError, match=r"Block 3 .*the disk is on fire") as caught:
        fit(workers, slow)
    assert caught.value.block == 3


def test_a_block_of_an_array_that_raises(workers, folder):
    def explode(part, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise ZeroDivisionError("no luck")
        return part

    X = da.from_array(np.load(folder / "X.npy"), chunks=(500, -1)).map_blocks(explode, dtype=float)
    with pytest.raises(BlockError, match=r"Block 2 .*no luck"):
        fit(workers, X, np.load(folder / "y.npy"))


def test_a_path_that_a_worker_cannot_read(workers, slow):
    slow.fault = faults.only_on_the_driver
    with pytest.raises(BlockError, match=r"Block 3 .*rows.npy.*Every worker"):
        fit(workers, slow)


def test_a_corrupt_row_group(workers, tmp_path):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(4000, 3)), columns=list("abc"))
    frame["y"] = frame["a"] > 0
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=500)
    place = parquet.read_metadata(path).row_group(4).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 20] = bytes(20)  # the header of a page
    path.write_bytes(content)
    with pytest.raises(BlockError, match=r"Block 4 cannot be read"):
        fit(workers, from_parquet(path, "y", block_rows=500))


def test_a_lost_scheduler_and_a_checkpoint(workers, slow, expected, tmp_path):
    path = tmp_path / "fit.checkpoint"
    with (
        faults.scheduler() as (address, running),
        faults.worker(address),
        Client(address, set_as_default=False) as client,
    ):
        has_workers(client, 1)
        death = After(slow, SECOND_ROUND, running.kill)
        death.start()
        lost = pytest.raises(ClusterError, match="connection to its scheduler is lost")
        with checkpoints(path), lost:  # written when the cluster is lost
            fit(client, slow)
    slow.log.unlink()
    with checkpoints(path):
        assert_same_bits(fit(workers, slow), expected)  # on another cluster
    assert len(slow.readings) < expected.n_readings
