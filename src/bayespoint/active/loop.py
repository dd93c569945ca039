"""Ask for labels, learn, and ask again."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.active.curve import LearningCurve
from bayespoint.active.machine import check_machine
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
    """Let a classifier choose which points of a pool get a label.

    It is fitted to a few labels, says by :func:`query` which it wants next, is fitted again, and
    so on. No point is asked for twice.

    Parameters
    ----------
    clf : BayesPointClassifier
        The classifier, alone or as the last step of a pipeline. It is cloned and left as it is.
    X_pool : array-like of shape (n_pool, n_features)
        Points that could get a label. A precomputed kernel: the matrix of all of them with all.
    oracle : callable
        Takes an array of indices of points of the pool and returns their labels in this order.
    n_queries : int
        Labels to ask for after the start.
    start : int or array-like of int, default=2
        Number of points to begin with, drawn at random, or their indices. If all have the same
        label, more are drawn at random until a second class is seen. These count as queries: at
        the end there are always as many labels as those of the start and ``n_queries`` together.
    batch_size : int, default=1
        Labels to ask for at a time.
    strategy : str or callable, default="entropy"
        What makes a point worth a label; see :func:`query`.
    n_draws : int, default=200
        Classifiers drawn to choose a batch.
    X_test, y_test : array-like, optional
        Test points and their labels, for the scores. A precomputed kernel: the matrix of the test
        points with the pool.
    random_state : int, RandomState instance or None, default=None
        Seed of all choices made here. The classifier has its own.

    Returns
    -------
    LearningCurve
        Indices and labels in the order asked for, the number of labels and the score of every fit,
        and the last fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import learn_actively
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> curve = learn_actively(
    ...     BayesPointClassifier(engine="ep"),
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
    check_machine(clf)
    get_rule(strategy)  # or an error, before anybody is asked for a label
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
        # After a longer start go on to where other runs stop, so that curves can be averaged.
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
    """Number of points to begin with, and all points in random order, but the given ones first."""
    order = rng.permutation(n_points)
    if isinstance(start, Integral):
        check_count("start", start, 1, n_points, "the points of the pool")
        return int(start), order
    given = check_indices("start", start, n_points)
    if len(given) == 0 or len(np.unique(given)) < len(given):
        raise ValueError(
            f"start must hold at least one index, and none twice. Got {len(given)} indices, "
            f"{len(np.unique(given))} of them different."
        )
    return len(given), np.concatenate([given, order[~np.isin(order, given)]])


def labels_of_two_classes(oracle: Oracle, order: NDArray[np.intp], n_first: int) -> NDArray:
    """Labels of the first points, and of further ones, one by one, until two classes are seen."""
    labels = ask(oracle, order[:n_first])
    for i in range(n_first, len(order)):
        if len(np.unique(labels)) > 1:
            break
        labels = np.concatenate([labels, ask(oracle, order[i : i + 1])])
    if len(np.unique(labels)) < 2:
        raise ValueError(
            f"All {len(labels)} labels that the oracle gave are {labels[0]!r}, and a classifier "
            "needs two classes. Give the indices of points of two classes as start, or raise "
            "n_queries."
        )
    return labels
