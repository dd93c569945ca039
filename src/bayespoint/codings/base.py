"""The interface of a coding, and that of two classes, which all others have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax, ndtr

from bayespoint.likelihoods.base import Kind, log_rest
from bayespoint.tools.arrays import Array, namespace, softmax
from bayespoint.tools.attributes import need, number, shaped
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import EXTENDING, unstable

TEMPERATURES = (1e-6, 1e6)  # that are allowed: quotients of log-odds stay finite
LARGEST = 1e300  # bound on log-odds, so that their differences stay finite


CODINGS: dict[str, type[Coding]] = {}  # those that codings/__init__.py lists, by name


@unstable(EXTENDING)
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
    name : str
        Its name as ``multi_class`` of the classifier.
    kind : {"sign", "class", "interval"}
        What labels of its tasks are: signs of an output ("sign", labels -1 and +1), the class of
        the largest of several outputs ("class"), or a place between thresholds ("interval").
        Engines declare the kinds from which they learn, and a likelihood explains one kind.
    n_tasks : int
        Number of binary tasks, or of outputs of one model.
    task_names : list of str
        What each task separates.
    apart : {"sign", "class", "interval"}
        The kind of its labels where single columns of them are learned, to compare kernels.
    is_against_rest : bool
        Whether each task separates one class from all others, so that it can have its own kernel.
    is_exclusive : bool
        Whether exactly one of several tasks says "yes".
    is_ordered : bool
        Whether it needs an order of the classes.
    in_batches : bool
        Whether it can be learned from some rows at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> make_coding(np.array(["a", "b", "c"])).task_names
    ['a against the rest', 'b against the rest', 'c against the rest']
    """

    name: ClassVar[str]
    kind: ClassVar[Kind] = "sign"
    apart: ClassVar[Kind] = "sign"
    is_against_rest: ClassVar[bool] = False
    is_exclusive: ClassVar[bool] = True
    is_ordered: ClassVar[bool] = False
    in_batches: ClassVar[bool] = True
    n_tasks: int
    task_names: list[str]

    def __init__(self, classes: NDArray, temperature: float = 1.0) -> None:
        self.classes = classes
        self.temperature = temperature

    @property
    def setting(self) -> Any:
        """The ``multi_class`` of a classifier that has this coding."""
        return self.name

    @abstractmethod
    def encode(self, codes: NDArray) -> NDArray[np.int8]:
        """Labels -1, +1 of all tasks, shape (n, n_tasks), from the class index of each point."""

    @abstractmethod
    def scores(self, decision: NDArray, log_yes: NDArray, log_no: NDArray) -> NDArray:
        """Decision scores, shape (n, n_tasks), from the decision and probabilities of each task."""

    @abstractmethod
    def decide(self, scores: NDArray, rule: str = "bayes_point") -> NDArray[np.intp]:
        """Class index of each point, from its scores or from the outputs of a single classifier.

        ``rule`` is the classifier's ``decision``.
        """

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
    def log_odds(self, log_yes: Array, log_no: Array) -> Array:
        """Scores of all classes, shape (n, n_classes); their softmax at temperature 1 is p.

        Arguments are arrays, tensors, or nodes of an ONNX graph.
        """

    def probabilities(
        self, log_yes: Array, log_no: Array, *, temperature: float | None = None
    ) -> Array:
        """Probabilities of the classes, from the log-probabilities of each task."""
        log_odds = self.log_odds(log_yes, log_no)
        return softmax(log_odds / (temperature or self.temperature))

    def log_probabilities(self, log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
        """Their logarithms."""
        return log_softmax(self.log_odds(log_yes, log_no) / self.temperature, axis=-1)

    def at(self, temperature: float) -> Self:
        """The same at another temperature."""
        return type(self)(self.classes, temperature)

    def decision_of(self, probabilities: NDArray) -> NDArray[np.float64]:
        """Decisions of the tasks whose answers have these probabilities of the classes."""
        return np.log(np.maximum(probabilities, TINY))

    def answers_of(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of yes and no of each task, from decisions that are log-odds."""
        return log_expit(decision), log_expit(-decision)

    def right_answers(self, probabilities: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """What :meth:`left_out` takes, from leave-one-out probabilities of the classes."""
        return log_expit(self.encode(codes) * self.decision_of(probabilities))

    def onnx_decision(self, log_probabilities: Any) -> Any:
        """The :meth:`decision_of` logarithms of probabilities, as nodes of an ONNX graph."""
        return log_probabilities

    def onnx_class(self, decision: Any, log_odds: Any, rule: str = "bayes_point") -> Any:
        """The index of the predicted class, as a node of an ONNX graph."""
        return log_odds.argmax()

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

    def task_of(self, code: int) -> tuple[int, float] | None:
        """The task that speaks for a class, and 1 if its "yes" does, else -1; None if none does."""
        return code, 1.0

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        (n_classes,) = shaped(self.classes, "biufUO", "c").values()
        need(n_classes >= 2, "it has fewer than two classes")
        need((self.classes[:-1] < self.classes[1:]).all(), "its classes are not sorted")
        need((n_classes == 2) == (self.name == "binary"), "it does not match its classes")
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

    name = "binary"
    n_tasks = 1

    @property
    def setting(self) -> str:
        """Any; for two classes all are the same."""
        return "one_vs_rest"

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

    def decide(self, scores: NDArray, rule: str = "bayes_point") -> NDArray[np.intp]:
        """The second class where the score is positive."""
        return (scores[..., 0] > 0).astype(np.intp)

    def log_odds(self, log_yes: Array, log_no: Array) -> Array:
        """The logarithms of p(no) and p(yes)."""
        xp = namespace(log_yes)
        return xp.clip(xp.concatenate([log_no, log_yes], axis=-1), -LARGEST, None)

    def vote_shares(self, yes: NDArray) -> NDArray:
        """The shares of "no" and "yes"."""
        return np.concatenate([1 - yes, yes], axis=-1)

    def sample_shares(self, outputs: NDArray) -> NDArray[np.float64]:
        """Shares of the signs; an output of 0 counts as half a vote for each class."""
        return self.vote_shares((1 + np.sign(outputs).mean(axis=1)) / 2)

    def gaussian_shares(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Phi of the mean over the standard deviation."""
        return self.vote_shares(ndtr(mean / np.sqrt(np.maximum(variance, TINY))))

    def decision_of(self, probabilities: NDArray) -> NDArray[np.float64]:
        """Log-odds of the second class."""
        log_p = super().decision_of(probabilities)
        return log_p[:, 1:] - log_p[:, :1]

    def task_of(self, code: int) -> tuple[int, float]:
        """The only task, whose "yes" is the second class."""
        return 0, 1.0 if code else -1.0

    def onnx_decision(self, log_probabilities: Any) -> Any:
        """Log-odds of the second class."""
        return log_probabilities.columns(1, 2) - log_probabilities.columns(0, 1)

    def onnx_class(self, decision: Any, log_odds: Any, rule: str = "bayes_point") -> Any:
        """The second class where the decision is positive."""
        return decision.is_positive().reshape(-1).as_integers()


def make_coding(
    classes: NDArray,
    temperature: float = 1.0,
    *,
    name: str = "one_vs_rest",
    order: NDArray | None = None,
) -> Coding:
    """The coding of these classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds of the classes.
    name : {"one_vs_rest", "joint", "ordinal", "cumulative"}, default="one_vs_rest"
        How more than two classes are learned.
    order : ndarray of shape (n_classes,), optional
        Indices of ordered classes from the lowest to the highest, if that is not their own order.

    Returns
    -------
    Coding
        Binary for two classes; for more, the named one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> make_coding(np.array([0, 1])).n_tasks
    1
    >>> make_coding(np.array([0, 1, 2]), name="joint").task_names
    ['all classes']
    """
    if len(classes) == 2:
        return BinaryCoding(classes, temperature)
    return CODINGS[name](classes, temperature, *(() if order is None else (order,)))
