"""Data in blocks, for fits that read what they need from files, a block at a time."""

from bayespoint.rows.arrays import from_arrays, from_npy
from bayespoint.rows.base import Block, Blocks
from bayespoint.rows.batches import from_batches
from bayespoint.rows.checkpoint import Checkpoint as Checkpoint
from bayespoint.rows.checkpoint import checkpoints
from bayespoint.rows.csv import from_csv
from bayespoint.rows.executor import Executor as Executor
from bayespoint.rows.executor import LocalExecutor
from bayespoint.rows.executor import Tree as Tree
from bayespoint.rows.executor import run_on_block as run_on_block
from bayespoint.rows.parquet import from_parquet

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
