r"""The evidence of a Gaussian process by expectation propagation, from its kernel matrix alone.

The symbols are those of C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine
Learning*, section 3.6: with the rates W of all sites, :math:`B = I + W^{1/2} K W^{1/2} = L L^T`
gives the variances of the outputs, :math:`e_i = (1 - B^{-1}_{ii}) / W_i`, in :math:`2 n^3 / 3`
operations, a quarter of what the posterior of the weights takes.

Sites change together. In each round the variances of the cavities are held, and the means of the
outputs are found that agree with all labels: those maximise a concave function, whose Newton step
needs B. The sites of the last kernel matrix are a good start for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from bayespoint import _core
from bayespoint.engines.gaussian.tasks import ROUNDING, log_evidence
from bayespoint.tools.numbers import TINY

MOST_ROUNDS, STEPS = 40, 6  # 3 to 7 rounds are usual; steps of the means in each, at most
EXACT = 0.05  # error of the means, as a share of the moves that are left
LEAST = 1e-8  # rate of a site over the prior's: with less, 1 - B^-1 would be rounding errors


def suits_rounds(engine: Any, coding: str) -> bool:
    """Whether all sites of an engine have positive rates."""
    is_probit = engine.alias == "ep" and coding in ("binary", "one_vs_rest")
    return is_probit and engine.label_noise == 0 < engine.noise and engine.damping is None


class ProcessEvidence:
    """Log evidence of the labels as a function of the kernel matrix, and its derivative.

    Parameters
    ----------
    engine : ExpectationPropagation
        With noise, without flipped labels, and one number as prior scale.
    targets : ndarray of shape (n, n_tasks)
        Labels.
    weight : ndarray of shape (n,) or None
        How many copies each row counts for.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.engines import ExpectationPropagation
    >>> from bayespoint.engines.gaussian.process import ProcessEvidence
    >>> engine = ExpectationPropagation(prior_scale=1.0)
    >>> value, _ = ProcessEvidence(engine, np.array([[1], [-1]]), None)(np.eye(2))
    >>> print(f"{value:.4f}")  # of two independent labels: twice log 1/2
    -1.3863
    """

    def __init__(self, engine: Any, targets: NDArray, weight: NDArray[np.float64] | None) -> None:
        self.engine, self.scale = engine, float(engine.prior_scale) ** 2
        weight = np.ones(len(targets)) if weight is None else weight
        self.labels = [(y, weight) for y in targets.T.astype(np.float64)]
        self.sites: list[Any] = [None] * len(self.labels)  # of each task, as they were last found

    def __call__(self, K: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]] | None:
        """The evidence and its derivative by K, summed over the tasks; None if it is not found."""
        value, pull, K = 0.0, np.zeros_like(K), self.scale * K
        for task, labels in enumerate(self.labels):
            rounds = Rounds(K, labels, self.engine)
            if not rounds.converge(self.sites[task]):
                return None
            self.sites[task] = rounds.sites
            value += rounds.evidence()
            held = rounds.inverse * rounds.root
            pull += np.outer(rounds.alpha, rounds.alpha) - held.T @ held
        return value, 0.5 * self.scale * pull


class Rounds:
    """The sites a, b of one task, and what they make of the outputs: f = K alpha, variances e."""

    inverse: NDArray[np.float64]  # of L

    def __init__(self, K: NDArray, labels: tuple[NDArray, NDArray], engine: Any) -> None:
        self.K, self.labels, (self.y, self.weight) = np.asfortranarray(K), labels, labels
        self.law, self.tol = engine.likelihood.constants, max(engine.tol, ROUNDING)
        self.alpha = self.f = np.zeros(len(K))
        self.moves: list[float] = []  # the largest that was left in each round

    def converge(self, sites: Any, stops: Callable[[], bool] = lambda: False) -> bool:
        """Bring sites to rest, from these or from None; whether they came there."""
        self.sites = sites or self.agreeing(np.ascontiguousarray(self.K.diagonal()))
        for number in range(MOST_ROUNDS):
            if not self.factorise():
                return False
            alpha, f = self.solve(self.weight * self.y * self.sites[0])  # of the posterior
            left = _core.ep.all_sites((self.e, f), self.known, self.law)[2].max()
            self.moves.append(float(left))
            rest = 1 - self.sites[1] * self.e
            is_sound = np.isfinite(left) and (rest > _core.ep.SMALLEST).all()
            if left <= self.tol or not is_sound or (number == 0 and sites):
                self.alpha, self.f = alpha, f
            if left <= self.tol or not is_sound or stops():
                return bool(is_sound and left <= self.tol)
            self.find_means(self.e / rest, EXACT * min(left, 1.0))
        return False

    def find_means(self, variance: NDArray, enough: float) -> None:
        """Means and sites for cavities of this variance; along each step they rise."""
        self.sites = self.agreeing(variance)
        for _ in range(STEPS):
            step, change = self.solve(self.wanted - self.alpha)
            alpha, f, share, slope = self.alpha, self.f, 1.0, (self.wanted - self.alpha) @ change
            if slope <= enough**2:
                return
            for _ in range(STEPS):
                self.alpha, self.f = alpha + share * step, f + share * change
                self.sites = self.agreeing(variance)
                there = (self.wanted - self.alpha) @ change
                if there >= -0.5 * slope:
                    break
                share *= slope / (slope - there)  # about where the slope is 0

    def agreeing(self, variance: NDArray) -> tuple[NDArray, NDArray]:
        """Sites that agree with f; ``wanted`` is what alpha should be then."""
        found = _core.means.agreeing(self.f, self.alpha, variance, self.labels, self.law)
        *sites, self.wanted = found
        return tuple(sites)

    def factorise(self) -> bool:
        """Find L^-1 and the variances of the outputs; False if rounding leaves none."""
        rate = np.maximum(self.weight * self.sites[1], LEAST / np.maximum(self.K.diagonal(), TINY))
        self.root = np.sqrt(rate)
        B = self.K * self.root
        B *= self.root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        lower, failed = lapack.dpotrf(B, lower=1, overwrite_a=1)
        self.inverse = lapack.dtrtri(lower, lower=1, overwrite_c=1)[0]
        self.e = (1 - np.einsum("ij,ij->j", self.inverse, self.inverse)) / rate
        return not failed and bool((self.e > 0).all())

    @property
    def known(self) -> tuple[NDArray, ...]:
        """Labels and sites, as compiled loops take them; each cavity lacks one copy."""
        return self.y, *self.sites, np.ones(len(self.y))

    def solve(self, pulls: NDArray) -> tuple[NDArray, NDArray]:
        """(I + W K)^-1 times a vector, and K times the result."""
        held = self.root * blas.dsymv(1.0, self.K, pulls, lower=1)
        held = blas.dtrmv(self.inverse, blas.dtrmv(self.inverse, held, lower=1), lower=1, trans=1)
        return pulls - self.root * held, held / self.root

    def evidence(self) -> float:
        """The log evidence, as of any posterior."""
        _, constant = _core.ep.summary((self.e, self.f), self.known, self.law)
        square = (self.weight * self.y * self.sites[0]) @ self.f
        return log_evidence(
            self.weight @ constant, 2 * np.log(self.inverse.diagonal()).sum(), square
        )
