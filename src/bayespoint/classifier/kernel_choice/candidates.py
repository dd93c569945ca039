"""The kernels that an automatic choice considers, for features of unit variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.kernel_choice.blending import mixture_weights
from bayespoint.kernels import (
    AdditiveKernel,
    ConstantKernel,
    ExponentialKernel,
    Kernel,
    PolynomialKernel,
    RadialKernel,
    SumKernel,
)

POINTS_TO_LEARN = 10  # points from which scales are learned
# Points for each feature from which widths of features are learned.
POINTS_A_FEATURE, POINTS_A_ROUGH_FEATURE = 5, 2
POINTS_OF_ROUGH_WIDTHS = 150  # from which these are worth a candidate
# From which relevance is learned from all points, and has a candidate of fixed width; in this one
# the power of relevance.
POINTS_OF_RELEVANCE, MILDER = 600, 0.75
MOST_TERMS = 4  # of this candidate, one for each class; of more classes one for all
VERY_MANY = 8  # features for each point, of which most tell nothing
# Features for each point from which nearly linear functions are worth a candidate; columns, if some
# are categories.
FEATURES_A_POINT, COLUMNS_A_POINT = 20.0, 0.5
# Columns that are added to those from which relevance is estimated, and how many of these there are
# at least.
IRRELEVANT = 30.0
NEARLY_LINEAR = 0.05  # their gamma, times the number of features
# Standard deviations of the logarithms of widths and scales before any label is seen. On the tables
# that defaults are tuned on, scales were found from 0.4 to 400, around the size of the start.
OF_WIDTH, OF_SCALE = 1.5, 3.0
SIZE = 10.0  # of kernels at the start of a search
ONE_UNIT = 20.0  # ratio of ranges up to which features have the same unit, such as pixels
NO_SPREAD = 1e-12  # range of a feature, as a share of the largest one, up to which it is constant
WIDE = 0.3  # gamma of categories, times the number of columns
ROUGH_WIDTH = 3.0  # gamma of ranks, times the number of features

# Rough kernels need more points in the basis than smooth ones, and so do many clean classes.
MOST_COMPONENTS, FEWEST_COMPONENTS = 1000, 100
BUDGET = 6e9  # of n M^2 for all tasks of all machines together: some seconds
MACHINES = 3  # of a usual mixture
LARGER = 1.6  # how much larger the basis of kernels of single classes is, if they are all there is


class Candidate(NamedTuple):
    """A kernel, and which of its parameters the evidence determines.

    Attributes
    ----------
    name : str
        What it is called in messages.
    kernel : Kernel
        Where the search starts.
    free : tuple of str
        Positive parameters that the evidence finds; none: the kernel stays as it is.
    in_halves : bool
        Whether the parameters are learned from each half of the rows, or once from all.
    tied : bool
        Whether all numbers of a parameter that is an array have a common factor that is found, and
        keep their ratios.
    block : ndarray of int, or None
        The block of each feature; the features of a block have one width.
    by_relevance : float
        The power of :func:`relevance` with which the widths of radial terms begin, the k-th of
        several with that for the class k; 0: they begin as they are.
    """

    name: str
    kernel: Kernel
    free: tuple[str, ...] = ()
    in_halves: bool = False
    tied: bool = False
    block: NDArray[np.intp] | None = None
    by_relevance: float = 0.0


def candidates(
    points: NDArray,
    block: NDArray,
    gamma: Any,
    *,
    learns: bool,
    constant: bool,
    scale: Any = 1.0,
    n_tasks: int = 1,
    joint: bool = False,
) -> list[Candidate]:
    r"""The candidates for these rows.

    * *linear*, with a learned scale; and *rbf* if nothing may be learned;
    * *rbf by range*, with features of equal range, or the original features if their ranges differ
      by a factor of at most 20: with features of equal variance, rare levels and dark pixels would
      dominate all distances. Its width is learned, and once more fixed, because with few rows of
      many classes the evidence prefers wide kernels;
    * *rbf by relevance*, with widths from the relevance of single features: if there are more
      features than rows, most of them are irrelevant. With more than 600 rows, once more with a
      fixed width and scale, and widths that differ less, because the evidence of few rows prefers
      functions that are nearly linear and too large. With three or four classes, each class has a
      kernel, from the relevance for this class;
    * *rough + additive*: the exponential kernel of all features and a sum of functions of single
      ones, both of ranks, like trees and additive models;
    * *a rough width for each feature*, and *a width for each feature*, if there are enough rows;
      with fewer rows the widths of the latter start with those of *rbf by relevance*. With
      categories there is a width for each column, and no linear part, whose effects have one scale
      in all columns: with it, the evidence leaves no signal for the widths;
    * *nearly linear, by relevance*, with many features for each row, or few rows for each column of
      a table with categories: widths so large that functions are linear, with larger slopes (for
      categories: effects of levels) for more relevant features.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Training rows, of unit variance.
    block : ndarray of int, shape (n_features,)
        The block of each feature: the levels of a category are one, and each number.
    gamma : float, array or None
        The gamma that was asked for; None: 1 / n_features, or learned.
    learns : bool
        Whether scales may be learned.
    constant : bool
        Whether there is a constant feature.
    scale : ndarray of shape (n_features,) or float, default=1.0
        What the features were divided by.
    n_tasks : int, default=1
        Binary tasks: classes against the others.
    joint : bool, default=False
        Whether classes are learned together, so that they share the sum of their kernels.
    """
    n_points, d = len(points), int(block.max()) + 1
    radial = RadialKernel(gamma=1 / d if gamma is None else gamma)
    if not learns or n_points < POINTS_TO_LEARN:
        plain = Candidate("linear", PolynomialKernel(coef0=float(constant)))
        return [plain, Candidate("rbf", radial)]
    level = [ConstantKernel()] * constant
    line: list[Kernel] = [PolynomialKernel(gamma=1 / d), *level]
    linear = of_sum("linear", line)
    if gamma is not None:
        return [linear, of_sum("rbf + linear", [radial, *line], in_halves=True)]
    share = np.square(by_range(np.ptp(points, axis=0), scale * np.ones(len(block))))
    share /= share.sum()
    rough = ExponentialKernel(gamma=ROUGH_WIDTH / d, ranks=True)
    equal = RadialKernel(gamma=np.full(len(block), 1 / d))
    is_many = n_points > POINTS_OF_RELEVANCE
    relevant: dict[str, Any] = {"by_relevance": 1.0, "block": block}
    by_factor = relevant | {"tied": True, "in_halves": not is_many}
    width = "terms__0__gamma"
    found = [
        linear,
        of_sum("rbf by range", [RadialKernel(gamma=share), *level], width, tied=True),
        of_sum("rbf by range, fixed width", [RadialKernel(gamma=share / 2), *level]),
        of_sum("rbf by relevance", [equal, *level], width, **by_factor),
        of_sum("rough + additive", [rough, AdditiveKernel(), *level], width),
    ]
    if is_many:
        n_terms = n_tasks if n_tasks <= MOST_TERMS else 1
        sizes = [SIZE / n_terms if joint else SIZE] * n_terms + [1.0] * constant
        fixed = of_sum("rbf by relevance, fixed width", [equal] * n_terms + level, **by_factor)
        fixed.kernel.set_params(weights=sizes, by_class=n_terms > 1 and not joint)
        found.append(fixed._replace(free=(), by_relevance=MILDER))
    if d == 1:
        return found
    if n_points >= max(POINTS_A_ROUGH_FEATURE * d, POINTS_OF_ROUGH_WIDTHS):
        widths: Kernel = ExponentialKernel(gamma=np.full(len(block), ROUGH_WIDTH / d), ranks=True)
        name = "a rough width for each feature"
        found.append(of_sum(name, [widths, *level], width, in_halves=True, block=block))
    name = "a width for each feature"
    if n_points >= POINTS_A_FEATURE * d:
        wide = [RadialKernel(gamma=np.full(len(block), WIDE / d)), *level]
        terms = wide if d < len(block) else [equal, *line]
        found.append(of_sum(name, terms, width, in_halves=True, block=block))
    elif n_points >= d:
        found.append(of_sum(name, [equal, *level], width, in_halves=True, **relevant))
    if d > n_points * (FEATURES_A_POINT if d == len(block) else COLUMNS_A_POINT):
        flat = RadialKernel(gamma=np.full(len(block), NEARLY_LINEAR / d))
        plain = of_sum("nearly linear, by relevance", [flat, *level], **by_factor)
        plain.kernel.set_params(weights__0=SIZE / (2 * NEARLY_LINEAR))
        found.append(plain)
    return found


def relevance(
    points: NDArray, codes: NDArray, weight: NDArray[np.float64] | None, block: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Relevance of each feature by itself, of sum 1; equal in a block.

    The mean squared correlation with the classes, minus its expected value by chance, 1 / n, and a
    tenth of that for irrelevant features. With very many features some are correlated by chance, so
    the relevance is squared. With many categories it is estimated from all columns together.
    """
    copies = np.ones(len(codes)) if weight is None else weight
    chance, part = 1 / copies.sum(), copies / copies.sum()
    is_class = np.eye(codes.max() + 1)[codes]
    x, z = points - part @ points, is_class - part @ is_class
    variance = np.outer(part @ x**2, part @ z**2)
    square = ((part[:, None] * x).T @ z) ** 2 / np.where(variance > 0, variance, 1.0)
    square, size = square.mean(axis=1), np.bincount(block)
    if np.sum(size > 1) > max(COLUMNS_A_POINT * copies.sum(), IRRELEVANT):
        levels = np.bincount(block, np.ptp(points, axis=0) > 0)
        seen = np.bincount(block, square / chance) / np.maximum(levels, 1)
        spare = np.maximum(levels - 1, 1) * codes.max()
        share = expected_variance(seen, spare, copies.sum())[block]
        return share / share.sum()
    share = np.maximum(square - chance, 0.0) + 0.1 * chance
    share = (np.bincount(block, share) / size)[block]
    if len(size) > VERY_MANY * copies.sum():
        share = (share / share.max()) ** 2  # chance of tiny weights is huge
    return share / share.sum()


