"""Settings of all tests."""

from hypothesis import settings
from tests.helpers.timing import is_slow, slow_tests

from bayespoint._core.compiler import Compilations

# The same examples in every run: a failure then belongs to a change, and can be repeated.
settings.register_profile("fixed", derandomize=True, deadline=None)  # nor does a busy machine fail
settings.load_profile("fixed")

# What is written must not depend on whether code was compiled before.
Compilations.has_told = True


def pytest_collection_modifyitems(items):
    """Mark what takes long, for ``make test-fast``."""
    slow = slow_tests()
    for item in items:
        if is_slow(item.nodeid, slow):
            item.add_marker("slow")


def pytest_make_parametrize_id(config, val, argname):
    """Number bytes: they may hold a time, and workers must find the same ids."""
    return argname if isinstance(val, bytes) else None
