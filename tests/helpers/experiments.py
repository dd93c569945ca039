"""Experiments in small, run once for all tests of a process that look at them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache

import pytest

from papers import EXPERIMENTS, Context, perform
from papers.gibbs import curves, plane, sphere, votes
from papers.report import Run


@contextmanager
def smaller() -> Iterator[None]:
    """Fewer data sets and labels of the Gibbs sampler than in a quick run."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (sphere, votes, curves):
            patch.setitem(module.N_SETS, "quick", 2)
        patch.setitem(curves.N_LABELS, "quick", 5)
        patch.setitem(plane.EVIDENCE_THIN, "quick", 2)
        yield


@cache
def small_run(name: str) -> tuple[Run, list[str]]:
    """A run of an experiment, and what it told."""
    told: list[str] = []
    with smaller():
        return perform(EXPERIMENTS[name], Context(tell=told.append, n_splits=2)), told


def tables_and_data(run: Run) -> tuple[list, list]:
    """All numbers of a run."""
    result = run.result
    return [asdict(table) for table in result.tables], [figure.data for figure in result.figures]
