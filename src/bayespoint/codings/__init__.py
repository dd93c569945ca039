"""Codings: classes as binary tasks, and the answers of the tasks as classes."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, ndtr, softmax

from bayespoint.likelihoods.quadrature import TINY, log_rest, share_of_largest
from bayespoint.tools.state import need, number, shaped

__all__ = ["BinaryCoding", "Coding", "JointCoding", "OneVersusRest", "make_coding"]

TEMPERATURES = (1e-6, 1e6)  # that are allowed: quotients of log-odds stay finite
LARGEST = 1e300  # bound on log-odds, so that their differences stay finite


class Coding(ABC):
    """How several classes are reduced to binary tasks.

    All predictions follow one rule: :meth:`decide` takes the class with the largest of the
    :meth:`scores`, and :meth:`probabilities` have the order of the scores. So the predicted class
    is always the most probable one. The last axis of an array is the axis of the tasks, or of the
    classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds before they become probabilities: above 1 these are less certain.

    Attributes
    ----------
    n_tasks : int
        Number of binary tasks, or of outputs of one model.
    is_joint : bool
        Whether the outputs of several classes belong to one model.
    task_names : list of str
        What each task separates.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> make_coding(np.array(["a", "b", "c"])).task_names
    ['a against the rest', 'b against the rest', 'c against the rest']
    """

    n_tasks: int
    task_names: list[str]
    is_joint = False

    def __init__(self, classes: NDArray, temperature: float = 1.0) -> None:
        self.classes = classes
        self.temperature = temperature

    @abstractmethod
    def encode(self, codes: NDArray) -> NDArray[np.int8]:
        """Labels -1, +1 of all tasks, shape (n, n_tasks), from the class index of each point."""

    @abstractmethod
    def scores(self, decision: NDArray, log_yes: NDArray, log_no: NDArray) -> NDArray:
        """Decision scores, shape (n, n_tasks), from the decision and probabilities of each task."""

    @abstractmethod
    def decide(self, scores: NDArray) -> NDArray[np.intp]:
        """Class index of each point, from its scores or from the outputs of a single classifier."""

    @abstractmethod
    def vote_shares(self, yes: NDArray) -> NDArray:
        """Share of the classifiers that say yes to each class, from the shares of the tasks."""

    @abstractmethod
    def sample_shares(self, outputs: NDArray) -> NDArray[np.float64]:
        """Share of the classifiers that predict each class, from outputs (n, N, n_tasks)."""

    @abstractmethod
    def gaussian_shares(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Share of the classifiers that predict each class, if outputs are Gaussian."""

    @abstractmethod
    def log_odds(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """Scores of all classes, shape (n, n_classes); their softmax at temperature 1 is p."""

    def probabilities(
        self, log_yes: NDArray, log_no: NDArray, *, temperature: float | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of the classes, from the log-probabilities of each task."""
        log_odds = self.log_odds(log_yes, log_no)
        return softmax(log_odds / (temperature or self.temperature), axis=-1)

    def log_probabilities(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """Their logarithms."""
        return log_softmax(self.log_odds(log_yes, log_no) / self.temperature, axis=-1)

    def left_out(self, log_probability: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of yes and no of each point and task, given all other labels.

        Parameters
        ----------
        log_probability : ndarray of shape (n, n_tasks)
            log p(label of a point | all other labels) in each task.
        codes : ndarray of shape (n,)
            Class index of each point.
        """
        right = np.minimum(log_probability, 0.0)
        wrong = log_rest(right)
        is_yes = self.encode(codes) > 0
        return np.where(is_yes, right, wrong), np.where(is_yes, wrong, right)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        (n_classes,) = shaped(self.classes, "biufUO", "c").values()
        need(n_classes >= 2, "it has fewer than two classes")
        need((self.classes[:-1] < self.classes[1:]).all(), "its classes are not sorted")
        expected = make_coding(self.classes, joint=self.is_joint)
        need(type(expected) is type(self), "it does not match its classes")
        number(self.temperature, *TEMPERATURES)


class BinaryCoding(Coding):
    """Two classes, separated by one task; "yes" is the second class.

    Parameters
    ----------
    classes : ndarray of shape (2,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds; above 1 probabilities are more even.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import BinaryCoding
    >>> coding = BinaryCoding(np.array(["ham", "spam"]))
    >>> coding.encode(np.array([0, 1])).ravel()
    array([-1,  1], dtype=int8)
    >>> coding.decide(np.array([[-0.3], [2.0]]))
    array([0, 1])
    """

    n_tasks = 1

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """The two classes."""
        return [f"{self.classes[0]} or {self.classes[1]}"]

    def encode(self, codes: NDArray) -> NDArray[np.int8]:
        """+1 for the second class."""
        return np.where(codes[:, None] == 1, 1, -1).astype(np.int8)

    def scores(self, decision: NDArray, log_yes: NDArray, log_no: NDArray) -> NDArray:
        """The decision of the task, which has the sign and the order of the log-odds."""
        return decision

    def decide(self, scores: NDArray) -> NDArray[np.intp]:
        """The second class where the score is positive."""
        return (scores[..., 0] > 0).astype(np.intp)

    def log_odds(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """The logarithms of p(no) and p(yes)."""
        return np.maximum(np.concatenate([log_no, log_yes], axis=-1), -LARGEST)

    def vote_shares(self, yes: NDArray) -> NDArray:
        """The shares of "no" and "yes"."""
        return np.concatenate([1 - yes, yes], axis=-1)

    def sample_shares(self, outputs: NDArray) -> NDArray[np.float64]:
        """Shares of the signs; an output of 0 counts as half a vote for each class."""
        return self.vote_shares((1 + np.sign(outputs).mean(axis=1)) / 2)

    def gaussian_shares(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Phi of the mean over the standard deviation."""
        return self.vote_shares(ndtr(mean / np.sqrt(np.maximum(variance, TINY))))


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

    def scores(self, decision: NDArray, log_yes: NDArray, log_no: NDArray) -> NDArray:
        """Log-odds of each class against the rest, comparable between tasks of different scales."""
        return self.log_odds(log_yes, log_no) / self.temperature

    def log_odds(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """Log-odds of each class against the rest."""
        return np.clip(log_yes - log_no, -LARGEST, LARGEST)

    def decide(self, scores: NDArray) -> NDArray[np.intp]:
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

    is_joint = True

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """One for all."""
        return ["all classes"]

    def log_odds(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """Log-probabilities of the classes."""
        return np.maximum(log_yes, -LARGEST)

    def left_out(self, log_probability: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of each class and of all others, given all other labels."""
        log_p = np.minimum(log_probability, 0.0)
        return log_p, log_rest(log_p)


def make_coding(classes: NDArray, temperature: float = 1.0, *, joint: bool = False) -> Coding:
    """The coding of these classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds of the classes.
    joint : bool, default=False
        Whether several classes have one model.

    Returns
    -------
    Coding
        Binary for two classes; for more, one against the rest or joint.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> make_coding(np.array([0, 1])).n_tasks
    1
    """
    several = JointCoding if joint else OneVersusRest
    kind = BinaryCoding if len(classes) == 2 else several
    return kind(classes, temperature)
