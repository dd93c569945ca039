"""The first reading of the blocks: rows, classes, and moments of the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import compute_class_weight

from bayespoint.exceptions import BlockError
from bayespoint.rows.base import Block, Blocks, check_finite
from bayespoint.rows.executor import Executor
from bayespoint.spaces.coordinates import PART, dense
from bayespoint.spaces.scaling import SMALLEST, Scaling
from bayespoint.tools.validation import check_classification_targets, missing_labels

MOST_COPIES = 1e12  # largest weight: beyond, sums over all points lose the lighter ones
LARGEST = 1e100  # feature whose square is computed


class Moments(NamedTuple):
    """Weight, mean and sum of squared deviations of features, in groups of rows."""

    weight: NDArray[np.float64]  # (groups,)
    mean: NDArray[np.float64]  # (groups, d)
    squares: NDArray[np.float64]  # (groups, d)

    @classmethod
    def of(cls, X: NDArray, weight: NDArray[np.float64]) -> Moments:
        """The moments of one group."""
        total = weight.sum()
        if not total > 0:
            return cls.nothing(1, X.shape[1])
        mean = weight @ X / total
        return cls(np.array([total]), mean[None], (weight @ np.square(X - mean))[None])

    @classmethod
    def nothing(cls, groups: int, d: int) -> Moments:
        """The moments of groups without rows."""
        return cls(np.zeros(groups), np.zeros((groups, d)), np.zeros((groups, d)))

    def merge(self, later: Moments) -> Moments:
        """The moments of the rows of both, group by group (Chan, Golub and LeVeque)."""
        weight = self.weight + later.weight
        share = np.divide(later.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        gap = later.mean - self.mean
        mean = self.mean + share[:, None] * gap
        between = (self.weight * share)[:, None] * gap**2
        return Moments(weight, mean, self.squares + later.squares + between)

    def together(self, factor: NDArray[np.float64]) -> Moments:
        """All groups as one, the weights of each multiplied by its factor."""
        parts = [
            Moments(w * self.weight[[g]], self.mean[[g]], w * self.squares[[g]])
            for g, w in enumerate(factor)
        ]
        return reduce(Moments.merge, parts)


@dataclass(frozen=True)
class Survey:
    """What all blocks have together, or one.

    Attributes
    ----------
    labels : ndarray
        The labels that were seen, sorted.
    counts, positive : ndarray
        Rows of each label, and those of them with a positive sample weight.
    moments, plain : Moments or None
        Of the features, in groups by label: with sample weights, and of all rows of positive
        weight alike. None of sparse ones.
    largest : ndarray of shape (n_features,)
        Largest absolute values.
    eps : float
        Unit of rounding of the features' type.
    heaviest : float
        Largest sample weight.
    weighs : bool
        Whether there are sample weights.
    is_sparse : bool
        Whether blocks are sparse.
    """

    labels: NDArray
    counts: NDArray[np.int64]
    positive: NDArray[np.int64]
    moments: Moments | None
    plain: Moments | None
    largest: NDArray[np.float64]
    eps: float
    heaviest: float
    weighs: bool
    is_sparse: bool

    @property
    def n_rows(self) -> int:
        """Rows of all blocks."""
        return int(self.counts.sum())

    def merge(self, later: Survey) -> Survey:
        """What both have together; blocks without rows count for nothing."""
        if not self.n_rows or not later.n_rows:
            return self if self.n_rows else later
        labels = np.union1d(self.labels, later.labels)
        both = [(one, np.searchsorted(labels, one.labels)) for one in (self, later)]
        counts, positive = (np.zeros(len(labels), dtype=np.int64) for _ in range(2))
        for one, places in both:
            counts[places] += one.counts
            positive[places] += one.positive
        moments = plain = None
        if self.moments is not None and later.moments is not None:
            first, second = (spread(one.moments, places, len(labels)) for one, places in both)
            moments = plain = first.merge(second)
            if self.weighs or later.weighs:
                first, second = (spread(one.plain, places, len(labels)) for one, places in both)
                plain = first.merge(second)
        return Survey(
            labels,
            counts,
            positive,
            moments,
            plain,
            np.maximum(self.largest, later.largest),
            max(self.eps, later.eps),
            max(self.heaviest, later.heaviest),
            self.weighs or later.weighs,
            self.is_sparse,
        )

    def class_weights(self, given: dict | str | None) -> NDArray[np.float64]:
        """The weight of each label."""
        if given is None:
            return np.ones(len(self.labels))
        if given == "balanced":
            return self.n_rows / (len(self.labels) * self.counts)
        return compute_class_weight(given, classes=self.labels, y=self.labels)

    def scaling(self, class_weight: NDArray[np.float64]) -> Scaling:
        """Means and standard deviations of the features, as :meth:`Scaling.of` defines them."""
        assert self.moments is not None
        whole = self.moments.together(class_weight)
        scale = np.sqrt(whole.squares[0] / whole.weight)
        constant = (scale <= 10 * self.eps * self.largest) | (scale < SMALLEST)
        return Scaling(whole.mean[0], np.where(constant, 1.0, scale))

    def deviations(self, is_class: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Standard deviations of the features, all rows of some labels alike."""
        if self.plain is None:
            return None
        whole = self.plain.together(is_class.astype(np.float64))
        return np.sqrt(whole.squares[0] / whole.weight)


