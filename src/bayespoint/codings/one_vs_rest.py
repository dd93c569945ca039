"""Several classes: each against the rest, or all in one model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespoint.codings.base import LARGEST, Coding
from bayespoint.likelihoods.base import Kind, log_rest
from bayespoint.likelihoods.quadrature import share_of_largest
from bayespoint.tools.arrays import Array, namespace


class OneVersusRest(Coding):
    r"""Several classes, each separated from all others by one task.

    Task y gives the probability :math:`q_y` of "yes". Exactly one answer can be "yes", so
    :math:`p_y \propto q_y \prod_{z \ne y} (1 - q_z) \propto q_y / (1 - q_y)`. The scores are
    therefore the log-odds of the tasks, and the probabilities are the softmax of the scores.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds; above 1 probabilities are more even.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import OneVersusRest
    >>> coding = OneVersusRest(np.array(["a", "b", "c"]))
    >>> coding.encode(np.array([2]))
    array([[-1, -1,  1]], dtype=int8)
    >>> yes = np.array([[0.5, 0.2, 0.2]])
    >>> coding.probabilities(np.log(yes), np.log1p(-yes)).round(3)
    array([[0.667, 0.167, 0.167]])
    """

    name = "one_vs_rest"
    is_against_rest = True

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """One for each class."""
        return len(self.classes)

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """The class that each task separates from the rest."""
        return [f"{label} against the rest" for label in self.classes]

    def encode(self, codes: NDArray) -> NDArray[np.int8]:
        """+1 in the task of the point's class, -1 in all others."""
        return np.take(2 * np.eye(self.n_tasks, dtype=np.int8) - 1, codes, axis=0)

    def scores(self, decision: Array, log_yes: Array, log_no: Array) -> Array:
        """Log-odds of each class against the rest, comparable between tasks of different scales."""
        return self.log_odds(log_yes, log_no) / self.temperature

    def log_odds(self, log_yes: Array, log_no: Array) -> Array:
        """Log-odds of each class against the rest."""
        return namespace(log_yes).clip(log_yes - log_no, -LARGEST, LARGEST)

    def decide(self, scores: NDArray, rule: str = "bayes_point") -> NDArray[np.intp]:
        """The class of the largest score."""
        return scores.argmax(axis=-1)

    def vote_shares(self, yes: NDArray) -> NDArray:
        """The shares of "yes" to each class, which need not sum to 1."""
        return yes

    def sample_shares(self, outputs: NDArray) -> NDArray[np.float64]:
        """Share of the samples in which each output is the largest."""
        decided = self.decide(outputs)[..., None] == np.arange(self.n_tasks)
        return decided.mean(axis=1)

    def gaussian_shares(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Probability that each of the independent outputs is the largest, by quadrature."""
        return share_of_largest(mean, variance)


class JointCoding(OneVersusRest):
    r"""Several classes, whose outputs belong to one model.

    A posterior gives the probabilities :math:`p_y` of all classes, as "yes". The scores are their
    logarithms over the temperature.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the logarithms; above 1 probabilities are more even.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import JointCoding
    >>> coding = JointCoding(np.array(["a", "b", "c"]))
    >>> p = np.array([[0.5, 0.3, 0.2]])
    >>> coding.probabilities(np.log(p), np.log1p(-p))
    array([[0.5, 0.3, 0.2]])
    """

    name = "joint"
    kind: ClassVar[Kind] = "class"
    is_against_rest = False

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """One for all."""
        return ["all classes"]

    def log_odds(self, log_yes: Array, log_no: Array) -> Array:
        """Log-probabilities of the classes."""
        return namespace(log_yes).clip(log_yes, -LARGEST, None)

    def left_out(self, log_probability: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of each class and of all others, given all other labels."""
        log_p = np.minimum(log_probability, 0.0)
        return log_p, log_rest(log_p)

    def answers_of(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of each class and of all others; decisions are the former."""
        return decision, log_rest(decision)

    def right_answers(self, probabilities: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """The logarithms of the probabilities."""
        return np.log(probabilities)
