"""What tests must know of the BLAS they run on."""

from functools import cache

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from bayespoint.spaces.tiles import TILE, UNIT

ROUNDING = 2e-6  # of a sum of float32 numbers of about 1


@cache
def rounds_by_place(dtype: type) -> bool:
    """Whether equal rows times equal columns have entries that differ.

    So has OpenBLAS for processors without AVX-512, for float32.
    """
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        for _ in range(20):
            row, column = rng.normal(size=(2, 65)).astype(dtype)
            entries = np.tile(row, (UNIT, 1)) @ np.tile(column, (TILE, 1)).T
            if len(np.unique(entries)) > 1:
                return True
    return False


def assert_same_values(one, two, dtype):
    """Equal bits of what depends on kernel values that were computed in other places of a block.

    Where BLAS rounds by the place, equal up to rounding.
    """
    if rounds_by_place(dtype):
        assert_allclose(one, two, rtol=0, atol=ROUNDING * max(1.0, np.nanmax(np.abs(two))))
    else:
        assert_array_equal(one, two)
