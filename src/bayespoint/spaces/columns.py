"""Columns of a table as features: numbers, and categories as one feature for each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.attributes import finite, need
from bayespoint.tools.numbers import TINY
from bayespoint.tools.tables import cells_named
from bayespoint.tools.validation import check_array, is_missing, without_sparse_columns

MOST_LEVELS = 100  # of a category; of more, the 99 most frequent stay, and the others are one
# Missing numbers that say something about the label: so many, and this share of the rows.
MISSING_CELLS, MISSING_SHARE = 10, 0.01
WORDS = {"U": "text", "f": "numbers", "b": "true and false"}  # kinds of levels
CATEGORIES = ("categor", "enum", "string", "str", "utf8", "large_string", "bool", "dictionary")


@dataclass(frozen=True)
class Columns:
    r"""How the columns of a table become features.

    A number is one feature. A category of L levels is a block of features, one for each level and a
    last one for all others: of two different levels, known or not, :math:`|x - x'|^2 = 2` in the
    block, and 0 of equal ones. So a kernel of distances that has the same width in the whole block
    (``block``) is one of the Hamming distance, and a linear kernel has one effect for each level.
    A level that training rows do not have has the effect 0. A missing cell of a category is a
    level, and that of a number is the mean of its column, with a feature of 0 and 1 (at the end)
    where training rows often lack it.

    Attributes
    ----------
    names : list of str or None
        Names of the columns, if they have names.
    fill : ndarray of shape (n_columns,)
        Means of the numbers; 0 for categories.
    categories : ndarray of int
        Which columns are categories.
    levels : list of ndarray
        Levels of each of these, sorted.
    is_level : ndarray of bool
        Whether its missing cells are a level.
    is_grouped : ndarray of bool
        Whether it has rare levels that count as one.
    flags : ndarray of int
        The columns of numbers whose missing cells are a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.spaces.columns import Columns
    >>> rows = np.array([[1.0, "a"], [3.0, "b"], [np.nan, "a"]], dtype=object)
    >>> columns = Columns.of(rows, [1])
    >>> columns.transform(np.array([[np.nan, "b"], [1.0, "c"]], dtype=object))
    array([[2., 0., 1., 0.],
           [1., 0., 0., 1.]])
    >>> columns.feature_names, columns.block.tolist()
    (['x0', 'x1=a', 'x1=b', 'x1=other'], [0, 1, 1, 1])
    """

    names: list[str] | None
    fill: NDArray[np.float64]
    categories: NDArray[np.int64]
    levels: list[NDArray]
    is_level: NDArray[np.bool_]
    is_grouped: NDArray[np.bool_]
    flags: NDArray[np.int64]

    @classmethod
    def of(cls, X: Any, categories: Sequence[int] = (), names: list[str] | None = None) -> Columns:
        """Learn levels and means from training rows, of which some columns are categories."""
        names, (n, n_columns) = names or column_names(X), X.shape
        lost, fill = np.zeros(n_columns, dtype=np.intp), np.zeros(n_columns)
        which = np.array(sorted(set(categories)), dtype=np.int64)
        levels, is_grouped = [], np.zeros(len(which), dtype=bool)
        for k, j in enumerate(which):
            values, codes = factorised(column(X, j), words(names, j))
            lost[j] = (codes < 0).sum()
            times = np.bincount(codes[codes >= 0], minlength=len(values))
            own = sorted((-t, value) for t, value in zip(times.tolist(), values, strict=True) if t)
            is_grouped[k] = len(own) > MOST_LEVELS
            kept = own[: MOST_LEVELS - 1] if is_grouped[k] else own
            levels.append(np.array(sorted(value for _, value in kept)))
        others = np.setdiff1d(np.arange(n_columns), which)
        part = numbers(X, others)
        if part is not None:
            fill[others], lost[others] = means(part)
        for j in np.flatnonzero(lost == n).tolist():
            raise ValueError(
                f"{capital(words(names, j))} has no values: all of its {n} cells are missing. "
                "Leave it out."
            )
        often = lost >= max(MISSING_CELLS, MISSING_SHARE * n)
        flags = np.setdiff1d(np.flatnonzero(often), which).astype(np.int64)
        return cls(names, fill, which, levels, lost[which] > 0, is_grouped, flags)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """Which columns are numbers."""
        return np.setdiff1d(np.arange(len(self.fill)), self.categories)

    @cached_property
    def _begins(self) -> NDArray[np.intp]:
        """The first feature of each column, and the first flag."""
        sizes = np.ones(len(self.fill) + 1, dtype=np.intp)
        sizes[self.categories + 1] = [len(own) + 1 for own in self.levels] + self.is_level
        sizes[0] = 0
        return np.cumsum(sizes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self._begins[-1]) + len(self.flags)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The column of each feature."""
        of_column = np.repeat(np.arange(len(self.fill)), np.diff(self._begins))
        return np.concatenate([of_column, self.flags]).astype(np.intp)

    @cached_property
    def block(self) -> NDArray[np.intp]:
        """The block of each feature: those of a category are one, and each number and flag."""
        n = len(self.fill)
        return np.concatenate([self.owner[: self._begins[-1]], n + np.arange(len(self.flags))])

    @property
    def is_plain(self) -> bool:
        """Whether features are the columns themselves."""
        return len(self.categories) + len(self.flags) == 0

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: those of columns, with their levels."""
        found = [[name] for name in self.names or [f"x{j}" for j in range(len(self.fill))]]
        flags = [f"{found[j][0]} is missing" for j in self.flags]
        for k, j in enumerate(self.categories):
            more = ["missing"] * int(self.is_level[k])
            found[j] = [
                f"{found[j][0]}={one}" for one in (*self.levels[k].tolist(), *more, "other")
            ]
        return [one for own in found for one in own] + flags

    def remarks(self) -> list[str]:
        """What was done to columns that a user should know of."""
        return [
            f"{words(self.names, j)} has many levels: the {MOST_LEVELS - 1} most frequent are "
            "kept, all others count as one"
            for j in self.categories[self.is_grouped]
        ]

    def transform(self, X: Any) -> NDArray:
        """The features of rows of a data frame or an array."""
        part = numbers(X, self.numbers)
        if part is not None:
            lost = np.isnan(part)
            if lost.any():
                part = np.where(lost, self.fill[self.numbers].astype(part.dtype), part)
            if self.is_plain:
                return part
        dtype = np.float64 if part is None else part.dtype
        features = np.zeros((X.shape[0], self.n_features), dtype=dtype)
        if part is not None:
            features[:, self._begins[self.numbers]] = part
            places = np.searchsorted(self.numbers, self.flags)
            features[:, self._begins[-1] :] = lost[:, places]
        one_by_one = np.arange(len(features))
        for k, (j, cells) in enumerate(
            zip(self.categories, some_columns(X, self.categories), strict=True)
        ):
            features[one_by_one, self._begins[j] + self._places(k, cells)] = 1
        return features

    def _places(self, k: int, cells: Any) -> NDArray[np.intp]:
        """The place of each cell of a category in its block."""
        levels, name = self.levels[k], words(self.names, self.categories[k])
        values, codes = factorised(cells, name)
        kinds = levels.dtype.kind, np.array(values[:1]).dtype.kind
        if values and kinds[0] != kinds[1]:
            raise ValueError(
                f"{capital(name)} had levels of {WORDS[kinds[0]]} in training, such as "
                f"{levels[0].item()!r}. Got {WORDS[kinds[1]]}, such as {values[0]!r}: convert them."
            )
        known = {value: place for place, value in enumerate(levels.tolist())}
        other = len(levels) + int(self.is_level[k])
        places = [known.get(value, other) for value in values]
        return np.array([*places, len(levels)], dtype=np.intp)[codes]  # the code -1 is the last

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        n = finite(self.fill, "d")["d"]
        need(self.names is None or len(self.names) == n, "columns and names differ in number")
        for which in (self.categories, self.flags):
            need(which.dtype.kind == "i" and which.ndim == 1, "columns are not numbered")
            inside = (which >= 0) & (which < n)
            need(bool(inside.all()) and len(set(which.tolist())) == len(which), "a wrong column")
        need(not set(self.flags.tolist()) & set(self.categories.tolist()), "a wrong flag")
        for one in (self.is_level, self.is_grouped):
            need(one.dtype == bool and one.shape == self.categories.shape, "a wrong category")
        need(len(self.levels) == len(self.categories), "levels are missing")
        for own in self.levels:
            need(own.ndim == 1 and own.size > 0 and own.dtype.kind in WORDS, "wrong levels")


def words(names: Sequence[str] | None, j: int) -> str:
    """A column in messages."""
    return f"column {j}" if names is None else f"column {names[j]!r}"


def capital(text: str) -> str:
    """The same at the beginning of a sentence."""
    return text[0].upper() + text[1:]


def means(part: NDArray) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Means of columns of numbers, and how many cells are missing."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = part.mean(axis=0, dtype=np.float64)
    lost = np.zeros(part.shape[1], dtype=np.intp)
    if not np.isfinite(mean).all():  # cells are missing, or the sum overflows
        lost = np.isnan(part).sum(axis=0)
        largest = np.fmax(np.fmax.reduce(np.abs(part), axis=0), TINY).astype(np.float64)
        mean = largest * (np.nansum(part / largest, axis=0) / np.maximum(len(part) - lost, 1))
    return mean, lost


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a data frame; None of an array."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def column(X: Any, j: int) -> Any:
    """A column of an array, or of a data frame of pandas or Polars."""
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, int(j)]


def some_columns(X: Any, which: NDArray[np.intp]) -> list[Any]:
    """Some columns; where they are most of pandas' frame, all are quicker than one by one."""
    if hasattr(X, "iloc") and 2 * len(which) > X.shape[1]:
        every = [cells for _, cells in X.items()]
        return [every[j] for j in which]
    return [column(X, j) for j in which]


