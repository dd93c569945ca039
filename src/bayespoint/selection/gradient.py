"""Derivatives of the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines import Engine
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient, has_gradient
from bayespoint.engines.gaussian.prior_scale import as_run
from bayespoint.kernels import NAMES, Kernel, positive_parameters
from bayespoint.selection.objective import Solution, is_of_engine


def is_differentiable(kernel: Any, engine: Engine, name: str) -> bool:
    """Whether the derivative of the evidence with respect to a parameter is known."""
    if is_of_engine(name):
        return has_gradient(engine, name.removeprefix("engine__"))
    return name in searchable(kernel) and has_gradient(engine)


def searchable(kernel: Any) -> list[str]:
    """Parameters of kernel and space that may be any positive number, in the classifier's names.

    Kernels that are named share parameters of the classifier: one that has no use for a parameter
    ignores it.
    """
    kernels = [kernel] if isinstance(kernel, Kernel) else NAMES
    names = [name for one in kernels for name in positive_parameters(one)]
    return [*dict.fromkeys(names), "ridge"]


def solution_gradient(solution: Solution, names: Iterable[str]) -> NDArray[np.float64]:
    """Derivatives of a solution's log evidence by the logarithms of the classifier's parameters."""
    names, problem = tuple(names), solution.problem
    # What the kernel ignores, such as gamma if it is linear, does not change the evidence.
    inner = positive_parameters(solution.kernel) | {"ridge": "ridge"}
    inner |= {name: name.removeprefix("engine__") for name in names if is_of_engine(name)}
    gradient = evidence_gradient(
        as_run(solution.engine, solution.run),
        solution.space,
        problem.points,
        problem.targets,
        solution.posterior,  # type: ignore[arg-type]
        tuple(inner[name] for name in names if name in inner),
        problem.weight,
    )
    parts = [gradient[inner[name]] if name in inner else 0.0 for name in names]
    return np.concatenate([np.atleast_1d(part) for part in parts])
