"""Permuted perceptrons on a cluster: every permutation is one task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from distributed import Future, get_worker
from numpy.typing import NDArray

from bayespoint.engines.sampling.rounds import Clock, Setting
from bayespoint.engines.sampling.waves import HostTrainer, Wave
from bayespoint.rows.base import Block, Blocks, check_finite, checked
from bayespoint.rows.dask.cluster import (
    Cluster,
    DaskExecutor,
    constant,
    futures_of,
    read_here,
    task,
)
from bayespoint.spaces import DualSpace
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import ThreadPool, thread_pool

CACHE_SHARE = 0.3  # of a worker's memory limit, for kernel rows of all of its threads


class Points(NamedTuple):
    """What is to be done with the rows of a data set before they are training points."""

    given: NDArray[np.bool_]  # which of them have a positive weight
    scaling: Scaling | None
    space: DualSpace  # not yet fitted


class ClusterTrainer:
    """Trains samples on a cluster, with the bits of a ``HostTrainer`` in this process."""

    wave_size = 1_000_000  # all of them: Dask gives a worker one task after another

    def __init__(
        self,
        cluster: Cluster,
        rows: Future,
        points: Points,
        space: DualSpace,
        setting: Setting,
        pool: ThreadPool,
    ) -> None:
        self.targets, self._cluster = setting.targets, cluster
        self._problem = cluster.compute([task(pose, rows, constant((points, setting)))])[0]

    def run(self, seeds: Sequence[np.random.Generator], clock: Clock, before: Wave) -> Wave:
        """The samples before, and one for each seed."""
        cluster = self._cluster
        # A task may run twice, so that it gets what is never changed, and not a generator.
        sources = [seed.bit_generator.seed_seq for seed in seeds]
        tasks = cluster.compute(
            [task(train_sample, self._problem, constant(source)) for source in sources]
        )
        n_ready = 0
        try:
            n_ready = self._wait(tasks, clock, before.n_samples)
            waves = cluster.results(tasks[:n_ready])
        finally:
            cluster.cancel(tasks[n_ready:])
        return reduce(Wave.plus, waves, before)  # in the order of the seeds

    def _wait(self, tasks: list[Future], clock: Clock, n_before: int) -> int:
        """Samples that are there when all are, or when the clock is up; at least one in all."""
        while not self._cluster.done(tasks):
            clock.tell(n_before + sum(task.done() for task in tasks))
            if clock.is_up():
                pending = [task.status == "pending" for task in tasks]
                n_ready = pending.index(True) if any(pending) else len(tasks)
                if n_before + n_ready > 0:
                    return n_ready
        clock.tell(n_before + len(tasks))
        return len(tasks)


def pose(rows: tuple, common: tuple[Points, Setting]) -> tuple[DualSpace, Setting]:
    """Space, the same as in the process that asks, and setting: what all tasks have in common."""
    (given, scaling, space), setting = common
    X = rows[0] if given.all() else rows[0][given]
    return space.fit(X if scaling is None else scaling.transform(X)), setting


def train_sample(problem: tuple[DualSpace, Setting], seed: np.random.SeedSequence) -> Wave:
    """Train one sample of all classes on the permutation of one seed."""
    space, setting = problem
    setting = setting._replace(cache_size=cache_of_worker(setting.cache_size))
    with thread_pool(1) as pool:
        trainer = HostTrainer(space, setting, pool)
        return trainer.run([np.random.default_rng(seed)], Clock(None, Monitor()), Wave([], None, 0))


def cache_of_worker(cache_size: float | str) -> float | str:
    """Megabytes for kernel rows: no more than its share of the worker's memory, if that is set."""
    try:
        worker = get_worker()
    except ValueError:
        return cache_size
    limit = worker.memory_manager.memory_limit
    if cache_size != "auto" or not limit:
        return cache_size
    return CACHE_SHARE * limit / 1e6 / worker.state.nthreads


class PerceptronExecutor(DaskExecutor):
    """Trains perceptrons on a cluster, which gets all rows of the blocks.

    Attributes
    ----------
    rows : Future
        Points, labels and weights of all blocks.
    """

    def __init__(self, cluster: Cluster, blocks: Blocks) -> None:
        super().__init__(cluster)
        self.rows = all_rows(cluster, blocks)

    def trainer(self, given: Any, scaling: Any, space: Any) -> Callable[..., Any]:
        """What trains perceptrons on the cluster."""
        unfitted = DualSpace(space.kernel, space.ridge, space.n_components)
        points = Points(given, scaling, unfitted)
        return partial(ClusterTrainer, self.cluster, self.rows, points)


def all_rows(cluster: Cluster, blocks: Blocks) -> Future:
    """The future of points, labels and weights of all blocks."""
    where = constant(blocks)
    parts = [task(checked_rows, k, one, where) for k, one in enumerate(futures_of(blocks))]
    return cluster.compute([task(stack, parts)])[0]


def checked_rows(k: int, rows: tuple | None, blocks: Blocks) -> Block:
    """Block k in float32, if it is, or in float64."""
    block = read_here(blocks, k) if rows is None else Block(*rows)
    block = checked(block, k, blocks.n_features)
    check_finite(block, k)
    kind = np.float32 if block.X.dtype == np.float32 else np.float64
    return block._replace(X=np.asarray(block.X, dtype=kind))


def stack(blocks: list[Block]) -> tuple[NDArray, NDArray, NDArray | None]:
    """Points, labels and weights of all blocks together."""
    X, y, weight = zip(*blocks, strict=True)
    weights = None if weight[0] is None else np.concatenate(weight)
    return np.concatenate(X), np.concatenate(y), weights
