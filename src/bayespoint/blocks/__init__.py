"""Data in blocks, for fits that read what they need from files, a block at a time."""

from bayespoint.blocks.arrays import from_arrays, from_npy
from bayespoint.blocks.base import Block, Blocks
from bayespoint.blocks.checkpoint import Checkpoint, checkpoints
from bayespoint.blocks.executor import Executor, LocalExecutor, Tree, run_on_block

__all__ = [
    "Block",
    "Blocks",
    "Checkpoint",
    "Executor",
    "LocalExecutor",
    "Tree",
    "checkpoints",
    "from_arrays",
    "from_npy",
    "run_on_block",
]
