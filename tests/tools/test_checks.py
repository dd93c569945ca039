"""scikit-learn's checks in several threads leave the filters of warnings as they were."""

import sys
import threading
import warnings

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from sklearn.utils import check_array as sklearn_check_array

from bayespoint.tools.validation import alone, check_array

SHORT = 0.2  # seconds for something to happen that must not


class Slow:
    """An array that is being read until it is told to end."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.begun.set()
        self.go_on.wait()
        return np.ones((2, 2))


def check_side_by_side(check):
    """Whether a second thread checks while the first does, and which filters are left."""
    arrays = [Slow(), Slow()]
    threads = [threading.Thread(target=check, args=[array]) for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = list(warnings.filters)
        threads[0].start()
        arrays[0].begun.wait()
        threads[1].start()
        both = arrays[1].begun.wait(SHORT)
        for array, thread in zip(arrays, threads, strict=True):
            array.go_on.set()
            thread.join()
        return both, warnings.filters == before


def test_one_check_at_a_time():
    assert check_side_by_side(check_array) == (False, True)


@pytest.mark.skipif(
    getattr(sys.flags, "context_aware_warnings", False), reason="threads have filters of their own"
)
def test_checks_side_by_side_would_change_the_filters():
    both, same = check_side_by_side(sklearn_check_array)
    assert not both or not same  # a busy machine may not have begun the second


def test_no_check_while_a_function_is_compiled():
    assert numba  # it is loaded
    array = Slow()
    array.go_on.set()
    thread = threading.Thread(target=check_array, args=[array])
    with global_compiler_lock:
        thread.start()
        assert not array.begun.wait(SHORT)
    thread.join()
    assert array.begun.is_set()


def test_a_check_within_a_check():
    with alone():
        assert check_array([[1.0]]).shape == (1, 1)
