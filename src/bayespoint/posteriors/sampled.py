"""The posterior of independent samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.likelihoods.probit import HARD
from bayespoint.posteriors.samples import Samples
from bayespoint.state import finite, integer, need, shaped

ENOUGH = 10_000  # points to learn a scale from; more would change its third digit


@dataclass(frozen=True)
class TrainingMoments:
    r"""Spread of the samples and noise of the labels, measured at the training points.

    The margin of a training point is its label times its output
    :math:`f_n(x_i) = \langle w_n, \phi(x_i) \rangle / |w_n| |\phi(x_i)|`, without the term of the
    point's coefficient, because a new point has none. The ridge gives every point a private
    feature, whose share of the output is the noise of its label.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    margins : ndarray of shape (m, n_tasks)
        Margins, summed over the samples.
    squares : ndarray of shape (n_tasks,)
        Mean squares of the margins over the points, summed over the samples.
    noise : ndarray of shape (n_tasks,)
        Mean squares of the outputs of the private features, summed over the samples.
    """

    n_samples: int
    margins: NDArray[np.float64]
    squares: NDArray[np.float64]
    noise: NDArray[np.float64]

    def __add__(self, other: TrainingMoments) -> TrainingMoments:
        return TrainingMoments(
            self.n_samples + other.n_samples,
            self.margins + other.margins,
            self.squares + other.squares,
            self.noise + other.noise,
        )

    @property
    def noise_variance(self) -> NDArray[np.float64]:
        """Variance of the label noise, one number per task."""
        return self.noise / self.n_samples

    @property
    def model_variance(self) -> NDArray[np.float64]:
        """Variance of an output over the samples, one number per task.

        A single sample has no variance. Its mean square output is used instead, which is rather
        too large than too small.
        """
        n = self.n_samples
        if n == 1:
            return self.squares
        variance = self.squares / n - ((self.margins / n) ** 2).mean(axis=0)
        return np.maximum(variance, 0) * n / (n - 1)

    @property
    def margin_scale(self) -> NDArray[np.float64]:
        r"""The :math:`\sigma` of each task that maximises :math:`\prod_i \Phi(\bar m_i / \sigma)`.

        One more point, of typical size and on the wrong side, is added (Laplace's rule of
        succession), so that positive margins alone do not make a classifier certain.
        """
        thinned = self.margins[:: -(-len(self.margins) // ENOUGH)] / self.n_samples
        return np.array([most_likely_scale(margins) for margins in thinned.T])

    @property
    def predictive_scale(self) -> NDArray[np.float64]:
        """Scale of the probit that turns mean outputs into probabilities, one number per task.

        The smaller of two estimates, each of which can be too large. The first, model plus noise
        variance, takes all slack for noise, even where it was not needed. The second uses margins
        without the point's own term, which look worse than those of a new point.
        """
        total = np.sqrt(self.model_variance + self.noise_variance)
        # Margins far below the noise carry no information (isolated points, a narrow kernel).
        size = np.abs(self.margins).mean(axis=0) / self.n_samples
        return np.where(size > 0.01 * total, np.minimum(total, self.margin_scale), total)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        integer(self.n_samples, 1)
        sizes = finite(self.margins, "mt")
        finite(self.squares, "t", t=sizes["t"])
        finite(self.noise, "t", t=sizes["t"])


def most_likely_scale(
    margins: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> float:
    """The sigma of a probit that maximises the likelihood of the margins and one typical error."""
    copies = np.append(np.ones(len(margins)) if weight is None else weight, 1.0)
    size = np.average(np.abs(margins), weights=copies[:-1])
    if size == 0:
        return HARD
    z = np.append(margins, -size) / size
    loss = minimize_scalar(
        lambda log_scale: -(copies @ log_ndtr(z * np.exp(-log_scale))),
        bounds=(-6, 3),
        method="bounded",
    )
    return float(size * np.exp(loss.x))


class SampledPosterior(Samples):
    r"""Equally likely classifiers :math:`w_1 \dots w_N` of unit length.

    A rule turns the N outputs :math:`f_n(x)` into one score:

    * ``"bayes_point"``: their mean, which is the output of the Bayes point;
    * ``"vote"``: the mean of their signs, with ties broken by the mean output.

    Probabilities of the Bayes point are :math:`\Phi(\bar f(x) / \sigma)`, with one :math:`\sigma`
    per task, learned from the training points (``TrainingMoments``). A single :math:`\sigma` keeps
    the order of the outputs, and gives a lower log-loss on held-out data than the spread of the N
    outputs at each point, which is noisy (``benchmarks/probabilities.py``). Votes give
    :math:`(n_+ + 1/2) / (N + 1)`.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_samples, n_tasks)
        The classifiers.
    moments : TrainingMoments
        Statistics of their outputs at the training points.
    support : ndarray of int, optional
        Training points to which the coordinates belong, ascending.

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

    def __init__(
        self,
        weights: NDArray,
        moments: TrainingMoments,
        support: NDArray[np.int64] | None = None,
    ) -> None:
        self.weights = weights
        self.moments = moments
        self.support = support

    @classmethod
    def join(cls, parts: Sequence[SampledPosterior]) -> SampledPosterior:
        """All samples of several posteriors on the same training set, in order."""
        supports = [part.support for part in parts if part.support is not None]
        support = np.unique(np.concatenate(supports))
        n_tasks = parts[0].weights.shape[2]
        weights = np.zeros((len(support), sum(part.n_samples for part in parts), n_tasks))
        begin = 0
        for part, of_part in zip(parts, supports, strict=True):
            end = begin + part.n_samples
            weights[np.searchsorted(support, of_part), begin:end] = part.weights
            begin = end
        moments = sum((part.moments for part in parts[1:]), start=parts[0].moments)
        return cls(weights, moments, support)

    @cached_property
    def likelihood(self) -> ProbitLikelihood:  # type: ignore[override]
        """Probit with the label noise of the ridge; without a ridge the sign decides."""
        return ProbitLikelihood(np.sqrt(self.moments.noise_variance))

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The sigma of the probabilities, one per task."""
        return self.moments.predictive_scale

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Mean output or mean vote."""
        if rule == "bayes_point":
            return Z @ self.mean.astype(Z.dtype, copy=False)
        outputs = self.outputs(Z)
        # Votes differ by steps of 2/N and outputs are at most 1 in size (new points of a
        # precomputed kernel excepted, hence the clip), so this only breaks ties.
        tie_break = np.clip(outputs, -1, 1).mean(axis=1) / self.n_samples
        return np.sign(outputs).mean(axis=1) + tie_break

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Probit of the mean output, or share of the votes."""
        if rule == "bayes_point":
            return ProbitLikelihood(self.scale).log_likelihood(decision)
        return self.log_vote_shares(decision)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.weights, "dst")
        if self.support is not None:
            shaped(self.support, "iu", "d", d=sizes["d"])
            need((np.diff(self.support) > 0).all(), "its training points are not sorted")
            need(sizes["d"] == 0 or self.support[0] >= 0, "a training point is negative")
        need(isinstance(self.moments, TrainingMoments), "its moments are not TrainingMoments")
        shaped(self.moments.squares, "f", "t", t=sizes["t"])
