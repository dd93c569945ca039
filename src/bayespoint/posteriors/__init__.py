"""Posteriors: distributions over weight vectors."""

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.chains import ChainPosterior
from bayespoint.posteriors.flip_evidence import FlipEvidence
from bayespoint.posteriors.gaussian import GaussianPosterior, Messages
from bayespoint.posteriors.joint import JointPosterior
from bayespoint.posteriors.log_odds import LogOdds
from bayespoint.posteriors.marginal import MarginalPosterior
from bayespoint.posteriors.mixture import MixturePosterior
from bayespoint.posteriors.sampled import FirstVisits, SampledPosterior
from bayespoint.posteriors.stacked import SeparatePosterior
from bayespoint.posteriors.stream import StreamPosterior

__all__ = [
    "ChainPosterior",
    "FirstVisits",
    "FlipEvidence",
    "GaussianPosterior",
    "JointPosterior",
    "LogOdds",
    "MarginalPosterior",
    "Messages",
    "MixturePosterior",
    "Posterior",
    "SampledPosterior",
    "SeparatePosterior",
    "StreamPosterior",
]
