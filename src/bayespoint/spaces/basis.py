"""Weights in an orthonormal basis of the span of the training points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from bayespoint.exceptions import KernelError
from bayespoint.gpu.linear_algebra import load_solvers, solve_lower
from bayespoint.kernels import Points, in_plain_units
from bayespoint.spaces import pivoted_cholesky as pivoted
from bayespoint.spaces.coordinates import Coordinates, check_space, linear_features
from bayespoint.spaces.values import Values, values_at
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, float64, is_tensor, namespace, to_host
from bayespoint.tools.attributes import finite, need, number
from bayespoint.tools.numbers import TINY
from bayespoint.tools.threads import useful_threads

AUTO_WORK, FEWEST = 4e9, 100  # n M^2 of a basis: some seconds; but at least so many components
DEVICE_BYTES, DEVICE_POINTS = 2**30, 65_536  # of coordinates on a device at a time, and points
ROUNDED = 2e-14  # share of k(x, x) that is left of a point by rounding: some hundred units of it
MOSTLY = 0.4  # share of points in a basis that leaves noise: with less, most labels say little


@dataclass(eq=False, repr=False)
class BasisSpace(Coordinates):
    r"""Coordinates Z with Z Z^T = K: f = Z w, and w ~ N(0, I) is the Gaussian process prior.

    The linear kernel needs no kernel matrix: its basis is the features themselves, Z = (X, 1),
    which may be sparse. Other kernels take the Gram-Schmidt basis of the training points, largest
    remainder first, that is, the pivoted Cholesky factor :math:`K + \lambda I = L L^T`: Z = L, and
    new points have :math:`z(x) = L_p^{-1} k(x_p, x)` with the pivots p, as many as K has rank. The
    ridge acts where a training point meets itself, never on a new point.

    With ``n_components`` the decomposition ends after M pivots: Z Z^T is the projection of K on the
    span of M points, and K itself is never formed. It is exact as soon as M is the rank of K.

    Parameters
    ----------
    kernel : Kernel
        The inner product.
    ridge, n_components
        As in :class:`~bayespoint.BayesPointClassifier`, in plain units of k.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import BasisSpace
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> kernel = RadialKernel(gamma=0.5)
    >>> Z = BasisSpace(kernel).fit(X).transform(X)
    >>> np.allclose(Z @ Z.T, kernel(X, X))
    True
    """

    kernel: Any
    ridge: float | str = 0.0
    n_components: int | str | None = None
    # What is left of a training point outside the span, squared: the largest with a basis of some
    # points, else what rounding may leave; the points of that basis; the kernel matrix; L, unless
    # found from points; ridge and order of points; training points, as given and as prepared.
    left: float = field(default=0.0, init=False)
    pivots: NDArray[np.int64] | None = field(default=None, init=False)
    _gram: NDArray[np.float64] | None = field(default=None, init=False)
    _factor: NDArray[np.float64] | None = field(default=None, init=False)
    _private: tuple[float, NDArray[np.int64]] | None = field(default=None, init=False)
    _last: tuple[Array, Points] | None = field(default=None, init=False)
    _points: Points = field(init=False)
    keeps_gram = False  # whether the kernel matrix is kept for the engine
    has_device_form = False  # predictions are computed on the CPU

    def fit(self, X: NDArray, pivots: NDArray | None = None) -> BasisSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points.

        ``pivots`` are points with which a basis of some begins, so that it changes smoothly.
        """
        if is_tensor(X):
            load_solvers(X)
        if self.is_linear:
            self.Z_ = linear_features(self.kernel, X if sparse.issparse(X) else float64(X))
            arrays.check_range(self.Z_)
            return self
        if sparse.issparse(X):
            raise KernelError(
                "A ridge is not written for sparse features: it gives every training row a "
                "feature of its own. Raise the engine's noise instead."
            )
        most = self._most_components(len(X))
        if most is not None:
            pivoted.check_basis(len(X), most)
            found = pivoted.partial_cholesky(self.kernel, X, most, pivots)
            self.Z_, self.pivots, points, self.left = found
            self._keep(points, self.pivots)
            return self
        pivoted.check_room(len(X))
        with useful_threads(len(X) ** 2):
            K, points = self.kernel_matrix(X), self._prepared(X)
            ridge = float(K.trace()) / len(K) if self.ridge == "mean" else float(self.ridge)
            diagonal = namespace(K).einsum("ii->i", K)
            diagonal += ridge
            self.left = ROUNDED * float(diagonal.max())
            self.Z_, every = pivoted.gram_schmidt(K, *pivoted.tolerances(self.kernel, X))
        self._keep(points.take(every), every)
        self._private = (ridge, every) if ridge > 0 else None
        self._gram = K if self.keeps_gram and not is_tensor(K) else None
        return self

    def kernel_matrix(self, X: Array) -> Array:
        """Kernel values of all pairs of points, without a ridge."""
        return self._values(points := self._prepared(X), points)

    def _prepared(self, X: Array) -> Points:
        """All training points, as they were last prepared."""
        if self._last is None or self._last[0] is not X:
            self._last = X, self.kernel.prepare(float64(X), training=True).remember()
        return self._last[1]

    def _keep(self, points: Points, pivots: NDArray) -> None:
        """Keep the points of the basis, in NumPy."""
        if self.kernel.is_precomputed and is_tensor(points.rows):  # their columns are enough
            points = replace(points, rows=points.rows[:, :0])
        self._points, self._factor = points.apply(to_host), to_host(self.Z_[pivots])
        pivoted.check_factor(self._factor)

    def _most_components(self, n_points: int) -> int | None:
        """Most points of the basis; None if all are to be in it."""
        if self.n_components is None:
            return None
        if self.n_components == "auto":
            if self.ridge != 0 or n_points <= pivoted.LARGE:
                return None
            return min(pivoted.AUTO_COMPONENTS, max(FEWEST, int(np.sqrt(AUTO_WORK / n_points))))
        if self.ridge != 0:
            raise KernelError(
                f"n_components={self.n_components} needs ridge=0: a ridge gives every training "
                f"row a feature, more than any basis of some rows has. Got "
                f"ridge={self.ridge!r}; raise the engine's noise instead."
            )
        most = int(self.n_components)
        return None if most >= n_points else most

    def gram(self) -> NDArray[np.float64]:
        """Z Z^T: the kernel matrix with its ridge, as it was computed where it was kept."""
        if self._gram is None:
            return super().gram()
        lower = np.tril(self._gram)  # one triangle decides, as for the basis
        K = lower + lower.T
        K[np.diag_indices_from(K)] /= 2
        return K

    def transform(self, X: Array) -> Array:
        """Coordinates z(x) of new points, an array or a tensor on a device, where these stay."""
        X = X if sparse.issparse(X) else float64(X)
        kernel = self.kernel
        Z = linear_features(kernel, X) if self.is_linear else self._project(kernel.prepare(X))
        arrays.check_range(Z)
        return Z

    def _project(self, new: Points) -> Array:
        if not is_tensor(new.rows):
            values = self._values(new, self._points)
            return solve_triangular(self.lower, values.T, lower=True, overwrite_b=True).T
        basis = self._points.apply(lambda array: arrays.kept(new.rows, array))
        return solve_lower(arrays.kept(new.rows, self.lower), self._values(new, basis))

    def _values(self, left: Points, right: Points) -> Array:
        return in_plain_units(self.kernel.block(left, right), left.log_unit, right.log_unit)

    def onnx_coordinates(self, X: Any) -> Any:
        """Coordinates z(x) of new points X, as nodes of an ONNX graph."""
        if self.is_linear:
            return self.kernel.linear_form.onnx_features(X, unit=self.kernel.normalize)
        inverse = solve_triangular(self.lower, np.eye(len(self.lower)), lower=True)
        values = self.kernel.onnx_block(X, self._points)
        return values @ (inverse.T * np.exp2(self._points.log_unit / 2))

    def private_outputs(self, weights: NDArray) -> NDArray[np.float64]:
        r"""What the ridge adds to the outputs of the training points, (n_points, n_weights).

        New points have no such part: it is :math:`\lambda \alpha_i`, with :math:`w = L^T \alpha`.
        """
        outputs = np.zeros((self.n_points, weights.shape[1]))
        if self._private is not None:
            ridge, order = self._private
            outputs[order] = ridge * solve_triangular(self.lower, weights, lower=True, trans="T")
        return outputs

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        if not self.is_linear:
            features = self._points.rows * np.exp2(self._points.log_unit / 2)
            weights = features.T @ solve_triangular(self.lower, weights, lower=True, trans="T")
        return self.kernel.linear_form.input_weights(weights)

    def slope(self, X: NDArray, name: str, pull: NDArray) -> Any:
        """Derivative of a function of the training points X by the logarithm of a parameter.

        ``name`` is ``"ridge"`` or that of a positive parameter of the kernel, perhaps an array.
        ``pull`` is the derivative by the coordinates Z if they are linear features, or those of a
        basis of some points, which stay (and rotations of Z must not matter); else by K + lambda I.
        """
        if name == "ridge":
            return 0.0 if self.ridge in ("mean", 0) else float(self.ridge) * float(pull.trace())
        if self.has_basis:
            return self._slope_of_basis(X, name, pull[:, : len(self._points)])
        points = self._prepared(X)
        if self.is_linear:
            change = self.kernel.feature_derivative(points, name) * np.exp2(points.log_unit / 2)
            return float(np.vdot(pull, change))
        if self.ridge == "mean":
            pull = pull + np.diag(np.full(len(pull), pull.trace() / len(pull)))
        return self._kernel_slope(points, points, name, pull)

    def _slope_of_basis(self, X: NDArray, name: str, pull: NDArray) -> Any:
        r"""From :math:`Z Z^T = A K_{MM} A^T`, :math:`A = K_{nM} K_{MM}^{-1} = Z L^{-1}`.

        The derivative is :math:`\langle G L^{-1}, dK_{nM} \rangle - \tfrac12
        \langle L^{-T} Z^T G L^{-1}, dK_{MM} \rangle` with the pull G.
        """
        pull = solve_triangular(self.lower, pull.T, lower=True, trans="T").T
        by_basis = self.Z_[:, : len(self._points)].T @ pull
        by_basis = solve_triangular(self.lower, by_basis, lower=True, trans="T")
        total = -0.5 * self._kernel_slope(self._points, self._points, name, by_basis)
        for own, _ in self.parts():
            part = self.kernel.prepare(X[own].astype(np.float64, copy=False))
            total = total + self._kernel_slope(part, self._points, name, pull[own])
        return total

    def _kernel_slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        pull = in_plain_units(pull, left.log_unit, right.log_unit)
        return self.kernel.slope(left, right, name, pull)

    def forget(self) -> None:
        """Drop the coordinates of the training points, which only the engine needs."""
        for name in ("Z_", "_gram", "pivots", "_private", "_last"):
            vars(self).pop(name, None)
        if self.kernel.is_precomputed:  # only the columns of the points are needed
            self._points = replace(self._points, rows=np.empty((len(self._points), 0)))

    @property
    def has_basis(self) -> bool:
        """Whether the coordinates are those of a basis of some of the points."""
        return self.pivots is not None

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """L, lower triangular: the kernel matrix of the basis is L L^T."""
        if self._factor is not None:
            return self._factor
        return cholesky(self._values(self._points, self._points), lower=True)

    def forget_factor(self) -> None:
        """Drop L, if it can be found again from the points of the basis: files become smaller."""
        if not self.is_linear and not self.kernel.is_precomputed and self.ridge == 0:
            self._factor = None
            vars(self).pop("lower", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: it for name, it in vars(self).items() if name not in ("lower", "_last")}

    @property
    def is_linear(self) -> bool:
        """Whether the coordinates are the features, with or without a constant one."""
        return self.kernel.is_linear and self.ridge == 0

    @property
    def names_features(self) -> bool:
        """Whether each coordinate is one feature as it was given (or the intercept)."""
        return self.is_linear and self.kernel.linear_form in ((1, 0), (1, 1))

    @property
    def has_intercept(self) -> bool:
        """Whether the last coordinate of linear features is the constant one."""
        return self.is_linear and self.kernel.linear_form.coef0 > 0

    def check_state(self) -> None:
        """Raise an error unless there are as many coordinates as basis points."""
        check_space(self)
        number(self.left, 0)
        if not self.is_linear and "_points" in vars(self):
            need(isinstance(self._points, Points), "its points are not Points")
            finite(self.lower, "pp", p=len(self._points))


