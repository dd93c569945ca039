"""Log-odds from outputs, learned at points that the classifiers have not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit, log_softmax

from bayespoint.gpu import log_odds as on_device
from bayespoint.gpu.log_odds import probabilities
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, beside, float64, is_tensor, kept, namespace, softmax
from bayespoint.tools.attributes import finite, need, number
from bayespoint.tools.numbers import TINY

MOST_POINTS = 60_000  # to learn from
MOST_NUMBERS = 200  # to learn: a Newton step takes at most half a second
POINTS_PER_NUMBER = {"classes": 5, "matrix": 100, "random": 100}  # that is learned
SPREAD = 0.1  # of terms of other classes, in units of lambda: the best on held-out digits
CLEARLY = 1.0  # standard errors by which more numbers must be better at points left out
SURELY = 2.0  # the same for labels at random, which no prior keeps away
FACTORS, SHARES = (-3.0, 3.0), (-12.0, 3.0)  # bounds on log kappa and the logit of epsilon
TERMS = 4  # of a series in the leverage of a point: about 0.2 where points are few
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
    random_share : float
        Share of the labels that are drawn at random, all classes being as likely.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import LogOdds
    >>> LogOdds(np.array([[4.0]]), np.array([1.0]))(np.array([[0.5], [-0.5]]))
    array([[ 3.],
           [-1.]])
    """

    def __init__(
        self, matrix: NDArray, offset: NDArray, follows: bool = False, random_share: float = 0.0
    ) -> None:
        self.matrix, self.offset = matrix, offset
        self.follows, self.random_share = follows, random_share

    def __call__(self, outputs: Any) -> Any:
        """Log-odds for each row of outputs, an array or a tensor."""
        scores = outputs @ kept(outputs, self.matrix).T + kept(outputs, self.offset)
        scores = following(outputs, scores) if self.follows else scores
        return with_random(scores, self.random_share) if self.random_share else scores

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        finite(self.offset, "t", **finite(self.matrix, "tt"))
        need(isinstance(self.follows, bool), "whether outputs decide is not a bool")
        number(self.random_share, 0, 1)


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


def with_random(scores: Array, share: float) -> Array:
    """Log-odds if a share of the labels is drawn at random."""
    if scores.shape[1] == 1:
        two = with_random(namespace(scores).concatenate([0.0 * scores, scores], axis=1), share)
        return two[:, 1:] - two[:, :1]
    p = (1 - share) * softmax(scores) + share / scores.shape[1]
    return namespace(scores).log(p)


def learn_log_odds(
    outputs: Any, targets: Any, weight: NDArray[np.float64] | None = None
) -> LogOdds:
    r"""The log-odds that make the labels of some points likely, given honest outputs at these.

    The simplest form is :math:`s = \lambda f`. It is learned together with one more point of
    typical size on the wrong side (Laplace's rule of succession), so that few points without an
    error do not make it certain. If there are enough points, a scale and an offset for each class,
    and then a full matrix and offsets, are learned as well, by multinomial logistic regression with
    a Gaussian prior around :math:`\lambda f`. Each is used if it is clearly better at points that
    it was not learned from (each point is left out in turn, by one Newton step).

    More numbers can make labels more likely and decide worse. Where their decisions are not better
    than those of the plain outputs at these points, the outputs decide.

    Labels can be wrong far from all boundaries, where log-odds are large. If it is surely better,
    a share of the labels is taken for random, and the log-odds of the others are larger by a
    factor.

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
    f, yes, copies, n_known = known(outputs, targets, weight)
    n_tasks, scale = f.shape[1], learn_scale(f, yes, copies)
    features = arrays.with_column(scale * f, copies**0)
    learned = coefficients = beside(f, np.eye(n_tasks, n_tasks + 1))
    best, plain, follows = scale * f, mistakes(f, yes), False
    losses = log_loss(best, yes)
    for mask in learnable(n_tasks, n_known):
        learned, inverse = logistic(features, yes, copies, mask, learned)
        scores = left_out_scores(features, yes, copies, mask, learned, inverse)
        others = log_loss(scores, yes)
        if is_clear(losses - others, copies):
            coefficients, losses, best = learned, others, scores
            follows = not is_clear(plain - mistakes(scores, yes), copies, 0.0)
    found, factor, share = arrays.to_host(coefficients), 1.0, 0.0
    if n_known >= 2 * POINTS_PER_NUMBER["random"]:
        both = learn_random(best, yes, copies)
        gain = losses - log_loss(with_random(both[0] * best, both[1]), yes)
        if is_clear(gain - unlikely(*both) / n_known, copies, SURELY):
            factor, share = both
    return LogOdds(factor * scale * found[:, :-1], factor * found[:, -1], follows, share)


def known(
    outputs: Array, targets: Array, weight: NDArray[np.float64] | None
) -> tuple[Array, Array, Array, int]:
    """Outputs, whether labels are +1, and weights of points to learn from, and their number."""
    xp = namespace(outputs)
    where = xp.where(xp.isfinite(outputs).all(1))[0]
    where = where[:: max(1, -(-len(where) // MOST_POINTS))]
    f, yes = float64(outputs[where]), targets[where] > 0
    copies = f[:, 0] ** 0 if weight is None else beside(f, weight)[where]
    if is_tensor(f):
        return *on_device.in_whole_pieces(f, yes, copies), len(where)
    # Sums over the few tasks are four times as fast if the many points are contiguous.
    return np.asfortranarray(f), np.asfortranarray(yes), copies, len(where)


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


def log_loss(scores: Array, is_yes: Array) -> Array:
    """Minus the log-probability of each point's class."""
    if is_tensor(scores):
        return on_device.log_loss(scores, is_yes)
    if scores.shape[1] == 1:
        return -log_expit(np.where(is_yes, scores, -scores)[:, 0])
    return -log_softmax(scores, axis=1)[is_yes]


