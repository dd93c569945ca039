"""Estimating the Bayes Point Using Linear Knapsack Problems."""

from bayespoint.experiments.knapsack.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
