"""The posterior of a stream: independent weights, at one or several rates of forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import log_ndtr, log_softmax, ndtr, ndtri_exp

from bayespoint import _core
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors.base import Posterior
from bayespoint.tools.attributes import finite, integer, need, shaped
from bayespoint.tools.numbers import TINY

MEAN, VARIANCE, VISITED, PRIOR = 0, 1, 2, 3  # places in a record, as in _core.filters
STEEPEST = 30.0  # bound on scores that are recalibrated, as there


class StreamPosterior(Posterior):
    r"""Independent Gaussian weights, learned row by row at one or several rates of forgetting.

    With one rate it is :math:`\prod_j N(w_j; \mu_j, \sigma_j^2)`. With K rates there are K such
    posteriors side by side, mixed with probabilities :math:`v_k \propto \exp e_k`, where
    :math:`e_k` is the discounted log evidence of a rate. The probit score
    :math:`z = \Phi^{-1}(\sum_k v_k p_k)` of this mixture is recalibrated: the probability of "yes"
    is :math:`E\, \Phi(a z + b)` with Gaussian slope and offset :math:`(a, b)`.

    ``partial_fit`` updates the arrays in place.

    Parameters
    ----------
    records : ndarray of shape (n_rates, n_tasks, n_coordinates, 4)
        Mean, variance, number of rows up to the last visit, and precision of the prior of each
        weight.
    prior_mean : ndarray of shape (n_tasks, n_coordinates) or (1, 1)
        Means of the prior, to which weights return when they are forgotten.
    likelihood : Likelihood
        p(label | output).
    n_rows : int, default=0
        Rows learned from.
    evidence : ndarray of shape (n_rates,), optional
        Discounted log evidence :math:`e_k` of each rate; 0 by default.
    calibration : ndarray of shape (n_tasks, 6), optional
        Mean and covariance (row by row) of slope and offset of each task. None: no recalibration.
    log_evidence : ndarray of shape (n_tasks,), default=0.0
        Sum of log p(label | all earlier labels).
    left_out_log_probability : ndarray of shape (n_points, n_tasks), optional
        log p(label | all earlier labels) of the points of the last batch.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import FactorisedPropagation
    >>> engine = FactorisedPropagation(max_iter=1, decay="auto")
    >>> clf = BayesPointClassifier(kernel="linear", engine=engine)
    >>> X = csr_array(np.eye(3)[[0, 1, 0, 2]])
    >>> posterior = clf.partial_fit(X, [1, 0, 1, 0], classes=[0, 1]).posterior_
    >>> posterior.n_rows, posterior.records.shape
    (4, (6, 1, 4, 4))
    >>> posterior.prune(0.01)  # weights that have learned next to nothing
    0
    """

    def __init__(
        self,
        records: NDArray[np.float64],
        prior_mean: NDArray[np.float64],
        likelihood: Likelihood,
        *,
        n_rows: int = 0,
        evidence: NDArray[np.float64] | None = None,
        calibration: NDArray[np.float64] | None = None,
        log_evidence: NDArray[np.float64] | float = 0.0,
        left_out_log_probability: NDArray[np.float64] | None = None,
    ) -> None:
        self.records = records
        self.prior_mean = prior_mean
        self.likelihood = likelihood
        self.n_rows = n_rows
        self.evidence = np.zeros(len(records)) if evidence is None else evidence
        self.calibration = calibration
        self.log_evidence = np.zeros(records.shape[1]) + log_evidence
        self.left_out_log_probability = left_out_log_probability

    @property
    def rate_probabilities(self) -> NDArray[np.float64]:
        """The probability v_k of each rate."""
        return np.exp(log_softmax(self.evidence))

    @property
    def is_gaussian(self) -> bool:  # type: ignore[override]
        """Whether there is one rate only."""
        return len(self.records) == 1

    is_diagonal = True
    log_evidence: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The Bayes point: the mean over all rates; of a single one, a view of the records."""
        means = self.records[..., MEAN]
        if self.is_gaussian:
            return means[0].T
        return np.einsum("k,ktd->dt", self.rate_probabilities, means)

    @property
    def factor(self) -> NDArray[np.float64]:
        """Standard deviations (n_tasks, n_coordinates) of the weights, rates included."""
        mean, variance = self.mean.T, self.records[0, ..., VARIANCE]
        if not self.is_gaussian:
            square = self.records[..., VARIANCE] + (self.records[..., MEAN] - mean) ** 2
            variance = np.einsum("k,ktd->td", self.rate_probabilities, square)
        return np.sqrt(variance)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma of each task, (n_tasks, n_coordinates, n_coordinates), zero off the diagonal."""
        return np.stack([np.diag(scale**2) for scale in self.factor])

    def moments(self, Z: Any) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs at each rate, shapes (n_rates, n, n_tasks)."""
        if issparse(Z):
            rows, rates = (Z.indptr, Z.indices, Z.data, 0.0), (1.0,) * len(self.records)
            found = _core.filters.all_outputs(rows, self.by_weight(), rates).transpose(2, 1, 0)
            return found[: len(rates)], found[len(rates) :]
        means, variances = (self.records[..., place] for place in (MEAN, VARIANCE))
        return np.moveaxis(means @ Z.T, 1, 2), np.moveaxis(variances @ np.square(Z).T, 1, 2)

    def by_weight(self) -> NDArray[np.float64]:
        """The records as compiled loops take them: (n_coordinates, 4, n_rates) in a row of a task.

        All rates of a weight are side by side, half the time: so ``records`` lies in memory.
        """
        records = self.records.transpose(1, 2, 3, 0)
        if not records.flags.c_contiguous:  # as read from a file
            records = records.copy()
            self.records = records.transpose(3, 0, 1, 2)
        return records.reshape(len(records), -1)

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs, over and within the rates."""
        means, variances = self.moments(Z)
        if self.is_gaussian:
            return means[0], variances[0]
        mean = self._mixed(means)
        return mean, self._mixed(variances + (means - mean) ** 2)

    def votes(self, Z: NDArray) -> NDArray:
        """The mean over rates of 2 Phi(m / s) - 1."""
        means, variances = self.moments(Z)
        return self._mixed(2 * ndtr(means / np.sqrt(np.maximum(variances, TINY))) - 1)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers: a rate, and then each weight by itself."""
        rates = rng.choice(len(self.records), size=n, p=self.rate_probabilities)
        normal = rng.standard_normal((n, *self.records.shape[1:3]))
        chosen = self.records[rates]
        drawn = chosen[..., MEAN] + np.sqrt(chosen[..., VARIANCE]) * normal
        return np.moveaxis(drawn, (0, 1), (1, 2))

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Probit scores of the mixture, recalibrated; for votes, those of the share of "yes"."""
        means, variances = self.moments(Z)
        if rule == "vote":
            scores = means / np.sqrt(np.maximum(variances, TINY))
            return (
                scores[0] if self.is_gaussian else self.score(log_ndtr(scores), log_ndtr(-scores))
            )
        scores = self.likelihood.predictive(means, variances)
        if self.is_gaussian:
            return scores[0]
        return self.recalibrated(self.score(*self.likelihood.log_predictive(scores)))

    def recalibrated(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of E Phi(a z + b)."""
        if self.calibration is None:
            return z
        a, b, aa, ab, _, bb = self.calibration.T
        z = np.clip(z, -STEEPEST, STEEPEST)
        return (a * z + b) / np.sqrt(1 + aa * z**2 + 2 * ab * z + bb)

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(+-decision); with one rate, the likelihood's."""
        if rule == "vote" or not self.is_gaussian:
            return log_ndtr(decision), log_ndtr(-decision)
        return self.likelihood.log_predictive(decision)

    def prune(self, least: float) -> int:
        r"""Return weights that have learned less than ``least`` nats to their prior, in place.

        What a weight has learned is the Kullback-Leibler divergence D of its posterior from its
        prior. With :math:`D \le \epsilon` for every weight of a row of L entries, whose output has
        the variance V before any label, the output's mean changes by at most
        :math:`\sqrt{2 \epsilon L V}`, and its variance by at most :math:`2 \sqrt{\epsilon} V`.
        Files of models with many weights at their prior compress well.

        Parameters
        ----------
        least : float
            Nats, summed over the rates; not negative.

        Returns
        -------
        int
            How many weights, of all tasks, were returned to their prior; not counting those that
            had learned nothing.
        """
        if not least >= 0:
            raise ValueError(f"least must be a number that is not negative. Got {least!r}.")
        records, prior = self.records, np.broadcast_to(self.prior_mean, self.records.shape[1:3])
        ratio = records[..., VARIANCE] * records[..., PRIOR]
        away = (records[..., MEAN] - prior) ** 2 * records[..., PRIOR]
        learned = 0.5 * (away + ratio - 1 - np.log(ratio)).sum(axis=0)
        idle = learned <= least
        n_pruned = int((idle & (learned > 0)).sum())
        for record in records:
            record[idle, MEAN] = prior[idle]
            record[idle, VARIANCE] = 1 / record[idle, PRIOR]
            record[idle, VISITED] = 0
        return n_pruned

    def _mixed(self, values: NDArray) -> NDArray:
        return np.einsum("k,k...->...", self.rate_probabilities, values)

    def score(self, log_yes: NDArray, log_no: NDArray) -> NDArray:
        """Probit scores of the mixture, without cancellation on either side."""
        v = log_softmax(self.evidence)[:, None, None]
        yes, no = (np.logaddexp.reduce(v + log_p, axis=0) for log_p in (log_yes, log_no))
        return np.where(yes < no, ndtri_exp(np.minimum(yes, 0)), -ndtri_exp(np.minimum(no, 0)))

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.records, "ktdr")
        need(sizes["r"] == 4, "its records do not have four numbers")
        need((self.records[..., [VARIANCE, PRIOR]] > 0).all(), "a variance is not positive")
        need((self.records[..., VISITED] >= 0).all(), "a weight was visited before the first row")
        integer(self.n_rows, 0)
        need((self.records[..., VISITED] <= self.n_rows).all(), "a visit is in the future")
        shape = finite(self.prior_mean, "td")
        fits = tuple(shape.values()) in {(1, 1), (sizes["t"], sizes["d"])}
        need(fits, "the mean of its prior has the wrong shape")
        finite(self.evidence, "k", k=sizes["k"])
        if self.calibration is not None:
            finite(self.calibration, "tc", t=sizes["t"], c=6)
        finite(self.log_evidence, "t", t=sizes["t"])
        if self.left_out_log_probability is not None:
            shaped(self.left_out_log_probability, "f", "nt", t=sizes["t"])
        need(isinstance(self.likelihood, Likelihood), "its likelihood is not a Likelihood")
