"""The lecture slides on Bayesian classification by message passing."""

from bayespoint.experiments.ep.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
