"""Posteriors in several spaces side by side, and tasks that have a space each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from bayespoint.posteriors.base import Posterior
from bayespoint.tools.attributes import need


class StackedPosterior(Posterior):
    """Members with coordinates each, those of a :class:`~bayespoint.spaces.StackedSpace`.

    Attributes
    ----------
    members : sequence of Posterior
        The posteriors.
    sizes : sequence of int
        Number of coordinates of each.
    """

    members: Sequence[Posterior]
    sizes: Sequence[int]

    def __post_init__(self) -> None:
        self.likelihood = self.members[0].likelihood

    @property
    def is_diagonal(self) -> bool:  # type: ignore[override]
        """Whether a member has independent weights."""
        return any(member.is_diagonal for member in self.members)

    def parts(self, Z: Any) -> Iterable[tuple[Posterior, Any]]:
        """Each member with the coordinates that belong to it, which may come one by one."""
        if not hasattr(Z, "shape"):
            return zip(self.members, Z, strict=True)
        ends = np.cumsum(self.sizes).tolist()
        sizes = zip(self.members, self.sizes, ends, strict=True)
        return [(member, Z[:, end - size : end]) for member, size, end in sizes]

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        need(len(self.members) > 0, "it has no members")
        need(all(isinstance(one, Posterior) for one in self.members), "a member is no Posterior")


@dataclass(eq=False, repr=False)
class SeparatePosterior(StackedPosterior):
    r"""Tasks that are independent, each in a space of its own.

    Parameters
    ----------
    members : sequence of Posterior
        A Gaussian posterior of each task, of equal likelihoods.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import ProbitLikelihood
    >>> from bayespoint.posteriors import GaussianPosterior, SeparatePosterior
    >>> posterior = SeparatePosterior([
    ...     GaussianPosterior(np.full((size, 1), 2.0), np.eye(size)[None], ProbitLikelihood(1.0))
    ...     for size in (1, 2)
    ... ])
    >>> posterior.latent(np.array([[1.0, 1.0, 1.0]]))
    (array([[2., 4.]]), array([[1., 2.]]))
    """

    members: Sequence[Posterior]
    is_gaussian = True

    @property
    def sizes(self) -> list[int]:  # type: ignore[override]
        """Number of coordinates of each task."""
        return [len(member.mean) for member in self.members]

    @property
    def left_out_log_probability(self) -> Any:  # type: ignore[override]
        """The logarithms of p(label of a training point | all other labels), or None."""
        return self._beside("left_out_log_probability")

    @property
    def log_evidence(self) -> Any:  # type: ignore[override]
        """The logarithm of p(labels) of each task, or None."""
        return self._beside("log_evidence")

    def _beside(self, name: str) -> NDArray[np.float64] | None:
        found: list[Any] = [getattr(member, name) for member in self.members]
        return None if any(one is None for one in found) else np.hstack(found)

    @property
    def mean(self) -> NDArray:
        """The Bayes point, 0 in the coordinates of other tasks."""
        return block_diag(*[member.mean for member in self.members])

    def latent(self, Z: Any) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs of each task."""
        both = [np.stack(member.latent(part)) for member, part in self.parts(Z)]
        mean, variance = np.concatenate(both, axis=2)
        return mean, variance

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers, independent between tasks."""
        drawn = np.zeros((sum(self.sizes), n, len(self.members)))
        for task, (member, own) in enumerate(self.parts(drawn.swapaxes(0, 1))):
            own[:, :, task] = member.draw(n, rng)[:, :, 0].T
        return drawn

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Scores of each task."""
        return np.hstack([member.decision(part, rule) for member, part in self.parts(Z)])

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes) and p(no), by the likelihood that all tasks have."""
        return self.members[0].log_probability(decision, rule)
