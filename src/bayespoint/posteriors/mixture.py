"""Mixtures of posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.codings import Coding
from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.stacked import StackedPosterior
from bayespoint.tools.attributes import finite, integer, need, optional


@dataclass(eq=False, repr=False)
class MixturePosterior(StackedPosterior):
    r"""A mixture :math:`\sum_k v_k P_k` of posteriors in several spaces.

    A classifier is drawn by drawing a member k with probability :math:`v_k`, and then a classifier
    of this member. Probabilities of the classes are the same average of those of the members, each
    at its own temperature.

    Coordinates are those of a :class:`~bayespoint.spaces.StackedSpace`.

    Parameters
    ----------
    weights : ndarray of shape (n_members,)
        The probabilities :math:`v_k`.
    members : sequence of Posterior
        The posteriors, of equal likelihoods.
    codings : sequence of Coding
        How the answers of each member become probabilities of the classes.
    sizes : sequence of int
        Number of coordinates of each member.
    left_out_log_probability : ndarray of shape (n_points, n_tasks), optional
        log p(label of a training point | all other labels).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> from bayespoint.likelihoods import ProbitLikelihood
    >>> from bayespoint.posteriors import GaussianPosterior, MixturePosterior
    >>> one, other = (
    ...     GaussianPosterior(np.array([[mean]]), np.ones((1, 1, 1)), ProbitLikelihood(1.0))
    ...     for mean in (0.0, 2.0)
    ... )
    >>> coding = make_coding(np.array([0, 1]))
    >>> posterior = MixturePosterior(np.array([0.5, 0.5]), [one, other], [coding] * 2, [1, 1])
    >>> posterior.latent(np.array([[1.0, 1.0]]))  # the means differ by 1 from their mean
    (array([[1.]]), array([[2.]]))
    """

    weights: NDArray[np.float64]
    members: Sequence[Posterior]
    codings: Sequence[Coding]
    sizes: Sequence[int]
    _: KW_ONLY
    left_out_log_probability: NDArray[np.float64] | None = None

    @property
    def mean(self) -> NDArray:
        """The Bayes point: the weighted means of the members, one after another."""
        parts = zip(self.weights, self.members, strict=True)
        return np.concatenate([weight * member.mean for weight, member in parts])

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs, over and within the members."""
        both = [member.latent(part) for member, part in self.parts(Z)]
        means, variances = (np.stack(moment) for moment in zip(*both, strict=True))
        mean = self._mixed(means)
        return mean, self._mixed(variances + (means - mean) ** 2)

    def votes(self, Z: NDArray) -> NDArray:
        """The mean of the members' votes."""
        return self._mixed([member.votes(part) for member, part in self.parts(Z)])

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers, each of one member and 0 in the others' coordinates."""
        # One by one: numbers of draws by a binomial law would change where rounding breaks a tie.
        owner = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(n), side="right")
        count = np.bincount(owner, minlength=len(self.weights))
        drawn = np.zeros((sum(self.sizes), n, self.members[0].mean.shape[1]))
        ends = np.cumsum(self.sizes)
        for k, (member, end, size) in enumerate(zip(self.members, ends, self.sizes, strict=True)):
            if count[k]:
                drawn[end - size : end, owner == k] = member.draw(int(count[k]), rng)
        return drawn

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """The log-odds of two classes; the log-probabilities of several."""
        answers = []
        for (member, part), coding in zip(self.parts(Z), self.codings, strict=True):
            decision = member.decision(part, rule)
            answers.append(coding.probabilities(*member.log_probability(decision, rule)))
        return self.codings[0].decision_of(self._mixed(answers))

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """The answers whose log-odds, or log-probabilities, are the decision."""
        return self.codings[0].answers_of(decision)

    def class_shares(self, Z: NDArray, coding: Coding) -> NDArray[np.float64]:
        """The mean of the members' shares."""
        return self._mixed([member.class_shares(part, coding) for member, part in self.parts(Z)])

    def margins(self, outputs: NDArray, drawn: NDArray) -> NDArray:
        """What the likelihoods take, of the member that each classifier was drawn from."""
        owner = np.argmax([one.any(axis=(1, 2)) for _, one in self.parts(drawn.swapaxes(0, 1))], 0)
        own = [one.margins(outputs[:, owner == k], drawn) for k, one in enumerate(self.members)]
        order = np.argsort(owner, kind="stable")
        return np.concatenate(own, axis=1)[:, np.argsort(order)]

    def _mixed(self, values: Sequence[NDArray] | NDArray) -> NDArray:
        return np.einsum("k,k...->...", self.weights, np.asarray(values))

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        super().check_state()
        n_members = len(self.members)
        need(all(isinstance(one, Coding) for one in self.codings), "a coding is no Coding")
        need(len(self.codings) == len(self.sizes) == n_members, "its parts differ in number")
        for size in self.sizes:
            integer(size, 1)
        finite(self.weights, "k", k=n_members)
        need((self.weights >= 0).all(), "a weight is negative")
        optional(self.left_out_log_probability, "nt")
