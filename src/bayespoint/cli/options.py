"""Options that several commands share, and how options are written."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

# Whether a command is asked for its options only: then it imports nothing that takes long.
ONLY_HELP = not {"-h", "--help"}.isdisjoint(sys.argv[1:])

# Named here for the same reason; a test compares them with the lists of the library.
ENGINE_NAMES = (
    "auto",
    "billiard",
    "ep",
    "factorised-ep",
    "gibbs",
    "knapsack",
    "laplace",
    "perceptron",
)
UPDATED_ENGINES = ("ep", "factorised-ep", "laplace")  # that support batch learning
KERNEL_NAMES = (
    "auto",
    "linear",
    "poly",
    "rbf",
    "matern32",
    "matern52",
    "exponential",
    "additive",
)
KERNELS_WITH = {"gamma": ("auto", *KERNEL_NAMES[2:]), "degree": ("poly",), "coef0": ("poly",)}
STRATEGY_NAMES = ("entropy", "margin", "bald", "random")
LEVEL, HELD_OUT = 0.95, 0.3  # what --confidence and --hold-out are by default
STDIO = Path("-")  # standard input or output
TABLES = ".csv, .csv.gz or .parquet, or - for standard output."


def check_named(value: Any) -> Any:
    """Refuse an empty name of a column or a file, as an unset variable of a shell gives it."""
    for one in value if isinstance(value, list) else [value]:
        if one == "":
            raise typer.BadParameter("must not be empty")
    return value


def option(metavar: str, help: str, name: str | None = None, **more: Any) -> Any:
    """An option that takes a value; its name is that of the parameter, if it is not given."""
    more.setdefault("callback", check_named)
    return typer.Option(*([name] if name else []), metavar=metavar, help=help, **more)


def several(metavar: str, help: str) -> Any:
    """An option that may be repeated."""
    return option(metavar, f"{help}; may be repeated.")


def check_jobs(jobs: int | None) -> int | None:
    """Refuse numbers that joblib does not accept."""
    if jobs == 0:
        raise typer.BadParameter("must not be 0; -1 uses all cores")
    return jobs


def up_to(most: int) -> Any:
    """Refuse other numbers, without a range beside the option that fills half of a narrow help."""

    def check(number: int) -> int:
        if not 0 <= number <= most:
            raise typer.BadParameter(f"must be from 0 to {most}")
        return number

    return check


def check_device(device: str | None) -> str | None:
    """Refuse a name that is not a device, and a GPU that cannot be used."""
    if device in (None, "cpu"):
        return device
    from bayespoint.gpu.devices import is_device_name, what_is_missing

    if not is_device_name(device):
        raise typer.BadParameter(f"must be cpu, cuda, cuda:1 or auto, not {device!r}")
    if device != "auto" and (missing := what_is_missing(device)):
        raise typer.BadParameter(f"{device!r} cannot be used: {missing}")
    return device


FILE = "Table with a header: .csv, .csv.gz, .parquet, or - for standard input."
PARAM = "Parameter of the classifier or engine, such as noise=0.5, gamma=0.1 or engine__noise=0.5"
DEVICE = "Where to compute: cpu, cuda (or cuda:1), or auto, which uses a GPU if there is one."
FORMULAS = (
    "Write an apostrophe before text in CSV that a spreadsheet would run as a formula (=, +, -, "
    "@). By default text stays as it is, for programs."
)
ERROR = "Reject uncertain rows, so that the error on the accepted ones is at most R (0 to 1)."
HELD = f"Share of the rows that --max-error holds out; {HELD_OUT} by default."
GROUP = "Column that says which rows belong together, such as those of a patient; not a feature."
SEED = "Seed: equal seeds give equal results."
Names = list[str] | None

Data = Annotated[Path, typer.Argument(metavar="DATA", help=FILE)]
Target = Annotated[str, option("COL", "Column with the classes.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
ModelFile = Annotated[Path, option("FILE", "Model file.", "--model")]
Engine = Annotated[str, option("NAME", f"Algorithm: {', '.join(ENGINE_NAMES)}.")]
Kernel = Annotated[str, option("NAME", f"One of {', '.join(KERNEL_NAMES)}.")]
Param = Annotated[Names, several("NAME=VALUE", PARAM)]
Ordinal = Annotated[str | None, option("A,B,C", "Ordered classes, from the lowest to the highest.")]
Drop = Annotated[Names, several("COL", "Column to leave out")]
Number = Annotated[Names, several("COL", "Column to use as numbers, whatever it looks like")]
Category = Annotated[Names, several("COL", "Column to use as categories, whatever it looks like")]
GroupColumn = Annotated[str | None, option("COL", GROUP)]
Seed = Annotated[int, option("N", SEED, callback=up_to(2**32 - 1))]
Jobs = Annotated[
    int | None, option("N", "Number of threads; -1 uses all cores.", callback=check_jobs)
]
Device = Annotated[str | None, option("NAME", DEVICE, callback=check_device)]
Out = Annotated[Path, option("FILE", f"File to write: {TABLES}")]
OptionalOut = Annotated[Path | None, option("FILE", f"File to write: {TABLES}")]
ForSpreadsheet = Annotated[bool, typer.Option("--for-spreadsheet", help=FORMULAS)]
Encoding = Annotated[str, option("NAME", "Encoding of CSV files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
MaxError = Annotated[float | None, option("R", ERROR)]
Confidence = Annotated[
    float | None, option("C", f"Probability that --max-error is kept; {LEVEL} by default.")
]
HoldOut = Annotated[float | None, option("S", HELD)]


class Group:
    """Options that belong together: the parameters of a subclass.

    A command has a parameter of the subclass; see ``flat`` in ``bayespoint.cli.app``.
    """


class Columns(Group):
    """What options say about columns."""

    def __init__(self, drop: Drop = None, number: Number = None, category: Category = None) -> None:
        self.drop, self.number, self.category = drop or [], number or [], category or []


@dataclass(frozen=True)
class Classifier(Group):
    """A classifier to be trained."""

    engine: Engine = "auto"
    kernel: Kernel = "auto"
    param: Param = None
    ordinal: Ordinal = None
    seed: Seed = 0
    jobs: Jobs = None
    device: Device = None


@dataclass(frozen=True)
class Output(Group):
    """A table to be written, if it has a name."""

    out: OptionalOut = None
    for_spreadsheet: ForSpreadsheet = False
    force: Force = False


@dataclass(frozen=True)
class RequiredOutput(Output):
    """A table to be written."""

    out: Out = field()  # without the default of an optional one
