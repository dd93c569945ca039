"""Checks of the parameters of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bayespoint.engines import get_engine
from bayespoint.kernels import positive_parameters
from bayespoint.selection.gradient import searchable
from bayespoint.selection.objective import split, with_params
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


def check_names(owner: Any, params: dict[str, Any], bounds: Mapping[str, Any]) -> None:
    """Raise an error for names that the estimator does not have, or that cannot be bounded."""
    split(owner.estimator)
    chosen = with_params(owner.estimator, params)
    _, classifier, prefix = split(chosen)
    get_engine(classifier.engine)  # raises an error for an unknown name
    known = chosen.get_params()
    for name in bounds:
        if name not in known:
            raise ValueError(
                f"Invalid parameter {name!r} in param_bounds: the estimator has no such parameter. "
                f"Names of its classifier are {', '.join(numbers(classifier, prefix))}."
            )
        if name in params:
            raise ValueError(f"{name!r} is in param_grid and in param_bounds: search it in one.")
        if name not in numbers(classifier, prefix):
            raise ValueError(
                f"{name!r} cannot be searched between bounds: only positive numbers of the "
                f"classifier can, {', '.join(numbers(classifier, prefix))}. Use param_grid."
            )


def check_effects(owner: Any, grid: list[dict[str, Any]], bounds: Mapping[str, Any]) -> None:
    """Raise an error for a bounded parameter of kernels that no kernel of the search uses."""
    chosen = [split(with_params(owner.estimator, params)) for params in grid]
    for name in bounds:
        short = name.removeprefix(chosen[0].prefix)
        if short == "ridge" or short.startswith("engine__"):
            continue
        if not any(short in positive_parameters(parts.last.kernel) for parts in chosen):
            kernel = split(owner.estimator).last.kernel
            raise ValueError(
                f"{name!r} in param_bounds has no effect with kernel={kernel!r}. Name a "
                "kernel that has this parameter: gamma is one of 'rbf' and 'poly', coef0 of 'poly'."
            )


def numbers(classifier: Any, prefix: str) -> list[str]:
    """Names of the parameters that may be any positive number, as the estimator spells them."""
    of_engine = [name for name in OF_ENGINES if name in classifier.get_params()]
    return [f"{prefix}{name}" for name in [*searchable(classifier.kernel), *of_engine]]
