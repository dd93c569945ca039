"""The evidence for every flip rate, from chains at several noise levels.

With k of m labels wrong, the likelihood is q^k (1 - q)^(m - k). So the evidence for all q follows
from the shares A_k of the sphere on which k labels are wrong,

    log Z(q) = m log(1 - q) + log rho(theta),    rho(theta) = sum_k A_k exp(-theta k),

with theta = log((1 - q) / q). Chains run at the rungs theta = 0 ... theta_max, and each estimates
some of the A_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayespoint.tools.attributes import finite, number, shaped

TOLERANCE = 1e-10  # on log rho at the rungs
MOST = 10_000  # iterations; about a hundred suffice


@dataclass(eq=False, repr=False)
class FlipEvidence:
    r"""Evidence of one task for every flip rate q.

    Parameters
    ----------
    rungs : ndarray of shape (n_rungs,)
        The :math:`\theta` of the chains, ascending from 0.
    histograms : ndarray of shape (n_chains, n_rungs, m + 1)
        Time that each chain spent at each number of errors on each rung.
    n_coins : float, default=0
        Total weight of the points that are zero in feature space. No classifier explains their
        labels, so each has probability 1/2.

    Examples
    --------
    Three labels that cut the sphere into eight equal cells: log Z(q) = log(1/8) for every q.

    >>> import numpy as np
    >>> from bayespoint.posteriors import FlipEvidence
    >>> evidence = FlipEvidence(np.zeros(1), np.array([[[1.0, 3.0, 3.0, 1.0]]]))
    >>> print(f"{np.exp(evidence.at(0.2)):.3f} {np.exp(evidence.at(0.0)):.3f}")
    0.125 0.125
    """

    rungs: NDArray[np.float64]
    histograms: NDArray[np.float64]
    n_coins: float = 0.0

    @cached_property
    def log_shares(self) -> NDArray[np.float64]:
        """Logarithms of A_k from all chains together, shape (m + 1,)."""
        return log_shares(self.rungs, self.histograms.sum(axis=0))

    @cached_property
    def _without_one(self) -> NDArray[np.float64]:
        """Logarithms of A_k with each chain left out in turn, shape (n_chains, m + 1)."""
        total = self.histograms.sum(axis=0)
        return np.stack([log_shares(self.rungs, total - chain) for chain in self.histograms])

    def at(self, q: float) -> float:
        """Evidence log Z(q), for q from 0 to 1/2."""
        return float(log_evidence(self.log_shares, q)) - self.n_coins * np.log(2)

    def error_at(self, q: float) -> float:
        """Jackknife standard error of log Z(q) over the chains; NaN for a single chain.

        It is infinite where a single chain has met the errors that q allows.
        """
        n = len(self.histograms)
        if n < 2:
            return np.nan
        left_out = log_evidence(self._without_one, q)
        if not np.isfinite(left_out).all():
            return np.inf
        return float(np.sqrt((n - 1) ** 2 / n) * left_out.std(ddof=1))

    def most_likely(self, smallest: float) -> float:
        """The q in [``smallest``, 1/2] with the largest evidence."""
        rates = np.geomspace(smallest, 0.5, 1000)  # steps of 0.6 %, far below any error
        return float(rates[np.argmax(log_evidence(self.log_shares[None], rates[:, None]))])

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        shaped(self.histograms, "f", "crk", **finite(self.rungs, "r"))
        number(self.n_coins, 0)


def log_evidence(log_shares: NDArray[np.float64], q: float | NDArray) -> NDArray[np.float64]:
    """Logarithm of sum_k A_k q^k (1 - q)^(m - k), over the last axis."""
    k = np.arange(log_shares.shape[-1])
    with np.errstate(divide="ignore", invalid="ignore"):  # q = 0: 0^0 is 1
        right = np.where(k == 0, 0.0, k * np.log(q))
    return logsumexp(log_shares + right + (k[-1] - k) * np.log1p(-np.asarray(q)), axis=-1)


def log_shares(rungs: NDArray[np.float64], histogram: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Maximum likelihood estimate of log A_k from the histograms of all rungs, (n_rungs, m + 1).

    It solves the multi-histogram equations: at rung l, k has the distribution
    :math:`A_k \exp(-\theta_l k - F_l)`. The sphere is symmetric, :math:`A_k = A_{m-k}`, so every
    chain also counts as one with all labels flipped. Averaging :math:`A_k` and :math:`A_{m-k}`
    afterwards would be wrong, since one of the two may be known badly.
    """
    k = np.arange(histogram.shape[1])
    steps = np.log(histogram.sum(axis=1))[:, None]
    seen = histogram.sum(axis=0)
    with np.errstate(divide="ignore"):
        log_seen = np.log(seen + seen[::-1])
    tilt = -rungs[:, None] * k
    F = np.zeros(len(rungs))
    for _ in range(MOST):
        rate = logsumexp(steps + tilt - F[:, None], axis=0)
        log_A = log_seen - np.logaddexp(rate, rate[::-1])
        log_A -= logsumexp(log_A)
        before, F = F, logsumexp(log_A + tilt, axis=1)
        if np.abs(F - before).max() < TOLERANCE:
            break
    return log_A
