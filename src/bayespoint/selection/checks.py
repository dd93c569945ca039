"""Checks of the parameters of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bayespoint.engines import get_engine
from bayespoint.kernels import positive_parameters
from bayespoint.selection.objective import searchable, split, with_params
from bayespoint.tools.validation import check_flag, check_number, parameter_error

# Parameters of engines that may be any positive number, at least in an interval.
OF_ENGINES = (
    "engine__prior_scale",
    "engine__intercept_scale",
    "engine__noise",
    "engine__label_noise",
)


def check_parameters(owner: Any) -> None:
    """Raise an error for a constructor parameter that is not allowed."""
    if owner.param_grid is None and not owner.param_bounds:
        raise ValueError(
            "EvidenceSearch has nothing to search: set param_grid, param_bounds, or both."
        )
    grid = owner.param_grid
    if grid is not None and (not isinstance(grid, (Mapping, Sequence)) or len(grid) == 0):
        raise parameter_error(owner, "param_grid", "None, or a dict or list of dicts, not empty")
    check_flag(owner, "refit")
    check_number(owner, "n_starts", low=1, integer=True)
    check_number(owner, "tol", low=0, closed="neither")
    check_number(owner, "max_iter", low=1, integer=True)


def check_bounds(owner: Any) -> dict[str, tuple[float, float]]:
    """The bounds of each parameter, or an error unless 0 < low < high < infinity."""
    if owner.param_bounds is None:
        return {}
    if not isinstance(owner.param_bounds, Mapping):
        raise parameter_error(owner, "param_bounds", "None or a dict of names and (low, high)")
    bounds = {}
    for name, pair in owner.param_bounds.items():
        is_pair = isinstance(pair, (Sequence, np.ndarray)) and len(pair) == 2
        if (
            not is_pair
            or not all(isinstance(value, Real) for value in pair)
            or not 0 < pair[0] < pair[1] < np.inf
        ):
            raise ValueError(
                f"The 'param_bounds' of {name!r} must be a pair (low, high) with 0 < low < high "
                f"< inf, since logarithms are searched. Got {pair!r} instead."
            )
        bounds[name] = float(pair[0]), float(pair[1])
    return bounds


def check_names(owner: Any, grid: list[dict[str, Any]], bounds: Mapping[str, Any]) -> None:
    """Raise an error for names that the estimator does not have, or that cannot be bounded.

    Nor may all kernels of the search ignore a bounded parameter.
    """
    kernel, used = split(owner.estimator).last.kernel, set()
    for params in grid:
        chosen = with_params(owner.estimator, params)
        _, classifier, prefix = split(chosen)
        get_engine(classifier.engine)  # raises an error for an unknown name
        known, allowed = chosen.get_params(), numbers(classifier, prefix)
        for name in bounds:
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} in param_bounds: the estimator has no such "
                    f"parameter. Names of its classifier are {', '.join(allowed)}."
                )
            if name in params:
                raise ValueError(f"{name!r} is in param_grid and in param_bounds: search it once.")
            if name not in allowed:
                raise ValueError(
                    f"{name!r} cannot be searched between bounds: only positive numbers of the "
                    f"classifier can, {', '.join(allowed)}. Use param_grid."
                )
        used |= {f"{prefix}{name}" for name in positive_parameters(classifier.kernel)}
    for name in bounds:
        is_of_kernel = not name.removeprefix(prefix).startswith(("ridge", "engine__"))
        if is_of_kernel and name not in used:
            raise ValueError(
                f"{name!r} in param_bounds has no effect with kernel={kernel!r}. Name a "
                "kernel that has this parameter: gamma is one of 'rbf' and 'poly', coef0 of 'poly'."
            )


def numbers(classifier: Any, prefix: str) -> list[str]:
    """Names of the parameters that may be any positive number, as the estimator spells them."""
    of_engine = [name for name in OF_ENGINES if name in classifier.get_params()]
    return [f"{prefix}{name}" for name in [*searchable(classifier.kernel), *of_engine]]
