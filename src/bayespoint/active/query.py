"""Which points of a pool to label next."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from bayespoint.active.batch import Committee, choose, kinds
from bayespoint.active.machine import answers, check_machine, machine_and_points
from bayespoint.active.scores import bald, doubt, entropy, seed_from

STRATEGIES: dict[str, Callable[[Any, Any], NDArray]] = {
    "entropy": entropy,
    "margin": doubt,
    "bald": bald,
    "random": lambda clf, X: np.ones(len(X)),
}
Strategy = str | Callable[[Any, Any], NDArray]


def query(
    clf: Any,
    X_pool: Any,
    n: int = 1,
    *,
    strategy: Strategy = "entropy",
    exclude: ArrayLike | None = None,
    n_draws: int = 200,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.intp]:
    r"""The n points of a pool that are most worth a label.

    The first is the one of largest worth. The worth of every other is then multiplied by the share
    of the variance of its answer that is still open once the label of the first is known, and so
    on: twins and neighbours of a chosen point are worth little, points that ask something else
    keep their worth. Variances and covariances are those of the answers of ``n_draws`` classifiers
    from the posterior. A batch costs O(n n_pool n_draws), times n_classes squared for several
    classes; a single point needs no draws.

    Parameters
    ----------
    clf : BayesPointClassifier
        Fitted; alone, or as the last step of a pipeline.
    X_pool : array-like of shape (n_pool, n_features)
        Points to choose from.
    n : int, default=1
        How many to choose.
    strategy : {"entropy", "margin", "bald", "random"} or callable, default="entropy"
        What a point is worth:

        * "entropy": the :func:`entropy` of the vote;
        * "margin": one minus the difference of the two largest probabilities; with two classes,
          the point of the smallest ``|decision_function|`` comes first;
        * "bald": the mutual information of label and weights, :func:`bald`. It does not ask where
          labels are uncertain through noise alone. So it believes the noise of the model: if that
          is far too large, it asks for points at the rim of the pool, whatever their answer;
        * "random": every point the same, the rival to beat;
        * a function of clf and X_pool that returns numbers that are not negative.
    exclude : array-like of int, optional
        Indices of points never to choose, because they are labelled already.
    n_draws : int, default=200
        Classifiers to draw. All samples of the posterior are asked, if there are not more.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the choice among equals.

    Returns
    -------
    ndarray of int of shape (n,)
        Indices into the pool, the most valuable first. Points equal to a chosen or an excluded one
        are taken only when no others are left.

    See Also
    --------
    learn_actively : Asks, fits and asks again.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import query
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0]])
    >>> clf = BayesPointClassifier(engine="ep").fit(X, ["left", "right"])
    >>> pool = np.array([[0.0, 1.0], [0.0, 1.0], [0.1, 1.0], [0.2, -1.0], [3.0, 1.0]])
    >>> query(clf, pool, 2, random_state=0)  # not 0 and its twin 1, nor its neighbour 2
    array([0, 3])
    """
    check_machine(clf)
    check_strategy(strategy)
    machine, X = machine_and_points(clf, X_pool)
    points = validate_data(machine, X, reset=False)
    taken = taken_points(exclude, len(points))
    check_count("n_draws", n_draws, 2)
    check_count("n", n, 1, len(points) - int(taken.sum()), "the points of the pool to choose from")
    rng = np.random.default_rng(seed_from(random_state))
    seed = int(rng.integers(2**31))
    worth = worths(strategy, clf, X_pool, n_draws, seed)
    committee = None
    if n > 1 and strategy != "random":
        p = answers(machine, X, n_draws, seed)
        committee = Committee(p if strategy == "bald" else p == p.max(axis=2, keepdims=True))
    return choose(worth, n, taken, kinds(points), committee, rng)


def worths(
    strategy: Strategy, clf: Any, X_pool: Any, n_draws: int, seed: int
) -> NDArray[np.float64]:
    """What each point is worth alone."""
    if strategy == "bald":
        return bald(clf, X_pool, n_draws=n_draws, random_state=seed)
    if not callable(strategy):
        return STRATEGIES[strategy](clf, X_pool)
    worth = np.asarray(strategy(clf, X_pool), dtype=np.float64)
    if worth.shape != (len(X_pool),) or not np.isfinite(worth).all() or (worth < 0).any():
        raise ValueError(
            "A strategy must return one finite number that is not negative for each of the "
            f"{len(X_pool)} points. Got an array of shape {worth.shape} instead"
            + (f", with values from {worth.min():g} to {worth.max():g}." if worth.size else ".")
        )
    return worth


def check_strategy(strategy: Any) -> None:
    """Raise an error for a strategy that is not known."""
    if not callable(strategy) and not (isinstance(strategy, str) and strategy in STRATEGIES):
        listed = ", ".join(map(repr, STRATEGIES))
        raise ValueError(
            f"The 'strategy' parameter of query must be a str among {{{listed}}} or a callable. "
            f"Got {strategy!r} instead."
        )


def taken_points(exclude: ArrayLike | None, n_pool: int) -> NDArray[np.bool_]:
    """A mask of the points that must not be chosen."""
    taken = np.zeros(n_pool, dtype=bool)
    taken[check_indices("exclude", () if exclude is None else exclude, n_pool)] = True
    return taken


def check_indices(name: str, indices: ArrayLike, n_pool: int) -> NDArray[np.intp]:
    """The indices as an array, or an error if they are none."""
    values = np.asarray(indices)
    if values.size == 0:
        return np.empty(0, dtype=np.intp)
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, indices of points of the pool. "
            f"Got an array of shape {values.shape} and type {values.dtype} instead."
        )
    if values.min() < 0 or values.max() >= n_pool:
        raise ValueError(
            f"{name} must hold indices of the pool, from 0 to {n_pool - 1}. Got indices from "
            f"{values.min()} to {values.max()} instead."
        )
    return values.astype(np.intp)


def check_count(
    name: str, value: Any, low: int, high: int | None = None, of_what: str = ""
) -> None:
    """Raise an error unless the value is an int in the range."""
    is_int = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not is_int or value < low or (high is not None and value > high):
        allowed = f"[{low}, inf)" if high is None else f"[{low}, {high}], {of_what}"
        raise ValueError(f"{name} must be an int in the range {allowed}. Got {value!r} instead.")
