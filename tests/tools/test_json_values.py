"""Values as JSON has them."""

import json
from collections import namedtuple

import numpy as np
import pytest

from bayespoint.reject import Guarantee
from bayespoint.tools.json_values import plain

Pair = namedtuple("Pair", ["low", "high"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (float("inf"), None),
        ({2: np.nan, "a": (True, None)}, {"2": None, "a": [True, None]}),
        (Pair(1, np.arange(2)), {"low": 1, "high": [0, 1]}),
        (np.array([Pair, 1], dtype=object)[1:], [1]),
        (np.datetime64("2026-11-17"), "2026-11-17"),
    ],
    ids=["number", "array", "infinity", "mapping", "named", "objects", "date"],
)
def test_plain(value, expected):
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_what_has_a_form_of_its_own():
    guarantee = Guarantee(0.01, 0.95, 1000, 900, 2)
    assert plain([guarantee]) == [guarantee.to_dict()]