def numbers(X: Any, which: NDArray[np.intp]) -> NDArray | None:
    """Columns of numbers as an array, with NaN where cells are missing; None if there are none."""
    if not len(which):
        return None
    if len(which) < X.shape[1]:
        X = X.iloc[:, which] if hasattr(X, "iloc") else X[:, which.tolist()]
    elif isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32):
        return X
    with cells_named(X, which.tolist()):
        return check_array(
            without_sparse_columns(X),
            dtype=(np.float64, np.float32),
            order="C",
            ensure_all_finite="allow-nan",
            input_name="X",
        )


def factorised(cells: Any, name: str) -> tuple[list[Any], NDArray[np.intp]]:
    """The different values of a column, and for each cell which it is; -1 where it is missing.

    An error says if they are not all text, all numbers or all true and false.
    """
    if str(getattr(cells, "dtype", "")) == "category":
        known = cells.array  # the accessor ``cat`` takes ten times as long
        values, codes = list(known.categories), np.asarray(known.codes, dtype=np.intp)
    else:
        place: dict[Any, int] = {}
        listed = cells.tolist() if hasattr(cells, "tolist") else cells.to_list()
        try:
            codes = np.array(
                [-1 if is_missing(one) else place.setdefault(one, len(place)) for one in listed],
                dtype=np.intp,
            )
        except TypeError as error:
            raise TypeError(f"Cells of {name} cannot be levels of a category: {error}.") from None
        values = list(place)
    values = [one.item() if isinstance(one, np.generic) else one for one in values]
    kinds = {kind_of(one, name): one for one in values}  # with an example of each
    if len(kinds) > 1:
        raise ValueError(
            f"{capital(name)} mixes {' and '.join(kinds)}, such as "
            f"{' and '.join(map(repr, kinds.values()))}. Convert its cells to one type, for "
            "example with astype(str)."
        )
    try:
        return [float(one) for one in values] if "numbers" in kinds else values, codes
    except OverflowError as error:
        raise ValueError(
            f"{capital(name)} has a number that float64 cannot hold: {error}."
        ) from None


