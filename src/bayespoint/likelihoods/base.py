"""The interface of a likelihood: of binary tasks, and of several classes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import EXTENDING, unstable

LIKELIHOODS: list[Any] = []  # those that likelihoods/__init__.py lists


def log_rest(log_p: NDArray) -> NDArray[np.float64]:
    """Logarithm of 1 - p, from log p; finite also where p is 1."""
    return np.log(np.maximum(-np.expm1(np.minimum(log_p, 0.0)), TINY))


@unstable(EXTENDING)
class Likelihood(ABC):
    """The probability of the label "yes" of a binary task, given its output f.

    Engines learn with a likelihood and posteriors predict with it. The last axis of an array of
    outputs is the axis of the tasks.

    Attributes
    ----------
    link : str
        What engines know it by, together with the coding of the labels.
    codings : tuple of str
        Codings whose labels it explains.
    parameters : tuple of str
        Parameters of its constructor, such as the noise of an engine.
    code : int or None
        Number of its ``tilt`` in the compiled loops of EP, which take it with the ``constants``;
        None if there is none.
    learns : bool
        Whether the evidence finds parameters of it, such as thresholds (:meth:`started` and
        :meth:`adapted`).
    silent : Likelihood or None
        The same without noise, by which single classifiers vote; None if the sign of f decides.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import LogisticLikelihood
    >>> likelihood = LogisticLikelihood()
    >>> log_yes, log_no = likelihood.log_likelihood(np.array([[0.0], [2.0]]))
    >>> np.exp(log_yes).round(3)
    array([[0.5  ],
           [0.881]])
    >>> score = likelihood.predictive(np.array([[2.0]]), np.array([[4.0]]))  # f ~ N(2, 4)
    >>> np.exp(likelihood.log_predictive(score)[0]).round(3)
    array([[0.777]])
    """

    link: ClassVar[str]
    codings: ClassVar[tuple[str, ...]] = ("binary", "one_vs_rest")
    parameters: ClassVar[tuple[str, ...]] = ()
    code: ClassVar[int | None] = None
    learns: ClassVar[bool] = False
    silent: Any = None

    @abstractmethod
    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | f) and p(no | f)."""

    @abstractmethod
    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Score of an output f ~ N(mean, variance): its sign decides, its size is the certainty."""

    @abstractmethod
    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of E p(yes | f) and E p(no | f), from the score of :meth:`predictive`."""

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """Scores, and both logarithms of :meth:`log_predictive`, as nodes of an ONNX graph."""
        raise ValueError(
            f"to_onnx cannot write a {type(self).__name__}. Use a probit or logistic likelihood."
        )

    def started(self, labels: NDArray, weight: NDArray, variance: NDArray) -> Self:
        """With a first guess of what it learns, for prior variances of the outputs."""
        return self

    def adapted(
        self, labels: NDArray, weight: NDArray, mean: NDArray, variance: NDArray, *how: Any
    ) -> Self | None:
        """With better values of what it learns, given moments of outputs; None if there are none.

        ``how`` are the covariance of the outputs, as a function of a vector, and a short step.
        """
        return None

    def signs(self, labels: NDArray) -> NDArray[np.float64]:
        """The y of sites exp(a y f - b f^2 / 2)."""
        return labels.astype(np.float64)

    def bounds(self, labels: NDArray) -> NDArray[np.float64] | None:
        """What each label says of y f plus noise: between which numbers it lies; None: positive."""
        return None

    def errors(self, labels: NDArray, outputs: NDArray) -> NDArray[np.bool_]:
        """Whether each output is wrong."""
        return labels * outputs <= 0

    def margins(self, outputs: NDArray) -> NDArray:
        """What :meth:`log_likelihood` takes, from the outputs of single classifiers."""
        return outputs

    def forecast(self, labels: NDArray, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """What the coding's ``left_out`` takes, where y f ~ N(mean, variance)."""
        return self.log_predictive(self.predictive(mean, variance))[0]

    @abstractmethod
    def information(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Mutual information, in nats, between an output f ~ N(mean, variance) and its label."""


class JointLikelihood(ABC):
    """The probability of each of several classes, given the outputs f of all of them.

    The last axis of an array of outputs is the axis of the classes. Attributes are those of a
    :class:`Likelihood`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import SoftmaxLikelihood
    >>> log_p, log_rest = SoftmaxLikelihood().log_likelihood(np.array([[2.0, 0.0, 0.0]]))
    >>> np.exp(log_p).round(3)
    array([[0.787, 0.107, 0.107]])
    """

    link: ClassVar[str]
    codings: ClassVar[tuple[str, ...]]
    parameters: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def log_probability(self, outputs: NDArray) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, given f."""

    @abstractmethod
    def log_predictive(self, mean: NDArray, covariance: NDArray) -> NDArray[np.float64]:
        """Logarithms of their expectations for f ~ N(mean, covariance), shape (n, n_classes)."""

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the probabilities of each class and of all others."""
        log_p = self.log_probability(outputs)
        return log_p, log_rest(log_p)


def make_likelihood(link: str, coding: str, **parameters: float) -> Any:
    """The likelihood of an engine for the labels of a coding.

    Parameters
    ----------
    link : {"probit", "logistic"}
        What the engine works with.
    coding : str
        Name of the coding of the labels.
    **parameters : float
        Parameters of the engine, of which the likelihood takes those that it has.

    Returns
    -------
    Likelihood or JointLikelihood

    Examples
    --------
    >>> from bayespoint.likelihoods import make_likelihood
    >>> type(make_likelihood("probit", "joint", noise=0.5, label_noise=0.0)).__name__
    'ArgmaxLikelihood'
    """
    for kind in LIKELIHOODS:
        if kind.link == link and coding in kind.codings:
            taken = {name: float(parameters[name]) for name in kind.parameters}
            return kind(**taken)
    raise ValueError(f"There is no {link} likelihood for the labels of the coding {coding!r}.")
