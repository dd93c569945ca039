"""Ordered classes, of which each threshold is a binary task of its own.

E. Frank and M. Hall, A Simple Approach to Ordinal Classification, ECML 2001.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayespoint.codings.base import LARGEST
from bayespoint.codings.ordinal import OrderedCoding
from bayespoint.tools.arrays import Array, beside, namespace
from bayespoint.tools.numbers import TINY

LEAST = 0.1  # of what independent answers would give a class, where tasks contradict each other


class CumulativeCoding(OrderedCoding):
    r"""Ordered classes: for each but the highest, a task "above it or not".

    Any engine learns the tasks, and each task has its own direction, where the ordinal coding has
    one output for all. Task c gives the probability :math:`q_c` of a class above c. So class c has
    :math:`q_{c-1} - q_c`. Separate tasks may contradict each other, so that it has at least a tenth
    of the probability of both answers if these were independent,

    .. math:: p_c \propto \max\bigl(q_{c-1} - q_c,\ \tfrac{1}{10}\, q_{c-1} (1 - q_c)\bigr),
        \qquad q_{-1} = 1, \quad q_{C-1} = 0.

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
    >>> from bayespoint.codings import CumulativeCoding
    >>> coding = CumulativeCoding(np.array(["high", "low", "middle"]), order=np.array([1, 2, 0]))
    >>> coding.task_names
    ['above low', 'above middle']
    >>> coding.encode(np.array([0, 1, 2]))
    array([[ 1,  1],
           [-1, -1],
           [ 1, -1]], dtype=int8)
    >>> above = np.array([[0.6, 0.3]])
    >>> coding.probabilities(np.log(above), np.log1p(-above)).round(3)  # high, low, middle
    array([[0.3, 0.4, 0.3]])
    """

    name = "cumulative"
    is_exclusive = False

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """One for each class but the highest."""
        return len(self.classes) - 1

    @property
    def task_names(self) -> list[str]:  # type: ignore[override]
        """The class above which "yes" is."""
        return [f"above {label}" for label in self.classes[self.order[:-1]]]

    def encode(self, codes: NDArray) -> NDArray[np.int8]:
        """+1 in the tasks of all lower classes, -1 in all others."""
        return np.where(self.ranks[codes][:, None] > np.arange(self.n_tasks), 1, -1).astype(np.int8)

    def scores(self, decision: Array, log_yes: Array, log_no: Array) -> Array:
        """Logarithms of the probabilities of the classes, up to a constant."""
        return self.log_odds(log_yes, log_no) / self.temperature

    def log_odds(self, log_yes: Array, log_no: Array) -> Array:
        r"""Logarithms of the probabilities of the classes, up to a constant.

        In terms of the log-odds :math:`d_c` of the tasks, the difference is
        :math:`q_{c-1} - q_c = q_{c-1} (1 - q_c) (1 - e^{d_c - d_{c-1}})`, which loses no digits.
        """
        xp, n_tasks = namespace(log_yes), self.n_tasks
        log_yes, log_no = (xp.clip(one, -LARGEST, None) for one in (log_yes, log_no))
        # Tasks to the classes above and below them, and pairs of tasks to the class between them.
        place = np.eye(n_tasks + 1)[:, self.ranks]
        above, below, between = (
            beside(log_yes, one) for one in (place[1:], place[:-1], place[1:-1])
        )
        step = beside(log_yes, np.eye(n_tasks)[:, 1:] - np.eye(n_tasks)[:, :-1])
        further = xp.clip((log_yes - log_no) @ step, -LARGEST, 0.0)
        share = xp.clip(1.0 - xp.exp(further), LEAST, 1.0)
        return log_yes @ above + log_no @ below + xp.log(share) @ between

    def decision_of(self, probabilities: NDArray) -> NDArray[np.float64]:
        """Log-odds of all classes above each."""
        p = np.maximum(probabilities[..., self.order], TINY)
        above = p[..., ::-1].cumsum(axis=-1)[..., ::-1]
        return np.log(above[..., 1:]) - np.log(p.cumsum(axis=-1)[..., :-1])

    def gaussian_shares(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Shares between the thresholds, from the share of the classifiers above each."""
        return self.vote_shares(ndtr(mean / np.sqrt(np.maximum(variance, TINY))))

    def onnx_decision(self, log_probabilities: Array) -> Array:
        """Log-odds of all classes above each, as nodes of an ONNX graph."""
        p = log_probabilities.exp().take(self.order)
        higher = np.tri(self.n_tasks + 1, k=-1)[:, :-1]
        return (p @ higher).at_least(TINY).log() - (p @ (1.0 - higher)).at_least(TINY).log()
