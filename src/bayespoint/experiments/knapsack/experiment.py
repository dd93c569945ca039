"""The Bayes point by linear knapsack problems: Table 1, Figure 1, the outlier, sparse weights."""

from __future__ import annotations

from sklearn.preprocessing import scale

from bayespoint.classifier import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.experiments.base import Context, Experiment, Result
from bayespoint.experiments.knapsack import figures, sparse, splits, state, tables, toy
from bayespoint.experiments.knapsack.splits import DataSet
from bayespoint.posteriors import MarginalPosterior

N_SPLITS = 500  # of Table 1
QUICK_SPLITS = 10
N_TOYS = 30  # draws of the toy problem with and without the outlier
STATE = "splits.jsonl"


def run(context: Context) -> Result:
    """The toy problem, and random splits of all sets."""
    n_splits = context.n_splits or (N_SPLITS if context.full else QUICK_SPLITS)
    grids = splits.FULL if context.full else splits.QUICK
    with context.part("loading the data"):
        sets = splits.load_sets(context)
    with context.part("toy problem"):
        one_toy = toy.solve_toy(context.seed)
        outliers = toy.outlier_errors(N_TOYS if context.full else N_TOYS // 5, context.seed)
    with context.part("sparse weights"):
        sparse_weights = sparse.solve_sparse(
            sparse.FULL if context.full else sparse.QUICK, context.seed
        )
    with context.part("marginals"):
        words, posterior = marginals(sets)
    with context.part("splits"):
        file = None if context.out is None else context.out / "knapsack" / context.mode / STATE
        results = state.solve_splits(
            sets, n_splits, context.seed, grids,
            state=file, n_jobs=context.n_jobs, tell=context.tell,
        )  # fmt: skip
    return Result(
        setting=setting(sets, n_splits, context),
        tables=[
            *(tables.error_table(data, results) for data in sets),
            *(tables.paired_table(*pair, sets, results) for pair in tables.PAIRS),
            tables.chosen_table(sets, results),
            toy.toy_table(one_toy),
            toy.outlier_table(outliers),
            sparse.sparse_table(sparse_weights),
        ],
        figures=[
            figures.toy_figure(one_toy),
            figures.marginals_figure(words, posterior),
            figures.differences_figure(sets, results),
        ],
    )


def marginals(sets: list[DataSet]) -> tuple[str, MarginalPosterior]:
    """Max-marginals of one set, all of it: liver, or the first."""
    data = next((data for data in sets if data.name == "liver"), sets[0])
    machine = BayesPointClassifier(engine=KnapsackPropagation(C=10.0))
    posterior = machine.fit(scale(data.X), data.y).posterior_
    assert isinstance(posterior, MarginalPosterior)
    return f"the set {data.name}, C = 10, β = 1", posterior


def setting(sets: list[DataSet], n_splits: int, context: Context) -> dict[str, str]:
    """Data, parameters and their choice, in words."""
    grids = splits.FULL if context.full else splits.QUICK
    names = ", ".join(data.name for data in sets)
    other = "" if context.full else "; not the paper's data, so its numbers do not apply"
    words = ", ".join(f"{name} = {value}" for name, value in splits.VARIANT.items())
    return {
        "data": f"{names}{other}",
        "splits": f"{n_splits} random ones, 80 % to train, seed {context.seed}; features to unit "
        "variance on the training part; the paper has 500",
        "choice of parameters": f"{splits.N_FOLDS} folds of each training part, the same for all "
        "methods",
        "SVM": f"hinge loss, linear; C among {list(grids.svm)}",
        "EP": f"probit, prior scale among {[round(value, 3) for value in grids.ep]}",
        "knapsack": f"C among {list(grids.costs)}, β among {list(grids.betas)}",
        "schedule": f"{words}, undamped: chosen once, by folds of a training part of liver, heart, "
        "sonar and pima (benchmarks/knapsack_schedule.py), without test errors",
    }


EXPERIMENT = Experiment(
    name="knapsack",
    title="The Bayes point by linear knapsack problems",
    paper=("B. Potetz, Estimating the Bayes Point Using Linear Knapsack Problems, ICML 2011"),
    description=(
        "Max-product messages for the 0-1 loss, each the solution of a knapsack problem, and the "
        "mean of the max-marginals as Bayes point, compared with the soft-margin SVM and "
        "expectation propagation on seven UCI sets; the posterior of a toy problem, the effect of "
        "an outlier, and priors for sparse weights."
    ),
    run=run,
)
