"""The kernels that an automatic choice considers, for features of unit variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import ConstantKernel, Kernel, PolynomialKernel, RadialKernel, SumKernel

POINTS_TO_LEARN = 10  # points from which scales are learned
# Up to so many points, halves are too small to learn scales from. All points are used, although
# leave-one-out predictions are then a little optimistic: on parts of the tables that defaults are
# tuned on, the log-loss fell by 2 to 5 % for 15 to 150 points, 1 % for 250 and 0.3 % for 400.
FEW_POINTS = 200
POINTS_A_FEATURE = 5  # points for each feature from which widths of features are learned
SPREAD = 1.5  # standard deviation of the logarithms of widths and scales, before any label

WIDE, LARGE = 0.3, 10.0  # usual gamma times columns, and variance, of kernels of categories

# A basis of 200 to 500 points gave the log-loss of all points to a percent on six of seven sets, in
# a tenth of the time; where classes are many and clean, more is better.
MOST_COMPONENTS, FEWEST_COMPONENTS = 500, 100
BUDGET = 1.5e9  # of n M^2 for all tasks together: some seconds


class Candidate(NamedTuple):
    """A kernel, and what of it the evidence is to find.

    Attributes
    ----------
    name : str
        What it is called in messages.
    kernel : Kernel
        Where the search starts.
    free : tuple of str
        Positive parameters that the evidence finds; none: the kernel stays as it is.
    spread : float
        Standard deviation of their logarithms before any label is seen, around the start.
    in_halves : bool
        Whether the parameters are learned from each half of the points, or once from all.
    block : ndarray of int, or None
        The block of each feature; the features of a block have the same width.
    """

    name: str
    kernel: Kernel
    free: tuple[str, ...] = ()
    spread: float = np.inf
    in_halves: bool = True
    block: NDArray[np.intp] | None = None


def candidates(
    n_points: int, block: NDArray[np.intp], gamma: Any, *, learns: bool, constant: bool
) -> list[Candidate]:
    """The candidates for so many points and columns.

    Parameters
    ----------
    n_points : int
        Size of the training set.
    block : ndarray of int, shape (n_features,)
        The block of each feature: the levels of a category are one, and each number.
    gamma : float, array or None
        The gamma that was asked for; None: 1 / n_features, or learned.
    learns : bool
        Whether scales may be learned.
    constant : bool
        Whether there is a constant feature.
    """
    n_features = int(block.max()) + 1  # a category counts as one
    width = 1 / n_features if gamma is None else gamma
    linear = PolynomialKernel(coef0=float(constant))
    radial = RadialKernel(gamma=width)
    found = [Candidate("linear", linear), Candidate("rbf", radial)]
    if not learns or n_points < POINTS_TO_LEARN:
        return found
    kernel = with_linear(radial, n_features, constant)
    name = "rbf + linear" + " + constant" * constant
    scales = tuple(f"weights__{i}" for i in range(len(kernel.terms)))
    if n_points <= FEW_POINTS:
        found.append(Candidate(name, kernel, scales, SPREAD, in_halves=False))
    else:
        found.append(Candidate(name, kernel, scales))
    if gamma is None and n_points >= POINTS_A_FEATURE * n_features and n_features > 1:
        widths = RadialKernel(gamma=np.full(len(block), 1 / n_features))
        kernel = with_linear(widths, n_features, constant)
        free = (*scales, "terms__0__gamma")
        if n_features == len(block):
            found.append(Candidate("a width for each feature", kernel, free, SPREAD))
        else:
            found += of_categories(block, n_features, constant)
    return found


def of_categories(block: NDArray[np.intp], n_columns: int, constant: bool) -> list[Candidate]:
    """A width for each column of a table with categories.

    Without a linear part, whose effects would have one scale in all columns: on ``dna`` its
    evidence leaves no signal to the widths, and the log-loss is .19 instead of .13.
    """
    radial = RadialKernel(gamma=np.full(len(block), WIDE / n_columns))
    terms: list[Kernel] = [radial, *[ConstantKernel()] * constant]
    kernel = SumKernel(terms, weights=[LARGE, 1.0][: len(terms)])
    free = (*(f"weights__{i}" for i in range(len(terms))), "terms__0__gamma")
    return [Candidate("a width for each column", kernel, free, SPREAD, block=block)]


def basis_size(n_points: int, n_tasks: int) -> int | None:
    """Points of the basis of a kernel; None takes all."""
    affordable = int(np.sqrt(BUDGET / (n_points * n_tasks)))
    size = int(np.clip(affordable, FEWEST_COMPONENTS, MOST_COMPONENTS))
    return size if size < n_points else None


def with_linear(radial: RadialKernel, n_features: int, constant: bool) -> SumKernel:
    """The sum of a Gaussian, a linear and a constant kernel, all of size 1."""
    terms: list[Kernel] = [radial, PolynomialKernel(gamma=1 / n_features)]
    terms += [ConstantKernel()] * constant
    return SumKernel(terms, weights=[1.0] * len(terms))
