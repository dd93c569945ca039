"""Distances along the axes against NumPy."""

import numpy as np

from bayespoint import _core

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 6)), RNG.normal(size=(5, 6))  # four at once, and two more
APART = np.abs(A[:, None] - B)  # of all pairs along each axis


def test_sums_over_the_axes():
    found = _core.distances.along_axes(A, np.ascontiguousarray(B.T))
    np.testing.assert_allclose(found, APART.sum(axis=2), rtol=1e-14)
    assert np.array_equal(
        _core.distances.along_axes(A, np.ascontiguousarray(A.T)).T,
        _core.distances.along_axes(A, np.ascontiguousarray(A.T)),
    )


def test_weighted_sums_over_the_pairs():
    weight = RNG.normal(size=(7, 5))
    found = _core.distances.weighted_along_axes(
        np.ascontiguousarray(A.T), np.ascontiguousarray(B.T), weight
    )
    np.testing.assert_allclose(found, np.einsum("ik,ikj->j", weight, APART), rtol=1e-12)
