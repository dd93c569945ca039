"""Max-marginals by linear knapsack problems."""
