"""The compiled layer: how it compiles, and its small functions against plain loops."""

import numba
import numpy as np
import pytest

from bayespoint import _core
from bayespoint._core.compiler import compiled


def test_where_no_cache_can_be_written_functions_are_compiled_all_the_same(monkeypatch):
    njit, calls = numba.njit, []

    def refuse_to_cache(**options):
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available for file")
        return njit(**options)

    with monkeypatch.context() as patch:  # Numba itself uses njit when it compiles
        patch.setattr(numba, "njit", refuse_to_cache)

        @compiled
        def double(x):
            return 2 * x

    assert double(21) == 42
    assert calls == [{"cache": True, "nogil": True}, {"nogil": True}]


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