def spread(moments: Moments | None, places: NDArray, n: int) -> Moments:
    """Moments of some of n groups, 0 for all others."""
    assert moments is not None
    whole = Moments.nothing(n, moments.mean.shape[1])
    for column, own in zip(whole, moments, strict=True):
        column[places] = own
    return whole


def survey_block(block: Block, k: int, argument: None, shared: None) -> tuple[Survey, Survey]:
    """Look at one block: its survey, to be kept and to be merged."""
    X, y, weight = block
    if y is None:
        raise BlockError(k, "has no labels. Name the column of the labels (target), or pass y")
    y = np.asarray(y)
    lost = missing_labels(y)
    if len(lost):
        raise BlockError(k, f"has no label in row {lost[0]} (counted from 0): remove the row")
    is_sparse, d = sparse.issparse(X), X.shape[1]
    try:
        check_classification_targets(y if len(y) else np.zeros(1, dtype=int))
        labels, codes = np.unique(y, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise BlockError(k, f"has labels that name no classes: {error}") from error
    copies = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    largest = np.zeros(d)
    moments = plain = Moments.nothing(len(labels), d)
    for begin in range(0, len(y), PART):
        own = slice(begin, begin + PART)
        rows = X[own]
        with np.errstate(invalid="ignore"):
            extremes = rows.max(axis=0), -rows.min(axis=0)
        largest = np.maximum(largest, np.maximum(*(map(np.ravel, map(dense, extremes)))))
        if is_sparse or not largest.max(initial=0.0) <= LARGEST:
            continue
        moments = moments.merge(grouped(rows, copies[own], codes[own], len(labels)))
        if weight is not None:
            positive = (copies[own] > 0).astype(np.float64)
            plain = plain.merge(grouped(rows, positive, codes[own], len(labels)))
    check_finite(block, k, is_known=bool(np.isfinite(largest).all()))
    heaviest = float(copies.max(initial=0.0))
    if heaviest > MOST_COPIES:
        raise BlockError(k, f"has the sample weight {heaviest:g}; at most {MOST_COPIES:g} allowed")
    has_moments = not is_sparse and largest.max(initial=0.0) <= LARGEST
    found = Survey(
        labels,
        np.bincount(codes, minlength=len(labels)),
        np.bincount(codes[copies > 0], minlength=len(labels)),
        moments if has_moments else None,
        (moments if weight is None else plain) if has_moments else None,
        largest,
        float(np.finfo(X.dtype).eps),
        heaviest,
        weight is not None,
        is_sparse,
    )
    return found, found


def grouped(X: NDArray, weight: NDArray, codes: NDArray, n: int) -> Moments:
    """Moments of each of n groups of rows."""
    groups = [Moments.of(X[codes == g], weight[codes == g]) for g in range(n)]
    return Moments(*map(np.concatenate, zip(*groups, strict=True)))


def survey(
    blocks: Blocks, executor: Executor, expected: list[tuple] | None = None
) -> tuple[list[Survey], Survey]:
    """Read all blocks once: what each of them has, and all together."""
    each, whole = executor.run(survey_block, blocks, [None] * len(blocks), None, expected)
    kinds: dict[str, int] = {}
    for k, one in enumerate(each):
        if one.n_rows:
            kinds.setdefault("text" if one.labels.dtype.kind in "OUST" else "numbers", k)
            kinds.setdefault("sparse" if one.is_sparse else "dense", k)
    for first, second in (("text", "numbers"), ("sparse", "dense")):
        if first in kinds and second in kinds:
            what = "labels" if first == "text" else "features"
            raise BlockError(
                max(kinds[first], kinds[second]),
                f"has other {what} than those before it: {first} in block {kinds[first]}, "
                f"{second} in block {kinds[second]}",
            )
    if not whole.n_rows:
        raise ValueError("The blocks have no rows: at least one of each class is required.")
    return each, whole
