"""Warnings: results that are valid but could be better, each with its numbers and a remedy."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

# Packages between a user's line and the place that finds out what to warn of.
BETWEEN = ("bayespoint", "sklearn", "joblib", "threading", "concurrent", "contextlib")


_held: ContextVar[list[Warning] | None] = ContextVar("bayespoint_held_warnings", default=None)


@contextmanager
def held_warnings() -> Iterator[list[Warning]]:
    """Collect what :func:`warn_user` would issue in the block, in this thread alone."""
    held: list[Warning] = []
    token = _held.set(held)
    try:
        yield held
    finally:
        _held.reset(token)


def warn_user(warning: Warning) -> None:
    """Issue a warning that points at the line of the user, however deep it was found out.

    Frames of this package, of scikit-learn and of joblib are passed over: pipelines, searches and
    scikit-learn's decorators put a number of them in between that depends on its release.
    """
    held = _held.get()
    if held is not None:
        held.append(warning)
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in BETWEEN:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


class TaskWarning(Warning):
    """Something happened in some of the tasks; the worst of them is named.

    Attributes
    ----------
    task : int
        The task of which the numbers are.
    n_others : int
        Other tasks in which the same happened.
    name : str or None
        What the task separates, None if there is only one; set by the classifier, which knows its
        classes.

    Examples
    --------
    >>> from bayespoint.exceptions.warnings import TaskWarning
    >>> warning = TaskWarning(2, 1)
    >>> warning.place
    ' of task 2 (and 1 other)'
    >>> warning.name = "'c' against the rest"
    >>> warning.place
    " of 'c' against the rest (and 1 other)"
    """

    name: str | None = ""

    def __init__(self, task: int, n_others: int = 0, *rest: object) -> None:
        self.task = task
        self.n_others = n_others
        super().__init__(task, n_others, *rest)

    @property
    def place(self) -> str:
        """Where it happened, to be put behind what happened."""
        if self.name is None:
            return ""
        others = f" (and {self.n_others} other{'s' * (self.n_others > 1)})"
        return f" of {self.name or f'task {self.task}'}{others if self.n_others else ''}"


class NotSeparableWarning(ConvergenceWarning):
    """Some classifiers still made mistakes when they had to stop.

    Attributes
    ----------
    n_failed, n_runs : int
        Perceptrons that did not separate the training set, of how many.
    max_epochs : int
        Passes through the data that each was allowed.
    training_error : float
        Share of the training points that the Bayes point gets wrong (several classes: largest
        share over the one-against-the-rest tasks).
    has_ridge : bool
        Whether there was a ridge, which decides what the message advises.

    Examples
    --------
    >>> from bayespoint.exceptions import NotSeparableWarning
    >>> print(NotSeparableWarning(2, 10, 100, 0.031, has_ridge=True))
    2 of 10 perceptrons still made mistakes after 100 epochs; training error of the Bayes point:
    3.10%. Remedy: raise max_epochs, or take a larger ridge.
    """

    def __init__(
        self, n_failed: int, n_runs: int, max_epochs: int, training_error: float, has_ridge: bool
    ) -> None:
        self.n_failed = n_failed
        self.n_runs = n_runs
        self.max_epochs = max_epochs
        self.training_error = training_error
        self.has_ridge = has_ridge
        super().__init__(n_failed, n_runs, max_epochs, training_error, has_ridge)

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.has_ridge:
            return "raise max_epochs, or take a larger ridge"
        return (
            "set a ridge (ridge='mean' bears much noise), take a richer kernel, or raise "
            "max_epochs if the classes can be separated"
        )

    def __str__(self) -> str:
        return (
            f"{self.n_failed} of {self.n_runs} perceptrons still made mistakes after "
            f"{self.max_epochs} epochs; training error of the Bayes point: "
            f"{self.training_error:.2%}. Remedy: {self.remedy}."
        )


class NotConvergedWarning(TaskWarning, ConvergenceWarning):
    """An iteration ended before it converged; the posterior is valid, but not the best one.

    Attributes
    ----------
    task, n_others, name
        The task that the numbers are of; see :class:`~bayespoint.exceptions.warnings.TaskWarning`.
    changes : tuple of float
        Largest relative change in each iteration.
    tol : float
        Change at which it would have converged.
    training_error : float
        Share of the training points that the Bayes point of the task gets wrong.
    reason : str
        What ended the iteration.
    remedy : str
        What to do about it.
    unit : str
        What an iteration is called.

    Examples
    --------
    >>> from bayespoint.exceptions import NotConvergedWarning
    >>> changes = (1.0, 0.1)
    >>> print(NotConvergedWarning(0, 0, changes, 1e-6, 0.02, "max_iter was reached", "raise it"))
    Not converged: max_iter was reached after 2 sweeps of task 0, with a last change of 0.1
    (tol=1e-06); training error of the Bayes point: 2.00%. Remedy: raise it.
    """

    def __init__(
        self,
        task: int,
        n_others: int,
        changes: tuple[float, ...],
        tol: float,
        training_error: float,
        reason: str,
        remedy: str,
        unit: str = "sweeps",
    ) -> None:
        self.changes = changes
        self.tol = tol
        self.training_error = training_error
        self.reason = reason
        self.remedy = remedy
        self.unit = unit
        super().__init__(task, n_others, changes, tol, training_error, reason, remedy, unit)

    def __str__(self) -> str:
        last = f"{self.changes[-1]:.2g}" if self.changes else "unknown"
        return (
            f"Not converged: {self.reason} after {len(self.changes)} {self.unit}{self.place}, with "
            f"a last change of {last} (tol={self.tol:g}); training error of the Bayes point: "
            f"{self.training_error:.2%}. Remedy: {self.remedy}."
        )


class FactorisedWarning(TaskWarning, UserWarning):
    """Weights were treated as independent, and predictions would change if they were not.

    Attributes
    ----------
    task, n_others, name
        The task that the number is of; see :class:`~bayespoint.exceptions.warnings.TaskWarning`.
    variance_ratio : float
        Predictive variance over that of a full covariance, the worst of a few training points.

    Examples
    --------
    >>> from bayespoint.exceptions import FactorisedWarning
    >>> str(FactorisedWarning(task=0, n_others=0, variance_ratio=2.5)).split(".")[0]
    "covariance='diagonal' matters: the predictive variance of a training point of task 0 is 2"
    """

    def __init__(self, task: int, n_others: int, variance_ratio: float) -> None:
        self.variance_ratio = variance_ratio
        super().__init__(task, n_others, variance_ratio)

    def __str__(self) -> str:
        return (
            f"covariance='diagonal' matters: the predictive variance of a training "
            f"point{self.place} is {self.variance_ratio:.2g} times that of a full covariance. "
            "Remedy: covariance='full' if the data allow it, centred features, or a smaller "
            "prior_scale."
        )


class CutMarginalsWarning(UserWarning):
    """Max-marginals read with a low beta are cut off where their grids end.

    Attributes
    ----------
    beta : float
        The lowest of the betas that were asked for.
    height : float
        Height of the highest end of a marginal, over that of its peak.

    Examples
    --------
    >>> from bayespoint.exceptions import CutMarginalsWarning
    >>> str(CutMarginalsWarning(beta=0.03, height=0.21)).split(":")[0]
    'With beta=0.03 a marginal still has 21.0% of its height where its grid ends'
    """

    def __init__(self, beta: float, height: float) -> None:
        self.beta = beta
        self.height = height
        super().__init__(beta, height)

    def __str__(self) -> str:
        return (
            f"With beta={self.beta:g} a marginal still has {self.height:.1%} of its height where "
            "its grid ends: the length of the mean is off by about as much, its direction hardly. "
            "Remedy: a larger beta, or a larger C, whose grids are wider."
        )


class ChainsDisagreeWarning(TaskWarning, ConvergenceWarning):
    """Chains had not found the same posterior when they ended, or know too little of it.

    Attributes
    ----------
    task, n_others, name
        The task that the numbers are of; see :class:`~bayespoint.exceptions.warnings.TaskWarning`.
    r_hat : float
        Largest rank-normalised split R-hat of the outputs at training points; 1 is agreement.
    effective_sample_size : float
        Smallest number of independent samples that the draws are worth.
    target_ess : float or None
        Number that was asked for.
    n_steps : int
        Steps of each chain.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> from bayespoint.exceptions import ChainsDisagreeWarning
    >>> str(ChainsDisagreeWarning(0, 0, 1.3, 17.0, None, 2000, "raise thin")).split(". ")[0]
    'Chains of task 0 have not mixed after 2000 steps each: R-hat 1.30 (1 is agreement), worth 17
    independent samples'
    """

    def __init__(
        self,
        task: int,
        n_others: int,
        r_hat: float,
        effective_sample_size: float,
        target_ess: float | None,
        n_steps: int,
        remedy: str,
    ) -> None:
        self.r_hat = r_hat
        self.effective_sample_size = effective_sample_size
        self.target_ess = target_ess
        self.n_steps = n_steps
        self.remedy = remedy
        super().__init__(task, n_others, r_hat, effective_sample_size, target_ess, n_steps, remedy)

    def __str__(self) -> str:
        wanted = "" if self.target_ess is None else f" (target_ess={self.target_ess:g})"
        return (
            f"Chains{self.place} have not mixed after {self.n_steps} steps each: R-hat "
            f"{self.r_hat:.2f} (1 is agreement), worth {self.effective_sample_size:.0f} "
            f"independent samples{wanted}. The classifier is valid, but another seed would give "
            f"another one. Remedy: {self.remedy}."
        )


class StoppedEarlyWarning(UserWarning):
    """A run was ended by its time limit or its monitor; what was finished is kept.

    Attributes
    ----------
    n_finished, n_wanted : int
        Posterior samples in the result, and samples asked for.
    reason : str
        What ended the run.
    remedy : str
        How to get the missing ones.
    unit : str
        What they are, if not samples.

    Examples
    --------
    >>> from bayespoint.exceptions import StoppedEarlyWarning
    >>> print(StoppedEarlyWarning(3, 10, "max_time"))
    Stopped by max_time with 3 of 10 samples. The classifier is valid; warm_start=True and another
    fit add the missing samples.
    """

    def __init__(
        self,
        n_finished: int,
        n_wanted: int,
        reason: str,
        remedy: str = "warm_start=True and another fit add the missing samples",
        unit: str = "samples",
    ) -> None:
        self.n_finished = n_finished
        self.n_wanted = n_wanted
        self.reason = reason
        self.remedy = remedy
        self.unit = unit
        super().__init__(n_finished, n_wanted, reason, remedy, unit)

    @property
    def summary(self) -> str:
        """What happened, in a few words."""
        return f"stopped by {self.reason} with {self.n_finished} of {self.n_wanted} {self.unit}"

    def __str__(self) -> str:
        return f"{self.summary.capitalize()}. The classifier is valid; {self.remedy}."


class BoundReachedWarning(UserWarning):
    """A search ended at a bound beyond which the evidence still grows.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    bounds : tuple of (float, float)
        Between which they were searched.
    values : tuple of float
        The bounds that they reached.

    Examples
    --------
    >>> from bayespoint.exceptions import BoundReachedWarning
    >>> print(BoundReachedWarning(("gamma",), ((0.01, 100.0),), (100.0,)))
    EvidenceSearch ended at a bound beyond which the evidence still grows: gamma=100, searched from
    0.01 to 100. Remedy: wider bounds in param_bounds.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        bounds: tuple[tuple[float, float], ...],
        values: tuple[float, ...],
    ) -> None:
        self.names = names
        self.bounds = bounds
        self.values = values
        super().__init__(names, bounds, values)

    def __str__(self) -> str:
        reached = ", ".join(
            f"{name}={value:g}, searched from {low:g} to {high:g}"
            for name, (low, high), value in zip(self.names, self.bounds, self.values, strict=True)
        )
        return (
            f"EvidenceSearch ended at a bound beyond which the evidence still grows: {reached}. "
            "Remedy: wider bounds in param_bounds."
        )


