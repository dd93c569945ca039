"""The Kernel Gibbs Sampler."""

from bayespoint.experiments.gibbs.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
