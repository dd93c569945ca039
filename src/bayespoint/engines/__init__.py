"""One published algorithm each: labels in, posterior out."""

from bayespoint.engines.base import Engine, get_engine
from bayespoint.engines.billiard import BilliardSampler
from bayespoint.engines.ep import ExpectationPropagation
from bayespoint.engines.gibbs import GibbsSampler
from bayespoint.engines.knapsack import KnapsackPropagation
from bayespoint.engines.laplace import LaplaceApproximation
from bayespoint.engines.perceptron import PermutedPerceptron

__all__ = [
    "BilliardSampler",
    "Engine",
    "ExpectationPropagation",
    "GibbsSampler",
    "KnapsackPropagation",
    "LaplaceApproximation",
    "PermutedPerceptron",
    "get_engine",
]
