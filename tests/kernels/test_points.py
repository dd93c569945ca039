"""Lengths, and units that round nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayespoint.exceptions import KernelError
from bayespoint.kernels import PolynomialKernel, RadialKernel, in_plain_units
from bayespoint.kernels.base import lengths
from bayespoint.tools.arrays import power_of_two

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@given(st.floats(1e-300, 1e300))
def test_power_of_two_is_the_next_one(size):
    power = power_of_two(size)
    assert math.frexp(power)[0] == 0.5
    assert power / 2 < size <= power


def test_power_of_two_just_above_a_power():
    for exponent in (0, 1, 100, 1000, -1000):
        power = 2.0**exponent
        assert power_of_two(power) == power
        assert power_of_two(np.nextafter(power, np.inf)) == 2 * power
    assert power_of_two(0.0) == 1


def test_lengths_without_overflow_on_the_way():
    for scale in (1e-300, 1e-170, 1.0, 1e170, 1e300):
        np.testing.assert_allclose(lengths(scale * np.array([[3.0, 4.0]])), [5 * scale], rtol=1e-15)
    z = np.random.default_rng(0).normal(size=(2500, 3)).astype(np.float32)  # several chunks
    np.testing.assert_allclose(lengths(z), np.linalg.norm(z.astype(float), axis=1), rtol=1e-14)


@DTYPES
@pytest.mark.parametrize("kernel", [PolynomialKernel, RadialKernel])
def test_features_that_overflow_are_an_error(kernel, dtype):
    X = np.full((2, 3), np.finfo(dtype).max, dtype=dtype)
    with pytest.raises(KernelError, match=r"overflow\. Scale the features or lower gamma"):
        kernel(gamma=4.0)(X, X)


def test_plain_units_between_points_of_two_units():
    assert np.array_equal(in_plain_units(np.array([[3.0]]), 4.0, 2.0), [[24.0]])
