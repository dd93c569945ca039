"""How labels come from outputs: p(label given f), and its integrals over Gaussian outputs."""

from bayespoint.likelihoods.base import Likelihood
from bayespoint.likelihoods.logistic import LogisticLikelihood
from bayespoint.likelihoods.probit import ProbitLikelihood

__all__ = ["Likelihood", "LogisticLikelihood", "ProbitLikelihood"]
