"""Inner functions of the compiled layer, which compiled functions alone can call."""

import numba


def callable_here(function):
    """An inner function, by its name in ``_core`` or its module, such that tests can call it."""
    if not hasattr(function, "py_func"):
        function = function.__wrapped__

    @numba.njit
    def call(*arguments):
        return function(*arguments)

    return call
