"""Published experiments, repeated: printed and measured values.

``python -m papers`` runs them from the root of the repository. To add one, write a package that
ends in an :class:`Experiment` and add it to ``EXPERIMENTS``. Each part of it, with its data,
tables and figures, is a module.

>>> from papers import EXPERIMENTS, Context
>>> result = EXPERIMENTS["large-scale"].run(Context())
>>> table = result.tables[1]
>>> f"{table.rows[0].name}: error {table.column('measured')[0]:.2f} %"
'0 % rejected: error 4.02 %'
"""

from papers import ep, gibbs, knapsack, large_scale
from papers.base import Column, Context, Experiment, Figure, Finding, Result, Row, Table
from papers.page import write_index
from papers.report import perform, write_run
from papers.summary import write_summary

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (large_scale.EXPERIMENT, gibbs.EXPERIMENT, ep.EXPERIMENT, knapsack.EXPERIMENT)
}

__all__ = [
    "EXPERIMENTS",
    "Column",
    "Context",
    "Experiment",
    "Figure",
    "Finding",
    "Result",
    "Row",
    "Table",
    "perform",
    "write_index",
    "write_run",
    "write_summary",
]
