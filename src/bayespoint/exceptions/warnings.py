"""Warnings: results that are valid but could be better, each with its numbers and a remedy."""

from __future__ import annotations

from pathlib import Path

from sklearn.exceptions import ConvergenceWarning


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

    def __str__(self) -> str:
        remedy = (
            "raise max_epochs, or take a larger ridge"
            if self.has_ridge
            else "set a ridge (ridge='mean' bears much noise), take a richer kernel, or raise "
            "max_epochs if the classes can be separated"
        )
        return (
            f"{self.n_failed} of {self.n_runs} perceptrons still made mistakes after "
            f"{self.max_epochs} epochs; training error of the Bayes point: "
            f"{self.training_error:.2%}. Remedy: {remedy}."
        )


class NotConvergedWarning(ConvergenceWarning):
    """An iteration ended before it came to rest; the posterior is valid, but not the best one.

    Attributes
    ----------
    task : int
        The task it happened in.
    changes : tuple of float
        Largest relative change in each iteration.
    tol : float
        Change at which it would have come to rest.
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
    >>> print(NotConvergedWarning(0, changes, 1e-6, 0.02, "max_iter was reached", "raise it"))
    Not converged: max_iter was reached after 2 sweeps of task 0, with a last change of 0.1
    (tol=1e-06); training error of the Bayes point: 2.00%. Remedy: raise it.
    """

    def __init__(
        self,
        task: int,
        changes: tuple[float, ...],
        tol: float,
        training_error: float,
        reason: str,
        remedy: str,
        unit: str = "sweeps",
    ) -> None:
        self.task = task
        self.changes = changes
        self.tol = tol
        self.training_error = training_error
        self.reason = reason
        self.remedy = remedy
        self.unit = unit
        super().__init__(task, changes, tol, training_error, reason, remedy, unit)

    def __str__(self) -> str:
        last = f"{self.changes[-1]:.2g}" if self.changes else "unknown"
        return (
            f"Not converged: {self.reason} after {len(self.changes)} {self.unit} of task "
            f"{self.task}, with a last change of {last} (tol={self.tol:g}); training error of the "
            f"Bayes point: {self.training_error:.2%}. Remedy: {self.remedy}."
        )


class FactorisedWarning(UserWarning):
    """Weights were treated as independent, and predictions would change if they were not.

    Attributes
    ----------
    task : int
        The task it happened in.
    variance_ratio : float
        Predictive variance over that of a full covariance, the worst of a few training points.

    Examples
    --------
    >>> from bayespoint.exceptions import FactorisedWarning
    >>> str(FactorisedWarning(task=0, variance_ratio=2.5)).split(".")[0]
    "covariance='diagonal' matters in task 0: the predictive variance of a training point is 2"
    """

    def __init__(self, task: int, variance_ratio: float) -> None:
        self.task = task
        self.variance_ratio = variance_ratio
        super().__init__(task, variance_ratio)

    def __str__(self) -> str:
        return (
            f"covariance='diagonal' matters in task {self.task}: the predictive variance of a "
            f"training point is {self.variance_ratio:.2g} times that of a full covariance. Remedy: "
            "covariance='full' if the data allow it, centred features, or a smaller prior_scale."
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


class ChainsDisagreeWarning(ConvergenceWarning):
    """Chains had not found the same posterior when they ended, or know too little of it.

    Attributes
    ----------
    task : int
        The task it happened in.
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
    >>> str(ChainsDisagreeWarning(0, 1.3, 17.0, None, 2000, "raise thin")).split(". ")[0]
    'Chains of task 0 have not mixed after 2000 steps each: R-hat 1.30 (1 is agreement), worth 17
    independent samples'
    """

    def __init__(
        self,
        task: int,
        r_hat: float,
        effective_sample_size: float,
        target_ess: float | None,
        n_steps: int,
        remedy: str,
    ) -> None:
        self.task = task
        self.r_hat = r_hat
        self.effective_sample_size = effective_sample_size
        self.target_ess = target_ess
        self.n_steps = n_steps
        self.remedy = remedy
        super().__init__(task, r_hat, effective_sample_size, target_ess, n_steps, remedy)

    def __str__(self) -> str:
        wanted = "" if self.target_ess is None else f" (target_ess={self.target_ess:g})"
        return (
            f"Chains of task {self.task} have not mixed after {self.n_steps} steps each: R-hat "
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
    ) -> None:
        self.n_finished = n_finished
        self.n_wanted = n_wanted
        self.reason = reason
        self.remedy = remedy
        super().__init__(n_finished, n_wanted, reason, remedy)

    def __str__(self) -> str:
        return (
            f"Stopped by {self.reason} with {self.n_finished} of {self.n_wanted} samples. The "
            f"classifier is valid; {self.remedy}."
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
