"""Training rows in blocks: how a block becomes coordinates, and sums over all blocks.

What runs on a block is a pure function of the block and its arguments, so that it can run anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.codings import Coding, make_coding
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import PART
from bayespoint.spaces.scaling import Scaling

MOST_LEFT_OUT = 10_000_000  # rows of which left-out probabilities are collected

S = TypeVar("S", bound="Sums")


class Part(NamedTuple):
    """Some rows of a block, as engines take them."""

    own: slice  # their places among the rows of positive weight of the block
    space: Coordinates
    targets: NDArray[np.int8]  # (n, n_tasks)
    weight: NDArray[np.float64]
    left: NDArray[np.float64]  # of the weight, what leave-one-out takes out


@dataclass(frozen=True)
class Design:
    """What is known of the model before any round; the same for all blocks.

    Attributes
    ----------
    space : BasisSpace
        Of a linear kernel.
    labels, class_weight : ndarray
        All labels that the blocks have, sorted, and the weight of each; 0 leaves a class out.
    classes : ndarray
        The labels of positive weight.
    scaling : Scaling or None
        Of the features.
    """

    space: Any
    labels: NDArray
    class_weight: NDArray[np.float64]
    classes: NDArray
    scaling: Scaling | None = None
    coding: Coding = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coding", make_coding(self.classes))

    def used(self, block: Any) -> tuple[Any, NDArray[np.int64], NDArray, NDArray]:
        """Features, class indices and weights of the rows of positive weight.

        And what leave-one-out takes out: one copy of a row, or what there is of it.
        """
        X, y, sample_weight = block
        places = np.searchsorted(self.labels, np.asarray(y))
        weight = self.class_weight[places]
        if sample_weight is not None:
            weight = weight * sample_weight
        is_used = weight > 0
        if not is_used.all():
            X, places, weight = X[is_used], places[is_used], weight[is_used]
        codes = np.searchsorted(self.classes, self.labels)[places]
        return X, codes, weight, np.minimum(weight, self.class_weight[places])

    def coordinates(self, X: Any) -> Any:
        """Coordinates of points, in float64."""
        if self.scaling is not None:
            X = self.scaling.transform(X)
        kernel = self.space.kernel
        if sparse.issparse(X) or kernel.normalize:
            return self.space.transform(X)
        return kernel.linear_form.features(X.astype(np.float64, copy=False))

    def parts(self, block: Any) -> Iterator[Part]:
        """The rows of positive weight, some thousands at a time."""
        X, codes, weight, left = self.used(block)
        for begin in range(0, len(codes), PART):
            own = slice(begin, min(begin + PART, len(codes)))
            Z = Coordinates(self.coordinates(X[own]))
            yield Part(own, Z, self.coding.encode(codes[own]), weight[own], left[own])


@dataclass(frozen=True)
class BlockRows:
    """Training rows in blocks, which an engine gets instead of a space in memory.

    Attributes
    ----------
    design : Design
        How a block becomes coordinates, targets and weights.
    sizes : list of int
        Rows of positive weight of each block.
    largest : float
        A bound on all coordinates.
    reduce : callable
        ``reduce(function, arguments, shared)`` runs ``function(block, k, arguments[k], shared)`` on
        all blocks. It returns what is kept of each, and all sums, merged in a fixed order.
    identity : dict
        What a checkpoint must share with the fit.
    checkpoint : Checkpoint or None
        Where rounds are saved.
    left_out : list of LeftOut
        Where an engine leaves what the labels of each block looked like without themselves.
    """

    design: Design
    sizes: list[int]
    largest: float
    reduce: Callable[[Callable, Sequence[Any], Any], tuple[list[Any], Any]]
    identity: dict[str, Any]
    checkpoint: Any = None
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def n_points(self) -> int:
        """Rows of positive weight."""
        return sum(self.sizes)

    @property
    def n_tasks(self) -> int:
        """Number of binary tasks."""
        return self.design.coding.n_tasks

    @cached_property
    def thinning(self) -> Thinning:
        """Of which rows left-out probabilities are collected: at most 10^7."""
        step = max(1, -(-self.n_points // MOST_LEFT_OUT))
        return Thinning(np.cumsum([0, *self.sizes[:-1]]).tolist(), step)


@dataclass(frozen=True)
class Sums:
    """Sums over rows: fields that are added where blocks are merged, or the larger one taken.

    Subclasses are dataclasses; ``MAXIMA`` names the fields of the second kind.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from bayespoint.engines.gaussian.blocks.rows import Sums
    >>> @dataclass(frozen=True)
    ... class Widths(Sums):
    ...     MAXIMA = ("widest",)
    ...     total: float
    ...     widest: float
    >>> Widths(2.0, 2.0).merge(Widths(3.0, 1.0))
    Widths(total=5.0, widest=np.float64(2.0))
    """

    MAXIMA: ClassVar[tuple[str, ...]] = ()

    def merge(self: S, later: S) -> S:
        """The sums over both."""
        both = {name: (one, vars(later)[name]) for name, one in vars(self).items()}
        return type(self)(
            **{n: np.maximum(a, b) if n in self.MAXIMA else a + b for n, (a, b) in both.items()}
        )


class Thinning(NamedTuple):
    """Which rows are looked at: all, or of very many some at equal distances."""

    begins: list[int]  # number of the first row of each block, among those of positive weight
    step: int = 1  # distance of two rows

    def own(self, k: int) -> slice:
        """The rows of block k."""
        return slice(-self.begins[k] % self.step, None, self.step)


class LeftOut(NamedTuple):
    """What the labels of a block, or some of them, looked like without their own sites."""

    log_probability: NDArray[np.float64]  # (n, n_tasks)
    codes: NDArray[np.int64]
    weight: NDArray[np.float64]

    def thinned(self, own: slice) -> LeftOut:
        """Some of the rows."""
        some: Any = (one[own].copy() for one in self)
        return self if own == slice(0, None, 1) else LeftOut(*some)


# A task, some rows, whether the mean gets each wrong, left-out log-probabilities, and what each
# adds to the evidence.
Look = tuple[int, slice, NDArray, NDArray, NDArray]


class Order(NamedTuple):
    """What a visit of a block needs besides the block: one belief, or place, for each task.

    ``look`` is what :func:`summarise` asks at the end.
    """

    design: Design
    likelihood: Any
    beliefs: list[Any]
    thinning: Thinning
    look: Callable[..., Iterator[Look]]


@dataclass(frozen=True)
class SummarySums(Sums):
    """Sums of a converged run, for each task."""

    constant: NDArray[np.float64]  # logarithms of the sites' constants
    wrong: NDArray[np.float64]  # rows that the mean gets wrong
    n_rows: int

    @property
    def errors(self) -> list[float]:
        """The share of rows that the mean of each task gets wrong."""
        return (self.wrong / self.n_rows).tolist()


def summarise(
    block: Any, k: int, sites: list[Any] | None, order: Order
) -> tuple[LeftOut, SummarySums]:
    """What rows of a block look like with the posteriors of all tasks, put together."""
    design, n_tasks = order.design, len(order.beliefs)
    _, codes, weight, _ = design.used(block)
    constant, wrong = np.zeros((2, n_tasks))
    left_out = np.zeros((len(codes), n_tasks))
    for i, own, is_wrong, left_out[own, i], constants in order.look(block, sites, order):
        constant[i] += weight[own] @ constants
        wrong[i] += is_wrong.sum()
    few_bytes = codes.astype(np.min_scalar_type(len(design.classes)))
    return (
        LeftOut(left_out, few_bytes, weight).thinned(order.thinning.own(k)),
        SummarySums(constant, wrong, len(codes)),
    )
