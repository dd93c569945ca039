"""Linear kernels: their two coefficients, and their features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.base import Points, lengths, onnx_length, positions
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, beside, cast, chunks, largest, namespace


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

    def features(self, X: Array) -> Array:
        """The features z, one row for each point."""
        xp, (n, d) = namespace(X), X.shape
        z = xp.empty((n, d + (self.coef0 > 0)), dtype=X.dtype, device=X.device)
        with np.errstate(over="ignore"):  # `lengths` raises the error
            xp.multiply(X, cast(beside(X, np.sqrt(self.gamma)), X.dtype), out=z[:, :d])
        if self.coef0 > 0:
            z[:, -1] = np.sqrt(self.coef0)
        return z

    def prepare(
        self, X: Array, *, unit: bool, degree: int = 1, columns: NDArray | None = None
    ) -> Points:
        """Scaled features z, for a kernel that raises their inner products to a power.

        Only the given columns are kept. Norms are lengths of the complete vectors to that power.
        """
        z = self.features(X)
        length = lengths(z)
        if unit:
            scale, norm, log_unit = arrays.inverse(length), cast(length > 0, length.dtype), 0.0
        else:
            longest = arrays.power_of_two(largest(length))
            scale = namespace(z).full_like(length, 1.0 / longest)
            norm, log_unit = (length / longest) ** degree, 2 * degree * np.log2(longest)
        rows = z if columns is None else z[:, beside(z, columns)]
        for part in chunks(z):
            rows[part] = rows[part] * scale[part, None]
        return Points(rows, norm, log_unit, positions(z))

    def derivative(self, rows: Array, change: LinearForm, normalize: bool) -> Array:
        """Change of the prepared rows z when the coefficients change by ``change``.

        A normalised z keeps its length, so the part of dz along z is dropped.
        """
        rate = np.full(rows.shape[1], 0.5 * ratio(change.gamma, self.gamma))
        if self.coef0 > 0:
            rate[-1] = 0.5 * ratio(change.coef0, self.coef0)
        moved = rows * beside(rows, rate)
        if normalize:
            along = namespace(rows).einsum("ij,ij->i", moved, rows)
            moved -= along[:, None] * rows
        return moved

    def input_weights(self, weights: NDArray) -> NDArray[Any]:
        """Weights of the features z as weights of (x, 1), one column each."""
        factor = np.full(len(weights), np.sqrt(self.gamma))
        if self.coef0 > 0:
            factor[-1] = np.sqrt(self.coef0)
        return weights * factor.astype(weights.dtype)[:, None]

    def onnx_features(self, X: Any, *, unit: bool) -> Any:
        """The features z of new points, as nodes of an ONNX graph."""
        z = X * np.sqrt(self.gamma)
        if self.coef0 > 0:
            z = X.graph.add("Pad", z, np.array([0, 0, 0, 1]), np.sqrt(self.coef0))
        return z / onnx_length(self.onnx_square(X)) if unit else z

    def onnx_square(self, X: Any) -> Any:
        """Squared length of z."""
        return (X * X).sum(1) * self.gamma + self.coef0

    def onnx_products(self, X: Any, points: Points, columns: NDArray | None = None) -> Any:
        """Inner products of z with the rows of prepared points, of which columns are kept."""
        rows = points.rows.astype(np.float64)
        constant = rows[:, -1] * np.sqrt(self.coef0) if self.coef0 > 0 else 0.0
        rows = rows[:, :-1] if self.coef0 > 0 else rows
        matrix = np.zeros((X.graph.n_features, len(rows)))
        matrix[slice(rows.shape[1]) if columns is None else columns[: rows.shape[1]]] = rows.T
        return X @ (matrix * np.sqrt(self.gamma)) + constant


def ratio(change: float, value: float) -> float:
    """Relative change; 0 if the value is 0."""
    return change / value if value else 0.0
