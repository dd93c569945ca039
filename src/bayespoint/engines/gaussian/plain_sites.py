"""What :mod:`bayespoint._core.ep` does with all sites at once, for likelihoods in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core


def all_sites(
    likelihood: Any, labels: NDArray, moments: tuple, sites: tuple
) -> tuple[NDArray, NDArray, NDArray]:
    """New a, b of all sites, and how far they move; infinitely far without a cavity."""
    (e, f), (y, a, b, _) = moments, sites
    mean, variance = _core.ep.cavities(moments, sites)
    lost = np.isnan(variance)
    m, v = np.where(lost, y * f, mean), np.where(lost, e, variance)
    _, new_a, new_b = likelihood.site(labels, y * m, v)
    s = np.sqrt(v + likelihood.noise**2)
    moved = np.maximum(np.abs(y * new_a - a) * s, np.abs(new_b - b) * s**2)
    return np.where(lost, a, y * new_a), np.where(lost, b, new_b), np.where(lost, np.inf, moved)


def constants(
    likelihood: Any, labels: NDArray, moments: tuple, sites: tuple
) -> NDArray[np.float64]:
    """Logarithms of the constants of the sites."""
    (e, f), (y, a, b, _) = moments, sites
    mean, variance = _core.ep.cavities(moments, sites)
    lost = np.isnan(variance)
    m, v = np.where(lost, y * f, mean), np.where(lost, e, variance)
    log_p, _, _ = likelihood.site(labels, y * m, v)
    d = 1 + b * v
    return log_p + 0.5 * np.log(d) - 0.5 * (2 * m * a + a**2 * v - b * m**2) / d
