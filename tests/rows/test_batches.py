"""Blocks of batches that somebody else makes."""

import re

import numpy as np
import pytest
from tests.helpers.blocks import machine, noisy, same_bits

from bayespoint.exceptions import BlockError, BlocksChangedError
from bayespoint.rows import from_arrays, from_batches

X, Y = noisy(n=400)


def batches():
    for begin in range(0, 400, 100):
        yield X[begin : begin + 100], Y[begin : begin + 100]


class Again:
    def __iter__(self):
        return batches()


@pytest.mark.parametrize("source", [batches, Again(), list(batches())])
def test_all_sources_give_the_same_bits(source):
    blocks = from_batches(source)
    assert len(blocks) == 4
    expected = machine().fit(from_arrays(X, Y, block_rows=100))
    assert same_bits(machine(n_jobs=2).fit(blocks), expected)


def test_a_generator_is_refused():
    with pytest.raises(TypeError, match=r"a generator can be read only once\. Pass the function"):
        from_batches(batches())
    with pytest.raises(TypeError, match="Got int"):
        from_batches(3)


def test_any_block_can_be_read():
    blocks = from_batches(batches)
    assert np.array_equal(blocks.read(2).X, X[200:300])
    assert np.array_equal(blocks.read(1).X, X[100:200])
    assert np.array_equal(blocks.read(1).X, X[100:200])


def test_batches_that_change_between_rounds():
    calls = []

    def others():
        calls.append(1)
        for k, (part, labels) in enumerate(batches()):
            yield part + (len(calls) > 3 and k == 2), labels

    with pytest.raises(BlocksChangedError, match="Block 2 has changed"):
        machine().fit(from_batches(others))


def test_batches_that_become_fewer():
    calls = []

    def fewer():
        calls.append(1)
        for k, batch in enumerate(batches()):
            if len(calls) < 4 or k < 2:
                yield batch

    with pytest.raises(BlocksChangedError, match="Block 2 has changed"):
        machine().fit(from_batches(fewer))


def changed(k, batch):
    """A list of batches, one of which is another."""
    found = list(batches()) * 3
    found[k] = batch
    return found


def nan():
    part = X[:100].copy()
    part[42, 3] = np.nan
    return part


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ((X[:100, :3], Y[:100]), "Block 7 must have 4 columns, as the first block. Got 3."),
        ((X[:100].astype(str), Y[:100]), "Block 7 must have numbers only. Got dtype <U"),
        ((X[:100], Y[:100].astype(str)), "Block 7 has other labels than those before it"),
        ((X[:100], Y[:99]), "Block 7 must have one of its labels for each row."),
        ((X[:100], X[:100, 0]), "Block 7 has labels that name no classes"),
        ((X[:100],), "Block 7 has no labels"),
        ((X[:100], Y[:100], -np.ones(100)), "Block 7 has the sample weight -1.0 in row 0"),
        ((nan(), Y[:100]), "Block 7 has nan in row 42 (counted from 0), column 3"),
        ((X[0], Y[:100]), "Block 7 must be a table of rows and columns. Got 1 dimensions."),
        ((1, 2, 3, 4), "Block 7 must be (X, y) or (X, y, sample_weight). Got 4 entries."),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bad_batch_is_named(batch, words, n_jobs):
    with pytest.raises(BlockError, match=re.escape(words)) as caught:
        machine(n_jobs=n_jobs).fit(from_batches(changed(7, batch)))
    assert caught.value.block == 7


def test_numbers_of_other_types_are_numbers():
    whole = (X[:100] * 10).astype(np.int32)
    mixed = from_batches([(whole, Y[:100]), (X[100:].astype(np.float32), Y[100:])])
    plain = from_batches([(whole.astype(float), Y[:100]), (X[100:].astype(np.float32), Y[100:])])
    assert same_bits(machine().fit(mixed), machine().fit(plain))


def test_no_batches():
    for nothing in ([], lambda: iter(())):
        with pytest.raises(ValueError, match="There are no batches"):
            from_batches(nothing)
