"""Marks for tests on MNIST and the UCI sets."""

import os

import pytest

from papers.datasets import VARIABLE

REAL_DATA = [
    pytest.mark.data,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no data folder"),
]
