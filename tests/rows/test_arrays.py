"""Blocks of arrays, of memory maps and of .npy files."""

import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from tests.helpers.blocks import machine, noisy, same_bits

from bayespoint.exceptions import BlockError, BlocksChangedError
from bayespoint.rows import from_arrays, from_csv, from_npy
from bayespoint.rows.arrays import FileArray, file_array


def rows(blocks):
    return np.vstack([block.X for block in blocks])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_files_have_the_rows_of_arrays(tmp_path, order, dtype):
    X = np.arange(60).reshape(20, 3).astype(dtype, order=order)
    np.save(tmp_path / "X.npy", X)
    blocks = from_npy(tmp_path / "X.npy", np.arange(20) % 2, block_rows=7)
    assert len(blocks) == 3
    assert np.array_equal(rows(blocks), X)
    assert blocks.read(2).y.tolist() == [0, 1, 0, 1, 0, 1]


def test_parts_of_memory_maps_know_their_place(tmp_path):
    X = np.arange(60.0).reshape(20, 3)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    part = mapped[5:15]
    assert isinstance(file_array(part), FileArray)
    assert np.array_equal(rows(from_arrays(part, block_rows=4)), X[5:15])
    assert file_array(mapped[:, 1:]) is None  # no consecutive bytes: read through the map
    assert np.array_equal(rows(from_arrays(mapped[:, 1:], block_rows=4)), X[:, 1:])
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[0] = -1  # only in memory
    assert np.array_equal(rows(from_arrays(changed)), changed)


def test_what_was_written_to_a_map_is_read(tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (20, 3))
    mapped[:] = np.arange(60).reshape(20, 3)
    assert np.array_equal(rows(from_arrays(mapped, block_rows=6)), mapped)


def test_files_are_pickled_as_paths(tmp_path):
    X, y = noisy(n=5000)
    np.save(tmp_path / "X.npy", X)
    blocks = from_npy(tmp_path / "X.npy", y)
    assert len(pickle.dumps(blocks)) < len(pickle.dumps(y)) + 2000
    assert np.array_equal(rows(pickle.loads(pickle.dumps(blocks))), X)


def test_the_same_bits_from_files_and_memory(tmp_path):
    X, y = noisy()
    for name, array in (("X", X), ("y", y), ("w", np.ones(600))):
        np.save(tmp_path / f"{name}.npy", array)
    inside = machine().fit(from_arrays(X, y, np.ones(600), block_rows=100))
    outside = machine().fit(from_npy(*(tmp_path / f"{name}.npy" for name in "Xyw"), block_rows=100))
    assert same_bits(inside, outside)


def test_sparse_rows_are_as_many_as_have_entries():
    X = sparse.random_array((1000, 100_000), density=1e-4, format="csr", random_state=0)
    blocks = from_arrays(X, np.arange(1000) % 2)
    assert len(blocks) == 1  # in a dense block of 32 MiB there were 41 of them
    assert abs(blocks.read(0).X - X).nnz == 0


@pytest.mark.parametrize("where", ["file", "memory"])
def test_data_that_change_between_rounds(tmp_path, where):
    X, y = noisy()
    np.save(tmp_path / "X.npy", X)
    blocks = from_npy(tmp_path / "X.npy", y) if where == "file" else from_arrays(X, y)

    class Changing(type(blocks)):
        reads = 0

        def read(self, k):
            Changing.reads += 1
            if Changing.reads == 3:
                X[0] = 7.0
                np.save(tmp_path / "X.npy", X)
            return super().read(k)

    blocks.__class__ = Changing
    with pytest.raises(BlocksChangedError, match="Block 0 has changed since the fit began"):
        machine().fit(blocks)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_that_becomes_shorter_is_an_error_and_kills_nothing(tmp_path, order):
    X, y = noisy()
    path = tmp_path / "X.npy"
    np.save(path, np.asarray(X, order=order))
    blocks = from_npy(path, y, block_rows=100)
    first = blocks.read(0)
    os.truncate(path, 200)
    assert np.array_equal(first.X, X[:100])  # a copy: a mapped block would end the process here
    with pytest.raises(BlockError, match=r"Block 0 cannot be read.*has become shorter"):
        machine().fit(blocks)


def test_files_that_are_gone_before_they_are_read_are_named(tmp_path):
    X, y = noisy()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.savetxt(
        tmp_path / "t.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments=""
    )
    labels = np.load(tmp_path / "y.npy", mmap_mode="r")
    rows = [from_npy(tmp_path / "X.npy", labels), from_csv(tmp_path / "t.csv", "y")]
    for path in tmp_path.iterdir():
        path.unlink()
    for blocks in rows:
        with pytest.raises(BlockError, match="Block 0 cannot be read: FileNotFoundError"):
            machine().fit(blocks)


def test_single_rows_of_a_file_that_becomes_shorter(tmp_path):
    X, y = noisy()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    labels = np.load(tmp_path / "y.npy", mmap_mode="r")
    blocks = from_npy(tmp_path / "X.npy", labels, block_rows=100)
    os.truncate(tmp_path / "X.npy", 128 + 150 * X.itemsize * X.shape[1])
    os.truncate(tmp_path / "y.npy", 200)
    assert blocks.take(np.array([149])).shape == (1, X.shape[1])
    for read in (lambda: blocks.take(np.array([150, 3])), blocks.labels_and_weights):
        with pytest.raises(BlockError, match=r"cannot be read: EOFError.*has become shorter"):
            read()


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_in_any_order(tmp_path, order):
    X = np.asarray(np.arange(60.0).reshape(20, 3), order=order)
    np.save(tmp_path / "X.npy", X)
    stored = file_array(np.load(tmp_path / "X.npy", mmap_mode="r"))
    for which in ([], [4], [3, 4, 5, 9, 8, 8, 19, 0], range(20)):
        which = np.array(which, dtype=np.intp)
        assert np.array_equal(stored[which], X[which])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(3), [0, 1, 0]), "rows and columns"),
        ((np.zeros((3, 2)), [0, 1]), "y must have one entry for each of the 3 rows"),
        ((np.zeros((3, 2)), [0, 1, 0], [1.0]), "sample_weight must have one entry"),
        ((np.zeros((0, 2)), []), "no rows"),
    ],
)
def test_arrays_that_do_not_fit_together(arguments, words):
    with pytest.raises(ValueError, match=words):
        from_arrays(*arguments)


def test_a_path_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        from_npy(tmp_path / "nowhere.npy", [0, 1])
    np.save(tmp_path / "X.npy", np.eye(4))
    blocks = from_npy(tmp_path / "X.npy", [0, 1, 0, 1])
    (tmp_path / "X.npy").unlink()
    with pytest.raises(BlockError, match=r"cannot be read: FileNotFoundError.*X\.npy"):
        machine().fit(blocks)


def test_a_block_has_at_least_one_row():
    with pytest.raises(ValueError, match="block_rows must be at least 1"):
        from_arrays(np.eye(3), [0, 1, 0], block_rows=0)
