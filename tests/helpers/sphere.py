"""Exact integrals over the sphere in three dimensions, and problems to integrate."""

from typing import NamedTuple

import numpy as np


class Shares(NamedTuple):
    """Integrals over the parts of the sphere with k errors, k = 0 ... m; the whole is 1."""

    area: np.ndarray  # (m + 1,)
    first: np.ndarray  # (m + 1, 3), of w
    second: np.ndarray  # (m + 1, 3, 3), of w w^T

    def posterior(self, q):
        """Evidence, P(k), E[w] and E[w w^T] if labels are flipped with probability q."""
        k = np.arange(len(self.area))
        likelihood = float(q) ** k * (1 - q) ** (k[-1] - k)
        evidence = likelihood @ self.area
        law = likelihood * self.area / evidence
        mean = likelihood @ self.first / evidence
        return evidence, law, mean, np.tensordot(likelihood, self.second, 1) / evidence


def problem(m, seed=0, n_flips=0):
    """Points in R^3, labels of a random plane, some of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(X @ rng.normal(size=3) > 0, 1, -1)
    y[:n_flips] *= -1
    return X, y


def integrate(X, y, n_slices=2001):
    """Slices of constant third coordinate, by the midpoint rule; longitudes exactly."""
    Y = X * y[:, None]
    m = len(y)
    area, first, second = np.zeros(m + 1), np.zeros((m + 1, 3)), np.zeros((m + 1, 3, 3))
    for z in (np.arange(n_slices) + 0.5) * 2 / n_slices - 1:
        r = np.sqrt(1 - z * z)
        # y_i w.x_i = r rho cos(phi - at) + z c, zero where the cosine is -z c / (r rho)
        rho, at = np.hypot(Y[:, 0], Y[:, 1]), np.arctan2(Y[:, 1], Y[:, 0])
        cosine = -z * Y[:, 2] / (r * rho)
        crossing = np.abs(cosine) < 1
        half = np.arccos(cosine[crossing])
        cuts = np.sort(np.concatenate([at[crossing] - half, at[crossing] + half]) % (2 * np.pi))
        cuts = np.concatenate([[0.0], cuts, [2 * np.pi]])
        low, high = cuts[:-1], cuts[1:]
        middle = (low + high) / 2
        W = np.stack([r * np.cos(middle), r * np.sin(middle), np.full(len(middle), z)], axis=1)
        k = (W @ Y.T <= 0).sum(axis=1)
        length = high - low
        s, c = np.sin(high) - np.sin(low), np.cos(low) - np.cos(high)  # integrals of cos and sin
        s2, c2 = np.sin(2 * high) - np.sin(2 * low), np.cos(2 * low) - np.cos(2 * high)
        np.add.at(area, k, length)
        np.add.at(first, k, np.stack([r * s, r * c, z * length], axis=1))
        xx, yy = r * r * (length / 2 + s2 / 4), r * r * (length / 2 - s2 / 4)
        xy, zz = r * r * c2 / 4, z * z * length
        rows = [[xx, xy, z * r * s], [xy, yy, z * r * c], [z * r * s, z * r * c, zz]]
        np.add.at(second, k, np.array(rows).transpose(2, 0, 1))
    scale = 1 / (2 * np.pi * n_slices)
    return Shares(area * scale, first * scale, second * scale)
