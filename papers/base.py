"""Experiments and their results.

An experiment repeats a published one and compares measured with printed values. It neither prints
nor writes anything: it returns tables, and figures that can be drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.tools.plots import Drawing


@dataclass(frozen=True)
class Context:
    """How to run an experiment.

    Attributes
    ----------
    full : bool
        Whether to run the published experiment on its data, or a small version that takes seconds,
        on data that come with scikit-learn or in ``papers/data``.
    data : Path or None
        Data folder; by default that of :func:`papers.datasets.data_folder`.
    seed : int
        Random seed.
    tell : callable
        Called with a short message before each long part.
    out : Path or None
        Folder for results. A long experiment may keep its state there, to continue after an
        interruption.
    n_splits : int or None
        Number of random splits, for experiments that have them; None for the default.
    n_jobs : int or None
        Number of processes, as in joblib, for experiments with parallel parts.
    virtual : bool
        Whether to train with shifted and deformed images, too, in the experiment that has them.
    device : str or None
        Where classifiers work, as their parameter of this name.
    seconds : dict of str to float
        Time taken by each part of the experiment.

    Examples
    --------
    >>> from papers import Context
    >>> Context(full=True).mode
    'full'
    """

    full: bool = False
    data: Path | None = None
    seed: int = 0
    tell: Callable[[str], None] = lambda message: None
    out: Path | None = None
    n_splits: int | None = None
    n_jobs: int | None = None
    virtual: bool = False
    device: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Announce a part of the experiment, and record the time it takes."""
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
        Number of digits after the decimal point.

    Examples
    --------
    >>> from papers import Column
    >>> Column("log Z", digits=1)
    Column(name='log Z', digits=1)
    """

    name: str
    digits: int = 2


Value = float | tuple[float, float] | None  # a number, an interval, or empty


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes
    ----------
    name : str
        Name of the row.
    values : sequence of float, (float, float) or None
        One for each column: a number, an interval, or None.
    verdict : str
        Conclusion, as text.
    standard_errors : sequence of float or None
        Standard errors of the first values, if they have any.

    Examples
    --------
    >>> from papers import Row
    >>> Row("EP", [0.95, None, (0.9, 1.0)], "agrees").values
    [0.95, None, (0.9, 1.0)]
    """

    name: str
    values: Sequence[Value]
    verdict: str = ""
    standard_errors: Sequence[float | None] = ()


@dataclass(frozen=True)
class Table:
    """A table of results.

    Attributes
    ----------
    title, caption : str
        Texts above and below the table.
    columns : sequence of Column
        The quantities.
    rows : sequence of Row
        The rows.

    Examples
    --------
    >>> from papers import Column, Row, Table
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

    def numbers(self, name: str) -> list[float]:
        """The numbers in one column."""
        return [value for value in self.column(name) if isinstance(value, (int, float))]

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)

    def number(self, row: str, column: str) -> Any:
        """The number in one cell; None if it is empty."""
        return self.row(row).values[[one.name for one in self.columns].index(column)]


def find(tables: Sequence[Table], beginning: str) -> Table:
    """The first table whose title begins so."""
    return next(table for table in tables if table.title.startswith(beginning))


HOLDS, PARTLY, REFUTED, OPEN = "holds", "holds in part", "does not hold", "undecided"


@dataclass(frozen=True)
class Finding:
    """What came out for one claim of a paper.

    Attributes
    ----------
    claim : str
        What the paper says.
    found : str
        What was measured.
    verdict : {"holds", "holds in part", "does not hold", "undecided"}
        Whether the claim holds here.

    Examples
    --------
    >>> from papers import Finding
    >>> Finding("Two are better than one", "Errors of 3 and 4 %.", "holds").verdict
    'holds'
    """

    claim: str
    found: str
    verdict: str


@dataclass(frozen=True)
class Figure:
    """A figure: the numbers it shows, ready for JSON, and a function that draws it.

    Nothing is drawn, and matplotlib is not imported, before ``draw()``.

    Attributes
    ----------
    name : str
        Name of its files.
    title, caption : str
        Texts above and below the figure.
    data : mapping
        The numbers.
    draw : callable
        Returns a matplotlib figure.

    Examples
    --------
    >>> from papers import Figure
    >>> from bayespoint.tools.plots import new_axes
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


def percent(fractions: ArrayLike) -> list:
    """Fractions in per cent; digits beyond the sixth decimal are noise of the arithmetic."""
    return rounded(100 * np.asarray(fractions), 6)


@dataclass(frozen=True)
class Result:
    """The result of an experiment, or of a part of it.

    Attributes
    ----------
    setting : mapping of str to str
        Description of data and parameters.
    tables : sequence of Table
        The tables.
    figures : sequence of Figure
        The figures.

    Examples
    --------
    >>> from papers import Result, Table
    >>> result = Result({"data": "digits"}, [Table("Errors", "", [], [])], [])
    >>> [table.title for table in result.tables]
    ['Errors']
    """

    setting: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()

    @classmethod
    def joined(cls, results: Iterable[Result]) -> Result:
        """Results of several parts as one."""
        parts = list(results)
        return cls(
            {name: words for part in parts for name, words in part.setting.items()},
            [table for part in parts for table in part.tables],
            [figure for part in parts for figure in part.figures],
        )


@dataclass(frozen=True)
class Experiment:
    """A published experiment that can be repeated.

    Attributes
    ----------
    name : str
        Name on the command line: ``python -m papers <name>``.
    title : str
        Title.
    paper : str
        Where it was published.
    description : str
        What is done, in one or two sentences.
    parts : callable
        Takes a :class:`Context` and yields a :class:`Result` for each part.
    findings : callable
        Takes all tables and yields a :class:`Finding` for each claim of the paper.
    picture : str
        Name of the figure that shows most.

    Examples
    --------
    >>> from papers import EXPERIMENTS
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
    parts: Callable[[Context], Iterable[Result]]
    findings: Callable[[Sequence[Table]], Iterable[Finding]] = lambda tables: ()
    picture: str = ""

    def run(self, context: Context) -> Result:
        """Run all parts."""
        return Result.joined(self.parts(context))
