"""Warnings about valid results that could be better, each with its numbers and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bayespoint.exceptions.base import Attributes
from bayespoint.exceptions.convergence import TaskWarning


@dataclass(eq=False)
class FactorisedWarning(TaskWarning, UserWarning):
    """Treating the weights as independent changes predictions noticeably.

    Attributes
    ----------
    task, n_others : int
        Index of the worst task, and number of other tasks with the same problem.
    variance_ratio : float
        Predictive variance over that of a full covariance, the worst of a few training points.

    Examples
    --------
    >>> from bayespoint.exceptions import FactorisedWarning
    >>> str(FactorisedWarning(task=0, n_others=0, variance_ratio=2.5)).split(".")[0]
    "covariance='diagonal' matters: the predictive variance of a training point of task 0 is 2"
    """

    variance_ratio: float

    def __str__(self) -> str:
        return (
            f"covariance='diagonal' matters: the predictive variance of a training "
            f"point{self.place} is {self.variance_ratio:.2g} times that of a full covariance. "
            "Remedy: covariance='full' if there is memory for it, centred features, or a smaller "
            "prior_scale."
        )


@dataclass(eq=False)
class CutMarginalsWarning(Attributes, UserWarning):
    """At a low beta the ends of the grids cut off the max-marginals.

    Attributes
    ----------
    beta : float
        The lowest beta.
    height : float
        Largest height of a marginal at an end of its grid, relative to its peak.

    Examples
    --------
    >>> from bayespoint.exceptions import CutMarginalsWarning
    >>> str(CutMarginalsWarning(beta=0.03, height=0.21)).split(":")[0]
    'With beta=0.03 a marginal still has 21.0% of its height where its grid ends'
    """

    beta: float
    height: float

    def __str__(self) -> str:
        return (
            f"With beta={self.beta:g} a marginal still has {self.height:.1%} of its height where "
            "its grid ends: the length of the mean is off by about as much, its direction by "
            "little. Remedy: a larger beta, or a larger C, which widens the grids."
        )


@dataclass(eq=False)
class BoundReachedWarning(Attributes, UserWarning):
    """The evidence still grows at a bound of the search.

    Attributes
    ----------
    names : tuple of str
        The parameters at a bound.
    bounds : tuple of (float, float)
        Their bounds.
    values : tuple of float
        Their values: the bounds that they reached.

    Examples
    --------
    >>> from bayespoint.exceptions import BoundReachedWarning
    >>> print(BoundReachedWarning(("gamma",), ((0.01, 100.0),), (100.0,)))
    EvidenceSearch ended at a bound beyond which the evidence still grows: gamma=100, searched from
    0.01 to 100. Remedy: wider bounds in param_bounds.
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        reached = ", ".join(
            f"{name}={value:g}, searched from {low:g} to {high:g}"
            for name, (low, high), value in zip(self.names, self.bounds, self.values, strict=True)
        )
        return (
            f"EvidenceSearch ended at a bound beyond which the evidence still grows: {reached}. "
            "Remedy: wider bounds in param_bounds."
        )


@dataclass(eq=False)
class SparseInputWarning(Attributes, UserWarning):
    """The input is sparse, so the named engine was used in a form that keeps rows sparse.

    Attributes
    ----------
    engine : str
        The engine as it was used.

    Examples
    --------
    >>> from bayespoint.exceptions import SparseInputWarning
    >>> print(SparseInputWarning("ExpectationPropagation(covariance='diagonal')"))
    Sparse input: ExpectationPropagation(covariance='diagonal') was used, which keeps rows sparse.
    Pass it as engine to choose it explicitly, or X.toarray() for an engine without restrictions.
    """

    engine: str

    def __str__(self) -> str:
        return (
            f"Sparse input: {self.engine} was used, which keeps rows sparse. Pass it as engine to "
            "choose it explicitly, or X.toarray() for an engine without restrictions."
        )


@dataclass(eq=False)
class ModelVersionWarning(Attributes, UserWarning):
    """A model file contains transformers of another release of scikit-learn.

    Attributes
    ----------
    path : Path
        The file.
    saved, running : str
        Version of scikit-learn that wrote the file, and version that reads it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bayespoint.exceptions import ModelVersionWarning
    >>> print(ModelVersionWarning(Path("model.bpm"), "1.7.2", "1.9.1"))
    model.bpm was written with scikit-learn 1.7.2 and is read with 1.9.1: transformers may work
    differently in another release. Compare a few predictions with earlier ones, then save the model
    again.
    """

    path: Path
    saved: str
    running: str

    def __str__(self) -> str:
        return (
            f"{self.path} was written with scikit-learn {self.saved} and is read with "
            f"{self.running}: transformers may work differently in another release. Compare a few "
            "predictions with earlier ones, then save the model again."
        )
