"""The compiled layer: its small functions against plain loops, and a full disk."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.inner import callable_here

from bayespoint import _core
from bayespoint._core import gibbs
from bayespoint._core.calls import guarded


def test_a_name_that_is_no_module_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _core.nonsense  # noqa: B018


def random_machines(m=40, n=3, ridge=0.5, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.choice(np.array([-1, 1], dtype=np.int8), size=(2, m))
    task_of = np.array([0, 1, 1])
    return _core.perceptron.Machines(
        orders=np.stack([rng.permutation(m) for _ in range(n)]).astype(np.int32),
        order_of=np.arange(n),
        targets=targets,
        task_of=task_of,
        step=np.ones(m),
        ridge=np.full(m, ridge),
        alphas=rng.integers(0, 3, size=(n, m)) * targets[task_of].astype(float),
        outputs=rng.normal(size=(n, m)),
        squares=np.zeros(n),
        first_outputs=np.zeros((n, m - m // 2)),
        progress=rng.integers(0, m, size=(n, _core.perceptron.N_COUNTERS)),
    )


@pytest.mark.parametrize("reach", [1, 7, 1000])
@pytest.mark.parametrize("depth", [1, 4, 100])
def test_look_ahead_lists_the_next_missing_points_that_look_wrong(reach, depth):
    core, machines, m = _core.perceptron, random_machines(), 40
    slot_of = np.where(np.arange(m) % 3, -1, 0)  # every third row is there
    rows = core.Rows(np.zeros((1, m)), slot_of, np.zeros(1, dtype=np.int64))
    for c in range(3):
        ahead = np.full(depth, -7)
        core.look_ahead(machines, c, rows, reach, ahead)
        order, start = machines.orders[c], machines.progress[c, core.POSITION]
        target = machines.targets[machines.task_of[c]]
        margin = target * (machines.outputs[c] + 0.5 * machines.alphas[c])
        # One turn and not the place where it waits.
        places = [order[(start + k) % m] for k in range(1, min(reach, m - 1) + 1)]
        expected = [i for i in places if margin[i] <= 0 and slot_of[i] < 0][:depth]
        assert ahead[: len(expected)].tolist() == expected
        assert (ahead[len(expected) :] == -1).all()


FULL_DISK = """
import resource, signal
import numpy as np
from bayespoint import BayesPointClassifier

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # larger files cannot be written
X = np.random.default_rng(0).normal(size=(30, 2))
clf = BayesPointClassifier(kernel="linear", engine="perceptron", random_state=0)
print(clf.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits on files")
def test_compiled_code_that_cannot_be_saved_is_used(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FULL_DISK]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "1.0\n", done.stderr


def test_an_error_names_the_cache():
    def python_function():  # it may have begun its work, so it is not called again
        calls.append(1)
        raise OSError(28, "No space left on device")

    calls = []
    with pytest.raises(OSError, match=r"Numba cannot save .* NUMBA_CACHE_DIR") as caught:
        guarded(python_function)()
    assert caught.value.errno == 28 and len(calls) == 1


def test_nan_is_no_index():
    """Places that are NaN or out of range: a sort that trusts them writes outside of its arrays."""
    m = 50
    for bad in (np.nan, np.inf, 1e300):
        path = gibbs.new_path(m, 2)
        path.place[:] = bad
        callable_here(gibbs.sort_places)(path, 1.0)
        assert sorted(path.order) == list(range(m))
