"""Log-odds from outputs, learned at points that the classifiers have not learned from."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, log_softmax, softmax

from bayespoint.gpu import log_odds as on_device
from bayespoint.tools.arrays import Array, beside, is_tensor, kept, namespace
from bayespoint.tools.attributes import finite, need
from bayespoint.tools.numbers import TINY

MOST_POINTS = 60_000  # to learn from
MOST_NUMBERS = 200  # to learn: a Newton step takes at most half a second
POINTS_PER_NUMBER = {"classes": 5, "matrix": 100}  # that is learned
SPREAD = 0.1  # of terms of other classes, in units of lambda: the best on held-out digits
CLEARLY = 2.0  # standard errors by which more numbers must be better on held-out points
FIRST = 1e-6  # log-odds by which the class of the largest output exceeds those that it shares with
FARTHEST = 600.0  # difference of log-odds whose exponential is finite


class LogOdds:
    r"""Log-odds :math:`s = A f + b` of each class, from the outputs f of its task and the others.

    Two classes have one task, and :math:`p = 1 / (1 + e^{-s})`. More classes have one each, and p
    is the softmax of s.

    Parameters
    ----------
    matrix : ndarray of shape (n_tasks, n_tasks)
        A.
    offset : ndarray of shape (n_tasks,)
        b.
    follows : bool
        Whether the outputs decide. The class of the largest output, and those whose log-odds are
        above its own, then share the mean of their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import LogOdds
    >>> LogOdds(np.array([[4.0]]), np.array([1.0]))(np.array([[0.5], [-0.5]]))
    array([[ 3.],
           [-1.]])
    """

    follows = False  # also of files that do not have it

    def __init__(
        self, matrix: NDArray[np.float64], offset: NDArray[np.float64], follows: bool = False
    ) -> None:
        self.matrix = matrix
        self.offset = offset
        self.follows = follows

    def __call__(self, outputs: Any) -> Any:
        """A f + b for each row of outputs, an array or a tensor."""
        scores = outputs @ kept(outputs, self.matrix).T + kept(outputs, self.offset)
        return following(outputs, scores) if self.follows else scores

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        finite(self.offset, "t", **finite(self.matrix, "tt"))
        need(isinstance(self.follows, bool), "whether outputs decide is not a bool")


def following(outputs: Array, scores: Array) -> Array:
    """Log-odds in the order of the outputs.

    The class of the largest output, and those above it, share the mean of their probabilities, and
    it comes first among them.
    """
    xp = namespace(scores)
    if scores.shape[1] == 1:
        two = xp.concatenate([-outputs, outputs, 0.0 * scores, scores], axis=1)
        two = following(two[:, :2], two[:, 2:])
        return two[:, 1:] - two[:, :1]
    leads = outputs.argmax(1)[:, None] == beside(scores, np.arange(scores.shape[1]))
    own = (scores * leads).sum(1)[:, None]
    above = scores >= own
    sizes = xp.where(above, xp.exp(xp.clip(scores - own, None, FARTHEST)), 0.0)
    share = sizes.sum(1) / xp.clip(above.sum(1), 1, None)
    pooled = own + xp.log(xp.clip(share, TINY, None))[:, None]
    return xp.where(above, pooled, scores) + FIRST * leads


def learn_log_odds(
    outputs: Any, targets: Any, weight: NDArray[np.float64] | None = None
) -> LogOdds:
    r"""The log-odds that make the labels of some points likely, given honest outputs at these.

    The simplest form is :math:`s = \lambda f`. It is learned together with one more point of
    typical size on the wrong side (Laplace's rule of succession), so that few points without an
    error do not make it certain. If there are enough points, a scale and an offset for each class,
    and then a full matrix and offsets, are learned as well, by multinomial logistic regression with
    a Gaussian prior around :math:`\lambda f`. Each is used if it is clearly better at points that
    it was not learned from (two folds, and what all points would gain over half of them).

    More numbers can make labels more likely and decide worse. Where their decisions are not better
    than those of the plain outputs at these points, the outputs decide.

    Parameters
    ----------
    outputs : ndarray of shape (n_points, n_tasks), or tensor
        Outputs of classifiers that have not learned from the point. Rows with NaN are left out.
    targets : ndarray of shape (n_points, n_tasks), or tensor where the outputs are
        Labels -1 and +1: of two classes, or of each class against the rest.
    weight : ndarray of shape (n_points,), optional
        Weights of the points.

    Returns
    -------
    LogOdds
        For outputs of the same classifiers at new points.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from bayespoint.posteriors.log_odds import learn_log_odds
    >>> rng = np.random.default_rng(0)
    >>> outputs = rng.normal(size=(10_000, 1))
    >>> labels = np.where(rng.random((10_000, 1)) < expit(3 * outputs), 1, -1)
    >>> learn_log_odds(outputs, labels).matrix.round(1)
    array([[3.]])
    """
    n_tasks = outputs.shape[1]
    if is_tensor(outputs):
        rules = partial(learnable, n_tasks), prior(n_tasks), CLEARLY, from_all
        return LogOdds(*on_device.learn(outputs, targets, weight, MOST_POINTS, *rules))
    known = np.flatnonzero(np.isfinite(outputs).all(axis=1))
    known = known[:: max(1, -(-len(known) // MOST_POINTS))]
    # Sums over the few tasks are four times as fast if the many points are contiguous.
    outputs, is_yes = np.asfortranarray(outputs[known]), np.asfortranarray(targets[known] > 0)
    copies = np.ones(len(known)) if weight is None else weight[known]
    scale = learn_scale(outputs, is_yes, copies)
    coefficients, features = np.eye(n_tasks, n_tasks + 1), with_constant(scale * outputs)
    losses = log_loss(linear(features, coefficients), is_yes)
    follows, plain, learned = False, mistakes(outputs, is_yes), coefficients
    for mask in learnable(n_tasks, len(known)):
        learned = logistic(features, is_yes, copies, mask, learned)
        held_out = held_out_scores(features, is_yes, copies, mask, learned)
        both = held_out, linear(features, learned)
        others = from_all(*(log_loss(scores, is_yes) for scores in both))
        if is_clearly_better(others, losses, copies):
            coefficients, losses = learned, others
            wrong = from_all(*(mistakes(scores, is_yes) for scores in both))
            follows = bool(copies @ (wrong - plain) >= 0)
    return LogOdds(scale * coefficients[:, :-1], coefficients[:, -1].copy(), follows)


def with_constant(outputs: NDArray) -> NDArray[np.float64]:
    """The outputs and a column of ones."""
    return np.vstack([outputs.T, np.ones(len(outputs))]).T


def linear(features: NDArray, coefficients: NDArray) -> NDArray[np.float64]:
    """Scores of all points, (n_points, n_tasks), with the points contiguous."""
    return (coefficients @ features.T).T


def forms(n_tasks: int) -> dict[str, NDArray[np.bool_]]:
    """The numbers of (A, b) that are learned, by the name of the form."""
    every = np.ones((n_tasks, n_tasks + 1), dtype=bool)
    own = np.eye(n_tasks, n_tasks + 1, dtype=bool)
    own[:, -1] = True
    return {"classes": own, "matrix": every} if n_tasks > 1 else {"classes": own}


def learnable(n_tasks: int, n_points: int) -> list[NDArray[np.bool_]]:
    """The forms that so many points are enough for, from the simplest on."""
    masks = []
    for form, mask in forms(n_tasks).items():
        if mask.sum() > min(MOST_NUMBERS, n_points / POINTS_PER_NUMBER[form]):
            break
        masks.append(mask)
    return masks


def prior(n_tasks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centre and precision of (A, b): N(1, 1) and N(0, SPREAD^2), N(0, 1) for offsets."""
    centre = np.eye(n_tasks, n_tasks + 1)
    precision = np.full(centre.shape, SPREAD**-2)
    precision[:, -1] = precision[centre == 1] = 1.0
    return centre, precision


def log_loss(scores: NDArray, is_yes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Minus the log-probability of each point's class."""
    if scores.shape[1] == 1:
        return -log_expit(np.where(is_yes, scores, -scores)[:, 0])
    return -log_softmax(scores, axis=1)[is_yes]


def mistakes(scores: NDArray, is_yes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """1 where a point is decided wrongly, else 0."""
    if scores.shape[1] == 1:
        return ((scores > 0) != is_yes)[:, 0].astype(float)
    return (scores.argmax(axis=1) != is_yes.argmax(axis=1)).astype(float)


def probabilities(scores: NDArray) -> NDArray[np.float64]:
    """Probability of "yes" of the only task, or of each class."""
    return expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)


def learn_scale(outputs: NDArray, is_yes: NDArray[np.bool_], copies: NDArray) -> float:
    """The lambda that minimises the log-loss of the points and of one typical error."""
    if outputs.shape[1] == 1:
        margins = outputs[:, 0]
    else:
        margins = outputs[is_yes] - np.where(is_yes, -np.inf, outputs).max(axis=1)
    size = float(np.sqrt(np.average(margins**2, weights=copies))) if len(margins) else 0.0
    if size == 0:
        return 1.0
    unit = outputs / size

    def slope(log_scale: float) -> float:
        scale = np.exp(log_scale)
        errors = probabilities(scale * unit) - is_yes
        return float(copies @ (errors * unit).sum(axis=1) + expit(scale))

    low, high = -6.0, 6.0
    if slope(low) >= 0:  # outputs say nothing, or the opposite
        return float(np.exp(low) / size)
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)) / size)


