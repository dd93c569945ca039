"""Warnings about results that are valid but could be better, each with its numbers and a remedy."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from bayespoint.exceptions.base import Attributes


class TaskWarning(Attributes, Warning):
    """A warning about some of the binary tasks; the message names the worst of them.

    Attributes
    ----------
    task : int
        Index of the task that the numbers belong to.
    n_others : int
        Number of other tasks with the same problem.
    name : str or None
        What the task separates, or None if there is only one task. Set by the classifier, which
        knows its classes.

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

    task: int
    n_others: int
    name: str | None = field(default="", init=False)

    @property
    def place(self) -> str:
        """The tasks concerned, as the end of a phrase."""
        if self.name is None:
            return ""
        others = f" (and {self.n_others} other{'s' * (self.n_others > 1)})"
        return f" of {self.name or f'task {self.task}'}{others if self.n_others else ''}"


class NotSeparableWarning(Attributes, ConvergenceWarning):
    """Some perceptrons still made mistakes after the last epoch.

    Attributes
    ----------
    n_failed, n_runs : int
        Number of perceptrons that did not separate the training set, and of all perceptrons.
    max_epochs : int
        Largest number of passes through the data.
    training_error : float
        Training error of the Bayes point (several classes: the largest over the tasks of one class
        against the rest).
    has_ridge : bool
        Whether a ridge was set; the remedy depends on it.

    Examples
    --------
    >>> from bayespoint.exceptions import NotSeparableWarning
    >>> print(NotSeparableWarning(2, 10, 100, 0.031, has_ridge=True))
    2 of 10 perceptrons still made mistakes after 100 epochs; training error of the Bayes point:
    3.10%. Remedy: raise max_epochs, or use a larger ridge.
    """

    n_failed: int
    n_runs: int
    max_epochs: int
    training_error: float
    has_ridge: bool

    @property
    def remedy(self) -> str:
        """What to do."""
        if self.has_ridge:
            return "raise max_epochs, or use a larger ridge"
        return (
            "set a ridge (ridge='mean' tolerates much noise), use a richer kernel, or raise "
            "max_epochs if the classes are separable"
        )

    text = (
        "{self.n_failed} of {self.n_runs} perceptrons still made mistakes after "
        "{self.max_epochs} epochs; training error of the Bayes point: "
        "{self.training_error:.2%}. Remedy: {self.remedy}."
    )


class NotConvergedWarning(TaskWarning, ConvergenceWarning):
    """An iterative engine stopped before it converged; the posterior is valid, but not optimal.

    Attributes
    ----------
    task, n_others : int
        Index of the worst task, and number of other tasks with the same problem.
    changes : tuple of float
        Largest relative change in each iteration.
    tol : float
        Change below which it would have converged.
    training_error : float
        Training error of the Bayes point of the task.
    reason : str
        What stopped the iteration.
    remedy : str
        What to do.
    unit : str
        What an iteration is called, in the plural.

    Examples
    --------
    >>> from bayespoint.exceptions import NotConvergedWarning
    >>> changes = (1.0, 0.1)
    >>> print(NotConvergedWarning(0, 0, changes, 1e-6, 0.02, "max_iter was reached", "raise it"))
    Not converged: max_iter was reached after 2 sweeps of task 0, with a last change of 0.1
    (tol=1e-06); training error of the Bayes point: 2.00%. Remedy: raise it.
    """

    changes: tuple[float, ...]
    tol: float
    training_error: float
    reason: str
    remedy: str
    unit: str = "sweeps"

    def __str__(self) -> str:
        last = f"{self.changes[-1]:.2g}" if self.changes else "unknown"
        return (
            f"Not converged: {self.reason} after {len(self.changes)} {self.unit}{self.place}, with "
            f"a last change of {last} (tol={self.tol:g}); training error of the Bayes point: "
            f"{self.training_error:.2%}. Remedy: {self.remedy}."
        )


class ChainsDisagreeWarning(TaskWarning, ConvergenceWarning):
    """Markov chains have not converged to the same posterior, or have too few effective samples.

    Attributes
    ----------
    task, n_others : int
        Index of the worst task, and number of other tasks with the same problem.
    r_hat : float
        Largest rank-normalised split R-hat of the outputs at training rows; 1 is agreement.
    effective_sample_size : float
        Smallest effective sample size of these outputs.
    target_ess : float or None
        Effective sample size that was requested.
    n_steps : int
        Steps of each chain.
    remedy : str
        What to do.

    Examples
    --------
    >>> from bayespoint.exceptions import ChainsDisagreeWarning
    >>> str(ChainsDisagreeWarning(0, 0, 1.3, 17.0, None, 2000, "raise thin")).split(". ")[0]
    'Chains of task 0 have not converged after 2000 steps each: R-hat 1.30 (1 is agreement),
    effective sample size 17'
    """

    r_hat: float
    effective_sample_size: float
    target_ess: float | None
    n_steps: int
    remedy: str

    def __str__(self) -> str:
        wanted = "" if self.target_ess is None else f" (target_ess={self.target_ess:g})"
        return (
            f"Chains{self.place} have not converged after {self.n_steps} steps each: R-hat "
            f"{self.r_hat:.2f} (1 is agreement), effective sample size "
            f"{self.effective_sample_size:.0f}{wanted}. The classifier is valid, but depends on "
            f"the seed. Remedy: {self.remedy}."
        )


