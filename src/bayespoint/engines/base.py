"""What an engine declares and does."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from bayespoint.codings import BinaryCoding, OneVersusRest
from bayespoint.engines.request import Request
from bayespoint.engines.run import Run
from bayespoint.posteriors import Posterior

ENGINES: dict[str, type[Engine]] = {}


class Engine(BaseEstimator):
    """An algorithm that turns labels into a posterior over weights.

    Subclasses that declare an ``alias`` can be named by it; no two may have the same one.

    An engine is a bag of parameters in scikit-learn's sense, so that ``engine__n_samples`` works
    in a grid search; a run changes nothing in it. The parameters can be the fields of a dataclass.
    Subclasses declare, as data, what they need and what they can:

    Attributes
    ----------
    alias : str
        Short name; ``BayesPointClassifier(engine=alias)`` takes the engine with its defaults.
    space : type
        Where the weights live: ``DualSpace`` or ``BasisSpace``.
    device_space : type or None
        The same on a GPU, if the engine can work on one.
    is_random : bool
        Whether the result depends on the seed.
    weights_are_copies : bool
        Whether a sample of weight k is exactly as good as k copies of it. If not, it must count
        about as much, or ``run`` must refuse weights that differ.
    can_extend : bool
        Whether a run adds to an earlier result, ``request.start`` (``warm_start``).
    can_update : bool
        Whether a run learns from new points, what is known from all earlier ones being
        ``request.start`` (``partial_fit``).
    codings : tuple of str
        Names of the codings whose labels it can learn from (``request.coding``).

    trains_elsewhere : bool
        Whether samples can be trained by workers of a cluster (``request.trainer``).

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
    trains_elsewhere: ClassVar[bool] = False
    codings: ClassVar[tuple[str, ...]] = (BinaryCoding.name, OneVersusRest.name)

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

    @property
    def accepts_sparse(self) -> bool:
        """Whether features may be a sparse array."""
        return False

    def for_sparse(self) -> Engine | None:
        """Engine for sparse features where this one was only named; None if there is none."""
        return self if self.accepts_sparse else None

    def why_not(self, coding: str) -> str | None:
        """Why it cannot learn with a coding, with these parameters; None if it can."""
        if coding in self.codings:
            return None
        return f"{type(self).__name__} learns one class after another"

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
