"""Kernels: inner products k(x, x') = <phi(x), phi(x')> of feature vectors.

A kernel prepares points once and then gives blocks of values between prepared points. Feature
vectors are scaled before powers are taken, to length 1 or by the longest of them, and the scale is
kept as a logarithm: pixels of 0..255 at degree 9 neither overflow nor lose their ratios.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError

CHUNK = 1024  # rows handled at a time where a float64 copy of them all would be large
HUGE = 2.0**1023  # lengths stay below the largest power of two
TINY = 2.0**-1022  # the smallest normal number
ASYMMETRY = 1e-5  # relative; a Gram matrix computed in float32 is symmetric to about 1e-6
NAMES = ("linear", "poly", "rbf", "precomputed")


@dataclass(frozen=True)
class Points:
    """Points as a kernel wants them.

    Attributes
    ----------
    rows : ndarray of shape (n, width)
        What blocks are computed from: scaled feature vectors, raw inputs or kernel rows.
    norm : ndarray of shape (n,)
        |phi(x)| = sqrt(k(x, x)) after scaling, so at most 1.
    log_unit : float
        The unit of k, as its logarithm to base 2: plain values of k are 2**log_unit times larger.
    index : ndarray of shape (n,)
        Positions among the points prepared together (columns of a precomputed kernel).
    side : ndarray of shape (n,) or None
        One more number a point, where the kernel needs it.
    """

    rows: NDArray
    norm: NDArray[np.float64]
    log_unit: float
    index: NDArray[np.int64]
    side: NDArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Any) -> Points:
        """The chosen points (an index array or a slice)."""
        side = None if self.side is None else self.side[which]
        return Points(self.rows[which], self.norm[which], self.log_unit, self.index[which], side)


class Kernel(ABC):
    """A kernel k, or its normalised form k(x, x') / sqrt(k(x, x) k(x', x')).

    Subclasses prepare points and compute blocks; calling a kernel on arrays gives plain values.
    """

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    @abstractmethod
    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Prepare points for :meth:`block`.

        With ``unit`` (always, if the kernel is normalised) every phi(x) is scaled to length 1,
        else all by one factor that makes the longest at most 1. ``training`` says that new points
        will be compared with these.
        """

    @abstractmethod
    def block(self, left: Points, right: Points) -> NDArray:
        """Inner products of the scaled features, shape (len(left), len(right))."""

    def __call__(self, A: NDArray, B: NDArray) -> NDArray:
        """Values k between the rows of A and the rows of B, in plain units."""
        left, right = self.prepare(A), self.prepare(B, training=True)
        return in_plain_units(self.block(left, right), left.log_unit, right.log_unit)

    def diag(self, A: NDArray) -> NDArray[np.float64]:
        """k(x, x) for each row of A, in plain units."""
        points = self.prepare(A, training=True)
        return in_plain_units(points.norm**2, points.log_unit, points.log_unit)


def in_plain_units(values: NDArray, left_unit: float, right_unit: float) -> NDArray:
    """Kernel values between points of these (logarithmic) units, or an error if they overflow."""
    log_unit = (left_unit + right_unit) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        plain = values * values.dtype.type(np.exp2(log_unit))
    if not np.isfinite(plain).all():
        raise KernelError(
            f"Kernel values of about 1e{log_unit * np.log10(2):.0f} overflow {values.dtype}. "
            "Use normalize=True, scale the features, or lower the degree."
        )
    return plain


class PolynomialKernel(Kernel):
    """k(x, x') = (gamma x.x' + coef0)^degree; degree 1 is the linear kernel with an intercept.

    Written as (z.z')^degree with z = (sqrt(gamma) x, sqrt(coef0)), so that scaling z scales k.
    ``columns`` are the entries of z that are not zero at every training point: only they matter to
    an inner product with one (of 784 pixels of MNIST 67 never do).

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
        """(z.z')^degree by repeated squaring, in place."""
        base = left.rows @ right.rows.T
        return integer_power(base, self.degree)


class RadialKernel(Kernel):
    """k(x, x') = exp(-gamma |x - x'|^2).

    Distances come from one matrix product; ``centre``, best the mean of the training points, keeps
    the numbers small from which they are subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> RadialKernel(gamma=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    def __init__(
        self, *, gamma: float = 1.0, centre: NDArray | None = None, normalize: bool = False
    ) -> None:
        super().__init__(normalize=normalize)  # changes nothing: k(x, x) is 1
        self.gamma = gamma
        self.centre = centre

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Centre and scale the inputs; ``side`` holds gamma |x - centre|^2."""
        z = X if self.centre is None else (X - self.centre).astype(X.dtype, copy=False)
        with np.errstate(over="ignore"):
            z = z * X.dtype.type(np.sqrt(2 * self.gamma))
            largest_exponent = (2 * lengths(z) ** 2).astype(X.dtype)  # between x and -x
        if not np.isfinite(largest_exponent).all():
            raise KernelError(
                f"gamma |x|^2 overflows {X.dtype} for features as large as {np.abs(X).max():.2g} "
                f"at gamma={self.gamma:.2g}. Scale the features or lower gamma."
            )
        return Points(z, np.ones(len(z)), 0.0, np.arange(len(z)), largest_exponent / 4)

    def block(self, left: Points, right: Points) -> NDArray:
        """exp(z.z' - |z|^2/2 - |z'|^2/2); rounding must not lift the exponent above 0."""
        assert left.side is not None and right.side is not None
        exponent = left.rows @ right.rows.T
        exponent -= left.side[:, None] + right.side  # one sum, so that k(x, x') = k(x', x)
        np.minimum(exponent, 0, out=exponent)
        return np.exp(exponent, out=exponent)


class FunctionKernel(Kernel):
    """Any function of two arrays of points that returns the matrix of kernel values."""

    def __init__(
        self, function: Callable[[NDArray, NDArray], NDArray], *, normalize: bool = False
    ) -> None:
        super().__init__(normalize=normalize)
        self.function = function

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Keep the inputs; ``side`` holds the factor that scales phi(x)."""
        square = np.empty(len(X))
        for start in range(0, len(X), 64):  # small, since only the diagonal is kept
            part = slice(start, start + 64)
            square[part] = np.diagonal(self._values(X[part], X[part]))
        norm, log_unit = norms(square)
        if unit or self.normalize:
            plain = np.sqrt(square)
            scale = np.divide(1.0, plain, out=np.zeros_like(plain), where=plain > 0)
            norm, log_unit = (plain > 0).astype(np.float64), 0.0
        else:
            scale = np.full_like(norm, np.exp2(-log_unit / 2))
        return Points(X, norm, log_unit, np.arange(len(X)), scale)

    def block(self, left: Points, right: Points) -> NDArray:
        """The function's values, scaled."""
        assert left.side is not None and right.side is not None
        values = self._values(left.rows, right.rows)
        scaled = values * left.side[:, None] * right.side
        return scaled.astype(left.rows.dtype, copy=False)

    def _values(self, A: NDArray, B: NDArray) -> NDArray:
        values = np.asarray(self.function(A, B))
        if values.shape != (len(A), len(B)):
            raise KernelError(
                f"The kernel function returned shape {values.shape} for {len(A)} and {len(B)} "
                f"points; it must return the matrix of all pairs, shape {(len(A), len(B))}."
            )
        if not np.isfinite(values).all():
            raise KernelError(
                "The kernel function returned NaN or infinity. Scale the features, or make the "
                "function finite on them."
            )
        return values


class PrecomputedKernel(Kernel):
    """The input is the kernel matrix: (m, m) for training, (n, m) for n new points.

    k(x, x) of new points is not known. Where |phi(x)| is asked for, they are taken to be as long as
    the training points are in the root mean square.
    """

    typical_length = 1.0

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Check a training matrix and find its unit; take the rows of new points as they are."""
        index = np.arange(len(X))
        if not training:
            scale = np.full(len(X), 1 / self.typical_length, dtype=X.dtype) if unit else None
            return Points(X, np.ones(len(X)), 0.0, index, scale)
        check_gram(X)
        norm, log_unit = norms(np.diagonal(X).astype(np.float64))
        self.typical_length = float(np.sqrt((norm**2).mean()) * np.exp2(log_unit / 2)) or 1.0
        side = np.full(len(X), np.exp2(-log_unit / 2), dtype=X.dtype)
        return Points(X, norm, log_unit, index, side)

    def block(self, left: Points, right: Points) -> NDArray:
        """Look the columns up; ``side`` brings them to the unit of the training points."""
        values = left.rows[:, right.index]
        for side in (right.side, None if left.side is None else left.side[:, None]):
            values = values if side is None else values * side
        return values


def check_gram(K: NDArray) -> None:
    """Raise a :class:`KernelError` unless K is square and symmetric."""
    if K.shape[0] != K.shape[1]:
        raise KernelError(
            f"A precomputed kernel must be square for training. Got shape {K.shape}: pass "
            "k(x_i, x_j) between all training points (and k(new, training) to predict)."
        )
    size = np.abs(np.diagonal(K)).max(initial=0.0)
    for start in range(0, len(K), CHUNK):
        part = slice(start, start + CHUNK)
        difference = np.abs(K[part] - K[:, part].T)
        if difference.max(initial=0.0) > ASYMMETRY * max(size, np.abs(K[part]).max()):
            i, j = np.unravel_index(difference.argmax(), difference.shape)
            raise KernelError(
                f"A precomputed kernel must be symmetric. Got K[{i + start}, {j}] = "
                f"{K[i + start, j]:.6g} but K[{j}, {i + start}] = {K[j, i + start]:.6g}."
            )


def norms(square: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Norms sqrt(k(x, x)) of at most 1, and the unit of k as a logarithm to base 2."""
    if square.min(initial=0.0) < 0:
        i = int(square.argmin())
        raise KernelError(
            f"k(x, x) must not be negative. Got {square[i]:.6g} at point {i}: this is no "
            "positive semi-definite kernel."
        )
    plain = np.sqrt(square)
    longest = power_of_two(plain.max(initial=0.0))
    return plain / longest, 2 * float(np.log2(longest))


def power_of_two(size: float) -> float:
    """The next power of two from ``size`` on (1 for 0): scaling by it rounds nothing."""
    if size == 0:
        return 1.0
    mantissa, exponent = math.frexp(size)  # size = mantissa 2**exponent, 1/2 <= mantissa < 1
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def lengths(z: NDArray) -> NDArray[np.float64]:
    """Euclidean lengths of the rows in float64, without overflow on the way."""
    peak = float(max(z.max(initial=0.0), -z.min(initial=0.0))) or 1.0
    if not peak * z.shape[1] ** 0.5 < HUGE:
        raise KernelError(
            f"Features times sqrt(gamma) are as large as {peak:.2g} and overflow. Scale the "
            "features or lower gamma."
        )
    length = np.empty(len(z))
    for start in range(0, len(z), CHUNK):
        part = z[start : start + CHUNK].astype(np.float64) / peak
        length[start : start + CHUNK] = np.sqrt(np.einsum("ij,ij->i", part, part))
    length *= peak
    length[length < TINY] = 0.0  # 1 / length would overflow
    return length


def integer_power(base: NDArray, exponent: int) -> NDArray:
    """base**exponent by repeated squaring; overwrites base."""
    result: NDArray | None = None
    while True:
        if exponent & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        np.multiply(base, base, out=base)


def make_kernel(
    kernel: str | Callable[[NDArray, NDArray], NDArray],
    X: NDArray,
    *,
    degree: int = 3,
    gamma: float | str = "scale",
    coef0: float = 1.0,
    normalize: bool = False,
    fit_intercept: bool = True,
) -> Kernel:
    """The kernel of a classifier's parameters; what depends on data is read off ``X``.

    ``fit_intercept`` concerns the linear kernel alone: its constant feature. The polynomial kernel
    has one through ``coef0``, and the others need none.
    """
    if callable(kernel):
        return FunctionKernel(kernel, normalize=normalize)
    if kernel == "linear":
        return PolynomialKernel(coef0=float(fit_intercept), normalize=normalize)
    if kernel == "precomputed":
        if normalize:
            raise KernelError(
                "normalize=True needs k(x, x) of new points, which a precomputed kernel does not "
                "tell. Divide the matrix by sqrt(k(x, x) k(x', x')) yourself."
            )
        return PrecomputedKernel()
    width = scale_gamma(X) if gamma == "scale" else 1 / X.shape[1] if gamma == "auto" else gamma
    if kernel == "rbf":
        centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return RadialKernel(gamma=float(width), centre=centre)
    columns = np.flatnonzero(np.append(X.any(axis=0), [True] * (coef0 > 0)))
    return PolynomialKernel(
        degree=degree, gamma=float(width), coef0=coef0, normalize=normalize,
        columns=columns if len(columns) < X.shape[1] + (coef0 > 0) else None,
    )  # fmt: skip


def scale_gamma(X: NDArray) -> float:
    """1 / (n_features * Var X), as scikit-learn's SVC; 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    with np.errstate(over="ignore"):
        variance = float(X.var(dtype=np.float64))
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            f"gamma='scale' is 1 / (n_features Var X), which is out of range for features as large "
            f"as {np.abs(X).max():.2g}. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)
