"""One fit over blocks: data, model and whom to tell."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayespoint.engines import Run
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.posteriors import GaussianPosterior
from bayespoint.rows.base import Blocks
from bayespoint.rows.checkpoint import Checkpoint
from bayespoint.rows.design import Design
from bayespoint.rows.executor import BlockFunction, Executor
from bayespoint.rows.sweeps import LeftOut, Thinning
from bayespoint.tools.monitor import Monitor

LONG = 1.0  # seconds of a round that is worth a message


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

    def load(self) -> Mapping[str, np.ndarray] | None:
        """The last checkpoint of this fit, if there is one."""
        if self.checkpoint is None:
            return None
        found = self.checkpoint.load(self.identity)
        if found is not None:
            self.monitor.tell(
                f"going on from round {int(found['round'])} of {self.checkpoint.path}"
            )
        return found

    def save(self, arrays: Mapping[str, Any], *, now: bool = False) -> None:
        """Save a round, if it is time."""
        if self.checkpoint is not None:
            self.checkpoint.save(self.identity, arrays, now=now)

    def advance(self, done: int, of: int, change: float, began: float) -> None:
        """Tell the monitor that a round is done, in words if it took long."""
        seconds = time.perf_counter() - began
        if seconds >= LONG:
            self.monitor.tell(f"round {done} took {seconds:.0f} s, largest move {change:.1e}")
        self.monitor.update(min(done, of))

    def complete(self) -> None:
        """Remove the checkpoint of a fit that is complete."""
        if self.checkpoint is not None:
            self.checkpoint.remove()


def checksum(values: Any) -> int:
    """A checksum of nested lists and tuples of numbers and text."""
    return zlib.crc32(repr(values).encode())
