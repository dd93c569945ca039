"""Likelihoods: p(label | output), and its expectations over Gaussian outputs.

To add a likelihood, write a file with a subclass of ``Likelihood`` or ``JointLikelihood``, and list
it here, in ``LIKELIHOODS``.
"""

from bayespoint.likelihoods.base import (
    LIKELIHOODS,
    JointLikelihood,
    Likelihood,
    ProbitLikelihood,
    make_likelihood,
)
from bayespoint.likelihoods.joint import ArgmaxLikelihood, SoftmaxLikelihood
from bayespoint.likelihoods.logistic import LogisticLikelihood
from bayespoint.likelihoods.ordinal import OrdinalLogisticLikelihood, OrdinalProbitLikelihood
from bayespoint.likelihoods.student import StudentLikelihood

__all__ = [
    "LIKELIHOODS",
    "ArgmaxLikelihood",
    "JointLikelihood",
    "Likelihood",
    "LogisticLikelihood",
    "OrdinalLogisticLikelihood",
    "OrdinalProbitLikelihood",
    "ProbitLikelihood",
    "SoftmaxLikelihood",
    "StudentLikelihood",
    "make_likelihood",
]

LIKELIHOODS += (
    ArgmaxLikelihood,
    LogisticLikelihood,
    OrdinalLogisticLikelihood,
    OrdinalProbitLikelihood,
    ProbitLikelihood,
    SoftmaxLikelihood,
    StudentLikelihood,
)
