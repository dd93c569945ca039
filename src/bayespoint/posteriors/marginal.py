"""The posterior given by the max-marginal of every weight."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import entr, log_ndtr

from bayespoint.exceptions import CutMarginalsWarning, warn_user
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.likelihoods.base import HARD
from bayespoint.posteriors.base import Posterior
from bayespoint.tools.attributes import finite, number, shaped
from bayespoint.tools.numbers import TINY

CUT = 0.01  # height of a marginal at an end of its grid at which the mean is off by about 1 %
CERTAIN = 1e-100  # of sigma, replaces a standard deviation of 0: its inverse has a finite square
SMALLEST = 0.1  # shrinkage: fewer points than weights say nothing about it
FARTHEST = 1e150  # standard deviations, likewise


class MarginalPosterior(Posterior):
    r"""Max-marginals :math:`b_d(w) = \max_{w_{-d}} \log P(w | Z) / \beta` of each weight.

    A marginal is a histogram: bin k of weight d has the mass
    :math:`p_{dk} \propto h_{dk} \exp(\beta b_d(w_{dk}))`, where :math:`h_{dk}` is half the distance
    between its neighbours (the trapezoid rule). Everything else follows from these masses, with
    the weights treated as independent:

    * ``mean``: the Bayes point, :math:`\bar w_d = \sum_k p_{dk} w_{dk}`; for ``beta=inf`` the mode;
    * ``latent``: :math:`f(x) = z^T w` has mean :math:`m = z^T \bar w` and variance
      :math:`s^2 = \sum_d z_d^2 \mathrm{var}\, w_d`;
    * ``"bayes_point"``: the decision is :math:`m / \sigma`, with the sign of m as in the paper, and
      :math:`\Phi(m / \sigma)` is the probability of "yes". One :math:`\sigma` per task maximises
      the likelihood of the training labels, and of one more point of typical size on the wrong
      side; it is then divided by the shrinkage of ``shrinkage``, since the weights have learned
      from these labels. The spread of the max-marginals is not used: it depends on beta and on the
      number of passes;
    * ``"vote"``: the decision is m / s, and :math:`\Phi(m / s)` is the share of classifiers that
      say "yes" if f is nearly Gaussian, as sums of many weights are.

    Both rules have the sign of m.

    Parameters
    ----------
    grids, log_marginals : ndarray of shape (n_tasks, n_coordinates, n_bins)
        Ascending weights :math:`w_{dk}`, and :math:`b_d` at these, with a maximum of 0.
    beta : float
        Sharpness :math:`\beta`; may be inf.
    Z : ndarray of shape (n_points, n_coordinates)
        The training points, from which :math:`\sigma` is computed.
    targets : ndarray of shape (n_points, n_tasks)
        Their labels, -1 and +1.
    weight : ndarray of shape (n_points,), optional
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import MarginalPosterior
    >>> w = np.linspace(0, 16, 1601)
    >>> gamma = (2 * np.log(w + 1e-9) - w - 2 * np.log(2) + 2)[None, None]  # mode 2, mean 3
    >>> posterior = MarginalPosterior(w[None, None], gamma, 1.0, np.ones((1, 1)), np.ones((1, 1)))
    >>> posterior.means([1.0, 4.0, np.inf]).round(2).ravel()
    array([3.  , 2.25, 2.  ])
    >>> posterior.skew.round(1).item()
    1.1
    """

    _training: tuple[NDArray, NDArray, NDArray | None]

    def __init__(
        self,
        grids: NDArray[np.float64],
        log_marginals: NDArray[np.float64],
        beta: float,
        Z: NDArray,
        targets: NDArray,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.grids = grids
        self.log_marginals = log_marginals
        self.beta = beta
        self._training = (Z, targets, weight)

    def at(self, beta: float) -> MarginalPosterior:
        """The posterior for another beta, from the same max-marginals."""
        return MarginalPosterior(self.grids, self.log_marginals, float(beta), *self._training)

    def means(self, betas: ArrayLike) -> NDArray[np.float64]:
        """Bayes points for several betas, shape (n_betas, n_coordinates, n_tasks).

        Warns if a beta is so low that the ends of a grid cut off its marginal.
        """
        betas = np.atleast_1d(np.asarray(betas, dtype=np.float64))
        if betas.ndim != 1 or not (betas > 0).all():
            raise ValueError(f"betas must be positive numbers or inf. Got {betas!r}.")
        height = float(heights(betas.min(), self.log_marginals[..., [0, -1]].max()))
        if height > CUT:
            warn_user(CutMarginalsWarning(float(betas.min()), height))
        return np.stack([self._mean(beta) for beta in betas])

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The Bayes point, shape (n_coordinates, n_tasks)."""
        return self._mean(self.beta)

    @property
    def mode(self) -> NDArray[np.float64]:
        """The peaks of the max-marginals, shape (n_coordinates, n_tasks)."""
        return self._mean(np.inf)

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """Variance of each weight, shape (n_coordinates, n_tasks)."""
        return self._central_moment(2)

    @property
    def skew(self) -> NDArray[np.float64]:
        """Skewness of each weight; 0 if its variance is 0."""
        return self._central_moment(3) / np.maximum(self.variance, TINY ** (2 / 3)) ** 1.5

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The sigma of the probabilities, one per task."""
        Z, targets, weight = self._training
        margins = targets * (Z @ self.mean)
        scales = np.array([most_likely_scale(of_task, weight) for of_task in margins.T])
        n_weights = effective_weights(Z, weight)
        tasks = zip((margins / scales).T, targets.T, strict=True)
        return scales / [shrinkage(*task, n_weights, weight) for task in tasks]

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs, with weights treated as independent."""
        return Z @ self.mean, np.square(Z) @ self.variance

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights drawn independently from the histograms."""
        n_tasks, n_coordinates, _ = self.grids.shape
        cumulative = self._masses(self.beta).cumsum(axis=2)
        cumulative /= cumulative[..., -1:]  # the last one is 1, above every random number
        drawn = np.empty((n_coordinates, n, n_tasks))
        for task in range(n_tasks):
            for d in range(n_coordinates):
                bins = np.searchsorted(cumulative[task, d], rng.random(n), side="right")
                drawn[d, :, task] = self.grids[task, d, bins]
        return drawn

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """The output of the Bayes point, over sigma or over the output's standard deviation."""
        if rule == "bayes_point":
            return Z @ self.mean / self.scale
        mean, variance = self.latent(Z)
        return mean / np.maximum(np.sqrt(variance), CERTAIN * self.scale + TINY)

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(decision) and Phi(-decision)."""
        decision = np.clip(decision, -FARTHEST, FARTHEST)
        return log_ndtr(decision), log_ndtr(-decision)

    @cached_property
    def likelihood(self) -> ProbitLikelihood:
        """Probit with the scale of the Bayes point, used for single classifiers as well."""
        return ProbitLikelihood(self.scale)

    def _mean(self, beta: float) -> NDArray[np.float64]:
        return self._expect(self._masses(beta), self.grids)

    def _masses(self, beta: float) -> NDArray[np.float64]:
        """Masses of all bins, shape (n_tasks, n_coordinates, n_bins)."""
        if np.isinf(beta):
            masses = np.zeros_like(self.grids)
            peaks = self.log_marginals.argmax(axis=2)[..., None]
            np.put_along_axis(masses, peaks, 1.0, axis=2)
            return masses
        ends = np.concatenate([self.grids[..., :1], self.grids, self.grids[..., -1:]], axis=2)
        masses = heights(beta, self.log_marginals) * (ends[..., 2:] - ends[..., :-2])
        return masses / masses.sum(axis=2, keepdims=True)

    def _expect(self, masses: NDArray, values: NDArray) -> NDArray[np.float64]:
        return np.einsum("tdk,tdk->dt", masses, values)

    def _central_moment(self, order: int) -> NDArray[np.float64]:
        distances = self.grids - self.mean.T[..., None]
        return self._expect(self._masses(self.beta), distances**order)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.grids, "tdb")
        finite(self.log_marginals, "tdb", **sizes)
        number(self.beta, 0)
        Z, targets, weight = self._training
        n_points = finite(Z, "nd", d=sizes["d"])["n"]
        shaped(targets, "i", "nt", n=n_points, t=sizes["t"])
        if weight is not None:
            finite(weight, "n", n=n_points)


def heights(beta: float, log_marginals: NDArray) -> NDArray[np.float64]:
    """Heights of marginals whose peak has the height 1; never 0."""
    with np.errstate(over="ignore"):  # minus infinity is as good as -700
        return np.exp(np.maximum(beta * log_marginals, -700.0))


def most_likely_scale(
    margins: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> float:
    """The sigma of a probit that maximises the likelihood of the margins and one typical error."""
    copies = np.append(np.ones(len(margins)) if weight is None else weight, 1.0)
    size = np.average(np.abs(margins), weights=copies[:-1])
    if size == 0:
        return HARD
    z = np.append(margins, -size) / size

    def loss(log_scale: float) -> float:
        return -(copies @ log_ndtr(z * np.exp(-log_scale)))

    best = minimize_scalar(loss, bounds=(-6, 3), method="bounded").x
    return float(size * np.exp(best))


def effective_weights(Z: NDArray, weight: NDArray[np.float64] | None) -> float:
    r"""Number of weights, :math:`(\sum_d s_d)^2 / \sum_d s_d^2`.

    With :math:`s_d` the sum of squares of column d: small coordinates count for less than one.
    """
    copies = np.ones(len(Z)) if weight is None else weight
    sizes = copies @ np.square(Z / max(np.abs(Z).max(), TINY))
    return float(sizes.sum() ** 2 / max(sizes @ sizes, TINY))


def shrinkage(
    margins: NDArray[np.float64],
    labels: NDArray,
    n_weights: float,
    weight: NDArray[np.float64] | None = None,
) -> float:
    r"""How much smaller outputs should be on new points, since the weights fit the old ones.

    It is :math:`1 - d / G`, with d weights and G twice the gain in log likelihood of the training
    labels over that of their shares alone (J. C. van Houwelingen and S. le Cessie, Predictive value
    of statistical models, Statistics in Medicine 9, 1990), but at least 0.1.
    """
    copies = np.ones(len(margins)) if weight is None else weight
    share = np.average(labels > 0, weights=copies)
    alone = -copies.sum() * (entr(share) + entr(1 - share))
    gain = 2 * float(copies @ log_ndtr(margins) - alone)
    return max(1 - n_weights / gain, SMALLEST) if gain > 0 else SMALLEST
