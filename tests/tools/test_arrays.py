"""Formulas that take NumPy arrays, torch tensors and nodes of an ONNX graph alike."""

import numpy as np
import pytest

from bayespoint.tools import arrays

KINDS = ["numpy", "torch"]


def made(kind, values, dtype="float64"):
    array = np.asarray(values, dtype=dtype)
    return array if kind == "numpy" else pytest.importorskip("torch").tensor(array)


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_both_libraries(kind):
    X = made(kind, [[3.0, -4.0], [0.0, 1.0]])
    assert arrays.namespace(X).__name__ == kind
    assert arrays.is_tensor(X) == (kind == "torch")
    assert arrays.to_host(arrays.squares(X)).tolist() == [25.0, 1.0]
    assert arrays.largest(X) == 4.0 and arrays.largest(X[:0]) == 0.0
    assert np.allclose(arrays.to_host(arrays.softmax(X)).sum(axis=1), 1)
    assert [X[part].shape[0] for part in arrays.chunks(X)] == [2]
    assert arrays.product(X, np.array([[1.0], [1.0]])).tolist() == [[-1.0], [1.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_types_and_places(kind):
    single = made(kind, [1.0, 2.0], "float32")
    assert arrays.to_host(arrays.float64(single)).dtype == np.float64
    assert arrays.to_host(arrays.cast(single, single.dtype)).dtype == np.float32
    other = arrays.beside(single, np.array([5, 6]))
    assert type(other) is type(single) and arrays.to_host(other).dtype == np.int64
    constant = np.arange(2.0)
    assert arrays.kept(single, constant) is arrays.kept(single, constant)
    assert type(arrays.like(single, constant)) is type(single)
