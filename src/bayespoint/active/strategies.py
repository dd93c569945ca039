"""Query strategies: which rows of a pool to label next, alone or as a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from bayespoint.active import scores
from bayespoint.classifier.calibration import one_of_each
from bayespoint.tools.numbers import TINY
from bayespoint.tools.pipelines import n_rows, take
from bayespoint.tools.validation import is_number, new_points

SLACK = 0.03  # noise added to any answer, so that few samples do not explain everything
SHORT = 20  # candidates considered at first, for each point to choose
SAME = 1e-9  # relative difference below which two gains are equal up to rounding


class Committee:
    r"""Classifiers drawn from the posterior, and the variance of their answers given some labels.

    Let :math:`A_j` be the centred answers of the classifiers on row j, one line for each class,
    divided by the square root of their number. Then :math:`A_i A_j^T` is the posterior covariance
    of two answers. Given the label of row i, which is its answer plus noise of covariance N, the
    covariance is

    .. math:: A_j \left( I - A_i^T (A_i A_i^T + N)^{-1} A_i \right) A_k^T

    This has the same form, with new vectors: with the singular value decomposition
    :math:`N^{-1/2} A_i = U S V^T` the bracket is the square of
    :math:`I - V (1 - (1 + S^2)^{-1/2}) V^T` (the square root form of the Kalman filter). So the
    greedy choice takes one pass over the vectors for each row.

    Parameters
    ----------
    answers : ndarray of shape (n_classifiers, n_points, n_classes)
        Probabilities p(y | x, w), or votes, 0 or 1. The variance of a label given w is p (1 - p).
    """

    def __init__(self, answers: NDArray) -> None:
        # Of two classes, one determines the other.
        answers = answers[..., 1:] if answers.shape[2] == 2 else answers
        centred = (answers - answers.mean(axis=0)) / np.sqrt(len(answers))
        self._vectors = np.ascontiguousarray(np.moveaxis(centred, 0, 2))
        variance = np.square(self._vectors).sum(axis=2)
        self._noise = (answers * (1.0 - answers)).mean(axis=0) + SLACK * variance
        self._variance = variance.sum(axis=1)

    def tell(self, point: int) -> None:
        """Condition on the label of a row."""
        noise = self._noise[point]
        # An answer without noise is the same for all classifiers, and has no information.
        is_open = noise > TINY
        precision = np.divide(1.0, noise, out=np.zeros_like(noise), where=is_open)
        seen = np.sqrt(precision)[:, None] * self._vectors[point]
        _, s, V = np.linalg.svd(seen, full_matrices=False)
        flat = self._vectors.reshape(-1, V.shape[1])
        flat -= (flat @ V.T * (1 - 1 / np.sqrt(1 + s**2))) @ V

    def left(self) -> NDArray[np.float64]:
        """Remaining share of the variance of each row's answer."""
        variance = np.einsum("jyn,jyn->j", self._vectors, self._vectors)
        return np.divide(
            variance, self._variance, out=np.ones_like(variance), where=self._variance > 0
        )


def choose(
    worth: NDArray, n: int, committee: Committee | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], float]:
    """The n rows of a greedy choice by gain, and the last gain.

    The gain of a row is its worth times the remaining share of the variance of its answer, given
    the rows chosen before. Without a committee it is the worth. Ties are broken by ``rng``.
    """
    chosen: list[int] = []
    gain = worth.copy()
    while True:
        best = gain.max()
        i = int(rng.choice(np.flatnonzero(gain >= (1 - SAME) * best)))
        chosen.append(i)
        if len(chosen) == n:
            return np.array(chosen, dtype=np.intp), best
        if committee is not None:
            committee.tell(i)
            gain = worth * committee.left()
        gain[chosen] = -1


