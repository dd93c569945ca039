"""The training points of one task, as half spaces of weight vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog

from bayespoint.exceptions import EmptyVersionSpaceError
from bayespoint.tools.numbers import EPSILON, TINY

MISTAKES = 2000  # that the perceptron may correct before a linear program decides
THINNEST = 1e-10  # margin, as a cosine, below which a linear program decides
ROUNDING = 100 * EPSILON  # share of the terms of an output, below which its sign is uncertain


class Halfspaces(NamedTuple):
    """Each training point restricts weights to half of the sphere, {w: y_i w.x_i > 0}.

    Attributes
    ----------
    normals : ndarray of shape (m, d)
        y_i x_i / |x_i|, without points that are zero in feature space: their labels have no
        information on w. A single coordinate gets a second one that is always 0, because samplers
        move on circles.
    weight : ndarray of shape (m,)
        Number of copies of each point.
    n_coins : float
        Points (by weight) that are zero in feature space.
    """

    normals: NDArray[np.float64]
    weight: NDArray[np.float64]
    n_coins: float

    @classmethod
    def of(cls, Z: NDArray, target: NDArray, weight: NDArray | None) -> Halfspaces:
        """The half spaces of one task."""
        weight = np.ones(len(Z)) if weight is None else weight
        largest = np.abs(Z).max(axis=1)
        kept = largest > 0
        normals = Z[kept] / largest[kept, None]  # squares must not overflow
        normals *= (target[kept] / np.linalg.norm(normals, axis=1))[:, None]
        if normals.shape[1] == 1:
            normals = np.hstack([normals, np.zeros_like(normals)])
        return cls(np.ascontiguousarray(normals), weight[kept], float(weight[~kept].sum()))

    def centre(self) -> NDArray[np.float64]:
        """Unit vector that fits all labels about equally well: least squares with a ridge of 1."""
        Y, k = self.normals, self.weight
        m, d = Y.shape
        if d <= m:
            w = cho_solve(cho_factor((Y.T * k) @ Y + np.eye(d)), Y.T @ k)
        else:
            w = Y.T @ cho_solve(cho_factor(Y @ Y.T + np.diag(1 / k)), np.ones(m))
        length = np.linalg.norm(w)
        return w / length if length > 0 else np.eye(d)[0]  # opposite copies cancel

    def inside(self) -> NDArray[np.float64]:
        """Unit vector that gets all labels right: least squares, perceptron, or linear program."""
        if self.weight.min() < self.weight.max():
            raise ValueError(
                "Version space is the same for any number of copies of a row, so that a sampler "
                "of it cannot use sample_weight or class_weight. Use GibbsSampler with "
                "label_noise > 0, or another engine."
            )
        Y = self.normals
        w = self.centre()
        outputs = Y @ w
        for _ in range(MISTAKES):
            worst = outputs.argmin()
            if outputs[worst] > THINNEST * np.linalg.norm(w):
                return w / np.linalg.norm(w)
            w = w + Y[worst]
            outputs += Y @ Y[worst]
        return self._largest_margin()

    def _largest_margin(self) -> NDArray[np.float64]:
        """The w in a box whose smallest output is largest; an error if that is not positive.

        The linear program is posed in coordinates in which all directions of the points are equally
        long: its solver has an absolute tolerance, below which features of a small scale, or
        points far from 0, would fall.
        """
        Y = self.normals
        m = len(Y)
        points, lengths, directions = np.linalg.svd(Y, full_matrices=False)
        rank = int((lengths > lengths[0] * max(Y.shape) * EPSILON).sum())
        found = linprog(
            np.append(np.zeros(rank), -1.0),
            A_ub=np.hstack([-points[:, :rank], np.full((m, 1), m**-0.5)]),  # outputs are that small
            b_ub=np.zeros(m),
            bounds=[(-1, 1)] * rank + [(None, 1)],
        )
        w = np.zeros(Y.shape[1])
        if found.x is not None:
            w = (found.x[:rank] / lengths[:rank]) @ directions[:rank]
            w /= max(np.abs(w).max(), TINY)
        if not (Y @ w > ROUNDING * (np.abs(Y) @ np.abs(w))).all():
            wrong = int((Y @ self.centre() <= 0).sum())
            raise EmptyVersionSpaceError(m, wrong)
        return w / np.linalg.norm(w)