def logistic(
    features: NDArray, is_yes: NDArray[np.bool_], copies: NDArray, mask: NDArray[np.bool_],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Coefficients, by Newton steps from ``start``; those outside the mask are of the prior.

    The Hessian is sum_i (diag(p_i) - p_i p_i^T) (x) x_i x_i^T and the precision of the prior. It
    only decides how fast the steps converge: float32 is enough for its largest part.
    """
    rows, columns = np.nonzero(mask)
    centre, precision = prior(len(mask))
    coefficients = np.where(mask, start, centre)
    of_columns = (np.sqrt(copies)[:, None] * features).astype(np.float32)[:, columns]

    def loss(values: NDArray) -> float:
        errors = log_loss(linear(features, values), is_yes)
        return float(copies @ errors + (precision * (values - centre) ** 2).sum() / 2)

    before = loss(coefficients)
    for _ in range(50):
        p = probabilities(linear(features, coefficients))
        slope = (copies[:, None] * (p - is_yes)).T @ features + precision * (coefficients - centre)
        spread = p.astype(np.float32)[:, rows] * of_columns
        curvature = np.diag(precision[mask]) - spread.T @ spread
        for row, used in enumerate(mask):
            here, own = np.flatnonzero(rows == row), features[:, used]
            curvature[np.ix_(here, here)] += ((copies * p[:, row])[:, None] * own).T @ own
        step = np.zeros_like(centre)
        step[mask] = np.linalg.solve(curvature, slope[mask])
        while (after := loss(coefficients - step)) > before:
            step /= 2  # the loss is convex: a step that is short enough makes it smaller
            if np.abs(step).max() < 1e-12:
                return coefficients
        coefficients = coefficients - step
        if before - after < 1e-3:  # of a sum over all points; the next step would be far smaller
            return coefficients
        before = after
    return coefficients


def held_out_scores(
    features: NDArray, is_yes: NDArray[np.bool_], copies: NDArray, mask: NDArray[np.bool_],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Log-odds of each half of the points with what was learned from the other."""
    scores = np.empty(is_yes.shape, order="F")
    for fold in (0, 1):
        here, there = slice(fold, None, 2), slice(1 - fold, None, 2)
        learned = logistic(features[there], is_yes[there], copies[there], mask, start)
        scores[here] = linear(features[here], learned)
    return scores


def from_all(held_out: Array, learned: Array) -> Array:
    r"""Losses at new points of what is learned from all points.

    Those of k numbers from n points exceed the least ones by about :math:`k / 2n`, and those of the
    points themselves are as far below. So a half, which tests the other, is :math:`k / n` above.
    """
    return (2 * held_out + learned) / 3


def is_clearly_better(losses: NDArray, others: NDArray, copies: NDArray) -> bool:
    """Whether the mean of some losses is smaller than that of others, by two standard errors."""
    gain = others - losses
    mean = np.average(gain, weights=copies)
    error = np.sqrt(np.average((gain - mean) ** 2, weights=copies) / copies.sum())
    return bool(mean > CLEARLY * error)