def choose_lazily(
    worth: NDArray,
    candidates: NDArray[np.intp],
    n: int,
    answers_on: Callable[[NDArray[np.intp]], NDArray] | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """The choice of :func:`choose`, without computing answers on rows that cannot be chosen.

    A gain is never larger than the worth. So if the n-th gain among the rows of largest worth is
    not below the worth of any other row, the choice is final. Otherwise more rows are added.

    Parameters
    ----------
    worth : ndarray of shape (n_points,)
        Worth of each single row of the pool, not negative.
    candidates : ndarray of int
        Rows that may be chosen.
    n : int
        Number of rows to choose.
    answers_on : callable or None
        Returns the answers of the same classifiers on given rows, as :class:`Committee` takes
        them. None treats rows as independent.
    rng : Generator
        Random generator that breaks ties.
    """
    order = rng.permutation(candidates)
    order = order[np.argsort(-worth[order], kind="stable")]
    answers: list[NDArray] = []
    done, end = 0, SHORT * n
    while True:
        committee = None
        if answers_on is not None:
            answers.append(answers_on(order[done:end]))
            committee = Committee(np.concatenate(answers, axis=1))
        chosen, last_gain = choose(worth[order[:end]], n, committee, rng)
        if end >= len(order) or last_gain >= worth[order[end]]:
            return order[chosen]
        done, end = end, 4 * end


def kinds(points: Any) -> NDArray[np.intp]:
    """An integer for each row, the same for equal rows; dense or sparse rows."""
    if issparse(points):
        points = points.copy()
        points.sum_duplicates()  # and sorts
        points.eliminate_zeros()
        ends = points.indptr[1:-1]
        parts = np.split(points.indices, ends), np.split(points.data, ends)
        keys = [(i.tobytes(), x.tobytes()) for i, x in zip(*parts, strict=True)]
    else:
        dense = np.ascontiguousarray(points + 0.0)  # turns -0.0 into 0.0, whose bytes differ
        keys = [row.tobytes() for row in dense]
    known: dict[Any, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


Strategy = str | Callable[[Any, Any], NDArray]


class Rule(NamedTuple):
    """The functions that define a strategy.

    Attributes
    ----------
    worth : callable
        Takes a fitted classifier, rows, ``n_draws`` and ``random_state``, and returns the worth
        of each single row, not negative.
    answers : callable
        Takes a classifier and outputs of classifiers drawn from its posterior, and returns their
        answers as :class:`~bayespoint.active.strategies.Committee` takes them.
    together : bool
        Whether similar rows in a batch count less.
    """

    worth: Callable[..., NDArray]
    answers: Callable[[Any, NDArray], NDArray] = scores.votes
    together: bool = True


# To add a strategy, add an entry.
STRATEGIES = {
    "entropy": Rule(lambda clf, X, **draws: scores.entropy(clf, X)),
    "margin": Rule(lambda clf, X, **draws: scores.one_minus_margin(clf, X)),
    "bald": Rule(scores.bald, scores.probabilities),
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
    """The n rows of a pool whose labels are most informative.

    Rows are chosen one after another, starting with the row of largest value. After each choice,
    the value of every other row is multiplied by the share of the variance of its prediction that
    remains when the label of the chosen row is known. The value of rows that are equal or close to
    a chosen row becomes small, and rows with different information keep their value. Variances and
    covariances are those of the predictions of ``n_draws`` classifiers from the posterior. A batch
    takes at most O(n n_pool n_draws) operations, times n_classes squared for several classes. A
    single row needs no draws.

    Parameters
    ----------
    clf : BayesPointClassifier
        Fitted; alone, or as the last step of a pipeline.
    X_pool : array-like of shape (n_pool, n_features)
        Unlabelled rows.
    n : int, default=1
        Number of rows to choose.
    strategy : {"entropy", "margin", "bald", "random"} or callable, default="entropy"
        The value of a row:

        * "entropy": the :func:`entropy` of the vote;
        * "margin": one minus the difference of the two largest probabilities; with two classes,
          the row of the smallest ``|decision_function|`` comes first;
        * "bald": the mutual information of label and weights, :func:`bald`. It avoids rows whose
          labels are uncertain only because of noise. If the noise of the model is far too large, it
          chooses rows at the edge of the pool;
        * "random": the same for all rows, as a baseline;
        * a function of a classifier and rows that returns one nonnegative number per row. In a
          pipeline, it gets the last step and the transformed rows.
    exclude : array-like of int, optional
        Indices of rows that must not be chosen, because they are already labelled.
    n_draws : int, default=200
        Number of classifiers to draw. If the posterior has fewer samples, all are used.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the choice between ties.

    Returns
    -------
    ndarray of int of shape (n,)
        Indices into the pool, the most informative first. Rows that equal a chosen or an excluded
        row are returned only if no others are left.

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
    classifier, X = scores.unwrap(clf, X_pool)
    table = classifier.model_.table
    points = new_points(classifier, X, accepts_sparse=True, table=None if issparse(X) else table)
    taken = np.zeros(n_rows(points), dtype=bool)
    taken[check_indices("exclude", () if exclude is None else exclude, len(taken))] = True
    check_count("n_draws", n_draws, 2)
    check_count("n", n, 1, int((~taken).sum()), "the rows of the pool to choose from")
    rng = np.random.default_rng(scores.seed_from(random_state))
    seed = int(rng.integers(2**31))
    worth = rule.worth(classifier, X, n_draws=n_draws, random_state=seed)

    def answers_on(candidates: NDArray[np.intp]) -> NDArray:
        outputs = scores.drawn_outputs(classifier, take(X, candidates), n_draws, seed)
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
            f"{n_points} rows. Got an array of shape {worth.shape} instead"
            + (f", with values from {worth.min():g} to {worth.max():g}." if worth.size else ".")
        )
    return worth


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
