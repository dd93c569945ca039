"""Query strategies: which points of a pool to label next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from bayespoint.active.batch import choose_lazily, kinds
from bayespoint.active.classifiers import drawn_outputs, probabilities, unwrap, votes
from bayespoint.active.scores import bald, entropy, one_minus_margin, seed_from
from bayespoint.classifier.calibration import one_of_each
from bayespoint.tools.pipelines import n_rows, take
from bayespoint.tools.validation import is_number, new_points

Strategy = str | Callable[[Any, Any], NDArray]


class Rule(NamedTuple):
    """The functions that define a strategy.

    Attributes
    ----------
    worth : callable
        Takes a fitted classifier, points, ``n_draws`` and ``random_state``, and returns the worth
        of each single point, not negative.
    answers : callable
        Takes a classifier and outputs of classifiers drawn from its posterior, and returns their
        answers as :class:`~bayespoint.active.batch.Committee` takes them.
    together : bool
        Whether similar points in a batch count less.
    """

    worth: Callable[..., NDArray]
    answers: Callable[[Any, NDArray], NDArray] = votes
    together: bool = True


# To add a strategy, add an entry.
STRATEGIES = {
    "entropy": Rule(lambda clf, X, **draws: entropy(clf, X)),
    "margin": Rule(lambda clf, X, **draws: one_minus_margin(clf, X)),
    "bald": Rule(bald, probabilities),
    "random": Rule(lambda clf, X, **draws: np.ones(n_rows(X)), together=False),
}


def get_rule(strategy: Strategy) -> Rule:
    """The rule of a strategy, given by its name or as a function."""
    if callable(strategy):
        return Rule(lambda clf, X, **draws: checked_worth(strategy(clf, X), n_rows(X)))
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        listed = ", ".join(map(repr, STRATEGIES))
        raise ValueError(
            f"strategy must be a str among {{{listed}}} or a callable. Got {strategy!r} instead."
        )
    return STRATEGIES[strategy]


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
    """The n points of a pool whose labels are most informative.

    The first is the point of largest worth. The worth of every other point is then multiplied by
    the share of the variance of its answer that remains once the label of the first is known, and
    so on. So points equal or close to a chosen one count little, and points that give other
    information keep their worth. Variances and covariances are those of the answers of ``n_draws``
    classifiers from the posterior. A batch costs at most O(n n_pool n_draws), times n_classes
    squared for several classes. A single point needs no draws.

    Parameters
    ----------
    clf : BayesPointClassifier
        Fitted; alone, or as the last step of a pipeline.
    X_pool : array-like of shape (n_pool, n_features)
        Unlabelled points.
    n : int, default=1
        Number of points to choose.
    strategy : {"entropy", "margin", "bald", "random"} or callable, default="entropy"
        The worth of a point:

        * "entropy": the :func:`entropy` of the vote;
        * "margin": one minus the difference of the two largest probabilities; with two classes,
          the point of the smallest ``|decision_function|`` comes first;
        * "bald": the mutual information of label and weights, :func:`bald`. It avoids points whose
          labels are uncertain through noise alone. It relies on the noise of the model: if that is
          far too large, it chooses points at the edge of the pool;
        * "random": the same for all points, as a baseline;
        * a function of a classifier and points that returns one nonnegative number per point. In a
          pipeline it gets the last step and the transformed points.
    exclude : array-like of int, optional
        Indices of points that are not chosen, because they are labelled already.
    n_draws : int, default=200
        Number of classifiers to draw. If the posterior has no more samples, all are used.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the choice between ties.

    Returns
    -------
    ndarray of int of shape (n,)
        Indices into the pool, the most informative first. Points equal to a chosen or an excluded
        one are taken only if no others are left.

    See Also
    --------
    learn_actively : The whole loop of queries and fits.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import query
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0]])
    >>> clf = BayesPointClassifier(kernel="linear").fit(X, ["left", "right"])
    >>> pool = np.array([[0.0, 1.0], [0.0, 1.0], [0.1, 1.0], [0.2, -1.0], [3.0, 1.0]])
    >>> query(clf, pool, 2, random_state=0)  # not 1 and its copy 0 or neighbour 2
    array([1, 3])
    """
    rule = get_rule(strategy)
    classifier, X = unwrap(clf, X_pool)
    table = classifier.model_.table
    points = new_points(classifier, X, accepts_sparse=True, table=None if issparse(X) else table)
    taken = taken_points(exclude, n_rows(points))
    check_count("n_draws", n_draws, 2)
    check_count("n", n, 1, int((~taken).sum()), "the points of the pool to choose from")
    rng = np.random.default_rng(seed_from(random_state))
    seed = int(rng.integers(2**31))
    worth = rule.worth(classifier, X, n_draws=n_draws, random_state=seed)

    def answers_on(candidates: NDArray[np.intp]) -> NDArray:
        outputs = drawn_outputs(classifier, take(X, candidates), n_draws, seed)
        return rule.answers(classifier, outputs)

    together = n > 1 and rule.together
    kind = kinds(points)
    waiting = np.isin(kind, kind[taken])
    chosen: list[int] = []
    while len(chosen) < n:
        if waiting.all():
            waiting = taken  # only copies of points already taken are left
        candidates = np.flatnonzero(~waiting)
        candidates = candidates[one_of_each(kind[candidates], rng)]
        n_now = min(n - len(chosen), len(candidates))
        picked = choose_lazily(worth, candidates, n_now, answers_on if together else None, rng)
        chosen.extend(picked)
        taken[picked] = True
        waiting = taken | np.isin(kind, kind[picked])
    return np.array(chosen, dtype=np.intp)


def checked_worth(values: ArrayLike, n_points: int) -> NDArray[np.float64]:
    """The result of a user's strategy, checked."""
    worth = np.asarray(values, dtype=np.float64)
    if worth.shape != (n_points,) or not np.isfinite(worth).all() or (worth < 0).any():
        raise ValueError(
            "A strategy must return one finite, nonnegative number for each of the "
            f"{n_points} points. Got an array of shape {worth.shape} instead"
            + (f", with values from {worth.min():g} to {worth.max():g}." if worth.size else ".")
        )
    return worth


def taken_points(exclude: ArrayLike | None, n_pool: int) -> NDArray[np.bool_]:
    """A mask of the points that must not be chosen."""
    taken = np.zeros(n_pool, dtype=bool)
    taken[check_indices("exclude", () if exclude is None else exclude, n_pool)] = True
    return taken


def check_indices(name: str, indices: ArrayLike, n_pool: int) -> NDArray[np.intp]:
    """The indices as an array, or an error if they are invalid."""
    values = np.asarray(indices)
    if values.size == 0:
        return np.empty(0, dtype=np.intp)
    is_integer = values.ndim == 1 and np.issubdtype(values.dtype, np.integer)
    if not is_integer or values.min() < 0 or values.max() >= n_pool:
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, indices into the pool from 0 to "
            f"{n_pool - 1}. Got {values.dtype} values of shape {values.shape}: {values} instead."
        )
    return values.astype(np.intp)


def check_count(
    name: str, value: Any, low: int, high: int | None = None, of_what: str = ""
) -> None:
    """Raise an error unless the value is an int in the range."""
    if not is_number(value, low, np.inf if high is None else high, integer=True):
        allowed = f"[{low}, inf)" if high is None else f"[{low}, {high}], {of_what}"
        raise ValueError(f"{name} must be an int in the range {allowed}. Got {value!r} instead.")
