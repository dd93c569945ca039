"""Limits of double precision, as NumPy scalars: float32 arrays become float64 beside them."""

from __future__ import annotations

import numpy as np

EPSILON = np.finfo(np.float64).eps  # distance from 1 to the next number
TINY = np.finfo(np.float64).tiny  # smallest normal number; as a divisor, it replaces 0
