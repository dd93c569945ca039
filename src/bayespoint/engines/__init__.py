"""One published algorithm each: labels in, posterior out."""

from bayespoint.engines.base import Engine, Request, Run, get_engine
from bayespoint.engines.gaussian.ep import ExpectationPropagation
from bayespoint.engines.gaussian.factorised import FactorisedPropagation
from bayespoint.engines.gaussian.laplace import LaplaceApproximation
from bayespoint.engines.knapsack.propagation import KnapsackPropagation
from bayespoint.engines.sampling.billiard import BilliardSampler
from bayespoint.engines.sampling.gibbs import GibbsSampler
from bayespoint.engines.sampling.perceptron import PermutedPerceptron

__all__ = [
    "BilliardSampler",
    "Engine",
    "ExpectationPropagation",
    "FactorisedPropagation",
    "GibbsSampler",
    "KnapsackPropagation",
    "LaplaceApproximation",
    "PermutedPerceptron",
    "Request",
    "Run",
    "get_engine",
]
