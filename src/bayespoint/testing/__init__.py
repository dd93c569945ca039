"""Checks for engines, also those of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bayespoint.engines import Engine
from bayespoint.testing import equality, results
from bayespoint.testing.equality import Trial
from bayespoint.tools.stability import EXTENDING, unstable

__all__ = ["check_engine", "engine_checks"]

CHECKS: tuple[Callable[[Trial], None], ...] = tuple(
    thing
    for module in (results, equality)
    for name, thing in vars(module).items()
    if name.startswith("check_")
)


@unstable(EXTENDING)
def check_engine(engine: Engine, **classifier: Any) -> None:
    """Run all checks of the protocol on an engine; an AssertionError says what fails.

    Parameters
    ----------
    engine : Engine
        The engine, with parameters that make a run short: it runs some hundred times, on 24 to 160
        points in two dimensions. Parameters that it would learn from all tasks together need a
        value, since tasks have to be independent.
    **classifier
        Parameters of the :class:`~bayespoint.BayesPointClassifier` that runs it, such as ``kernel``
        and ``ridge``.

    See Also
    --------
    engine_checks : The same checks, to be run one by one.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from bayespoint.engines import LaplaceApproximation
    >>> from bayespoint.testing import check_engine
    >>> check_engine(LaplaceApproximation(prior_scale=1.0), kernel="rbf")
    >>> class Forgetful(LaplaceApproximation):
    ...     def run(self, space, targets, request):
    ...         return super().run(space, targets, replace(request, sample_weight=None))
    >>> check_engine(Forgetful())
    Traceback (most recent call last):
        ...
    AssertionError: check_weights of Forgetful(): Weights that favour a class raise its mean
    probability by 0, with a standard error of 0: use sample_weight, or raise a ValueError where
    weights differ.
    """
    for _, check in engine_checks(engine, **classifier):
        check()


@unstable(EXTENDING)
def engine_checks(engine: Engine, **classifier: Any) -> list[tuple[str, Callable[[], None]]]:
    """The checks of :func:`check_engine` one by one, for ``pytest.mark.parametrize``.

    Parameters
    ----------
    engine : Engine
        The engine.
    **classifier
        Parameters of the classifier that runs it.

    Returns
    -------
    list of (str, callable)
        Names, and functions without arguments, which raise an AssertionError.

    Examples
    --------
    >>> from bayespoint.engines import LaplaceApproximation
    >>> from bayespoint.testing import engine_checks
    >>> checks = dict(engine_checks(LaplaceApproximation()))
    >>> checks["check_seed"]()
    >>> list(checks)[:3]
    ['check_parameters', 'check_bad_parameters', 'check_result']
    """
    if not __debug__:
        raise RuntimeError(
            "python -O removes the assertions that checks consist of. Run it without -O."
        )
    trial = Trial(engine, classifier)
    return [(check.__name__, partial(perform, check, trial)) for check in CHECKS]


def perform(check: Callable[[Trial], None], trial: Trial) -> None:
    """Run a check; any error becomes an AssertionError that names it."""
    try:
        check(trial)
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        raise AssertionError(f"{check.__name__} of {trial.engine}: {kind}{error}") from error
