"""What an engine knows at the end: a distribution over weight vectors."""

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.chains import ChainPosterior
from bayespoint.posteriors.gaussian import GaussianPosterior, GaussianWeights, Messages
from bayespoint.posteriors.logistic import LogisticPosterior
from bayespoint.posteriors.marginal import MarginalPosterior
from bayespoint.posteriors.sampled import SampledPosterior

__all__ = [
    "ChainPosterior",
    "GaussianPosterior",
    "GaussianWeights",
    "LogisticPosterior",
    "MarginalPosterior",
    "Messages",
    "Posterior",
    "SampledPosterior",
]
