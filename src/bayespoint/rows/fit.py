"""One fit over blocks: data, model and whom to tell."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayespoint.engines import Run
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import Ending, TaskResult, gather, run_of
from bayespoint.exceptions import CheckpointError
from bayespoint.posteriors import GaussianPosterior
from bayespoint.rows.base import Blocks
from bayespoint.rows.checkpoint import Checkpoint, packed, unpacked
from bayespoint.rows.design import Design
from bayespoint.rows.executor import BlockFunction, Executor
from bayespoint.rows.sweeps import LeftOut, Thinning
from bayespoint.tools.monitor import Monitor

LONG = 1.0  # seconds of a round that is worth a message

# What a checkpoint keeps: objects, the prefix of their names in the file, names of attributes.
State = Sequence[tuple[Any, str, Sequence[str]]]


class Learned(NamedTuple):
    """The result of an engine over blocks; ``left_out`` has one entry for each block.

    It has every ``step``-th row.
    """

    posterior: GaussianPosterior
    run: Run
    left_out: list[LeftOut]
    step: int


@dataclass(frozen=True)
class BlockFit:
    """A fit over blocks, as drivers take it.

    Attributes
    ----------
    blocks, executor
        The data, and where functions run on them.
    prints : list of tuple
        Fingerprints of the blocks when the fit began.
    design : Design
        The model.
    priors : list of GaussianPrior
        Of each task.
    sizes : list of int
        Rows of positive weight of each block.
    monitor : Monitor
        Is told about every round.
    checkpoint : Checkpoint or None
        Where rounds are saved.
    settings : str
        Parameters of engine and kernel, which a checkpoint must share.
    """

    blocks: Blocks
    executor: Executor
    prints: list[tuple]
    design: Design
    priors: list[GaussianPrior]
    sizes: list[int]
    monitor: Monitor = field(default_factory=Monitor)
    checkpoint: Checkpoint | None = None
    settings: str = ""

    @cached_property
    def thinning(self) -> Thinning:
        """Of which rows left-out probabilities are collected."""
        return Thinning.of(self.sizes)

    @property
    def n_tasks(self) -> int:
        """Number of binary tasks."""
        return self.design.n_tasks

    def run(self, function: BlockFunction, arguments: Sequence[Any], shared: Any) -> tuple:
        """Run a function on all blocks, which must be those of the first reading."""
        return self.executor.run(function, self.blocks, arguments, shared, self.prints)

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must share with this fit."""
        design = self.design
        model = [design.labels, design.class_weight, *(p.mean for p in self.priors)]
        model += [prior.root for prior in self.priors]
        if design.scaling is not None:
            model += [design.scaling.mean, design.scaling.scale]
        return {
            "division into blocks": self.sizes if len(self.sizes) < 9 else checksum(self.sizes),
            "data": checksum(self.prints),
            "engine or kernel": self.settings,
            "prior, scaling or set of classes": checksum([one.tolist() for one in model]),
        }

    def load(self, state: State) -> int:
        """Set what the last checkpoint of this fit has, if there is one; its round, or 0."""
        found = None if self.checkpoint is None else self.checkpoint.load(self.identity)
        if self.checkpoint is None or found is None:
            return 0
        try:
            done = int(found["round"])
            for owner, prefix, names in state:
                for name in names:
                    value = unpacked(f"{prefix}_{name}", getattr(owner, name), found)
                    setattr(owner, name, value)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"it does not contain what this fit needs ({error})"
            raise CheckpointError(str(self.checkpoint.path), problem) from error
        self.monitor.tell(f"going on from round {done} of {self.checkpoint.path}")
        return done

    def save(self, done: int, state: State, *, now: bool = False) -> None:
        """Save a round, if it is time."""
        if self.checkpoint is None:
            return
        arrays = {"round": np.array(done)}
        for owner, prefix, names in state:
            for name in names:
                arrays |= packed(f"{prefix}_{name}", getattr(owner, name))
        self.checkpoint.save(self.identity, arrays, now=now)

    def advance(self, done: int, of: int, change: float, began: float) -> None:
        """Tell the monitor that a round is done, in words if it took long."""
        seconds = time.perf_counter() - began
        if seconds >= LONG:
            self.monitor.tell(f"round {done} took {seconds:.0f} s, largest move {change:.1e}")
        self.monitor.update(min(done, of))

    def learned(
        self,
        engine: Any,
        results: Sequence[TaskResult],
        endings: Sequence[Ending],
        unit: str,
        left_out: list[LeftOut],
    ) -> Learned:
        """The result of all tasks; the checkpoint of a fit that is complete goes."""
        run = run_of(results, endings, unit, engine.tol)
        if run.converged and self.checkpoint is not None:
            self.checkpoint.remove()
        posterior = gather(results, engine.likelihood, None)
        return Learned(posterior, run, left_out, self.thinning.step)


def checksum(values: Any) -> int:
    """A checksum of nested lists and tuples of numbers and text."""
    return zlib.crc32(repr(values).encode())
