"""The training points of one task, as half spaces of weight vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog

from bayespoint.exceptions import EmptyVersionSpaceError

MISTAKES = 2000  # that the perceptron may correct before a linear program decides
THINNEST = 1e-10  # margin, as a cosine, below which version space is rounding error


class Halfspaces(NamedTuple):
    """Every training point allows half of the sphere, {w: y_i w.x_i > 0}.

    Attributes
    ----------
    normals : ndarray of shape (m, d)
        y_i x_i / |x_i|, without points that are zero in feature space: their labels say nothing
        about w. A single coordinate gets a second one that is always 0, since samplers move on
        circles.
    weight : ndarray of shape (m,)
        How often each point counts.
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
                "Version space is the same for any number of copies of a point, so that a sampler "
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
        """The w in a box whose smallest output is largest; an error if that is not positive."""
        m, d = self.normals.shape
        found = linprog(
            np.append(np.zeros(d), -1.0),
            A_ub=np.hstack([-self.normals, np.ones((m, 1))]),
            b_ub=np.zeros(m),
            bounds=[(-1, 1)] * d + [(None, 1)],
        )
        w = found.x[:d] if found.x is not None else np.zeros(d)
        length = np.linalg.norm(w)
        if (self.normals @ w).min() <= THINNEST * (1 + length):
            wrong = int((self.normals @ self.centre() <= 0).sum())
            raise EmptyVersionSpaceError(m, wrong)
        return w / length
