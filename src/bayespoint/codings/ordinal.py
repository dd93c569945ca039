"""Ordered classes: what their codings share, and that of one output with thresholds."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bayespoint.codings.base import Coding
from bayespoint.codings.one_vs_rest import JointCoding
from bayespoint.likelihoods.base import log_rest
from bayespoint.tools.attributes import need, shaped
from bayespoint.tools.numbers import TINY


def class_order(given: Any, y: Any, classes: NDArray) -> NDArray[np.intp]:
    """Indices of the classes from the lowest to the highest.

    The order is given as a list of labels, or it is that of pandas' ordered categories, or that of
    numbers. Text has none, and raises an error.
    """
    name = "ordinal"
    if isinstance(given, str):
        name, kind = given, getattr(y, "dtype", None)
        given = getattr(kind, "categories", None) if getattr(kind, "ordered", False) else None
    if given is None:
        if not all(isinstance(label, Real) for label in classes.tolist()):
            raise ValueError(
                f"multi_class={name!r} needs classes with an order, and text has none. Got "
                f"{classes[:5].tolist()}: pass y as an ordered pandas Categorical, or list them "
                "from the lowest to the highest, as in multi_class=['low', 'middle', 'high'], "
                "which stands for 'ordinal'."
            )
        return np.arange(len(classes))
    places = {label: place for place, label in enumerate(classes.tolist())}
    order = [places.pop(label) for label in np.asarray(given).tolist() if label in places]
    if places:
        raise ValueError(
            f"multi_class must list all classes from the lowest to the highest. Got "
            f"{np.asarray(given).tolist()}, and y also has {list(places)}."
        )
    return np.array(order, dtype=np.intp)


class OrderedCoding(Coding):
    """What codings of ordered classes share: the order, medians, and shares between thresholds.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the logarithms; above 1 probabilities are more even.
    order : ndarray of shape (n_classes,), optional
        Indices of the classes from the lowest to the highest; by default that of the labels.
    """

    is_ordered = True
    in_batches = False

    def __init__(
        self, classes: NDArray, temperature: float = 1.0, order: NDArray | None = None
    ) -> None:
        super().__init__(classes, temperature)
        self.order = np.arange(len(classes)) if order is None else order

    @property
    def ranks(self) -> NDArray[np.intp]:
        """The place of each class in the order."""
        return np.argsort(self.order)

    def at(self, temperature: float) -> Self:
        """The same at another temperature."""
        return type(self)(self.classes, temperature, self.order)

    def decide(self, scores: NDArray, rule: str = "bayes_point") -> NDArray[np.intp]:
        """The class of the largest score, or the median; of margins, that of their signs."""
        if scores.shape[-1] < len(self.classes):
            return self.order[(scores > 0).sum(axis=-1)]
        if rule != "median":
            return scores.argmax(axis=-1)
        below = softmax(scores[..., self.order], axis=-1).cumsum(axis=-1)
        return self.order[(below[..., :-1] < 0.5).sum(axis=-1)]

    def vote_shares(self, yes: NDArray) -> NDArray[np.float64]:
        """Shares of the classifiers between two thresholds, from those above each."""
        ends = np.ones((*yes.shape[:-1], 1))
        above = -np.sort(-yes, axis=-1)  # those of separate tasks may cross
        return -np.diff(np.concatenate([ends, above, 0 * ends], axis=-1))[..., self.ranks]

    def sample_shares(self, outputs: NDArray) -> NDArray[np.float64]:
        """Share of the samples that predict each class: by how many outputs are positive."""
        decided = self.decide(outputs)[..., None] == np.arange(len(self.classes))
        return decided.mean(axis=1)

    def task_of(self, code: int) -> tuple[int, float] | None:
        """The first task speaks against the lowest class, the last one for the highest."""
        rank, last = int(self.ranks[code]), self.n_tasks - 1
        if rank == 0:
            return 0, -1.0
        return (last, 1.0) if rank == len(self.classes) - 1 or last == 0 else None

    def onnx_class(self, decision: Any, log_odds: Any, rule: str = "bayes_point") -> Any:
        """The index of the predicted class, as a node of an ONNX graph."""
        if rule != "median":
            return super().onnx_class(decision, log_odds)
        share = log_odds.exp().take(self.order)
        below = (share / share.sum(1)) @ np.triu(np.ones((len(self.order),) * 2))[:, :-1]
        rank = (0.5 - below).is_positive().sum(1, keep=False).as_integers()
        return rank.graph.add("Gather", self.order.astype(np.int64), rank, axis=0)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        super().check_state()
        shaped(self.order, "i", "c", c=len(self.classes))
        need((np.sort(self.order) == np.arange(len(self.order))).all(), "its order is none")


class OrdinalCoding(OrderedCoding, JointCoding):
    r"""Ordered classes: one output, and a threshold between each class and the next.

    Answers are the logarithms of the probabilities of all classes, from the lowest to the highest.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the logarithms; above 1 probabilities are more even.
    order : ndarray of shape (n_classes,), optional
        Indices of the classes from the lowest to the highest; by default that of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import OrdinalCoding
    >>> coding = OrdinalCoding(np.array(["high", "low", "middle"]), order=np.array([1, 2, 0]))
    >>> coding.encode(np.array([0, 1, 2])).ravel()  # ranks
    array([2, 0, 1], dtype=int16)
    >>> p = np.array([[0.4, 0.3, 0.3]])  # low, middle, high
    >>> coding.probabilities(np.log(p), np.log1p(-p))
    array([[0.3, 0.4, 0.3]])
    >>> coding.decide(np.log([[0.3, 0.4, 0.3]]), "median")  # middle
    array([2])
    """

    name = "ordinal"
    kind = "interval"
    n_tasks = 1
    apart = "interval"

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """The classes in their order."""
        return [" < ".join(str(label) for label in self.classes[self.order])]

    @property
    def setting(self) -> list[Any]:
        """The labels in their order."""
        return self.classes[self.order].tolist()

    def encode(self, codes: NDArray) -> NDArray[np.int16]:  # type: ignore[override]
        """The rank of the class of each point."""
        return self.ranks[codes][:, None].astype(np.int16)

    def log_odds(self, log_yes: Any, log_no: Any) -> Any:
        """Log-probabilities of the classes, as the labels are sorted."""
        return super().log_odds(log_yes, log_no).take(self.ranks, axis=-1)

    def right_answers(self, probabilities: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """The logarithms of the probabilities, in the order of the classes."""
        return self.decision_of(probabilities)[:, self.order]

    def answers_of(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of each class and of all others; decisions are the former."""
        log_p = decision[..., self.order]
        return log_p, log_rest(log_p)

    def onnx_decision(self, log_probabilities: Any) -> Any:
        """Log-odds of each class against all others, in the order of the classes."""
        rest = (1.0 - log_probabilities.exp()).at_least(TINY).log()
        return (log_probabilities - rest).take(self.order)
