"""The factor gamma of inner products and squared distances, which may depend on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.validation import check_number


def check_gamma(owner: Any) -> None:
    """Raise an error unless gamma is "scale", "auto" or a positive number."""
    check_number(owner, "gamma", low=0, closed="neither", also=("scale", "auto"))


def gamma_from_data(gamma: float | str, X: NDArray) -> float:
    """The value of gamma for these training points."""
    if not isinstance(gamma, str):
        return float(gamma)
    return scale_gamma(X) if gamma == "scale" else 1 / X.shape[1]


def scale_gamma(X: NDArray) -> float:
    """1 / (n_features * Var X), as scikit-learn's SVC; 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    with np.errstate(over="ignore"):
        variance = float(X.var(dtype=np.float64))
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            f"gamma='scale' is 1 / (n_features Var X), which is out of range for features as large "
            f"as {np.abs(X).max():.2g}. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)


def known_gamma(owner: Any) -> float:
    """Gamma as a number, or an error if it depends on training points."""
    if isinstance(owner.gamma, str):
        raise KernelError(
            f"gamma={owner.gamma!r} depends on the training points. Call kernel.fitted(X) first, "
            "or set gamma to a number."
        )
    return float(owner.gamma)
