"""Likelihoods: p(label | output), and its expectations over Gaussian outputs."""

from bayespoint.likelihoods.base import Likelihood
from bayespoint.likelihoods.logistic import LogisticLikelihood
from bayespoint.likelihoods.probit import ProbitLikelihood

__all__ = ["Likelihood", "LogisticLikelihood", "ProbitLikelihood"]