class SparseInputWarning(UserWarning):
    """Points are sparse, so the engine that was named took a form that keeps them sparse.

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

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(engine)

    def __str__(self) -> str:
        return (
            f"Sparse input: {self.engine} was used, which keeps rows sparse. Pass it as engine to "
            "choose it explicitly, or X.toarray() for an engine without restrictions."
        )


class ModelVersionWarning(UserWarning):
    """A model file has parts of scikit-learn, from another release than the one that runs.

    Attributes
    ----------
    path : Path
        The file.
    saved, running : str
        Version of scikit-learn that wrote it, and that reads it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bayespoint.exceptions import ModelVersionWarning
    >>> print(ModelVersionWarning(Path("model.bpm"), "1.7.2", "1.9.1"))
    model.bpm was written with scikit-learn 1.7.2 and is read with 1.9.1: transformers of one
    release can mean something else in another. Compare a few predictions with those from before,
    then save the model again.
    """

    def __init__(self, path: Path, saved: str, running: str) -> None:
        self.path = path
        self.saved = saved
        self.running = running
        super().__init__(path, saved, running)

    def __str__(self) -> str:
        return (
            f"{self.path} was written with scikit-learn {self.saved} and is read with "
            f"{self.running}: transformers of one release can mean something else in another. "
            "Compare a few predictions with those from before, then save the model again."
        )
