"""Powers of inner products, including the linear kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.base import Kernel, Points, onnx_length
from bayespoint.kernels.linear import LinearForm
from bayespoint.kernels.radial import check_gamma, gamma_from_data, known_gamma
from bayespoint.tools.arrays import Array, namespace, to_host
from bayespoint.tools.attributes import shaped
from bayespoint.tools.validation import check_number


@dataclass(eq=False, repr=False, kw_only=True)
class PolynomialKernel(Kernel):
    r"""Power :math:`k(x, x') = (\gamma\, x \cdot x' + c_0)^d`; degree 1 is the linear kernel.

    It is computed as :math:`(z \cdot z')^d` with :math:`z = (\sqrt\gamma\, x, \sqrt{c_0})`, so that
    scaling z scales k.

    Parameters
    ----------
    normalize : bool, default=False
        Whether to divide by the lengths of the feature vectors.
    degree : int, default=1
        The power d.
    gamma : float, "scale" or "features", default=1.0
        Factor of the inner product. "scale" is 1 / (n_features Var X) and "features" is
        1 / n_features of the training points X.
    coef0 : float, default=0.0
        Constant :math:`c_0`, not negative. With degree 1 it is the feature of the intercept.

    Attributes
    ----------
    columns_ : ndarray of int or None
        Entries of z that are nonzero at some training point, if others are not. Inner products with
        training points need only these. (In MNIST, 67 of 784 pixels are always zero.) Set by
        :meth:`fitted` for degree 2 and above.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> kernel = PolynomialKernel(degree=2, gamma=1.0, coef0=1.0)
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[16.,  9.]])
    """

    degree: int = 1
    gamma: float | str = 1.0
    coef0: float = 0.0
    columns_: NDArray[np.int64] | None = field(default=None, init=False)
    positive_parameters = ("gamma", "coef0")
    works_on_devices = True

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_number(self, "degree", integer=True, low=1)
        check_gamma(self)
        check_number(self, "coef0", low=0)

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        if self.columns_ is not None:
            shaped(self.columns_, "iu", "c")

    def fitted(self, X: Array) -> PolynomialKernel:
        """Return a new kernel with gamma and the features that are not always zero."""
        kernel = super().fitted(X)
        kernel.gamma, kernel.columns_ = gamma_from_data(self.gamma, X), None
        if self.degree > 1:  # a linear kernel keeps all its features, for coef_
            used = np.append(to_host(X.any(axis=0)), [True] if self.coef0 > 0 else [])
            kernel.columns_ = None if used.all() else np.flatnonzero(used)
        return kernel

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """Whether the degree is 1 and gamma is known."""
        return self.degree == 1 and not isinstance(self.gamma, str)

    @property
    def linear_form(self) -> LinearForm | None:  # type: ignore[override]
        """The inner product, if the degree is 1."""
        return self._base if self.is_linear else None

    def linear_change(self, name: str) -> LinearForm:
        """Derivatives of the coefficients in the logarithm of one of them."""
        gamma, coef0 = self._base
        return LinearForm(gamma * (name == "gamma"), coef0 * (name == "coef0"))

    @property
    def _base(self) -> LinearForm:
        return LinearForm(known_gamma(self), float(self.coef0))

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Scale the features z; norms are their lengths to the power ``degree``."""
        unit = unit or self.normalize
        return self._base.prepare(X, unit=unit, degree=self.degree, columns=self.columns_)

    def block(self, left: Points, right: Points) -> Array:
        """(z.z')^degree by repeated squaring."""
        return integer_power(left.rows @ right.rows.T, self.degree)

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """Dk / d log theta = degree (z.z')^(degree - 1) (dz.z' + z.dz')."""
        form, by = self._base, self.linear_change(name)
        change = form.derivative(left.rows, by, self.normalize) @ right.rows.T
        change += left.rows @ form.derivative(right.rows, by, self.normalize).T
        if self.degree == 1:
            return change
        return self.degree * integer_power(left.rows @ right.rows.T, self.degree - 1) * change

    def onnx_block(self, X: Any, points: Points, *, unit: bool = False) -> Any:
        """The power of inner products, which are normalised before."""
        products = self._base.onnx_products(X, points, self.columns_)
        if unit or self.normalize:
            products = products / onnx_length(self._base.onnx_square(X))
        return products if self.degree == 1 else products ** float(self.degree)

    def onnx_square(self, X: Any) -> Any:
        """The power of the squared length of z."""
        return self._base.onnx_square(X) ** float(self.degree)


def integer_power(base: Array, exponent: int) -> Array:
    """base**exponent by squaring, from the exponent's first binary digit to its last."""
    xp, result = namespace(base), base
    for digit in bin(exponent)[3:]:
        result = xp.multiply(result, result, out=None if result is base else result)
        if digit == "1":
            xp.multiply(result, base, out=result)
    return result
