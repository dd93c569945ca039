"""The active learning loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length

from bayespoint.active.curve import LearningCurve
from bayespoint.active.scores import check_classifier, seed_from, unwrap
from bayespoint.active.stopping import EARLY, expected_fall, fall_ahead, is_enough
from bayespoint.active.strategies import Strategy, check_count, check_indices, get_rule, query
from bayespoint.tools.pipelines import n_rows, take

REST, FIRST = 300, 4  # points on which the error is expected, and of which labels are weighed
Oracle = Callable[[NDArray[np.intp]], ArrayLike | Iterator[Any]]
GOING_ON = "The attribute curve of this exception has all labels so far; continue with start=curve."


def learn_actively(
    clf: Any,
    X_pool: Any,
    oracle: Oracle,
    *,
    n_queries: int,
    start: int | ArrayLike | LearningCurve = 2,
    batch_size: int = 1,
    strategy: Strategy = "entropy",
    n_draws: int = 200,
    stop: bool = False,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> LearningCurve:
    """Active learning: a classifier chooses which rows of a pool are labelled.

    The classifier is fitted to a few labels, chooses the next rows with :func:`query`, and is
    fitted again, until enough rows are labelled. No row is queried twice.

    Parameters
    ----------
    clf : BayesPointClassifier
        The classifier, alone or as the last step of a pipeline. It is cloned and not changed.
    X_pool : array-like of shape (n_pool, n_features)
        Unlabelled rows. For a precomputed kernel, the matrix between all of them.
    oracle : callable
        Takes an array of indices into the pool and returns the labels of these rows, or an iterator
        (such as a generator) over the labels. None means "cannot say": the row is not queried
        again, and another one is queried instead. If the oracle raises an exception or is
        interrupted, the attribute ``curve`` of the exception contains all labels so far, including
        those from an unfinished iterator.
    n_queries : int
        Number of labels to query after the start.
    start : int, array-like of int or LearningCurve, default=2
        Number of initial rows, drawn at random, or their indices, or an earlier run to continue. If
        all have the same label, more rows are drawn at random until there are two classes. These
        count as queries: the final number of labels is that of the start plus ``n_queries``, unless
        the pool is exhausted before.
    batch_size : int, default=1
        Number of labels per query.
    strategy : str or callable, default="entropy"
        Query strategy; see :func:`query`.
    n_draws : int, default=200
        Number of classifiers drawn to choose a batch.
    stop : bool, default=False
        Whether to stop early, by the rule of the labelling page: when there are at least 20 labels
        and the next ten would lower the expected error on the rest of the pool by less than 2 % of
        it, or by less than 0.001.
    X_test, y_test : array-like, optional
        Test rows and their labels, for the scores. For a precomputed kernel, the matrix between
        the test rows and the pool.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries. The classifier has a seed of its own.

    Returns
    -------
    LearningCurve
        Indices and labels in the order of the queries, the number of labels and the score of each
        fit, and the last fitted classifier.

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
    rng = np.random.default_rng(seed_from(random_state))
    n_points, earlier = n_rows(X_pool), start if isinstance(start, LearningCurve) else None
    n_first, order = starting_order(start, n_points, rng)
    n_left = n_points - n_first - (0 if earlier is None else len(earlier.skipped))
    check_count("n_queries", n_queries, 0, n_left, "the rows left in the pool")
    if not callable(oracle):
        raise TypeError(
            "The oracle must be a function of indices that returns labels, such as lambda i: y[i]. "
            f"Got {type(oracle).__name__} instead."
        )
    run = ActiveRun(clf, X_pool, oracle, X_test, y_test, earlier)
    n_end = n_first + n_queries
    try:
        run.begin(order, n_first, n_end)
        while run.fit() < n_end and len(run.asked) < n_points:
            # After a longer start, continue to where other runs stop, so that curves can be
            # averaged.
            n_to_next = batch_size - (run.n_labels - n_first) % batch_size
            chosen = query(
                run.estimator,
                run.as_seen(X_pool),
                min(n_to_next, n_end - run.n_labels, n_points - len(run.asked)),
                strategy=strategy,
                exclude=run.asked,
                n_draws=n_draws,
                random_state=int(rng.integers(2**31)),
            )
            if stop and run.has_enough(chosen, int(rng.integers(2**31))):
                break
            run.ask(chosen)
    except BaseException as error:
        error.curve = run.curve()  # type: ignore[attr-defined]
        error.add_note(GOING_ON)
        raise
    return run.curve()


