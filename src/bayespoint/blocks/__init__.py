"""Data in blocks, for fits that read what they need from files, a block at a time."""

from bayespoint.blocks.arrays import from_arrays, from_npy
from bayespoint.blocks.base import Block, Blocks
from bayespoint.blocks.batches import from_batches
from bayespoint.blocks.checkpoint import Checkpoint as Checkpoint
from bayespoint.blocks.checkpoint import checkpoints
from bayespoint.blocks.csv import from_csv
from bayespoint.blocks.executor import Executor as Executor
from bayespoint.blocks.executor import LocalExecutor
from bayespoint.blocks.executor import Tree as Tree
from bayespoint.blocks.executor import run_on_block as run_on_block
from bayespoint.blocks.parquet import from_parquet

__all__ = [
    "Block",
    "Blocks",
    "LocalExecutor",
    "checkpoints",
    "from_arrays",
    "from_batches",
    "from_csv",
    "from_npy",
    "from_parquet",
]
