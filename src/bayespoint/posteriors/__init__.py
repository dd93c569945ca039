"""What an engine knows at the end: a distribution over weight vectors."""

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.chains import ChainPosterior
from bayespoint.posteriors.gaussian import GaussianPosterior
from bayespoint.posteriors.sampled import SampledPosterior

__all__ = ["ChainPosterior", "GaussianPosterior", "Posterior", "SampledPosterior"]