def expected_variance(seen: NDArray, spare: NDArray, n: float) -> NDArray[np.float64]:
    """Expected variance of the effects of each column, given all columns.

    Effects are normal, with variance 0 or a power of 2 up to n, and are observed with errors of
    variance 1. The frequencies of these variances maximise the probability of all columns, and of
    some more that are irrelevant (adaptive shrinkage: M. Stephens, 2017). The expected square of
    the effect would use the labels twice, because the classifier also learns from them.

    Parameters
    ----------
    seen : ndarray of shape (n_columns,)
        Mean squares of the observed effects.
    spare : ndarray of shape (n_columns,)
        How many independent effects these are means of.
    n : float
        Number of rows.

    Returns
    -------
    ndarray of shape (n_columns,)
        Expected variances.
    """
    variances = np.append(0.0, 2.0 ** np.arange(-2, np.log2(max(n, 2.0)) + 1))
    total = 1 + variances[:, None]
    log_chance = -0.5 * spare * (seen / total + np.log(total))
    others = np.full(len(variances) - 1, 1 / len(variances))
    share = mixture_weights(log_chance, None, np.append(IRRELEVANT, others))
    part = share[:, None] * np.exp(log_chance - log_chance.max(axis=0))
    return np.asarray(variances @ (part / part.sum(axis=0)))


