"""One published algorithm each: labels in, posterior out."""

from bayespoint.engines.base import Engine, get_engine
from bayespoint.engines.billiard import BilliardSampler
from bayespoint.engines.ep import ExpectationPropagation
from bayespoint.engines.gibbs import GibbsSampler
from bayespoint.engines.perceptron import PermutedPerceptron

__all__ = [
    "BilliardSampler",
    "Engine",
    "ExpectationPropagation",
    "GibbsSampler",
    "PermutedPerceptron",
    "get_engine",
]
