"""The active learning loop."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.active.classifiers import check_classifier
from bayespoint.active.curve import LearningCurve
from bayespoint.active.parameters import check_count, check_indices
from bayespoint.active.pool import Oracle, Pool, ask
from bayespoint.active.scores import seed_from
from bayespoint.active.strategies import Strategy, get_rule, query


def learn_actively(
    clf: Any,
    X_pool: Any,
    oracle: Oracle,
    *,
    n_queries: int,
    start: int | ArrayLike = 2,
    batch_size: int = 1,
    strategy: Strategy = "entropy",
    n_draws: int = 200,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> LearningCurve:
    """Active learning: a classifier chooses which points of a pool are labelled.

    The classifier is fitted to a few labels, chooses the next points by :func:`query`, is fitted
    again, and so on. No point is queried twice.

    Parameters
    ----------
    clf : BayesPointClassifier
        The classifier, alone or as the last step of a pipeline. It is cloned, and not changed.
    X_pool : array-like of shape (n_pool, n_features)
        Unlabelled points. For a precomputed kernel, the matrix between all of them.
    oracle : callable
        Takes an array of indices into the pool and returns the labels of these points.
    n_queries : int
        Number of labels to query after the start.
    start : int or array-like of int, default=2
        Number of initial points, drawn at random, or their indices. If all have the same label,
        more are drawn at random until there are two classes. These count as queries: the final
        number of labels is always that of the start plus ``n_queries``.
    batch_size : int, default=1
        Number of labels per query.
    strategy : str or callable, default="entropy"
        Query strategy; see :func:`query`.
    n_draws : int, default=200
        Number of classifiers drawn to choose a batch.
    X_test, y_test : array-like, optional
        Test points and their labels, for the scores. For a precomputed kernel, the matrix between
        the test points and the pool.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries. The classifier has a seed of its own.

    Returns
    -------
    LearningCurve
        Indices and labels in the order of the queries, the number of labels and the score of every
        fit, and the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import learn_actively
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> curve = learn_actively(
    ...     BayesPointClassifier(kernel="linear"),
    ...     X[:300],
    ...     lambda indices: y[indices],
    ...     n_queries=8,
    ...     X_test=X[300:],
    ...     y_test=y[300:],
    ...     random_state=0,
    ... )
    >>> for n_labels, score in zip(curve.n_labels[::4], curve.scores[::4]):
    ...     print(n_labels, f"{score:.3f}")
    2 0.862
    6 0.967
    10 0.944
    """
    check_classifier(clf)
    get_rule(strategy)  # raises an error before the first label is queried
    check_count("n_draws", n_draws, 2)
    check_count("batch_size", batch_size, 1)
    pool = Pool(clf, X_pool, X_test, y_test)
    rng = np.random.default_rng(seed_from(random_state))
    n_first, order = starting_order(start, pool.n_points, rng)
    check_count("n_queries", n_queries, 0, pool.n_points - n_first, "the points left in the pool")
    n_end = n_first + n_queries

    labels = labels_of_two_classes(oracle, order[:n_end], n_first)
    asked = order[: len(labels)]
    n_start, n_labels, scores = len(asked), [], []
    while True:
        fitted = pool.fit(asked, labels)
        n_labels.append(len(asked))
        scores.append(pool.score(fitted, asked))
        if len(asked) == n_end:
            break
        # After a longer start, continue to where other runs stop, so that curves can be averaged.
        n_to_next = batch_size - (len(asked) - n_first) % batch_size
        chosen = query(
            fitted,
            pool.as_seen(pool.X, asked),
            min(n_to_next, n_end - len(asked)),
            strategy=strategy,
            exclude=asked,
            n_draws=n_draws,
            random_state=int(rng.integers(2**31)),
        )
        labels = np.concatenate([labels, ask(oracle, chosen)])
        asked = np.concatenate([asked, chosen])
    return LearningCurve(
        indices=asked,
        labels=labels,
        n_start=n_start,
        n_labels=np.array(n_labels, dtype=np.intp),
        scores=None if X_test is None else np.array(scores),
        estimator=fitted,
    )


def starting_order(
    start: Any, n_points: int, rng: np.random.Generator
) -> tuple[int, NDArray[np.intp]]:
    """Number of initial points, and all points in random order with the given ones first."""
    order = rng.permutation(n_points)
    if isinstance(start, Integral):
        check_count("start", start, 1, n_points, "the points of the pool")
        return int(start), order
    given = check_indices("start", start, n_points)
    if len(given) == 0 or len(np.unique(given)) < len(given):
        raise ValueError(
            f"start must contain at least one index, and none twice. Got {len(given)} indices, "
            f"{len(np.unique(given))} of them distinct."
        )
    return len(given), np.concatenate([given, order[~np.isin(order, given)]])


def labels_of_two_classes(oracle: Oracle, order: NDArray[np.intp], n_first: int) -> NDArray:
    """Labels of the first points, and of more, one by one, until there are two classes."""
    labels = ask(oracle, order[:n_first])
    for i in range(n_first, len(order)):
        if len(np.unique(labels)) > 1:
            break
        labels = np.concatenate([labels, ask(oracle, order[i : i + 1])])
    if len(np.unique(labels)) < 2:
        raise ValueError(
            f"A classifier needs two classes, but all {len(labels)} labels of the oracle are "
            f"{labels[0]!r}. Pass the indices of points of two classes as start, or raise "
            "n_queries."
        )
    return labels
