"""Powers of inner products, the linear kernel among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.base import Kernel, Points
from bayespoint.kernels.scaling import CHUNK, lengths, power_of_two


class PolynomialKernel(Kernel):
    r"""Power :math:`k(x, x') = (\gamma\, x \cdot x' + c_0)^d`; degree 1 is the linear kernel.

    Written as :math:`(z \cdot z')^d` with :math:`z = (\sqrt\gamma\, x, \sqrt{c_0})`, so that
    scaling z scales k.

    Parameters
    ----------
    degree : int, default=1
        The power d.
    gamma : float, default=1.0
        Factor of the inner product.
    coef0 : float, default=0.0
        Constant :math:`c_0`, not negative: with degree 1 the intercept's feature.
    normalize : bool, default=False
        Whether to divide by the lengths of the feature vectors.
    columns : ndarray of int, optional
        The entries of z that are not zero at every training point: only they matter to an inner
        product with one (of 784 pixels of MNIST 67 never do). All by default.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> kernel = PolynomialKernel(degree=2, gamma=1.0, coef0=1.0)
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[16.,  9.]])
    """

    def __init__(
        self,
        *,
        degree: int = 1,
        gamma: float = 1.0,
        coef0: float = 0.0,
        normalize: bool = False,
        columns: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(normalize=normalize)
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.columns = columns

    def features(self, X: NDArray) -> NDArray:
        """The vectors z whose inner products the kernel raises to its degree."""
        z = np.empty((X.shape[0], X.shape[1] + (self.coef0 > 0)), dtype=X.dtype)
        with np.errstate(over="ignore"):  # `lengths` will tell
            np.multiply(X, X.dtype.type(np.sqrt(self.gamma)), out=z[:, : X.shape[1]])
        if self.coef0 > 0:
            z[:, -1] = np.sqrt(self.coef0)
        return z

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Scale the vectors z; their lengths to the power ``degree`` are the norms."""
        z = self.features(X)
        length = lengths(z)
        longest = power_of_two(length.max(initial=0.0))
        if unit or self.normalize:
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            norm, log_unit = (length > 0).astype(np.float64), 0.0
        else:
            scale = np.full_like(length, 1.0 / longest)
            norm, log_unit = (length / longest) ** self.degree, 2 * self.degree * np.log2(longest)
        rows = z if self.columns is None else z[:, self.columns]
        for start in range(0, len(z), CHUNK):
            part = slice(start, start + CHUNK)
            rows[part] = rows[part] * scale[part, None]
        return Points(rows, norm, log_unit, np.arange(len(z)))

    def block(self, left: Points, right: Points) -> NDArray:
        """(z.z')^degree by repeated squaring."""
        return integer_power(left.rows @ right.rows.T, self.degree)

    def derivative(self, points: Points, name: str) -> NDArray | None:
        """Dk / d log theta = degree (z.z')^(degree - 1) (dz.z' + z.dz')."""
        change = self.feature_derivative(points, name)
        if change is None:
            return None
        half = change @ points.rows.T
        if self.degree == 1:
            return half + half.T
        slope = self.degree * integer_power(points.rows @ points.rows.T, self.degree - 1)
        return slope * (half + half.T)

    def feature_derivative(self, points: Points, name: str) -> NDArray | None:
        """Dz / d log theta: z/2 in its entries sqrt(gamma) x, or in its last, sqrt(coef0).

        A normalised z keeps its length, so that the part of dz along z is lost.
        """
        constant = np.zeros(points.rows.shape[1], dtype=bool)
        constant[-1:] = self.coef0 > 0
        if name not in ("gamma", "coef0"):
            return None
        change = points.rows * np.where(constant == (name == "coef0"), 0.5, 0.0)
        if self.normalize:
            along = np.einsum("ij,ij->i", change, points.rows)
            change -= along[:, None] * points.rows
        return change


def integer_power(base: NDArray, exponent: int) -> NDArray:
    """base**exponent by squaring, from the exponent's first binary digit to its last."""
    result = base
    for digit in bin(exponent)[3:]:
        result = np.multiply(result, result, out=None if result is base else result)
        if digit == "1":
            np.multiply(result, base, out=result)
    return result
