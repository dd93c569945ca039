"""Choosing parameters: by the evidence, or by cross-validation where one run serves many."""

from bayespoint.selection.knapsack import KnapsackCV
from bayespoint.selection.search import EvidenceSearch

__all__ = ["EvidenceSearch", "KnapsackCV"]
