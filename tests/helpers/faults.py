"""Blocks that misbehave on workers, and what does harm to a cluster from outside."""

import contextlib
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from distributed import wait

from bayespoint.engines.gaussian.blocks.descent import visit as sweep
from bayespoint.rows.base import Blocks
from bayespoint.rows.executor import Tree, run_on_block

PYTHON = [sys.executable, "-m"]


class LoggedBlocks(Blocks):
    """Blocks that write down who has read them, and may do something bad.

    ``fault(k)`` is called before every reading.
    """

    def __init__(self, blocks, log, seconds=0.0, fault=None):
        self.inner, self.log, self.seconds, self.fault = blocks, Path(log), seconds, fault
        self.n_features, self.feature_names = blocks.n_features, blocks.feature_names

    def __len__(self):
        return len(self.inner)

    def read(self, k):
        with self.log.open("a") as file:
            file.write(f"{k} {os.getpid()}\n")
        time.sleep(self.seconds)
        if self.fault is not None:
            self.fault(k)
        return self.inner.read(k)

    def fingerprint(self, k):
        return self.inner.fingerprint(k)

    @property
    def readings(self):
        """Pairs of a block and the process that has read it, in order."""
        if not self.log.exists():
            return []
        return [tuple(map(int, line.split())) for line in self.log.read_text().splitlines()]


def catch_fire(k):
    if k == 3:
        raise RuntimeError("the disk is on fire")


def die(k):
    if k == 3:
        os.kill(os.getpid(), signal.SIGKILL)


def only_on_the_driver(k):
    if k == 3:
        raise FileNotFoundError(2, "No such file or directory", "/home/driver/rows.npy")


def hoard(k, begun, survived):
    """Block 3 needs more memory than a worker has, the first time that it is read."""
    if k != 3 or begun.exists():
        return
    begun.touch()
    memory = np.ones(150_000_000)  # 1.2 GB
    time.sleep(20)  # its nanny looks every 0.2 s
    survived.touch()
    del memory


def wait_for(k, path):
    """Nothing is read twice before a file is there."""
    begun = path.with_name(f"begun {k}")
    while begun.exists() and not path.exists():
        time.sleep(0.05)
    begun.touch()


class After(threading.Thread):
    """Does something, once, as soon as blocks have been read so many times."""

    def __init__(self, blocks, n_readings, action):
        super().__init__(daemon=True)
        self.blocks, self.n_readings, self.action = blocks, n_readings, action
        self.happened = False

    def run(self):
        while len(self.blocks.readings) < self.n_readings:
            time.sleep(0.01)
        self.action()
        self.happened = True


def kill(*pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def within(seconds, function):
    """The result of a function, or its error; an AssertionError if it takes too long."""
    ended = []

    def call():
        try:
            ended.append((function(), None))
        except BaseException as error:
            ended.append((None, error))

    context = contextvars.copy_context()  # monitors and checkpoints
    thread = threading.Thread(target=context.run, args=(call,), daemon=True)
    thread.start()
    thread.join(seconds)
    assert ended, f"no end after {seconds} s"
    result, error = ended[0]
    if error is not None:
        raise error
    return result


@contextlib.contextmanager
def process(*arguments):
    """A process for the time of a test."""
    running = subprocess.Popen(
        [*PYTHON, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # a nanny and its worker
        running.wait()


def worker(address):
    """One more worker, with a nanny."""
    return process(
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        1,
        "--memory-limit",
        "1GB",
        "--no-dashboard",
    )


@contextlib.contextmanager
def scheduler():
    """A scheduler in a process of its own, and where it is."""
    from distributed.utils import open_port

    port = open_port()
    address = f"tcp://127.0.0.1:{port}"
    command = "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port
    with process(*command, "--no-dashboard") as running:
        yield address, running


class StatefulExecutor:
    """What must not be done: the sites of a block stay on the worker that has made them.

    Blocks are bound to workers, and go elsewhere if theirs is lost.
    """

    def __init__(self, client):
        self.client, self.workers = client, sorted(client.nthreads())

    def run(self, function, blocks, arguments, shared, expected=None):
        function = remembering_sweep if function is sweep else function

        def submit(k, workers):
            task = run_on_block, blocks, k, function, arguments[k], shared
            return self.client.submit(*task, pure=False, workers=workers)

        futures = [submit(k, self.bound(k)) for k in range(len(blocks))]
        with contextlib.suppress(TimeoutError):
            wait(futures, timeout=5)
        for k, future in enumerate(futures):
            if future.status == "pending":
                futures[k] = submit(k, None)
        kept, tree = [], Tree()
        for own, found in self.client.gather(futures):
            kept.append(own)
            tree.add(found)
        return kept, tree.result()

    def bound(self, k):
        worker = self.workers[k % len(self.workers)]
        return [worker] if worker in self.client.nthreads() else None


MEMORY: dict[int, list[np.ndarray]] = {}


def remembering_sweep(block, k, sites, order):
    """A sweep from the sites that this process remembers, if there are any."""
    nothing = [np.zeros_like(one) for one in sites]
    begins = not any(one.any() for one in sites)
    before = nothing if begins else MEMORY.get(k, nothing)
    MEMORY[k], sums = sweep(block, k, before, order)
    return MEMORY[k], sums
