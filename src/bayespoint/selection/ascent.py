"""The evidence as a function of the logarithms of continuous parameters, and its maximum."""

from __future__ import annotations

import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.utils import check_array

from bayespoint.kernels import positive_parameters
from bayespoint.selection.gradient import is_differentiable, log_evidence_gradient
from bayespoint.selection.measure import (
    FAILURES,
    Data,
    Evaluation,
    failed,
    measure,
    split,
    with_params,
)

STEP = 1e-3  # of a logarithm, where the derivative is taken from two more fits
FLAT = 1e-9  # share of the log evidence below which a gain may come from sites not quite at rest


class NothingThereError(Exception):
    """A fit failed before any had worked, so that there is nowhere to go back to."""


class Search(NamedTuple):
    """One discrete choice, and where the continuous search starts: shares of the bounds, or None.

    None starts from the parameters that the estimator has.
    """

    params: dict[str, Any]
    start: NDArray[np.float64] | None = None


class Ascent:
    """Evaluates a classifier at logarithms of parameters, and remembers all evaluations."""

    def __init__(
        self, classifier: Any, data: Data, names: list[str], prefix: str, fixed: dict
    ) -> None:
        self.evaluations: list[Evaluation] = []
        self._classifier, self._data = classifier, data
        self._names, self._prefix, self._fixed = names, prefix, fixed
        self._best: tuple[float, NDArray[np.float64]] | None = None  # of those that converged
        self._worst = np.inf

    def __call__(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Minus the log evidence, and minus its gradient.

        A fit that fails, or that has not converged while others have, is a slope that leads back
        to the best one.
        """
        evaluation = self._evaluate(x)
        self.evaluations.append(evaluation)
        value = evaluation.log_evidence
        if not evaluation.converged and self._best is not None:
            back = x - self._best[1]
            return 1 - self._worst + float(back @ back), 2 * back
        if np.isnan(value):
            raise NothingThereError
        if evaluation.converged:
            self._worst = min(self._worst, value)
            if self._best is None or value > self._best[0]:
                self._best = value, x.copy()
        return -value, -self._gradient(x)

    def _evaluate(self, x: NDArray[np.float64]) -> Evaluation:
        values = dict(zip(self._names, np.exp(x).tolist(), strict=True))
        self._classifier.set_params(**values)
        named = {f"{self._prefix}{name}": value for name, value in values.items()}
        return measure(self._classifier, self._data, self._fixed | named)

    def _gradient(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exact where it is known, else from differences."""
        classifier, data = self._classifier, self._data
        exact = np.array([is_differentiable(classifier, name) for name in self._names])
        gradient = np.zeros(len(x))
        known = [name for name, is_known in zip(self._names, exact, strict=True) if is_known]
        if known:
            gradient[exact] = log_evidence_gradient(
                classifier, data.X, data.y, known, data.sample_weight
            )
        if not exact.all() and hasattr(classifier.posterior_, "log_evidence_error"):
            raise TypeError(
                f"The evidence of {classifier.engine!r} is an estimate from random draws, too "
                "rough for the differences that a search between bounds needs. Use param_grid."
            )
        for i in np.flatnonzero(~exact):
            step = np.zeros(len(x))
            step[i] = STEP
            ahead, behind = (self._evaluate(x + sign * step).log_evidence for sign in (1, -1))
            gradient[i] = np.nan_to_num((ahead - behind) / (2 * STEP))
        return gradient


def search(
    estimator: Any,
    data: Data,
    choice: Search,
    bounds: dict[str, tuple[float, float]],
    tol: float,
    max_iter: int,
) -> tuple[list[Evaluation], int]:
    """All evaluations of one search, and how many steps it took.

    The steps before the classifier are fitted once.
    """
    start = time.perf_counter()
    before, classifier, prefix = split(with_params(estimator, choice.params))
    try:
        if before is not None:
            data = data._replace(X=before.fit_transform(data.X, data.y))
    except FAILURES as error:
        return [failed(choice.params, error, start)], 1
    if not bounds:
        return [measure(classifier, data, choice.params)], 1
    names = [name.removeprefix(prefix) for name in bounds]
    low, high = np.log(np.array(list(bounds.values()), dtype=np.float64)).T
    if choice.start is None:
        first = np.clip(own_values(classifier, names, data.X, (low + high) / 2), low, high)
    else:
        first = low + choice.start * (high - low)
    ascent = Ascent(classifier, data, names, prefix, choice.params)
    try:
        result = minimize(
            ascent, first, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
            options={"gtol": tol, "ftol": FLAT, "maxiter": max_iter},
        )  # fmt: skip
    except NothingThereError:
        return ascent.evaluations, 1
    return ascent.evaluations, max(1, result.nit)


def own_values(
    classifier: Any, names: list[str], X: Any, centre: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logarithms of the classifier's own parameters; the centre where they are no numbers."""
    first, params = centre.copy(), classifier.get_params()
    of_kernel = positive_parameters(classifier.kernel)
    for i, name in enumerate(names):
        value = params[name]
        if isinstance(value, str) and name in of_kernel:
            value = from_data(classifier, of_kernel[name], X)
        if isinstance(value, Real) and float(value) > 0:
            first[i] = np.log(float(value))
    return first


def from_data(classifier: Any, name: str, X: Any) -> float | None:
    """The number of a kernel's parameter at these points; None if the fit will refuse them."""
    try:
        kernel = classifier._make_kernel().fitted(check_array(X, dtype=np.float64))
    except (TypeError, ValueError):
        return None
    return kernel.get_params()[name]
