"""The evidence as a function of the logarithms of continuous parameters, and its maximum."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.parameters import kernel_of
from bayespoint.kernels import positive_parameters
from bayespoint.selection.objective import (
    FAILURES,
    Data,
    Evaluation,
    EvidenceFunction,
    failed,
    is_differentiable,
    solution_gradient,
    split,
    with_params,
)
from bayespoint.tools.maximize import climb
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.validation import check_array

STEP = 1e-3  # of a logarithm, where the derivative is taken from two more fits


class SearchEndsError(Exception):
    """No fit has succeeded, or the search was stopped."""


class Search(NamedTuple):
    """One discrete choice, and where the continuous search starts: shares of the bounds, or None.

    None starts from the parameters that the estimator has.
    """

    params: dict[str, Any]
    start: NDArray[np.float64] | None = None


class Found(NamedTuple):
    """All evaluations of a search, its steps, and why it ended if not at the maximum."""

    evaluations: list[Evaluation]
    n_steps: int = 1
    ended_by: str = ""


class Ascent:
    """Evaluates a classifier at logarithms of parameters, and remembers all evaluations."""

    def __init__(
        self,
        classifier: Any,
        data: Data,
        bounds: Mapping[str, tuple[float, float]],
        prefix: str,
        fixed: dict[str, Any],
    ) -> None:
        self.evaluations: list[Evaluation] = []
        params = classifier.get_params()
        now = [params[name.removeprefix(prefix)] for name in bounds]
        # A parameter that is an array has one logarithm for each of its entries.
        self.sizes = [None if np.ndim(value) == 0 else len(value) for value in now]
        self._ends = np.array(self.spread(list(bounds.values())))
        self.low, self.high = np.log(self._ends).T
        self._bounds, self._prefix, self._fixed = bounds, prefix, fixed
        self._function = EvidenceFunction(classifier, data)
        self._best: tuple[float, NDArray[np.float64]] | None = None  # of those that converged
        self._worst = np.inf

    def spread(self, values: Sequence[Any]) -> list[Any]:
        """Values of the parameters, repeated for each entry of those that are arrays."""
        parts = zip(values, self.sizes, strict=True)
        return [value for value, size in parts for _ in range(size or 1)]

    def _by_name(self, x: NDArray[np.float64]) -> dict[str, Any]:
        """The entries that belong to each parameter: a float or an array."""
        parts = np.split(x, np.cumsum([size or 1 for size in self.sizes])[:-1])
        return {
            name: part if size else float(part[0])
            for name, part, size in zip(self._bounds, parts, self.sizes, strict=True)
        }

    def __call__(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The log evidence and its gradient.

        A fit that fails, or that has not converged while others have, is a slope that leads back
        to the best one.
        """
        evaluation = self._evaluate(x)
        self.evaluations.append(evaluation)
        value = evaluation.log_evidence
        if current_monitor().should_stop():
            raise SearchEndsError("the monitor stopped it")
        if not evaluation.converged and self._best is not None:
            back = x - self._best[1]
            return self._worst - 1 - float(back @ back), -2 * back
        if np.isnan(value):
            raise SearchEndsError
        if evaluation.converged:
            self._worst = min(self._worst, value)
            if self._best is None or value > self._best[0]:
                self._best = value, x.copy()
        gradient = self._gradient(x)
        self.evaluations[-1] = evaluation._replace(slopes=self._by_name(gradient))
        return value, gradient

    def _evaluate(self, x: NDArray[np.float64]) -> Evaluation:
        named = self._values(x)
        values = {name.removeprefix(self._prefix): value for name, value in named.items()}
        return self._function.evaluate(values, self._fixed | named)

    def _values(self, x: NDArray[np.float64]) -> dict[str, Any]:
        """The parameters themselves; a bound is exactly the number that was given."""
        low, high = self._ends.T
        inside = np.clip(np.exp(x), low, high)
        values = np.select([x <= self.low, x >= self.high], [low, high], inside)
        return self._by_name(values)

    def _gradient(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exact where it is known, else from differences."""
        solution: Any = self._function.solution
        names = [name.removeprefix(self._prefix) for name in self._bounds]
        is_known = [is_differentiable(solution.kernel, solution.engine, name) for name in names]
        gradient, exact = np.zeros(len(x)), np.array(self.spread(is_known))
        if exact.any():
            known = [name for name, is_exact in zip(names, is_known, strict=True) if is_exact]
            gradient[exact] = solution_gradient(solution, known)
        if not exact.all() and hasattr(solution.posterior, "log_evidence_error"):
            raise TypeError(
                f"The evidence of {solution.engine!r} is an estimate from random draws, too "
                "rough for the differences that a search between bounds needs. Use param_grid."
            )
        for i in np.flatnonzero(~exact):
            ahead, behind = x.copy(), x.copy()
            ahead[i] = min(x[i] + STEP, self.high[i])
            behind[i] = max(x[i] - STEP, self.low[i])
            gain = self._evaluate(ahead).log_evidence - self._evaluate(behind).log_evidence
            gradient[i] = np.nan_to_num(gain / (ahead[i] - behind[i]))
        return gradient


def search(
    estimator: Any,
    data: Data,
    choice: Search,
    bounds: Mapping[str, tuple[float, float]],
    tol: float,
    max_iter: int,
) -> Found:
    """Evaluate a choice, or climb from it to the largest evidence between the bounds.

    The steps before the classifier are fitted once.
    """
    start = time.perf_counter()
    before, classifier, prefix = split(with_params(estimator, choice.params))
    try:
        if before is not None:
            data = data._replace(X=before.fit_transform(data.X, data.y))
    except FAILURES as error:
        return Found([failed(choice.params, error, start)])
    if not bounds:
        return Found([EvidenceFunction(classifier, data).evaluate({}, choice.params)])
    ascent = Ascent(classifier, data, bounds, prefix, choice.params)
    low, high = ascent.low, ascent.high
    if choice.start is None:
        names = [name.removeprefix(prefix) for name in bounds]
        values = own_values(classifier, names, data.X)
        centre = (low + high) / 2
        sizes = [size or 1 for size in ascent.sizes]
        given = np.concatenate([np.full(n, v) for n, v in zip(sizes, values, strict=True)])
        first = np.clip(np.where(np.isnan(given), centre, given), low, high)
    else:
        first = low + np.array(ascent.spread(list(choice.start))) * (high - low)
    try:
        result = climb(ascent, first, low, high, slope=tol, max_iter=max_iter)
    except SearchEndsError as ended:
        return Found(ascent.evaluations, ended_by=str(ended))
    ended_by = ""
    if result.status == 1:
        ended_by = f"it reached max_iter={max_iter}: raise it or tol, or set narrower bounds"
    return Found(ascent.evaluations, max(1, result.nit), ended_by)


def own_values(classifier: Any, names: list[str], X: Any) -> list[Any]:
    """Logarithms of the classifier's own parameters; NaN if they are not positive numbers."""
    params, first = classifier.get_params(), []
    of_kernel = positive_parameters(classifier.kernel)
    for name in names:
        value = params[name]
        if isinstance(value, str) and name in of_kernel:
            value = from_data(classifier, of_kernel[name], X)
        is_number = isinstance(value, Real) or np.ndim(value) == 1
        values = np.asarray(value if is_number else np.nan, dtype=np.float64)
        first.append(np.log(np.where(values > 0, values, np.nan)))
    return first


def from_data(classifier: Any, name: str, X: Any) -> float | None:
    """The number of a kernel's parameter at these rows; None if the fit will refuse them."""
    try:
        kernel = kernel_of(classifier).fitted(check_array(X, dtype=np.float64))
    except (TypeError, ValueError):
        return None
    return kernel.get_params()[name]
