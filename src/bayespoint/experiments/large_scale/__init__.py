"""Large Scale Bayes Point Machines."""

from bayespoint.experiments.large_scale.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
