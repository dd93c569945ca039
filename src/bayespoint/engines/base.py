"""The contract of engines: what they declare, receive, compute and report.

An :class:`Engine` gets a :class:`Request`, and returns a posterior and a :class:`Run`. While it
runs, it reports its progress to the monitor (:class:`Progress`, :class:`StepProgress`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from bayespoint.codings import Coding
from bayespoint.likelihoods.base import Kind
from bayespoint.posteriors import Posterior
from bayespoint.tools.attributes import integer, need
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.stability import EXTENDING, unstable
from bayespoint.tools.threads import stop_if_cancelled

ENGINES: dict[str, type[Engine]] = {}


@unstable(EXTENDING)
@dataclass(frozen=True)
class Request:
    """The input of an engine besides points and labels.

    Attributes
    ----------
    rng : numpy.random.Generator
        The only source of randomness. One child is spawned for each independent part, so that the
        result does not depend on ``n_jobs``.
    monitor : Monitor
        Receives progress, and may stop the run.
    sample_weight : ndarray of shape (n_points,) or None
        Positive weights. An engine that does not support them raises an error.
    start : Posterior or None
        An earlier result to extend, or to update, if the engine can.
    n_jobs : int or None
        Threads, as in joblib.
    kind : {"sign", "class", "interval"}
        What the labels are, as their coding declares it; one of the engine's ``kinds``.
    device : torch.device or None
        The GPU, on which the points already are.
    trainer : callable or None
        Trains perceptrons elsewhere, such as on a cluster, with the parameters and methods of
        ``HostTrainer``; None means in this process.
    groups : ndarray of int, shape (n_points,), or None
        Which points belong together, for engines that ``leaves_groups_out``.
    unit : ndarray of shape (n_points,) or None
        The weight of one copy of each point, that of its class; None if it is 1.
    messages : Messages or None
        Messages of a posterior of the same points, weights and labels, but perhaps of another
        kernel, where an iterative engine may begin. They belong to points, not to kernels, so that
        a similar fit needs fewer iterations; the result is the same.

    Examples
    --------
    >>> from bayespoint.engines import Request
    >>> Request(n_jobs=2).weights(3)
    array([1., 1., 1.])
    """

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    monitor: Monitor = field(default_factory=Monitor)
    sample_weight: NDArray[np.float64] | None = None
    start: Any = None
    n_jobs: int | None = None
    kind: Kind = "sign"
    device: Any = None
    trainer: Any = None
    groups: NDArray[np.intp] | None = None
    unit: NDArray[np.float64] | None = None
    messages: Any = None

    def left_out(self, n_points: int) -> NDArray[np.float64]:
        """The weight that leave-one-out takes out: one copy of a point, or what there is of it."""
        return np.minimum(self.weights(n_points), 1.0 if self.unit is None else self.unit)

    def weights(self, n_points: int) -> NDArray[np.float64]:
        """The weights of all points, 1 where none are given."""
        if self.sample_weight is None:
            return np.ones(n_points)
        return self.sample_weight.astype(np.float64)


@unstable(EXTENDING)
@dataclass(frozen=True)
class Run:
    """How a run of an engine went: its length, how it ended, and what would improve the result.

    Attributes
    ----------
    unit : str
        What an iteration is called, in the plural: "sweeps", "steps", "epochs".
    n_iter : int
        Largest number of iterations of a task.
    summary : str
        How it ended, in a few words.
    converged : bool, default=True
        Whether the run converged. If not, there is a warning.
    remedy : str, default=""
        What would improve the result.
    history : sequence of sequences of float, optional
        For each task the largest change in each of its iterations, as ``tol`` measures it.
    measures : mapping of str to ndarray, optional
        Measurements of each task, by name: arrays of shape (n_tasks,), or (n_tasks, n) if there are
        several numbers per task, such as one for each chain.
    warnings : sequence of Warning, optional
        Warnings that the classifier issues. They are not stored in model files.
    seconds : float
        Time of the run; measured by the classifier.
    choice : sequence of str, optional
        What was chosen automatically, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="linear", engine="laplace", multi_class="one_vs_rest")
    >>> run = clf.fit(X, y).run_
    >>> run.converged, run.summary
    (True, 'converged after 6 steps')
    >>> [len(changes) for changes in run.history]  # of each class against the rest
    [6, 5, 6]
    """

    not_stored: ClassVar = ("warnings",)

    unit: str
    n_iter: int
    summary: str
    converged: bool = True
    remedy: str = ""
    history: Sequence[Sequence[float]] = ()
    measures: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    warnings: Sequence[Warning] = ()
    seconds: float = np.nan
    choice: Sequence[str] = ()

    def check_state(self) -> None:
        """Raise an error if the stored attributes make no sense."""
        integer(self.n_iter, 0)
        need(type(self.converged) is bool, "converged is not a bool")
        for words in (self.unit, self.summary, self.remedy):
            need(isinstance(words, str), "its words are not text")
        need(all(isinstance(line, str) for line in self.choice), "its choice is not text")
        need(isinstance(self.history, (list, tuple)), "its history is not a sequence")
        need(isinstance(self.measures, dict), "its measures are not a dict")


class Progress:
    """Counts the iterations of all tasks for the monitor; ``most`` are announced."""

    def __init__(self, monitor: Monitor, most: float = np.inf) -> None:
        self._monitor, self._lock, self._done, self._most = monitor, Lock(), 0, most

    def advance(self) -> bool:
        """Count one more iteration; whether the monitor wants the run to stop."""
        stop_if_cancelled()
        with self._lock:
            self._done += 1
            self._monitor.update(min(self._done, self._most))
            return self._monitor.should_stop()


class StepProgress:
    """Reports the share of planned steps that is done to the monitor, and whether to stop.

    Progress is counted in hundredths: steps are too many and too short to be reported one by one.

    Attributes
    ----------
    planned : int
        Steps of all tasks.
    """

    TOTAL = 100

    def __init__(self, monitor: Monitor, planned: int = 1) -> None:
        self._monitor, self.planned = monitor, planned
        self._done = 0
        self.stopped = False

    def add(self, steps: int) -> None:
        """Say that so many more steps are done."""
        self._done += steps
        self._monitor.update(self.TOTAL * min(self._done / self.planned, 1.0))
        self.stopped = self.stopped or self._monitor.should_stop()


@unstable(EXTENDING)
class Engine(BaseEstimator):
    """An algorithm that computes the posterior of the weights from the labels.

    Subclasses that declare an ``alias`` can be named by it. Aliases must be unique.

    An engine has parameters in scikit-learn's sense, so that ``engine__n_samples`` works in a grid
    search, and a run does not change it. The parameters can be the fields of a dataclass.
    Subclasses declare their requirements and capabilities as data:

    Attributes
    ----------
    alias : str
        Short name; ``BayesPointClassifier(engine=alias)`` uses the engine with its defaults.
    space : type
        Where the weights live: ``DualSpace`` or ``BasisSpace``.
    device_space : type or None
        The same on a GPU, if the engine can work on one.
    is_random : bool
        Whether the result depends on the seed.
    weights_are_copies : bool
        Whether a row of weight k is exactly equivalent to k copies of it. If not, it must be about
        equivalent, or ``run`` must raise an error for unequal weights.
    can_extend : bool
        Whether a run adds to an earlier result, ``request.start`` (``warm_start``).
    can_update : bool
        Whether a run can update an earlier posterior, ``request.start``, with new points
        (``partial_fit``).
    kinds : tuple of str
        Kinds of labels from which it learns (``request.kind``).
    needs_exclusive : bool
        Whether it learns several tasks only if exactly one of them says "yes", as of classes
        against the rest.
    needs : tuple of str
        Verbs of likelihoods that it needs, such as "site"; see
        :class:`~bayespoint.likelihoods.Likelihood`.
    weighs_rows : bool
        Whether it learns from rows of unequal weight with its default parameters. If not, ``run``
        may raise an error for them.
    has_evidence_gradient : bool
        Whether the gradient of its evidence is known, of a run that converges. It then has the
        parameters ``max_iter``, ``prior_scale``, ``prior_mean``, ``prior_covariance`` and
        ``intercept_scale``.
    learns_blocks : bool
        Whether it learns from rows in blocks (:meth:`run_blocks`): out of core, and on a cluster.
    leaves_groups_out : bool
        Whether leave-one-out predictions can also leave out the labels of the whole group
        (``fit(..., groups=)``).
    trains_elsewhere : bool
        Whether samples can be trained by workers of a cluster (``request.trainer``).
    basis_noise : float or None
        Noise of labels over the prior scale, if the part of a row outside the basis may be added.

    See Also
    --------
    bayespoint.BayesPointClassifier : Runs it.
    bayespoint.testing.check_engine : Checks that it keeps this protocol.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> GibbsSampler.alias, GibbsSampler.space.__name__, GibbsSampler.can_extend
    ('gibbs', 'BasisSpace', False)
    >>> GibbsSampler(n_samples=500).get_params()["n_samples"]
    500
    """

    alias: ClassVar[str]
    space: ClassVar[type]
    device_space: ClassVar[Any] = None
    is_random: ClassVar[bool] = False
    weights_are_copies: ClassVar[bool] = True
    can_extend: ClassVar[bool] = False
    can_update: ClassVar[bool] = False
    learns_blocks: ClassVar[bool] = False
    trains_elsewhere: ClassVar[bool] = False
    leaves_groups_out: ClassVar[bool] = False
    basis_noise: float | None = None
    kinds: ClassVar[tuple[Kind, ...]] = ("sign",)
    needs_exclusive: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    weighs_rows: ClassVar[bool] = True
    has_evidence_gradient: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "alias" not in vars(cls):
            return
        known = ENGINES.get(cls.alias, cls)
        # A cell of a notebook that is run again defines the same class once more.
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"The alias {cls.alias!r} of {cls.__qualname__} already names "
                f"{known.__module__}.{known.__qualname__}. Choose another one, or declare none."
            )
        ENGINES[cls.alias] = cls

    @abstractmethod
    def run(self, space: Any, targets: NDArray[np.int8], request: Request) -> tuple[Posterior, Run]:
        """Find the posterior of every task.

        Parameters
        ----------
        space : the engine's space, fitted
            Where the training points are.
        targets : ndarray of shape (n_points, n_tasks)
            Labels -1 and +1 of all binary tasks together, so that work can be shared.
        request : Request
            Randomness, monitor, weights of the points, earlier result, threads.

        Returns
        -------
        posterior : Posterior
            The weights of all tasks.
        run : Run
            How it was found.
        """

    def run_blocks(self, rows: Any, request: Request) -> tuple[Posterior, Run]:
        """Find the posterior of every task from rows in blocks, if the engine ``learns_blocks``.

        Parameters
        ----------
        rows : BlockRows
            The rows, their labels and weights.
        request : Request
            Monitor and kind of labels.

        Returns
        -------
        posterior : Posterior
            The weights of all tasks.
        run : Run
            How it was found.
        """
        raise NotImplementedError(f"{type(self).__name__} does not learn from blocks.")

    @property
    def accepts_sparse(self) -> bool:
        """Whether features may be a sparse array."""
        return False

    def for_sparse(self) -> Engine | None:
        """Engine for sparse features where this one was only named; None if there is none."""
        return self if self.accepts_sparse else None

    def why_not(self, kind: Kind) -> str | None:
        """Why it cannot learn from labels of a kind, with these parameters; None if it can."""
        if kind in self.kinds:
            return None
        return f"{type(self).__name__} learns one class after another"

    @classmethod
    def learns(cls, coding: Coding | type[Coding]) -> bool:
        """Whether it learns from the labels of a coding, with its default parameters."""
        return coding.kind in cls.kinds and (coding.is_exclusive or not cls.needs_exclusive)

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for a parameter that is not allowed."""


def get_engine(engine: Engine | str) -> Engine:
    """An engine by its alias, or a copy of the one given.

    Parameters
    ----------
    engine : Engine or str
        An engine, or the alias of one; "auto" is expectation propagation.

    Returns
    -------
    Engine
        A new one with the same parameters, or with the defaults.

    Examples
    --------
    >>> from bayespoint.engines import get_engine
    >>> get_engine("laplace")
    LaplaceApproximation()
    """
    if isinstance(engine, Engine):
        return clone(engine)
    if isinstance(engine, str) and (engine == "auto" or engine in ENGINES):
        return ENGINES["ep" if engine == "auto" else engine]()
    names = ", ".join(("auto", *sorted(ENGINES)))
    raise ValueError(
        f"The 'engine' parameter of BayesPointClassifier must be an engine instance, such as "
        f"PermutedPerceptron(), or one of the names {{{names}}}. Got {engine!r} instead."
    )
