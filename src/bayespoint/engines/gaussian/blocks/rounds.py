"""Rounds over rows in blocks: all tasks go on side by side, with one reading of all blocks each."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from scipy.linalg import LinAlgError

from bayespoint.engines.base import Request, Run
from bayespoint.engines.gaussian.blocks.rows import BlockRows, Order, summarise
from bayespoint.engines.gaussian.prior import priors
from bayespoint.engines.gaussian.prior_scale import with_scale
from bayespoint.engines.gaussian.tasks import ACTIVE, COLLAPSE, gather, iterate, run_of
from bayespoint.exceptions import ClusterError
from bayespoint.posteriors import GaussianPosterior
from bayespoint.tools.memory import check_fits

MATRICES = 12  # of all pairs of weights, for a task: posterior, sums, those of blocks in work
SITE_BYTES = 56  # of a row and task: sites and cavities, old and new, and a probability
LONG = 1.0  # seconds of a round that is worth a message


class BlockRounds:
    """The rounds of all tasks, with everything that the next one needs.

    Parameters
    ----------
    engine : Propagation or LaplaceApproximation
        What is to be found; its ``begin_blocks`` begins a task.
    rows : BlockRows
        The data.
    request : Request
        Whose monitor is told about every round.

    Attributes
    ----------
    tasks : list of BlockDescent or BlockMessages
        One for each binary task.
    """

    def __init__(self, engine: Any, rows: BlockRows, request: Request) -> None:
        if isinstance(engine.prior_scale, str):  # of linear features
            engine = with_scale(engine, 1.0)
        self.engine, self.rows, self.monitor = engine, rows, request.monitor
        self.priors = priors(engine, rows.design.space, rows.n_tasks)
        engine.check_range(rows.largest, self.priors)
        self._check_memory()
        self.tasks: list[Any] = [
            engine.begin_blocks(task, prior, rows) for task, prior in enumerate(self.priors)
        ]
        self.round, self.should_stop = 0, False
        self._began = time.perf_counter()

    def _check_memory(self) -> None:
        """Raise an error if what is kept between rounds does not fit in memory."""
        n, d, tasks = self.rows.n_points, self.rows.design.space.n_coordinates, self.rows.n_tasks
        is_full, keeps_rows = self.engine.is_full, self.engine.keeps_rows(n, d)
        check_fits(
            tasks * (SITE_BYTES * float(n) * keeps_rows + MATRICES * 8.0 * d**2 * is_full),
            f"A fit of {n} rows, {d} weights and {tasks} task{'s' * (tasks > 1)}",
            "use engine='factorised-ep', which keeps neither sites nor matrices"
            + ", or engine='laplace', which keeps no sites" * keeps_rows,
        )

    def run(self) -> tuple[GaussianPosterior, Run]:
        """Go on from the last checkpoint, if there is one, until all tasks have ended."""
        self.load()
        with self.monitor.running(self.engine.max_iter, self.engine.unit):
            iterate(self.tasks, self.engine, self.advance, self.visit, self.keep)
        ends = [task.end(self.engine.tol) for task in self.tasks]
        left_out, sums = self.reduce(summarise, self.tasks, ends)
        known = zip(self.tasks, ends, sums.constant.tolist(), sums.errors, strict=True)
        results = [task.result(*rest) for task, *rest in known]
        endings = [self.engine.ending(*both) for both in zip(self.tasks, sums.errors, strict=True)]
        run = run_of(self.engine, results, endings)
        if run.converged and self.rows.checkpoint is not None:
            self.rows.checkpoint.remove()
        self.rows.left_out.extend(left_out)
        return gather(results, self.engine.law, None), run

    def reduce(
        self, function: Callable, tasks: list[Any], places: list[Any]
    ) -> tuple[list[Any], Any]:
        """Run a function on all blocks, with what is known of some tasks and their sites there."""
        rows, engine = self.rows, self.engine
        sites: list[Any] = [None] * len(rows.sizes)
        if tasks[0].sites:
            sites = [[task.sites[k] for task in tasks] for k in range(len(rows.sizes))]
        order = Order(rows.design, engine.law, places, rows.thinning, engine.look)
        return rows.reduce(function, sites, order)

    def look(self, active: list[Any]) -> None:
        """Read all blocks once, and tell these tasks what is there."""
        tol = self.engine.tol
        new, sums = self.reduce(self.engine.visit, active, [task.place(tol) for task in active])
        for i, task in enumerate(active):
            try:
                task.arrive(sums, i, [of_block[i] for of_block in new if of_block], tol)
            except LinAlgError:
                task.reason = COLLAPSE

    def visit(self, active: list[Any]) -> None:
        """Read all blocks; if that is broken off, save what is known."""
        self._began = time.perf_counter()
        try:
            self.look(active)
        except (KeyboardInterrupt, ClusterError):
            self.save(now=True)
            raise

    def advance(self) -> bool:
        """Whether the monitor wants the run to stop."""
        self.should_stop = self.monitor.should_stop()
        return self.should_stop

    def keep(self) -> None:
        """Write a checkpoint after a round, if it is time, and tell the monitor."""
        self.round += 1
        if any(task.reason != "" for task in self.tasks):
            is_small = not any(task.sites for task in self.tasks)
            self.save(now=is_small or self.should_stop)
        seconds = time.perf_counter() - self._began
        if seconds >= LONG:
            move = f"largest move {max(task.left for task in self.tasks):.1e}"
            self.monitor.tell(f"round {self.round} took {seconds:.0f} s, {move}")
        self.monitor.update(min(self.round, self.engine.max_iter))

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must share with this fit; ``max_iter`` may differ."""
        own = self.engine.get_params()
        own.pop("max_iter")
        kernel = self.rows.design.space.kernel
        known = [array.tolist() for prior in self.priors for array in (prior.mean, prior.root)]
        words = f"{type(self.engine).__name__} {own} {type(kernel).__name__} {kernel.get_params()}"
        return {**self.rows.identity, "engine or kernel": words, "prior": checksum(known)}

    def load(self) -> None:
        """Set what the last checkpoint of this fit has, if there is one."""
        checkpoint = self.rows.checkpoint
        if checkpoint is None:
            return
        found = checkpoint.restore(self.identity, self._states())
        if found is None:
            return
        self.round = found
        self.monitor.tell(f"going on from round {found} of {checkpoint.path}")
        for task in self.tasks:  # what it ended for is forgotten unless it converged
            task.reason = "" if task.reason == "" else ACTIVE

    def save(self, *, now: bool) -> None:
        """Save a round, if it is time."""
        if self.rows.checkpoint is not None:
            self.rows.checkpoint.keep(self.identity, self.round, self._states(), now=now)

    def _states(self) -> list[tuple[Any, str, Sequence[str]]]:
        """Objects, prefixes of their names in a checkpoint, and names of their attributes."""
        return [(task, f"task{i}", task.STATE) for i, task in enumerate(self.tasks)]


def checksum(values: Any) -> int:
    """A checksum of nested lists and tuples of numbers and text."""
    return zlib.crc32(repr(values).encode())
