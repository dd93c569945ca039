"""Two classes: one task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayespoint.codings.base import LARGEST, Coding
from bayespoint.tools.arrays import Array, namespace
from bayespoint.tools.numbers import TINY


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

    def onnx_log_odds(self, log_yes: Any, log_no: Any) -> Any:
        """The logarithms of p(no) and p(yes)."""
        return log_no.beside(log_yes).at_least(-LARGEST)

    def onnx_decision(self, log_probabilities: Any) -> Any:
        """Log-odds of the second class."""
        return log_probabilities.columns(1, 2) - log_probabilities.columns(0, 1)

    def onnx_class(self, decision: Any, log_odds: Any) -> Any:
        """The second class where the decision is positive."""
        return decision.is_positive().reshape(-1).as_integers()
