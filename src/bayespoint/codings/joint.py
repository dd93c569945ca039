"""Several classes, whose outputs belong to one model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.codings.base import LARGEST
from bayespoint.codings.one_vs_rest import OneVersusRest
from bayespoint.likelihoods.base import log_rest


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

    def answers_of(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Log-probabilities of each class and of all others; decisions are the former."""
        return decision, log_rest(decision)

    def right_answers(self, probabilities: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """The logarithms of the probabilities."""
        return np.log(probabilities)

    def onnx_log_odds(self, log_yes: Any, log_no: Any) -> Any:
        """Log-probabilities of the classes."""
        return log_yes.at_least(-LARGEST)
