"""The posterior of samples from Markov chains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors.base import Samples
from bayespoint.posteriors.flip_evidence import FlipEvidence
from bayespoint.tools.attributes import finite, integer, need, optional, shaped


class ChainPosterior(Samples):
    r"""Classifiers of unit length from Markov chains, with labels flipped with probability q.

    The label of x is the sign of :math:`f(x) = z(x)^T w`, flipped with probability q. A rule turns
    the N outputs :math:`f_n(x)` into one score, and the score into a share s of classifiers that
    say "yes". The probability of "yes" is :math:`q + (1 - 2 q) s`.

    * ``"bayes_point"``: the score is the output of the Bayes point over its standard deviation,
      :math:`\bar f / \sqrt{var f + \bar f^2 / N + \beta^2}`, and :math:`s = \Phi(score)`, the share
      for Gaussian outputs. The term :math:`\bar f^2 / N` bounds the certainty that N samples can
      give, and :math:`\beta` is the noise that a ridge stands for.
    * ``"vote"``: the score is the mean of the signs, with ties broken by the score of the Bayes
      point, and :math:`s = (n_+ + 1/2) / (N + 1)`.

    Parameters
    ----------
    chains : ndarray of shape (n_chains, n_draws, n_coordinates, n_tasks)
        The classifiers.
    label_noise : ndarray of shape (n_tasks,)
        The flip rate q of each task.
    mean : ndarray of shape (n_coordinates, n_tasks), optional
        The Bayes point, if it is known more accurately than from the samples.
    evidence : sequence of FlipEvidence, optional
        One for each task.
    noise : float or ndarray of shape (n_tasks,), default=0.0
        Standard deviation of the noise of new outputs.
    left_out_log_probability : ndarray of shape (n_points, n_tasks), optional
        log p(label of a training point | all other labels).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import ChainPosterior
    >>> angles = np.random.default_rng(0).normal(size=(4, 25))
    >>> chains = np.stack([np.cos(angles), np.sin(angles)], axis=2)[:, :, :, None]
    >>> posterior = ChainPosterior(chains, np.array([0.1]))
    >>> posterior.to_dict()["weights"].shape
    (4, 25, 2, 1)
    >>> scores = posterior.decision(np.array([[1.0, 0.0]]), "vote")
    >>> yes, no = np.exp(posterior.log_probability(scores, "vote"))
    >>> print(f"{yes[0, 0]:.2f}")
    0.82
    """

    n_chains: int
    n_draws: int
    log_evidence_error: NDArray[np.float64]
    _mean: NDArray[np.float64]

    def __init__(
        self,
        chains: NDArray[np.float64],
        label_noise: NDArray[np.float64],
        mean: NDArray[np.float64] | None = None,
        evidence: Sequence[FlipEvidence] | None = None,
        *,
        noise: NDArray[np.float64] | float = 0.0,
        left_out_log_probability: NDArray[np.float64] | None = None,
    ) -> None:
        n_chains, n_draws, n_coordinates, n_tasks = chains.shape
        self.n_chains, self.n_draws = n_chains, n_draws
        first = np.ascontiguousarray(np.moveaxis(chains, 2, 0))
        self.weights = first.reshape(n_coordinates, -1, n_tasks)
        self.likelihood: ProbitLikelihood = ProbitLikelihood(noise, label_noise)
        self.left_out_log_probability = left_out_log_probability
        self.evidence = evidence
        self._mean = super().mean if mean is None else mean
        if evidence is not None:
            both = list(zip(evidence, label_noise, strict=True))
            self.log_evidence = np.array([task.at(q) for task, q in both])
            self.log_evidence_error = np.array([task.error_at(q) for task, q in both])

    @property
    def label_noise(self) -> NDArray[np.float64]:
        """The flip rate q of each task."""
        return np.asarray(self.likelihood.label_noise)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The Bayes point."""
        return self._mean

    def log_evidence_at(self, q: float) -> NDArray[np.float64]:
        """Evidence log p(labels) of each task at another flip rate q, from the same chains."""
        if self.evidence is None:
            raise ValueError("The evidence was not estimated: set evidence=True of GibbsSampler.")
        if not 0 <= q <= 0.5:
            raise ValueError(f"q must be a float in the range [0, 0.5]. Got {q!r} instead.")
        return np.array([task.at(q) for task in self.evidence])

    def to_dict(self) -> dict[str, NDArray[np.float64]]:
        """The draws in ArviZ's shape, {"weights": (chain, draw, coordinate, task)}."""
        shape = (len(self.weights), self.n_chains, self.n_draws, self.weights.shape[2])
        return {"weights": np.moveaxis(self.weights.reshape(shape), 0, 2)}

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """The Bayes point's output over its standard deviation, or the mean vote."""
        outputs = self.outputs(Z)
        centre = Z @ self.mean.astype(Z.dtype, copy=False)
        square = outputs.var(axis=1) + centre**2 / self.n_samples + np.square(self.likelihood.noise)
        score = np.divide(centre, np.sqrt(square), out=np.zeros_like(centre), where=square > 0)
        if rule == "bayes_point":
            return score
        # Votes differ by steps of 2/N and scores are at most sqrt(N), so this only breaks ties.
        return self.signs(outputs, Z).mean(axis=1) + score / self.n_samples**1.5

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of q + (1 - 2 q) s for "yes" and "no"."""
        if rule == "bayes_point":
            return self.likelihood.log_predictive(decision)
        log_yes, log_no = self.log_vote_shares(decision)
        return self.likelihood.flipped(log_yes), self.likelihood.flipped(log_no)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.weights, "dst")
        integer(self.n_chains, 1)
        integer(self.n_draws, 1)
        need(self.n_chains * self.n_draws == sizes["s"], "its chains have the wrong length")
        finite(self.mean, "dt", d=sizes["d"], t=sizes["t"])
        need(isinstance(self.likelihood, ProbitLikelihood), "its likelihood is not probit")
        shaped(self.label_noise, "f", "t", t=sizes["t"])
        optional(self.log_evidence, "t", t=sizes["t"])
        if self.evidence is not None:
            need(len(self.evidence) == sizes["t"], "some evidence is missing")
            known = all(isinstance(one, FlipEvidence) for one in self.evidence)
            need(known, "its evidence is not FlipEvidence")
