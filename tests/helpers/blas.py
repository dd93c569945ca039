"""What tests must know of the BLAS they run on."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bayespoint.spaces.tiles import TILE, UNIT


def skip_where_blas_rounds_by_place(dtype):
    """Skip a test of equal bits where equal rows times equal columns have entries that differ."""
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        for _ in range(20):
            row, column = rng.normal(size=(2, 65)).astype(dtype)
            entries = np.tile(row, (UNIT, 1)) @ np.tile(column, (TILE, 1)).T
            if len(np.unique(entries)) > 1:
                pytest.skip("this BLAS rounds by the place in a block: bits depend on the cache")
