"""Likelihoods: p(label | output), and its expectations over Gaussian outputs.

To add a likelihood, write a file with a subclass of ``Likelihood`` or ``JointLikelihood``, and list
it in ``LIKELIHOODS``.
"""

from typing import Any

from bayespoint.likelihoods.argmax import ArgmaxLikelihood
from bayespoint.likelihoods.base import JointLikelihood, Likelihood
from bayespoint.likelihoods.logistic import LogisticLikelihood
from bayespoint.likelihoods.ordinal import OrdinalLogisticLikelihood, OrdinalProbitLikelihood
from bayespoint.likelihoods.probit import ProbitLikelihood
from bayespoint.likelihoods.softmax import SoftmaxLikelihood

__all__ = [
    "LIKELIHOODS", "ArgmaxLikelihood", "JointLikelihood", "Likelihood", "LogisticLikelihood",
    "OrdinalLogisticLikelihood", "OrdinalProbitLikelihood", "ProbitLikelihood", "SoftmaxLikelihood",
    "make_likelihood",
]  # fmt: skip

LIKELIHOODS = (
    ArgmaxLikelihood,
    LogisticLikelihood,
    OrdinalLogisticLikelihood,
    OrdinalProbitLikelihood,
    ProbitLikelihood,
    SoftmaxLikelihood,
)


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
    kind: Any
    for kind in LIKELIHOODS:
        if kind.link == link and coding in kind.codings:
            taken = {name: float(parameters[name]) for name in kind.parameters}
            return kind(**taken)
    raise ValueError(f"There is no {link} likelihood for the labels of the coding {coding!r}.")
