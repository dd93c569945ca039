"""What an experiment is, and what comes out of it.

An experiment repeats a published one and sets what it measures beside what was printed. It neither
prints nor writes: it returns tables, and figures that can be drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.plots.style import Drawing


def _silent(message: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Context:
    """How to run an experiment.

    Attributes
    ----------
    full : bool
        The published experiment on its own data, or (False) a small one, in seconds and on data
        that scikit-learn brings along.
    data : Path or None
        Data folder; None means the one of :func:`bayespoint.datasets.data_folder`.
    seed : int
        Seed of all that is random.
    tell : callable
        Is told in a few words what comes next, before each long part.
    out : Path or None
        Folder that results go to; a long experiment may keep its state there, to go on after an
        interruption.
    n_splits : int or None
        Random splits, for experiments that have them; None is the experiment's own choice.
    n_jobs : int or None
        Processes, as in joblib, for experiments with parts that run side by side.
    seconds : dict of str to float
        Time that the parts of the experiment took.

    Examples
    --------
    >>> from bayespoint.experiments import Context
    >>> Context(full=True).mode
    'full'
    """

    full: bool = False
    data: Path | None = None
    seed: int = 0
    tell: Callable[[str], None] = _silent
    out: Path | None = None
    n_splits: int | None = None
    n_jobs: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Tell what comes next, and note how long it took."""
        self.tell(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    @property
    def mode(self) -> str:
        """``"full"`` or ``"quick"``."""
        return "full" if self.full else "quick"


@dataclass(frozen=True)
class Column:
    """A quantity of a table.

    Attributes
    ----------
    name : str
        Its name.
    digits : int
        How many digits follow the decimal point.

    Examples
    --------
    >>> from bayespoint.experiments import Column
    >>> Column("log Z", digits=1)
    Column(name='log Z', digits=1)
    """

    name: str
    digits: int = 2


Value = float | tuple[float, float] | None  # a number, an interval, or nothing


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes
    ----------
    name : str
        What it is about.
    values : sequence of float, (float, float) or None
        One for each column: a number, an interval, or None where there is none.
    verdict : str
        What to think of it, in words.
    standard_errors : sequence of float or None
        Of the values, from the first on, where they have any.

    Examples
    --------
    >>> from bayespoint.experiments import Row
    >>> Row("EP", [0.95, None, (0.9, 1.0)], "agrees").values
    [0.95, None, (0.9, 1.0)]
    """

    name: str
    values: Sequence[Value]
    verdict: str = ""
    standard_errors: Sequence[float | None] = ()


@dataclass(frozen=True)
class Table:
    """Numbers under one title.

    Attributes
    ----------
    title, caption : str
        What stands above it and below it.
    columns : sequence of Column
        The quantities.
    rows : sequence of Row
        Its lines.

    Examples
    --------
    >>> from bayespoint.experiments import Column, Row, Table
    >>> columns, rows = [Column("error %"), Column("log-loss")], [Row("EP", [0.95, 0.031])]
    >>> Table("Digits", "1 against 8.", columns, rows).column("log-loss")
    [0.031]
    """

    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]

    def column(self, name: str) -> list[Value]:
        """The values of one column."""
        place = [column.name for column in self.columns].index(name)
        return [row.values[place] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A figure: the numbers that it shows, ready for JSON, and a function that draws it.

    Nothing is drawn, and matplotlib is not imported, before ``draw()``.

    Attributes
    ----------
    name : str
        Of its files.
    title, caption : str
        What stands above it and below it.
    data : mapping
        The numbers.
    draw : callable
        Returns a matplotlib figure.

    Examples
    --------
    >>> from bayespoint.experiments import Figure
    >>> from bayespoint.plots import new_axes
    >>> figure = Figure("errors", "Errors", "Few.", {"error": [1.5]}, lambda: new_axes()[0])
    >>> type(figure.draw()).__name__
    'Figure'
    """

    name: str
    title: str
    caption: str
    data: Mapping[str, Any]
    draw: Callable[[], Drawing]


def rounded(values: ArrayLike, digits: int = 4) -> list:
    """Numbers of a figure for its JSON file, with as many digits as one could see."""
    return np.round(np.asarray(values, dtype=np.float64), digits).tolist()


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes
    ----------
    setting : mapping of str to str
        Data and parameters, in words.
    tables : sequence of Table
        Numbers.
    figures : sequence of Figure
        Pictures.

    Examples
    --------
    >>> from bayespoint.experiments import Result, Table
    >>> result = Result({"data": "digits"}, [Table("Errors", "", [], [])], [])
    >>> [table.title for table in result.tables]
    ['Errors']
    """

    setting: Mapping[str, str]
    tables: Sequence[Table]
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Experiment:
    """A published experiment that can be repeated.

    Attributes
    ----------
    name : str
        What one types: ``bayespoint reproduce <name>``.
    title : str
        What one reads.
    paper : str
        Where it was published.
    description : str
        What is done, in a sentence or two.
    run : callable
        Does it.

    Examples
    --------
    >>> from bayespoint.experiments import EXPERIMENTS
    >>> for experiment in EXPERIMENTS.values():
    ...     print(f"{experiment.name}: {experiment.title}")
    large-scale: Large scale Bayes point machines
    gibbs: The kernel Gibbs sampler
    ep: Bayesian classification by message passing
    knapsack: The Bayes point by linear knapsack problems
    """

    name: str
    title: str
    paper: str
    description: str
    run: Callable[[Context], Result]
