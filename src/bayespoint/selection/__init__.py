"""Choice of hyper-parameters."""

from bayespoint.selection.knapsack import KnapsackCV

__all__ = ["KnapsackCV"]