class ActiveRun:
    """Labels, fits and scores of a run, at any moment: an error later loses none of them.

    Parameters
    ----------
    clf : estimator
        The classifier to clone and fit.
    X : array-like
        The pool.
    oracle : callable
        Takes indices; returns their labels, or an iterator that gives one after another.
    X_test, y_test : array-like or None
        Test rows and their labels.
    earlier : LearningCurve, optional
        A run to continue.
    """

    def __init__(
        self, clf: Any, X: Any, oracle: Oracle, X_test: Any, y_test: Any, earlier: Any
    ) -> None:
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test must be passed together. Got only "
                f"{'y_test' if X_test is None else 'X_test'}."
            )
        if X_test is not None:
            check_consistent_length(X_test, y_test)
        n_points = n_rows(X)
        self._pairwise = get_tags(clf).input_tags.pairwise
        if self._pairwise and np.shape(X) != (n_points, n_points):
            raise ValueError(
                "With a precomputed kernel X_pool must be the square matrix between all rows of "
                f"the pool. Got shape {np.shape(X)} instead."
            )
        self._clf, self._X, self._oracle, self._test = clf, X, oracle, (X_test, y_test)
        self.estimator: Any = None
        self._n_start = 0
        self._labels: dict[int, Any] = {}  # by their points, in the order of the questions
        self._skipped: list[int] = []  # points of which the oracle cannot say what they are
        self._scores: dict[int, float] = {}  # by the number of labels
        if earlier is not None:
            self.estimator, self._n_start = earlier.estimator, earlier.n_start
            self._labels = dict(zip(earlier.indices.tolist(), earlier.labels, strict=True))
            self._skipped, sizes = earlier.skipped.tolist(), earlier.n_labels.tolist()
            scores = [np.nan] * len(sizes) if earlier.scores is None else earlier.scores.tolist()
            self._scores = dict(zip(sizes, scores, strict=True))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._labels)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Rows that have a label, in the order of the questions."""
        return np.array([*self._labels], dtype=np.intp)

    @property
    def asked(self) -> NDArray[np.intp]:
        """All rows that must not be asked for again."""
        return np.array([*self._labels, *self._skipped], dtype=np.intp)

    @property
    def labels(self) -> NDArray:
        """Their labels."""
        return np.array([*self._labels.values()])

    def begin(self, order: NDArray[np.intp], n_first: int, n_end: int) -> None:
        """Ask for the first labels, and for more, one by one, until there are two classes."""
        while len(order) and self.n_labels < n_end:
            n_wanted = max(n_first - self.n_labels, 0 if self._has_two_classes() else 1)
            if n_wanted == 0:
                break
            part, order = np.split(order, [n_wanted])
            self.ask(part)
        if not self._has_two_classes():
            found = "the oracle gave no label"
            if self._labels:
                label = self.labels[:1].tolist()[0]
                found = f"all {self.n_labels} labels of the oracle are {label!r}"
            raise ValueError(
                f"A classifier needs two classes, but {found}. Pass the indices of rows of two "
                "classes as start, or raise n_queries."
            )
        self._n_start = self._n_start or self.n_labels

    def _has_two_classes(self) -> bool:
        return self.n_labels > 0 and len(np.unique(self.labels)) > 1

    def ask(self, indices: NDArray[np.intp]) -> None:
        """Ask for labels; None and NaN mean that the oracle cannot say."""
        answer = self._oracle(indices.copy())
        labels: Any = answer if isinstance(answer, Iterator) else np.asarray(answer)
        if not isinstance(answer, Iterator):
            check_answers(labels.shape, indices)
        waiting = indices.tolist()
        for label in labels:
            if not waiting:
                check_answers((len(indices) + 1,), indices)
            index = waiting.pop(0)
            if label is None or label != label:  # NaN does not equal itself
                self._skipped.append(index)
            else:
                self._labels[index] = label
        check_answers((len(indices) - len(waiting),), indices)

    def as_seen(self, X: Any) -> Any:
        """Rows as the classifier takes them: a kernel matrix has columns of labelled rows."""
        return np.asarray(X)[:, self.indices] if self._pairwise else X

    def fit(self) -> int:
        """Fit to all labels, score on the test rows, and return the number of labels."""
        X_test, y_test = self._test
        points = take(self.as_seen(self._X), self.indices)
        self.estimator = clone(self._clf).fit(points, self.labels)
        score = np.nan if X_test is None else self.estimator.score(self.as_seen(X_test), y_test)
        self._scores[self.n_labels] = float(score)
        return self.n_labels

    def has_enough(self, chosen: NDArray[np.intp], seed: int) -> bool:
        """Whether labels of the chosen rows, and further ones, would hardly lower the error."""
        if self.n_labels < EARLY:
            return False
        rest = np.setdiff1d(np.arange(n_rows(self._X)), self.asked)
        some = np.random.default_rng(seed).permutation(rest)[:REST]
        seen = take(self.as_seen(self._X), np.concatenate([chosen[:FIRST], some]))
        error, falls = expected_fall(*unwrap(self.estimator, seen), len(chosen[:FIRST]), seed)
        ahead = fall_ahead(error, float(falls.max()), len(rest))[1]
        return is_enough(self.n_labels, error, ahead)

    def curve(self) -> LearningCurve:
        """All that is known up to now."""
        return LearningCurve(
            indices=self.indices,
            labels=self.labels,
            skipped=np.array(self._skipped, dtype=np.intp),
            n_start=self._n_start,
            n_labels=np.array([*self._scores], dtype=np.intp),
            scores=None if self._test[0] is None else np.array([*self._scores.values()]),
            estimator=self.estimator,
        )


def check_answers(shape: tuple[int, ...], indices: NDArray[np.intp]) -> None:
    """Raise an error unless there is one label for each index."""
    if shape != indices.shape:
        raise ValueError(
            f"The oracle must return one label for each of the {len(indices)} indices. Got an "
            f"array of shape {shape} instead."
        )


def starting_order(
    start: Any, n_points: int, rng: np.random.Generator
) -> tuple[int, NDArray[np.intp]]:
    """Number of initial rows, and rows to ask for in random order, given ones first."""
    order = rng.permutation(n_points)
    if isinstance(start, LearningCurve):
        asked = np.concatenate([start.indices, start.skipped])
        check_indices("start", asked, n_points)
        return len(start.indices), order[~np.isin(order, asked)]
    if isinstance(start, Integral):
        check_count("start", start, 1, n_points, "the rows of the pool")
        return int(start), order
    given = check_indices("start", start, n_points)
    if len(given) == 0 or len(np.unique(given)) < len(given):
        raise ValueError(
            f"start must contain at least one index, and none twice. Got {len(given)} indices, "
            f"{len(np.unique(given))} of them distinct."
        )
    return len(given), np.concatenate([given, order[~np.isin(order, given)]])
