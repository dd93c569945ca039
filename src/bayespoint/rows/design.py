"""How the rows of a block become coordinates, targets and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.codings import Coding, make_coding
from bayespoint.rows.base import Block
from bayespoint.spaces import Coordinates
from bayespoint.spaces.scaling import Scaling

PART = 4096  # rows that are worked on at a time: with 50 columns they fit the processor's cache


class Part(NamedTuple):
    """Some rows of a block, as engines take them."""

    own: slice  # their places among the rows of positive weight of the block
    space: Coordinates
    targets: NDArray[np.int8]  # (n, n_tasks)
    weight: NDArray[np.float64]


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

    @property
    def n_tasks(self) -> int:
        """Number of binary tasks."""
        return self.coding.n_tasks

    def used(self, block: Block) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """Features, class indices and weights of the rows of positive weight."""
        X, y, sample_weight = block
        places = np.searchsorted(self.labels, np.asarray(y))
        weight = self.class_weight[places]
        if sample_weight is not None:
            weight = weight * sample_weight
        is_used = weight > 0
        if not is_used.all():
            X, places, weight = X[is_used], places[is_used], weight[is_used]
        codes = np.searchsorted(self.classes, self.labels)[places]
        return X, codes, weight

    def coordinates(self, X: Any) -> Any:
        """Coordinates of points, in float64."""
        if self.scaling is not None:
            X = self.scaling.transform(X)
        kernel = self.space.kernel
        if sparse.issparse(X) or kernel.normalize:
            return self.space.transform(X)
        return kernel.linear_form.features(X.astype(np.float64, copy=False))

    def parts(self, block: Block) -> Iterator[Part]:
        """The rows of positive weight, some thousands at a time."""
        X, codes, weight = self.used(block)
        for begin in range(0, len(codes), PART):
            own = slice(begin, min(begin + PART, len(codes)))
            Z = Coordinates(self.coordinates(X[own]))
            yield Part(own, Z, self.coding.encode(codes[own]), weight[own])
