"""A classification problem as engines take it: rows, binary tasks, weights."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_consistent_length

from bayespoint.codings import Coding, make_coding
from bayespoint.gpu.arrays import checksum
from bayespoint.kernels.custom import check_square
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import is_tensor, to_numpy
from bayespoint.tools.tables import weight_numbers
from bayespoint.tools.validation import check_classification_targets, column_or_1d, missing_labels

MOST_COPIES = 1e12  # largest weight: beyond, sums over all points lose the lighter ones


@dataclass(frozen=True)
class Problem:
    """Training rows of positive weight, and their classes.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_features)
        The rows, or their kernel matrix.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    codes : ndarray of shape (n_samples,)
        Index of the class of each row.
    weight : ndarray of shape (n_samples,) or None
        Weights of the rows; None if all are equal.
    unit : ndarray of shape (n_samples,) or None
        The weight of one copy of each row, that of its class; None if it is 1.
    columns : ndarray of int or None
        Columns of a kernel matrix that belong to these rows; None: all.
    given : ndarray of bool, shape (n_given,)
        Which of the rows that were given have a positive weight.
    multi_class : str
        Name of the coding of more than two classes.
    order : ndarray of int or None
        Indices of ordered classes, from the lowest to the highest.
    engine : Engine
        What is to learn from the rows.
    scaling : Scaling or None
        How the features of the rows were scaled.
    table : Columns or None
        How they were made of the columns of a table; None: they are the columns.
    was_sparse : bool
        Whether they were made dense of sparse rows.
    groups : ndarray of int, shape (n_samples,), or None
        Which rows belong together, 0, 1, 2 ...; None if each stands alone.
    """

    points: NDArray
    classes: NDArray
    codes: NDArray
    weight: NDArray[np.float64] | None
    columns: NDArray[np.int64] | None
    given: NDArray[np.bool_]
    multi_class: str = "one_vs_rest"
    order: NDArray[np.intp] | None = None
    engine: Any = None
    scaling: Scaling | None = None
    table: Columns | None = None
    was_sparse: bool = False
    groups: NDArray[np.intp] | None = None
    unit: NDArray[np.float64] | None = None

    @classmethod
    def pose(
        cls,
        points: NDArray,
        labels: NDArray,
        sample_weight: ArrayLike | None,
        class_weight: dict | str | None,
        *,
        precomputed: bool = False,
        classes: NDArray | None = None,
    ) -> Problem:
        """Make a problem of validated data; rows of weight 0 are ignored.

        By default the classes are those of the labels, which must be at least two.
        """
        seen, codes = few_integers(labels)
        if seen is None:
            check_classification_targets(labels)
        weight, unit = weights(labels, sample_weight, class_weight, classes)
        columns = None
        given = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
        if weight is not None and not given.all():
            if precomputed:
                check_square(points)
            kept = np.flatnonzero(given)
            points, labels, weight = points[kept], labels[kept], weight[kept]
            unit = None if unit is None else unit[kept]
            if precomputed:
                columns, points = kept, points[:, kept]
            seen = None
        if seen is None or codes is None:
            seen, codes = np.unique(labels, return_inverse=True)
        if classes is None:
            if len(seen) < 2:
                raise ValueError(
                    "A classifier needs rows of at least two classes. Got one class, "
                    f"{seen.tolist()[0]!r}, in {len(codes)} rows of positive weight."
                )
            return cls(points, seen, codes, weight, columns, given, unit=unit)
        unknown = np.setdiff1d(seen, classes)
        if len(unknown):
            raise ValueError(
                f"y contains labels that are not among the classes {classes.tolist()}: "
                f"{unknown.tolist()}. Name all classes in the first call of partial_fit."
            )
        codes = np.searchsorted(classes, seen)[codes]
        return cls(points, classes, codes, weight, columns, given, unit=unit)

    @cached_property
    def coding(self) -> Coding:
        """How the classes are reduced to tasks."""
        return make_coding(self.classes, name=self.multi_class, order=self.order)

    @property
    def targets(self) -> NDArray[np.int8]:
        """Labels -1, +1 of all binary tasks, shape (n_samples, n_tasks)."""
        return self.coding.encode(self.codes)

    @property
    def block(self) -> NDArray[np.intp]:
        """The block of each feature: the levels of a category are one, and each number."""
        n_features = self.points.shape[1]
        return np.arange(n_features) if self.table is None else self.table.block

    @property
    def device(self) -> Any:
        """The device on which the rows are; None in NumPy."""
        return self.points.device if is_tensor(self.points) else None

    @property
    def fingerprint(self) -> tuple:
        """A few numbers that identify the problem."""
        is_weighted = self.weight is not None and (self.weight != 1).any()
        if self.device is not None:
            of_points: tuple = checksum(self.points)
        else:
            of_points = (zlib.crc32(np.ascontiguousarray(self.points).data),)
        others = [self.codes, self.weight] if is_weighted else [self.codes]
        others += [] if self.groups is None else [self.groups]
        sums = (zlib.crc32(np.ascontiguousarray(array).data) for array in others)
        return (tuple(self.points.shape), *of_points, *sums)

    def grouped(self, groups: Any) -> Problem:
        """The same with groups of all rows that were given.

        If each group is a single copy of a row, these are as good as none.
        """
        if groups is None:
            return self
        if not self.engine.leaves_groups_out or self.device is not None:
            where = "" if self.device is None else f" on {self.device}"
            raise ValueError(
                f"{type(self.engine).__name__}{where} cannot leave groups out. Use engine='ep', "
                "'laplace' or 'perceptron' on the CPU, with dense rows in memory, or leave groups "
                "away."
            )
        known = group_codes(groups, len(self.given))[self.given]
        names, codes = np.unique(known, return_inverse=True)
        if len(names) == 1:
            raise ValueError(
                "groups must be at least two: a group is predicted from the others. Got one, of "
                f"{len(codes)} rows of positive weight."
            )
        is_alone = len(names) == len(codes) and (self.weight is None or self.weight.max() <= 1)
        return replace(self, groups=None if is_alone else codes)

    def part(self, rows: NDArray[np.intp]) -> Problem:
        """The same of some of the rows, among which are rows of all classes."""
        weight, unit = (None if w is None else w[rows] for w in (self.weight, self.unit))
        groups = None if self.groups is None else group_codes(self.groups[rows], len(rows))
        points, codes = self.points[rows], self.codes[rows]
        return replace(
            self,
            points=points,
            codes=codes,
            weight=weight,
            unit=unit,
            groups=groups,
        )

    @property
    def n_units(self) -> float | None:
        """Groups, or copies, of equal weight that say as much; None if all copies have weight 1."""
        if self.groups is not None:
            size = np.bincount(self.groups, self.weight)
            return float(1 / np.square(size / size.sum()).sum())
        if self.weight is None or self.unit is None:
            return None
        return float(self.weight.sum() / ((self.weight / self.weight.sum()) @ self.unit))


def group_codes(groups: Any, n_samples: int) -> NDArray[np.intp]:
    """Groups of all samples as 0, 1, 2 ...; raises an error for groups that are not known."""
    names = column_or_1d(to_numpy(groups))
    if len(names) != n_samples:
        raise ValueError(
            f"groups must have one entry for each row. Got {len(names)} for {n_samples} samples."
        )
    lost = missing_labels(names)
    if len(lost):
        raise ValueError(
            f"groups has missing entries ({len(lost)}, the first one at row {lost[0]}). Give "
            "each of these samples a group, one of its own if it stands alone."
        )
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names.tolist()], dtype=np.intp)


def few_integers(labels: NDArray) -> tuple[NDArray | None, NDArray | None]:
    """Classes and codes of labels that are a few small integers, without sorting; or None."""
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or len(labels) < 10_000:
        return None, None
    low, high = int(labels.min()), int(labels.max())
    if high - low > 1000:
        return None, None
    places = labels.astype(np.int64) - low
    is_class = np.bincount(places) > 0
    codes = (np.cumsum(is_class) - 1)[places]
    return (np.flatnonzero(is_class) + low).astype(labels.dtype), codes


def known_classes(before: NDArray | None, given: ArrayLike | None) -> NDArray:
    """All classes of a sequence of batches: given in the first call, and never changed."""
    if before is not None and (given is None or np.array_equal(before, given)):
        return before
    if given is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    classes = np.unique(np.asarray(given))
    if before is not None and not np.array_equal(before, classes):
        raise ValueError(
            f"classes={classes.tolist()} is not the same as on the last call, {before.tolist()}. "
            "Start with a new classifier to learn other classes."
        )
    if len(classes) < 2:
        raise ValueError(f"A classifier needs at least two classes. Got {classes.tolist()}.")
    return classes


def weights(
    labels: NDArray,
    sample_weight: ArrayLike | None,
    class_weight: dict | str | None,
    classes: NDArray | None = None,
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Sample weights times class weights, and class weights; None if they are not given.

    ``classes`` are all classes, if the labels may lack some.
    """
    if sample_weight is None and class_weight is None:
        return None, None
    of_sample = np.ones(len(labels)) if sample_weight is None else weight_numbers(sample_weight)
    if of_sample.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array. Got shape {of_sample.shape}.")
    check_consistent_length(labels, of_sample)
    check_weights("Sample weights", of_sample)
    every = labels if classes is None else np.concatenate([labels, classes])
    of_class = compute_sample_weight(class_weight, every)[: len(labels)]
    check_weights("Class weights", of_class)
    check_weights("Sample weights times class weights", of_sample * of_class)
    return of_sample * of_class, None if class_weight is None else of_class


def check_weights(name: str, weight: NDArray[np.float64]) -> None:
    """Raise an error unless the weights are not negative, not too large and not all zero."""
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"{name} must be finite and not negative. Got {weight[bad[0]]} at row {bad[0]} "
            f"({len(bad)} invalid weights in all)."
        )
    if weight.max(initial=0.0) > MOST_COPIES:
        raise ValueError(
            f"{name} must be at most {MOST_COPIES:g}: a row of weight k counts as k copies. Got "
            f"{weight.max():g} at row {weight.argmax()}. Divide them by their mean."
        )
    if not weight.any():
        raise ValueError(f"{name} must not be all zero: rows of weight 0 are ignored.")
