"""Linear kernels: their two coefficients, and their features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.points import Points
from bayespoint.kernels.scaling import CHUNK, lengths, power_of_two


class LinearForm(NamedTuple):
    r"""The inner product :math:`\gamma\, x \cdot x' + c_0`, and its features z.

    :math:`z = (\sqrt\gamma\, x, \sqrt{c_0})`, without its last entry if :math:`c_0 = 0`.

    Attributes
    ----------
    gamma, coef0 : float
        The coefficients, not negative.
    """

    gamma: float
    coef0: float

    def features(self, X: NDArray) -> NDArray:
        """The features z, one row for each point."""
        z = np.empty((X.shape[0], X.shape[1] + (self.coef0 > 0)), dtype=X.dtype)
        with np.errstate(over="ignore"):  # `lengths` raises the error
            np.multiply(X, X.dtype.type(np.sqrt(self.gamma)), out=z[:, : X.shape[1]])
        if self.coef0 > 0:
            z[:, -1] = np.sqrt(self.coef0)
        return z

    def prepare(
        self, X: NDArray, *, unit: bool, degree: int = 1, columns: NDArray | None = None
    ) -> Points:
        """Scaled features z, for a kernel that raises their inner products to a power.

        Only the given columns are kept. Norms are lengths of the complete vectors to that power.
        """
        z = self.features(X)
        length = lengths(z)
        longest = power_of_two(length.max(initial=0.0))
        if unit:
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            norm, log_unit = (length > 0).astype(np.float64), 0.0
        else:
            scale = np.full_like(length, 1.0 / longest)
            norm, log_unit = (length / longest) ** degree, 2 * degree * np.log2(longest)
        rows = z if columns is None else z[:, columns]
        for start in range(0, len(z), CHUNK):
            part = slice(start, start + CHUNK)
            rows[part] = rows[part] * scale[part, None]
        return Points(rows, norm, log_unit, np.arange(len(z)))

    def derivative(self, rows: NDArray, change: LinearForm, normalize: bool) -> NDArray:
        """Change of the prepared rows z when the coefficients change by ``change``.

        A normalised z keeps its length, so the part of dz along z is dropped.
        """
        rate = np.full(rows.shape[1], 0.5 * ratio(change.gamma, self.gamma))
        if self.coef0 > 0:
            rate[-1] = 0.5 * ratio(change.coef0, self.coef0)
        moved = rows * rate
        if normalize:
            along = np.einsum("ij,ij->i", moved, rows)
            moved -= along[:, None] * rows
        return moved

    def input_weights(self, weights: NDArray) -> NDArray[Any]:
        """Weights of the features z as weights of (x, 1), one column each."""
        factor = np.full(len(weights), np.sqrt(self.gamma))
        if self.coef0 > 0:
            factor[-1] = np.sqrt(self.coef0)
        return weights * factor.astype(weights.dtype)[:, None]


def ratio(change: float, value: float) -> float:
    """Relative change; 0 if the value is 0."""
    return change / value if value else 0.0
