"""The one decorator of the compiled layer."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, without the GIL, and keep the result on disk if possible.

    Where neither the package's folder nor the user's cache folder can be written Numba refuses to
    cache at all; then the function is compiled anew in each process instead of failing.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
