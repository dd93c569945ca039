"""The factor gamma of inner products and squared distances, which may depend on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.tools.validation import check_number, parameter_error

NAMED = ("scale", "features")


def check_gamma(owner: Any, also: tuple[str, ...] = NAMED, *, by_feature: bool = False) -> None:
    """Raise an error unless gamma is a positive number or one of the names.

    With ``by_feature`` it may also be an array of positive numbers.
    """
    if by_feature and isinstance(owner.gamma, (list, tuple, np.ndarray)):
        if not are_positive(owner.gamma):
            raise parameter_error(owner, "gamma", "a positive number or an array of them")
        return
    words = "an array or " if by_feature else ""
    check_number(owner, "gamma", low=0, closed="neither", also=also, words=words)


def are_positive(values: Any) -> bool:
    """Whether these are positive, finite numbers, one for each feature."""
    array = np.asarray(values)
    is_list = array.ndim == 1 and len(array) > 0 and array.dtype.kind in "iuf"
    return bool(is_list and np.isfinite(array).all() and (array > 0).all())


def gamma_from_data(gamma: Any, X: NDArray) -> Any:
    """The value of gamma for these training points."""
    if np.ndim(gamma) == 1:
        if len(gamma) != X.shape[1]:
            raise ValueError(
                f"gamma has {len(gamma)} numbers, but the points have {X.shape[1]} features. Give "
                "one number for each feature, or a single one."
            )
        return np.asarray(gamma, dtype=np.float64)
    if not isinstance(gamma, str):
        return float(gamma)
    return scale_gamma(X) if gamma == "scale" else 1 / X.shape[1]


def scale_gamma(X: NDArray) -> float:
    """1 / (n_features * Var X), as scikit-learn's SVC; 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(X.var(dtype=np.float64))
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            f"gamma='scale' is 1 / (n_features Var X), which is out of range for features as large "
            f"as {np.abs(X).max():.2g}. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)


def known_gamma(owner: Any) -> Any:
    """Gamma as a number or an array, or an error if it depends on training points."""
    if isinstance(owner.gamma, str):
        raise KernelError(
            f"gamma={owner.gamma!r} depends on the training points. Call kernel.fitted(X) first, "
            "or set gamma to a number."
        )
    return np.asarray(owner.gamma, np.float64) if np.ndim(owner.gamma) else float(owner.gamma)
