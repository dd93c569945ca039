"""Derivatives of a fitted classifier's evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from bayespoint.engines import get_engine
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient, has_gradient
from bayespoint.kernels import NAMES, Kernel, positive_parameters
from bayespoint.problem import Problem

PREFIX = "engine__"


def is_differentiable(classifier: Any, name: str) -> bool:
    """Whether the derivative of the evidence with respect to a parameter is known."""
    engine = get_engine(classifier.engine)
    if name.startswith(PREFIX):
        return has_gradient(engine, name.removeprefix(PREFIX))
    return name in searchable(classifier) and has_gradient(engine)


def searchable(classifier: Any) -> list[str]:
    """Parameters of kernel and space that may be any positive number, in the classifier's names.

    Kernels that are named share parameters of the classifier: one that has no use for a parameter
    ignores it.
    """
    kernel = classifier.kernel
    kernels = [kernel] if isinstance(kernel, Kernel) else NAMES
    names = [name for one in kernels for name in positive_parameters(one)]
    return [*dict.fromkeys(names), "ridge"]


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
        One derivative for each name.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import ExpectationPropagation
    >>> from bayespoint.selection import log_evidence_gradient
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BayesPointClassifier(engine=ExpectationPropagation()).fit(scale(X), y)
    >>> log_evidence_gradient(clf, scale(X), y, ["engine__prior_scale", "engine__noise"]).round(3)
    array([-3.905,  3.905])
    """
    names = tuple(names)
    points = validate_data(classifier, X, dtype=(np.float64, np.float32), order="C", reset=False)
    problem = Problem.pose(
        points,
        column_or_1d(y),
        sample_weight,
        classifier.class_weight,
        precomputed=classifier.kernel_.is_precomputed,
    )
    # What the kernel ignores, such as gamma if it is linear, does not change the evidence.
    inner = positive_parameters(classifier.kernel) | {"ridge": "ridge"}
    inner |= {name: name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}
    engine = get_engine(classifier.engine)
    space = engine.space(classifier.kernel_, classifier.ridge)
    gradient = evidence_gradient(
        engine,
        space.fit(problem.points),
        problem.points,
        problem.targets,
        classifier.posterior_,
        tuple(inner[name] for name in names if name in inner),
        problem.weight,
    )
    return np.array([gradient[inner[name]] if name in inner else 0.0 for name in names])
