"""What can go wrong, as exceptions and warnings that carry their numbers."""

from __future__ import annotations

from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CacheTooSmallError",
    "ChainsDisagreeWarning",
    "CutMarginalsWarning",
    "DataUnavailableError",
    "EmptyVersionSpaceError",
    "FactorisedWarning",
    "KernelError",
    "ModelFileError",
    "ModelVersionWarning",
    "NotConvergedWarning",
    "NotSeparableWarning",
    "StoppedEarlyWarning",
    "check_choice",
    "check_flag",
    "check_number",
    "parameter_error",
]


class KernelError(ValueError):
    """A kernel gave, or would give, values that no classifier can be built on.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.exceptions import KernelError
    >>> from bayespoint.kernels import PolynomialKernel
    >>> try:
    ...     PolynomialKernel(degree=99)(np.full((1, 1), 1e9), np.full((1, 1), 1e9))
    ... except KernelError as error:
    ...     print(error)
    Kernel values of about 1e1788 overflow float64. Use normalize=True, scale the features, or
    lower the degree.
    """


class CacheTooSmallError(ValueError):
    """The cache cannot hold a single kernel row.

    Attributes
    ----------
    cache_size, row_size : float
        Megabytes given, and megabytes that one row takes.

    Examples
    --------
    >>> from bayespoint.exceptions import CacheTooSmallError
    >>> print(CacheTooSmallError(cache_size=0.1, row_size=0.24))
    The cache of 0.1 MB cannot hold one kernel row of 0.24 MB. Set cache_size to at least 0.48; a
    few thousand rows make it fast.
    """

    def __init__(self, cache_size: float, row_size: float) -> None:
        self.cache_size = cache_size
        self.row_size = row_size
        super().__init__(cache_size, row_size)

    def __str__(self) -> str:
        return (
            f"The cache of {self.cache_size:g} MB cannot hold one kernel row of "
            f"{self.row_size:.3g} MB. Set cache_size to at least {2 * self.row_size:.2g}; "
            "a few thousand rows make it fast."
        )


class DataUnavailableError(OSError):
    """A data set is neither in the data folder nor to be had from OpenML.

    Attributes
    ----------
    wanted : str
        What was looked for.
    tried : str
        Where, and what went wrong there.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> from bayespoint.exceptions import DataUnavailableError
    >>> print(DataUnavailableError("MNIST", "OpenML: no network", "name a data folder"))
    No MNIST. Tried OpenML: no network. Remedy: name a data folder.
    """

    def __init__(self, wanted: str, tried: str, remedy: str) -> None:
        self.wanted = wanted
        self.tried = tried
        self.remedy = remedy
        super().__init__(wanted, tried, remedy)

    def __str__(self) -> str:
        return f"No {self.wanted}. Tried {self.tried}. Remedy: {self.remedy}."


class EmptyVersionSpaceError(ValueError):
    """No weight vector gives every training point its label, and the engine needs one.

    Attributes
    ----------
    n_points, n_wrong : int
        Training points, and how many of them the least-squares solution gets wrong.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.exceptions import EmptyVersionSpaceError
    >>> try:
    ...     BayesPointClassifier(engine="billiard").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except EmptyVersionSpaceError as error:
    ...     error.n_wrong, error.n_points
    (1, 3)
    """

    def __init__(self, n_points: int, n_wrong: int) -> None:
        self.n_points = n_points
        self.n_wrong = n_wrong
        super().__init__(n_points, n_wrong)

    def __str__(self) -> str:
        return (
            "No weight vector classifies all training points as labelled (least squares gets "
            f"{self.n_wrong} of {self.n_points} wrong): version space is empty. Use GibbsSampler "
            "with label_noise > 0, set a ridge, or take a richer kernel; points that are there "
            "twice with different labels need one of the first two."
        )


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


class ModelFileError(ValueError):
    """A model cannot be kept in a file, or a file does not hold a model that can be used.

    Attributes
    ----------
    path : Path
        The file.
    reason : str
        What is wrong, and what to do about it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bayespoint.exceptions import ModelFileError
    >>> print(ModelFileError(Path("model.bpm"), "it is empty. Save the model with bayespoint.save"))
    model.bpm: it is empty. Save the model with bayespoint.save.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason.rstrip('.')}."


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


def parameter_error(owner: Any, name: str, allowed: str) -> ValueError:
    """Error for a constructor parameter, in scikit-learn's wording.

    Parameters
    ----------
    owner : object
        Whose parameter it is.
    name : str
        Its name.
    allowed : str
        What it may be.

    Returns
    -------
    ValueError
        To be raised.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.exceptions import parameter_error
    >>> parameter_error(GibbsSampler(thin="x"), "thin", "an int")
    ValueError("The 'thin' parameter of GibbsSampler must be an int. Got 'x' instead.")
    """
    return ValueError(
        f"The {name!r} parameter of {type(owner).__name__} must be {allowed}. "
        f"Got {getattr(owner, name)!r} instead."
    )


def check_choice(owner: Any, name: str, choices: tuple[str, ...], more: str = "") -> None:
    """Raise an error unless the parameter is one of the strings.

    Parameters
    ----------
    owner : object
        Whose parameter it is.
    name : str
        Its name.
    choices : tuple of str
        What it may be.
    more : str, default=""
        What else it may be, for the message.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.exceptions import check_choice
    >>> check_choice(GibbsSampler(directions="up"), "directions", ("isotropic", "adapted"))
    Traceback (most recent call last):
    ...
    ValueError: The 'directions' parameter of GibbsSampler must be a str among {'isotropic',
    'adapted'}. Got 'up' instead.
    """
    value = getattr(owner, name)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(repr, choices))
        raise parameter_error(owner, name, f"a str among {{{listed}}} {more}".strip())


def check_flag(owner: Any, name: str) -> None:
    """Raise an error unless the parameter is a bool.

    Parameters
    ----------
    owner : object
        Whose parameter it is.
    name : str
        Its name.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.exceptions import check_flag
    >>> check_flag(GibbsSampler(evidence="yes"), "evidence")
    Traceback (most recent call last):
    ...
    ValueError: The 'evidence' parameter of GibbsSampler must be a bool. Got 'yes' instead.
    """
    if not isinstance(getattr(owner, name), (bool, np.bool_)):
        raise parameter_error(owner, name, "a bool")


def check_number(
    owner: Any,
    name: str,
    *,
    low: float,
    closed: bool = True,
    integer: bool = False,
    words: str = "",
) -> None:
    """Raise an error unless the parameter is a finite number from ``low`` on (or above it).

    Parameters
    ----------
    owner : object
        Whose parameter it is.
    name : str
        Its name.
    low : float
        Least value.
    closed : bool, default=True
        Whether ``low`` itself is allowed.
    integer : bool, default=False
        Whether it must be a whole number.
    words : str, default=""
        What else it may be, for the message.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.exceptions import check_number
    >>> check_number(GibbsSampler(thin=0), "thin", low=1, integer=True)
    Traceback (most recent call last):
    ...
    ValueError: The 'thin' parameter of GibbsSampler must be an int in the range [1, inf). Got 0
    instead.
    """
    value = getattr(owner, name)
    kind = Integral if integer else Real
    is_number = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if not is_number or not (low <= value if closed else low < value) or not value < np.inf:
        range_ = f"{'[' if closed else '('}{low}, inf)"
        raise parameter_error(
            owner, name, f"{words}{'an int' if integer else 'a float'} in the range {range_}"
        )


def one_line(error: BaseException) -> str:
    """Type and message of an error, on one line, for messages that quote it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