class ProcessSpace(BasisSpace):
    r"""The basis space, and one more coordinate for what of a new point lies outside the span.

    The coordinates z(x) of a new point are its projection on the training points. What is left has
    the length :math:`\sqrt{k(x, x) - |z(x)|^2}`. No label says anything about weights out there:
    they keep their prior, and the output has the variance of the Gaussian process,
    :math:`z^T \Sigma z + \tau^2 (k(x, x) - |z|^2)`. The coordinate is 0 at training points. (It is
    one for all new points, so their joint law is not that of the process; each alone is.)

    With a basis of some points (``n_components``) a training point, too, has something left, which
    the model neglects. So does a new point: what is left is counted from the largest of the
    training points on, or the model would be far less certain of new points than of those. If the
    ``noise`` of labels is set, and the basis has two fifths of the points, what is left of a
    training point is noise of its label instead (E. Snelson and Z. Ghahramani, Sparse Gaussian
    processes using pseudo-inputs, 2006), and all of it counts at new points.

    Linear features have no such coordinate, nor do rows of a precomputed kernel, without k(x, x).

    Parameters
    ----------
    kernel, ridge, n_components
        As in :class:`BasisSpace`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import ProcessSpace
    >>> space = ProcessSpace(RadialKernel(gamma=0.5)).fit(np.array([[0.0], [1.0]]))
    >>> space.transform(np.array([[0.0], [0.5], [9.0]])).round(3)
    array([[1.   , 0.   , 0.   ],
           [0.882, 0.437, 0.175],
           [0.   , 0.   , 1.   ]])
    """

    keeps_gram = True
    device_dtype = "float64"
    noise: float | None = None  # of labels, over the prior scale, if what is left is to add to it

    def fit(self, X: Array, pivots: NDArray | None = None) -> ProcessSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        super().fit(X, pivots)
        if not (self.has_basis and self.has_rest and len(self._points) >= MOSTLY * len(X)):
            self.noise = None
        if self.noise is not None:
            self.left = 0.0
            self.Z_ = self._in_noise(self._beside_rest(self.Z_, self.kernel.prepare(float64(X))))
        elif self.has_rest:
            self.Z_ = arrays.with_column(self.Z_, namespace(self.Z_).zeros_like(self.Z_[:, 0]))
        return self

    def labelled(self, X: Array) -> Array:
        r"""Coordinates of points with labels, whose messages are about these.

        The label of a point with r left has noise :math:`\sqrt{\beta^2 + r^2}`. With z over
        :math:`\sqrt{1 + r^2 / \beta^2}`, its noise is :math:`\beta`.
        """
        return self._in_noise(self.transform(X))

    def _in_noise(self, Z: Array) -> Array:
        if self.noise is not None:
            Z = Z / namespace(Z).sqrt(1 + (Z[:, -1:] / self.noise) ** 2)
            Z[:, -1] = 0.0
        return Z

    def values(self) -> Values:
        """A function of new points: kernel values at the basis and k(x, x), quicker than z(x)."""
        return values_at(self.kernel, self._points)

    @property
    def has_device_form(self) -> bool:  # type: ignore[override]
        """Whether ``transform`` takes points on a device."""
        return self.kernel.works_on_devices

    def device_chunk(self, n_features: int) -> int:
        """How many points to transform at a time on a device."""
        width = n_features if self.is_linear else max(n_features, len(self._points))
        return max(1024, min(DEVICE_POINTS, DEVICE_BYTES // (8 * width)))

    def onnx_coordinates(self, X: Any) -> Any:
        """Coordinates z(x) of new points X, as nodes of an ONNX graph."""
        Z = super().onnx_coordinates(X)
        if not self.has_rest:
            return Z
        rest = self.kernel.onnx_diagonal(X) - self.left - (Z * Z).sum(1)
        return Z.beside(rest.at_least(0.0).sqrt())

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        return super().primal(weights[:-1] if self.has_rest else weights)

    def check_state(self) -> None:
        """Raise an error unless there are as many coordinates as basis points."""
        super().check_state()
        number(1.0 if self.noise is None else self.noise, TINY)

    @property
    def has_rest(self) -> bool:
        """Whether there is a coordinate for what lies outside the span."""
        return not self.is_linear and not self.kernel.is_precomputed

    def _project(self, new: Points) -> Array:
        Z = super()._project(new)
        return self._beside_rest(Z, new) if self.has_rest else Z

    def _beside_rest(self, Z: Array, new: Points) -> Array:
        xp, square = namespace(Z), in_plain_units(new.norm**2, new.log_unit, new.log_unit)
        rest = square - self.left - arrays.squares(Z)
        return arrays.with_column(Z, xp.sqrt(xp.clip(rest, 0, None)))
