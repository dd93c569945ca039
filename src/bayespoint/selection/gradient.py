"""Derivatives of the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.classifier.fitting import pose
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import Engine, get_engine
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


def log_evidence_gradient(
    classifier: Any,
    X: ArrayLike,
    y: ArrayLike,
    names: Iterable[str],
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Derivatives of ``log_evidence_.sum()`` by the logarithms of parameters.

    Parameters
    ----------
    classifier : BayesPointClassifier
        Fitted, with an engine whose gradient is known.
    X, y
        What it was fitted to.
    names : iterable of str
        Parameters that are positive numbers: ``gamma``, ``coef0``, ``ridge``,
        ``engine__prior_scale``, ``engine__intercept_scale``, ``engine__noise``,
        ``engine__label_noise``; of a kernel instance ``kernel__`` and each name in its
        ``positive_parameters``, such as ``kernel__gamma`` and ``kernel__weights__0``.
    sample_weight : array-like of shape (n_samples,), optional
        The weights that it was fitted with.

    Returns
    -------
    ndarray of shape (n_names,)
        One derivative for each name, and for each entry of a parameter that is an array.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.selection import log_evidence_gradient
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="linear").fit(scale(X), y)
    >>> log_evidence_gradient(clf, scale(X), y, ["engine__prior_scale", "engine__noise"]).round(3)
    array([-3.905,  3.905])
    """
    if hasattr(classifier, "chosen_params_"):
        raise ValueError(
            "The kernel of this classifier was chosen automatically, and a mixture of kernels has "
            "no evidence. Name the kernel, for example kernel='rbf', and fit again."
        )
    names, engine = tuple(names), get_engine(classifier.engine)
    for name in names:
        if not is_differentiable(classifier.kernel, engine, name):
            raise ValueError(
                f"The derivative of the evidence by {name!r} is not known for {engine!r}. Known "
                "are those of ExpectationPropagation with a full covariance and of "
                "LaplaceApproximation by positive numbers of the prior, the noise and the kernel."
            )
    problem = pose(classifier, Parameters.of(classifier), X, y, sample_weight, reset=False)
    settings = classifier.kernel_, classifier.ridge, classifier.n_components
    space = engine.space(*settings).fit(problem.points)
    solution = Solution(
        classifier.kernel, engine, problem, space, classifier.posterior_, classifier.run_
    )
    return solution_gradient(solution, names)
