"""Functions on blocks: results in order, merged in a fixed tree."""

import threading
import time

import numpy as np
import pytest

from bayespoint.exceptions import BlockError
from bayespoint.rows import LocalExecutor, Tree, from_arrays, from_batches


class Text(str):
    def merge(self, later):
        return Text(f"({self}{later})")


def merged(letters):
    """Level by level: neighbours, and a last one without a neighbour as it is."""
    level = [Text(letter) for letter in letters]
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [pair[0].merge(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


@pytest.mark.parametrize("n", range(1, 27))
def test_the_tree_is_the_one_of_levels(n):
    letters = "abcdefghijklmnopqrstuvwxyz"[:n]
    tree = Tree()
    for letter in letters:
        tree.add(Text(letter))
    assert tree.result() == merged(letters)


def slowly(block, k, argument, shared):
    time.sleep(0.01 * (k % 3))
    return (k, argument, threading.get_ident()), Text(f"{shared}{k}")


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("in_order", [True, False])
def test_order_does_not_depend_on_threads(n_jobs, in_order):
    X, y = np.eye(11), np.arange(11) % 2
    batches = [(X[[k]], y[[k]]) for k in range(11)]
    blocks = from_batches(lambda: iter(batches)) if in_order else from_arrays(X, y, block_rows=1)
    kept, total = LocalExecutor(n_jobs).run(slowly, blocks, [*"abcdefghijk"], ".")
    assert [one[:2] for one in kept] == list(enumerate("abcdefghijk"))
    assert total == merged([f".{k}" for k in range(11)])


def failing(block, k, argument, shared):
    if k == 3:
        raise BlockError(k, "is bad")
    return None, Text(k)


def test_an_error_arrives():
    blocks = from_arrays(np.eye(9), np.arange(9) % 2, block_rows=1)
    for n_jobs in (1, 2):
        with pytest.raises(BlockError, match="Block 3 is bad"):
            LocalExecutor(n_jobs).run(failing, blocks, [None] * 9, None)


def test_fingerprints_are_compared():
    blocks = from_arrays(np.eye(4), [0, 1, 0, 1], block_rows=1)
    prints = [blocks.fingerprint(k) for k in range(4)]
    LocalExecutor().run(slowly, blocks, [None] * 4, "", prints)
    prints[2] = ("other",)
    with pytest.raises(ValueError, match="Block 2 has changed"):
        LocalExecutor().run(slowly, blocks, [None] * 4, "", prints)
