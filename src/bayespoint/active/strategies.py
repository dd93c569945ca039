"""What makes a point worth a label, and which points of a pool to label next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from bayespoint.active.batch import choose_lazily, kinds, one_of_each
from bayespoint.active.machine import (
    check_machine,
    drawn_outputs,
    machine_and_points,
    n_rows,
    probabilities,
    rows,
    votes,
)
from bayespoint.active.parameters import check_count, check_indices
from bayespoint.active.scores import bald, doubt, entropy, seed_from

Strategy = str | Callable[[Any, Any], NDArray]


class Rule(NamedTuple):
    """What a strategy goes by.

    Attributes
    ----------
    worth : callable
        Takes a fitted machine, points, ``n_draws`` and ``random_state``, and gives what each point
        is worth alone, not negative.
    answers : callable
        Takes a machine and outputs of classifiers drawn from its posterior, and gives their answers
        as :class:`~bayespoint.active.batch.Committee` takes them.
    together : bool
        Whether points of a batch are worth less if they tell the same.
    """

    worth: Callable[..., NDArray]
    answers: Callable[[Any, NDArray], NDArray] = votes
    together: bool = True


# An entry here is all that a new strategy needs.
STRATEGIES = {
    "entropy": Rule(lambda machine, X, **draws: entropy(machine, X)),
    "margin": Rule(lambda machine, X, **draws: doubt(machine, X)),
    "bald": Rule(bald, probabilities),
    "random": Rule(lambda machine, X, **draws: np.ones(n_rows(X)), together=False),
}


def get_rule(strategy: Strategy) -> Rule:
    """The rule of a name, or of a function of the user's."""
    if callable(strategy):
        return Rule(lambda machine, X, **draws: checked_worth(strategy(machine, X), n_rows(X)))
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
    r"""The n points of a pool that are most worth a label.

    The first is the one of largest worth. The worth of every other is then multiplied by the share
    of the variance of its answer that is still open once the label of the first is known, and so
    on: twins and neighbours of a chosen point are worth little, points that ask something else
    keep their worth. Variances and covariances are those of the answers of ``n_draws`` classifiers
    from the posterior. A batch costs O(n n_pool n_draws) at most, times n_classes squared for
    several classes, and less where most points have no chance; a single point needs no draws.

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
        * a function of a classifier and points that returns numbers that are not negative. In a
          pipeline it gets the last step, and the points as that sees them.
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
    >>> query(clf, pool, 2, random_state=0)  # not 1 and its twin 0, nor its neighbour 2
    array([1, 3])
    """
    check_machine(clf)
    rule = get_rule(strategy)
    machine, X = machine_and_points(clf, X_pool)
    points = validate_data(machine, X, reset=False, accept_sparse="csr")
    taken = taken_points(exclude, n_rows(points))
    check_count("n_draws", n_draws, 2)
    check_count("n", n, 1, int((~taken).sum()), "the points of the pool to choose from")
    rng = np.random.default_rng(seed_from(random_state))
    seed = int(rng.integers(2**31))
    worth = rule.worth(machine, X, n_draws=n_draws, random_state=seed)

    def answers_on(candidates: NDArray[np.intp]) -> NDArray:
        return rule.answers(machine, drawn_outputs(machine, rows(X, candidates), n_draws, seed))

    together = n > 1 and rule.together
    kind = kinds(points)
    waiting = np.isin(kind, kind[taken])
    chosen: list[int] = []
    while len(chosen) < n:
        if waiting.all():
            waiting = taken  # nothing is left but equals of those taken
        candidates = one_of_each(np.flatnonzero(~waiting), kind, rng)
        n_now = min(n - len(chosen), len(candidates))
        picked = choose_lazily(worth, candidates, n_now, answers_on if together else None, rng)
        chosen.extend(picked)
        taken[picked] = True
        waiting = taken | np.isin(kind, kind[picked])
    return np.array(chosen, dtype=np.intp)


def checked_worth(values: ArrayLike, n_points: int) -> NDArray[np.float64]:
    """What a function of the user returned, or an error if it will not do."""
    worth = np.asarray(values, dtype=np.float64)
    if worth.shape != (n_points,) or not np.isfinite(worth).all() or (worth < 0).any():
        raise ValueError(
            "A strategy must return one finite number that is not negative for each of the "
            f"{n_points} points. Got an array of shape {worth.shape} instead"
            + (f", with values from {worth.min():g} to {worth.max():g}." if worth.size else ".")
        )
    return worth


def taken_points(exclude: ArrayLike | None, n_pool: int) -> NDArray[np.bool_]:
    """A mask of the points that must not be chosen."""
    taken = np.zeros(n_pool, dtype=bool)
    taken[check_indices("exclude", () if exclude is None else exclude, n_pool)] = True
    return taken
