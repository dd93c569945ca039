"""The Bayes point by linear knapsack problems: Table 1, Figure 1, the outlier, sparse weights."""

from __future__ import annotations

from collections.abc import Iterator

from papers.base import Context, Experiment, Result
from papers.knapsack import marginals, sparse, splits, tables, toy
from papers.knapsack.findings import findings


def parts(context: Context) -> Iterator[Result]:
    """Random splits of all sets, the toy problem, sparse weights, and some max-marginals."""
    with context.part("loading the data"):
        sets = splits.load_sets(context)
    yield tables.run(context, sets)
    yield toy.run(context)
    yield sparse.run(context)
    yield marginals.run(context, sets)


EXPERIMENT = Experiment(
    name="knapsack",
    title="The Bayes point by linear knapsack problems",
    paper="B. Potetz, Estimating the Bayes Point Using Linear Knapsack Problems, ICML 2011",
    description=(
        "Max-product messages for the 0-1 loss, each the solution of a knapsack problem, and the "
        "mean of the max-marginals as Bayes point, compared with the soft-margin SVM and "
        "expectation propagation on seven UCI sets; the posterior of a toy problem, the effect of "
        "an outlier, and priors for sparse weights."
    ),
    parts=parts,
    findings=findings,
    picture="toy",
)