def mistakes(scores: Array, is_yes: Array) -> Array:
    """1 where a point is decided wrongly, else 0."""
    if scores.shape[1] == 1:
        return float64((scores > 0) != (is_yes > 0))[:, 0]
    return float64(scores.argmax(1) != is_yes.argmax(1))


def learn_scale(outputs: Array, is_yes: Array, copies: Array) -> float:
    """The lambda that minimises the log-loss of the points and of one typical error."""
    if is_tensor(outputs):
        return on_device.learn_scale(outputs, is_yes, copies)
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
    if slope(low) >= 0 or slope(high) <= 0:  # outputs say nothing, or the opposite; or all
        return float(np.exp(low if slope(low) >= 0 else high) / size)
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)) / size)


def logistic(
    features: Array, is_yes: Array, copies: Array, mask: NDArray[np.bool_], start: Array
) -> tuple[Array, Array]:
    """Coefficients, by Newton steps from ``start``, and the inverse of their Hessian.

    Those outside the mask are of the prior.
    The Hessian is sum_i (diag(p_i) - p_i p_i^T) (x) x_i x_i^T and the precision of the prior. It
    only decides how fast the steps converge: float32 is enough for its largest part.
    """
    if is_tensor(features):
        return on_device.logistic(features, is_yes, copies, mask, start, prior(len(mask)))
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
        while (after := loss(coefficients - step)) > before and np.abs(step).max() >= 1e-12:
            step /= 2  # the loss is convex: a step that is short enough makes it smaller
        coefficients = coefficients - step
        if before - after < 1e-3:  # of a sum over all points; the next step would be far smaller
            break
        before = after
    return coefficients, np.linalg.inv(curvature)


def left_out_scores(
    features: Array,
    is_yes: Array,
    copies: Array,
    mask: NDArray[np.bool_],
    coefficients: Array,
    inverse: Array,
) -> Array:
    r"""Log-odds of each point with what is learned from all others, by one Newton step.

    A point of weight c and features X, with a row for each task, has the Hessian
    :math:`c X^T W X`, :math:`W = \operatorname{diag}(p) - p p^T`. Without it the coefficients move
    by :math:`H^{-1} X^T r`, where :math:`r = c (p - y) + c W X H^{-1} X^T r`: a series that
    converges, since H contains the Hessian of the point.
    """
    rows, columns = (beside(features, one) for one in np.nonzero(mask))
    x, tasks = features.T[columns], beside(features, np.eye(len(mask)))[:, rows]
    scores = linear(features, coefficients).T
    p = probabilities(scores.T).T
    r = errors = copies * (p - is_yes.T)
    for _ in range(TERMS):
        moved = tasks @ (x * (inverse @ (x * r[rows])))
        r = errors + copies * p * (moved - (p * moved).sum(0))
    return (scores + moved).T


def learn_random(scores: Array, is_yes: Array, copies: Array) -> tuple[float, float]:
    r"""The kappa and epsilon that make labels likely.

    Their probabilities are :math:`(1 - \epsilon) p + \epsilon / K`, p being that of log-odds
    :math:`\kappa s` and K the number of classes. The logarithm of kappa is N(0, 1), and one label
    more was random, so that points without an error do not make it certain.
    """
    xp, yes = namespace(scores), float64(is_yes)
    if scores.shape[1] == 1:
        scores, yes = (
            xp.concatenate(two, axis=1) for two in ((0 * scores, scores), (1 - yes, yes))
        )

    def loss(at: NDArray) -> tuple[float, NDArray]:
        factor, share = np.exp(at[0]), expit(at[1])
        p = softmax(factor * scores)
        own, along = (p * yes).sum(1), ((yes - p) * scores).sum(1)
        total = (1 - share) * own + share / scores.shape[1]
        slopes = (1 - share) * own * along / total, (1 / scores.shape[1] - own) / total
        sums = (copies @ xp.stack([xp.log(total), *slopes], 1)).tolist()
        slope = at[0] - factor * sums[1], share - 1 - share * (1 - share) * sums[2]
        return unlikely(factor, share) - sums[0], np.array(slope)

    found = minimize(loss, [0.0, -4.0], jac=True, method="L-BFGS-B", bounds=(FACTORS, SHARES)).x
    return float(np.exp(found[0])), float(expit(found[1]))


def unlikely(factor: float, share: float) -> float:
    """Minus the logarithm of the prior of kappa and epsilon."""
    return float(np.log(factor) ** 2 / 2 - np.log(share))


def is_clear(gain: Array, copies: Array, clearly: float = CLEARLY) -> bool:
    """Whether the mean of gains is so many standard errors above 0."""
    sums = copies @ namespace(gain).stack([gain**0, gain, gain**2], 1)
    total, first, second = sums.tolist()  # the only wait for a device
    mean = first / total
    return bool(mean > clearly * np.sqrt(max(0.0, second / total - mean**2) / total))