def kind_of(value: Any, name: str) -> str:
    """Whether a level is text, a number, or true or false."""
    if isinstance(value, str):
        return WORDS["U"]
    if isinstance(value, bool | int | float):
        return WORDS["b" if isinstance(value, bool) else "f"]
    raise ValueError(
        f"{capital(name)} has cells of type {type(value).__name__}, such as {value!r}. "
        "Levels are text, numbers or true and false: convert its cells, for example with "
        "astype(str); make numbers of dates."
    )


def category_columns(X: Any, given: Any) -> list[int]:
    """Indices of the columns that are categories.

    ``given`` is "from_dtype", a mask, indices, names, or None.
    """
    n, names = X.shape[1], column_names(X)
    if given is None or (isinstance(given, str) and names is None):
        return []
    if isinstance(given, str):
        return [j for j, cells in enumerate(some_columns(X, np.arange(n))) if is_category(cells)]
    chosen = np.asarray(given)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen).tolist()
    if chosen.dtype.kind in "UO" and names is not None:
        unknown = [one for one in chosen.tolist() if one not in names]
        if unknown:
            raise ValueError(
                f"categorical_features has {unknown[0]!r}, which is not a column. The columns are "
                f"{', '.join(map(repr, names[:10]))}{' ...' * (n > 10)}."
            )
        return sorted({names.index(one) for one in chosen.tolist()})
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n):
        raise ValueError(
            f"categorical_features must be a mask of {n} columns, indices from 0 to {n - 1}, or "
            f"names of the columns of a data frame. Got {given!r}."
        )
    return sorted(set(chosen.tolist()))


def is_category(cells: Any) -> bool:
    """Whether a column of a data frame has categories, by its type."""
    kind = str(cells.dtype).lower()
    if kind.startswith("complex"):  # pandas would drop the imaginary part beside nullable numbers
        raise ValueError(f"Complex data not supported. Got a column of {kind}: take its real part.")
    return kind.startswith(CATEGORIES) or (kind == "object" and any(objects(cells)))


def objects(cells: Any) -> Iterator[bool]:
    """Whether objects are text or true and false."""
    return (isinstance(one, str | bool | np.bool_) for one in cells.tolist())
