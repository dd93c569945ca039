"""Warnings about fits that did not converge or were stopped, each with its numbers and a remedy."""

from __future__ import annotations

from dataclasses import dataclass, field

from sklearn.exceptions import ConvergenceWarning

from bayespoint.exceptions.base import Attributes


@dataclass(eq=False)
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
    >>> from bayespoint.exceptions.convergence import TaskWarning
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


@dataclass(eq=False)
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

    def __str__(self) -> str:
        return (
            f"{self.n_failed} of {self.n_runs} perceptrons still made mistakes after "
            f"{self.max_epochs} epochs; training error of the Bayes point: "
            f"{self.training_error:.2%}. Remedy: {self.remedy}."
        )


@dataclass(eq=False)
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


@dataclass(eq=False)
class ChainsDisagreeWarning(TaskWarning, ConvergenceWarning):
    """Markov chains have not converged to the same posterior, or have too few effective samples.

    Attributes
    ----------
    task, n_others : int
        Index of the worst task, and number of other tasks with the same problem.
    r_hat : float
        Largest rank-normalised split R-hat of the outputs at training points; 1 is agreement.
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


@dataclass(eq=False)
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
