"""Likelihoods: p(label | output), and its expectations over Gaussian outputs."""

from bayespoint.likelihoods.base import Likelihood
from bayespoint.likelihoods.joint import ArgmaxLikelihood, JointLikelihood, SoftmaxLikelihood
from bayespoint.likelihoods.logistic import LogisticLikelihood
from bayespoint.likelihoods.probit import ProbitLikelihood

__all__ = [
    "ArgmaxLikelihood",
    "JointLikelihood",
    "Likelihood",
    "LogisticLikelihood",
    "ProbitLikelihood",
    "SoftmaxLikelihood",
]