def by_range(reach: NDArray, scale: NDArray) -> NDArray[np.float64]:
    """Factors of features that give all the same unit, or the same range if units differ."""
    # Rounding errors, and a spread below all others, do not vary: their factors would overflow.
    varies = reach > NO_SPREAD * reach.max(initial=0.0)
    scale = scale / scale.max()  # only ratios count, and products overflow
    given = (reach * scale)[varies]
    is_common = len(given) > 0 and given.max() <= ONE_UNIT * given.min()
    factor = scale if is_common else 1 / np.where(varies, reach, 1.0)
    factor = np.where(varies, factor, factor[varies].min(initial=1.0))
    return factor / factor.max()


def of_sum(name: str, terms: list[Kernel], *free: str, **settings: Any) -> Candidate:
    """A candidate that is a weighted sum, whose weights are found as well."""
    sizes = [1.0 if isinstance(term, ConstantKernel) else SIZE for term in terms]
    weights = tuple(f"weights__{i}" for i in range(len(terms)))
    return Candidate(name, SumKernel(terms, weights=sizes), (*weights, *free), **settings)


def basis_size(
    n_points: int, n_tasks: int, n_machines: int = MACHINES, times: float = 1.0
) -> int | None:
    """Rows of the basis of each machine, perhaps some times as many; None takes all."""
    affordable = times * np.sqrt(BUDGET / (n_points * n_tasks * n_machines))
    size = int(np.clip(affordable, FEWEST_COMPONENTS, times * MOST_COMPONENTS))
    return size if size < n_points else None
