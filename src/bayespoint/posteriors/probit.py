"""The probit of outputs, which every posterior answers with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

HARD = 1e-9  # smallest scale of a probit beside its largest argument: labels are certain from here


def log_probit(outputs: NDArray, scale: NDArray) -> tuple[NDArray, NDArray]:
    """Logarithms of Phi(f / scale) and Phi(-f / scale); without a scale the sign decides."""
    largest = np.abs(outputs).max(axis=-1, keepdims=True)
    smallest = np.maximum(scale, HARD * largest)
    z = outputs / np.where(smallest > 0, smallest, 1.0)
    return log_ndtr(z), log_ndtr(-z)