class StoppedEarlyWarning(Attributes, UserWarning):
    """A fit was stopped by its time limit or its monitor; finished samples are kept.

    Attributes
    ----------
    n_finished, n_wanted : int
        Number of posterior samples in the result, and number requested.
    reason : str
        What stopped the fit.
    remedy : str
        How to get the missing samples.
    unit : str
        What is counted, in the plural.

    Examples
    --------
    >>> from bayespoint.exceptions import StoppedEarlyWarning
    >>> print(StoppedEarlyWarning(3, 10, "max_time"))
    Stopped by max_time with 3 of 10 samples. The classifier is valid; warm_start=True and another
    fit add the missing samples.
    """

    n_finished: int
    n_wanted: int
    reason: str
    remedy: str = "warm_start=True and another fit add the missing samples"
    unit: str = "samples"

    @property
    def summary(self) -> str:
        """What happened, in one phrase."""
        return f"stopped by {self.reason} with {self.n_finished} of {self.n_wanted} {self.unit}"

    def __str__(self) -> str:
        return f"{self.summary.capitalize()}. The classifier is valid; {self.remedy}."


class FactorisedWarning(TaskWarning, UserWarning):
    """Treating the weights as independent changes predictions noticeably.

    Attributes
    ----------
    task, n_others : int
        Index of the worst task, and number of other tasks with the same problem.
    variance_ratio : float
        Predictive variance over that of a full covariance, the worst of a few training rows.

    Examples
    --------
    >>> from bayespoint.exceptions import FactorisedWarning
    >>> str(FactorisedWarning(task=0, n_others=0, variance_ratio=2.5)).split(".")[0]
    'Independent weights matter: the predictive variance of a training row of task 0 is 2'
    """

    variance_ratio: float

    text = (
        "Independent weights matter: the predictive variance of a training "
        "row{self.place} is {self.variance_ratio:.2g} times that of a full covariance. "
        "Remedy: engine='ep' with dense X if there is memory for it, centred features, or a "
        "smaller prior_scale."
    )


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

    text = (
        "With beta={self.beta:g} a marginal still has {self.height:.1%} of its height where "
        "its grid ends: the length of the mean is off by about as much, its direction by "
        "little. Remedy: a larger beta, or a larger C, which widens the grids."
    )


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


class SparseInputWarning(Attributes, UserWarning):
    """The input is sparse, so a form of the named engine, or a linear kernel, keeps it sparse.

    Attributes
    ----------
    engine : str
        The engine as it was used, or "a linear kernel".

    Examples
    --------
    >>> from bayespoint.exceptions import SparseInputWarning
    >>> print(SparseInputWarning("FactorisedPropagation()"))
    Sparse input: FactorisedPropagation() was used, which keeps rows sparse.
    Pass it as engine to choose it explicitly, or X.toarray() for an engine without restrictions.
    """

    engine: str

    def __str__(self) -> str:
        return (
            f"Sparse input: {self.engine} was used, which keeps rows sparse. Pass it as engine to "
            "choose it explicitly, or X.toarray() for an engine without restrictions."
            if self.engine != "a linear kernel"
            else "Sparse input: kernel='auto' is linear, since these rows would be too large if "
            "they were dense. Name kernel='linear' to choose it, or pass X.toarray()."
        )


class ManyClassesWarning(Attributes, UserWarning):
    """Classes are learned together, and there are so many that this takes minutes.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    seconds : float
        About how long the fit takes.

    Examples
    --------
    >>> from bayespoint.exceptions import ManyClassesWarning
    >>> print(ManyClassesWarning(500, 2500.0))
    multi_class='joint' learns 500 classes together, which takes about 42 minutes: the time grows
    with the square of their number. Remedy: multi_class='one_vs_rest', or fewer rows.
    """

    n_classes: int
    seconds: float

    @property
    def duration(self) -> str:
        """About how long the fit takes, in words."""
        minutes = self.seconds / 60
        number, unit = (minutes / 60, "hour") if minutes > 120 else (minutes, "minute")
        return f"{number:.0f} {unit}{'s' * (round(number) > 1)}"

    def __str__(self) -> str:
        return (
            f"multi_class='joint' learns {self.n_classes} classes together, which takes about "
            f"{self.duration}: the time grows with the square of their number. Remedy: "
            "multi_class='one_vs_rest', or fewer rows."
        )


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

    text = (
        "{self.path} was written with scikit-learn {self.saved} and is read with "
        "{self.running}: transformers may work differently in another release. Compare a few "
        "predictions with earlier ones, then save the model again."
    )
