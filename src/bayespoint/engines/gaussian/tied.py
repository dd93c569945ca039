"""One message to each weight for all points of a batch: stochastic expectation propagation."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.engines.gaussian.factorised import FactorisedSites


class TiedSites(FactorisedSites):
    r"""Sites of independent weights that are tied: the points of a batch share their messages.

    The :math:`n_j` points with feature j send the weight :math:`w_j` the same message, whose
    :math:`n_j`-th power the posterior contains. The cavity of a point lacks one copy of it. Sites
    take two numbers a weight instead of two an entry. The first sweep, in which no point has sent a
    message yet, is that of separate sites.

    Parameters
    ----------
    space, prior, target, weight, likelihood
        As in :class:`FactorisedSites`.

    References
    ----------
    Y. Li, J. M. Hernandez-Lobato and R. E. Turner, Stochastic Expectation Propagation, NIPS 2015.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        d = len(self.prior.mean)
        self.a, self.b = np.zeros(d), np.zeros(d)  # sums of the messages
        self._copies: NDArray = np.zeros(d)

    def sweep(self, share: float) -> float:
        """Visit all points, one after another; the largest move."""
        self._visit_all(share if self._copies.any() else 1.0)
        weight = np.repeat(self.weight, np.diff(self.Z.indptr))
        self._copies = np.bincount(self.Z.indices, weight, len(self.a))
        return self._change

    def _visit(self, begin: int, end: int, share: float) -> float:
        begins, columns, x, y = self._rows
        own = slice(begin, end)
        return _core.filters.sweep_tied(
            begins[begin : end + 1], columns, x, y[own], self.weight[own], self._copies,
            self.a, self.b, self.pull, self.precision, self.last[own], *self.likelihood.constants,
            share,
        )  # fmt: skip

    def totals(self) -> NDArray[np.float64]:
        """Shifts and rates of all messages to each weight, (2, d)."""
        return np.stack([self.a, self.b])

    @cached_property
    def _summary(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """As of separate sites, each of which is an average copy."""
        begins, columns, x, y = self._rows
        one = 1 / np.maximum(self._copies, 1.0)
        shift, rate = one * self.a, one * self.b
        parts = []
        for begin, end in self._slices.of(len(y)):
            here = slice(begins[begin], begins[end])
            own = columns[here]
            parts.append(
                _core.ep.summary_rows(
                    begins[begin : end + 1] - begins[begin], own, x[here], y[begin:end],
                    self._removed[begin:end], shift[own], rate[own], self.pull, self.precision,
                    *self.likelihood.constants,
                )
            )  # fmt: skip
        left_out, constant, a, b = (np.concatenate(column) for column in zip(*parts, strict=True))
        return left_out, constant, a, b
