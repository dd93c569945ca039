"""The posterior of independent samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.codings import Coding
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.matrix import DeviceKernelMatrix
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors.base import Samples
from bayespoint.posteriors.log_odds import LogOdds
from bayespoint.tools.arrays import Array, is_tensor, kept, namespace, to_host
from bayespoint.tools.attributes import finite, need, number, shaped


@dataclass(frozen=True)
class FirstVisits:
    r"""What the samples say of training points before they learn from them.

    A sample goes through the training points in a random order. The outputs
    :math:`f_n(x_i) = \langle w_n, \phi(x_i) \rangle / |w_n| |\phi(x_i)|` at the first visit, in the
    second half of the order, are those of a classifier that does not know the point. They are the
    counterpart of the out-of-bag outputs of a forest. Where a point is never learned from, the
    output of the final classifier is as honest; there the sizes of both are compared.

    Attributes
    ----------
    outputs : ndarray of shape (n_points, n_tasks), or tensor
        Outputs at the first visit, summed over the samples in which it is in the second half.
    counts : ndarray of shape (n_points,)
        Number of these samples.
    first_square, final_square : float
        Sums of squares of the first and of the final outputs, where a point is not learned from.
    noise : ndarray of shape (n_tasks,)
        Mean squares over the points of the outputs of their private features, which a ridge gives
        them, summed over all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(engine="perceptron", random_state=0).fit(X, y == 0)
    >>> visits = clf.posterior_.visits
    >>> visits.honest_outputs.shape
    (150, 1)
    >>> int(visits.counts.sum())  # half of the points, in each of ten samples
    750
    """

    outputs: Any
    counts: Any
    first_square: float
    final_square: float
    noise: Any

    @classmethod
    def none(cls, m: int, n_tasks: int) -> FirstVisits:
        """First visits of no samples."""
        return cls(np.zeros((m, n_tasks)), np.zeros(m, int), 0.0, 0.0, np.zeros(n_tasks))

    def on(self, device: Any) -> FirstVisits:
        """The same as tensors on a device; None leaves them as they are."""
        return self if device is None else self._moved(partial(to_device, device=device))

    def on_host(self) -> FirstVisits:
        """The same as NumPy arrays."""
        return self._moved(to_host)

    def _moved(self, move: Callable[[Any], Any]) -> FirstVisits:
        arrays = {name: move(getattr(self, name)) for name in ("outputs", "counts", "noise")}
        return replace(self, **arrays)

    def __add__(self, other: FirstVisits) -> FirstVisits:
        return FirstVisits(**{name: one + getattr(other, name) for name, one in vars(self).items()})

    @property
    def honest_outputs(self) -> Any:
        """Mean outputs in the unit of final outputs, (n_points, n_tasks); NaN where there are none.

        Many passes after the first one, or a ridge, can make final outputs several times smaller.
        """
        comparable = self.first_square > 0 and self.final_square > 0
        unit = np.sqrt(self.final_square / self.first_square) if comparable else 1.0
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN
            return self.outputs / self.counts[:, None] * unit

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.outputs, "mt")
        shaped(self.counts, "i", "m", m=sizes["m"])
        number(self.first_square, 0)
        number(self.final_square, 0)
        finite(self.noise, "t", t=sizes["t"])


class SampledPosterior(Samples):
    r"""Equally likely classifiers :math:`w_1 \dots w_N` of unit length.

    A rule turns the N outputs :math:`f_n(x)` into one score:

    * ``"bayes_point"``: their mean, which is the output of the Bayes point;
    * ``"vote"``: the mean of their signs, with ties broken by the mean output.

    Probabilities of the Bayes point come from log-odds :math:`A \bar f(x) + b`, learned from the
    outputs of the samples at training points that they had not learned from
    (:class:`FirstVisits`, :class:`LogOdds`). Votes give
    :math:`(n_+ + 1/2) / (N + 1)`.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_samples, n_tasks), or callable
        The classifiers; a function fetches them from a device when they are needed.
    visits : FirstVisits
        Their outputs at the training points.
    log_odds : LogOdds
        Log-odds of the classes, from mean outputs.
    support : ndarray of int, optional
        Training points to which the coordinates belong, ascending.
    mean : ndarray of shape (n_coordinates, n_tasks), optional
        The Bayes point, if it is known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(engine="perceptron", random_state=0).fit(X, y == 0)
    >>> posterior = clf.posterior_
    >>> type(posterior).__name__, posterior.n_samples
    ('SampledPosterior', 10)
    >>> clf.sample_outputs(X[:1]).shape  # points, samples, tasks
    (1, 10, 1)
    """

    visits: FirstVisits
    device_visits: FirstVisits  # as tensors, for the time of a fit on a device

    def __init__(
        self,
        weights: NDArray | Callable[[], NDArray],
        visits: FirstVisits,
        log_odds: LogOdds,
        support: NDArray[np.int64] | None = None,
        mean: NDArray | None = None,
    ) -> None:
        if callable(weights):
            self.defer(weights=weights)
        else:
            self.weights = weights
        if is_tensor(visits.outputs):
            self.defer(visits=visits.on_host)
            self.device_visits = visits
        else:
            self.visits = visits
        self.log_odds = log_odds
        self.support = support
        if mean is not None:
            vars(self)["mean"] = mean

    @cached_property
    def likelihood(self) -> ProbitLikelihood:
        """Probit with the label noise of the ridge; without a ridge the sign decides."""
        return ProbitLikelihood(np.sqrt(self.visits.noise / self.n_samples))

    def oob_decision(self, rule: str) -> Array | None:
        """Log-odds of the training points by samples that have not learned from them."""
        visits = vars(self).get("device_visits") or self.visits
        return self.log_odds(visits.honest_outputs) if rule == "bayes_point" else None

    def decision(self, Z: Any, rule: str) -> NDArray:
        """Log-odds of the mean output, or mean vote."""
        if rule == "bayes_point":
            if isinstance(Z, DeviceKernelMatrix):
                return to_host(self.log_odds(Z.times(kept(Z.points, self.mean))))
            return self.log_odds(Z @ self.mean.astype(Z.dtype, copy=False))
        outputs = self.outputs(Z)
        # Votes differ by steps of 2/N and outputs are at most 1 in size (new points of a
        # precomputed kernel excepted, hence the clip), so this only breaks ties.
        tie_break = np.clip(outputs, -1, 1).mean(axis=1) / self.n_samples
        return self.signs(outputs, Z).mean(axis=1) + tie_break

    def log_probability(self, decision: Array, rule: str) -> tuple[Array, Array]:
        """Logistic of the log-odds, or share of the votes."""
        if rule == "bayes_point":
            xp = namespace(decision)
            soft = xp.log1p(xp.exp(-abs(decision)))
            return xp.clip(decision, None, 0.0) - soft, xp.clip(-decision, None, 0.0) - soft
        return self.log_vote_shares(decision)

    def scores(self, decision: NDArray, rule: str, coding: Coding) -> NDArray:
        """Scores of the classes: those of the Bayes point are its decisions, which are log-odds."""
        if rule == "bayes_point" and coding.is_against_rest:
            return decision / coding.temperature
        return super().scores(decision, rule, coding)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.weights, "dst")
        if self.support is not None:
            shaped(self.support, "iu", "d", d=sizes["d"])
            need((np.diff(self.support) > 0).all(), "its training points are not sorted")
            need(sizes["d"] == 0 or self.support[0] >= 0, "a training point is negative")
        need(isinstance(self.visits, FirstVisits), "its visits are not FirstVisits")
        shaped(self.visits.noise, "f", "t", t=sizes["t"])
        need(isinstance(self.log_odds, LogOdds), "its log-odds are not LogOdds")
        shaped(self.log_odds.offset, "f", "t", t=sizes["t"])
