"""What an engine knows at the end: a distribution over weight vectors."""

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.gaussian import GaussianPosterior, Messages
from bayespoint.posteriors.sampled import SampledPosterior

__all__ = ["GaussianPosterior", "Messages", "Posterior", "SampledPosterior"]
