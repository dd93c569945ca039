"""The command-line application."""

from __future__ import annotations

import io
import os
import sys
from shutil import get_terminal_size
from typing import Annotated, Literal

import typer

from bayespoint import __version__
from bayespoint.cli.commands.cross_validate import cross_validate
from bayespoint.cli.commands.diagnose import diagnose
from bayespoint.cli.commands.evaluate import evaluate
from bayespoint.cli.commands.info import info
from bayespoint.cli.commands.label import label
from bayespoint.cli.commands.predict import predict
from bayespoint.cli.commands.query import query
from bayespoint.cli.commands.reproduce import reproduce
from bayespoint.cli.commands.sample_weights import sample_weights
from bayespoint.cli.commands.train import train
from bayespoint.cli.commands.train_incremental import train_incremental
from bayespoint.cli.errors import SPELT, ExitCode, errors_in_words, say_error

EXIT_CODES = (
    "Exit codes: 0 all is well, 1 a run failed, 2 wrong usage, 3 data not found or broken, "
    "4 an extra is not installed, 130 interrupted."
)


def flowing(text: str) -> str:
    """Paragraphs on one line each, to be wrapped by the terminal and not by the source."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


# Panels need room: on a narrow terminal they would cut words.
STYLE: Literal["rich"] | None = "rich" if get_terminal_size().columns >= 80 else None
app = typer.Typer(
    name="bayespoint",
    rich_markup_mode=STYLE,
    help="Bayes point machines: classifiers that average over all classifiers the data allow.",
    epilog=EXIT_CODES,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    train,
    train_incremental,
    predict,
    evaluate,
    cross_validate,
    query,
    label,
    diagnose,
    sample_weights,
    info,
    reproduce,
)
for command in COMMANDS:
    name = command.__name__.replace("_", "-")
    guarded = errors_in_words()(command)
    app.command(name, help=flowing(command.__doc__ or ""), epilog=EXIT_CODES)(guarded)


@app.callback(invoke_without_command=True)
def bayespoint(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Show help or the version where no command is named."""
    if version:
        typer.echo(f"bayespoint {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run() -> int:
    """Run the command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that it cannot write are spelt
            stream.reconfigure(errors=SPELT)
    try:
        code = app(standalone_mode=False, prog_name="bayespoint") or 0
        flush()
        return code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        # Errors of usage. Their class is Click's in some versions of typer, its own in others.
        if not hasattr(error, "format_message"):
            raise
        words = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        command = "bayespoint" if context is None else context.command_path
        say_error(f"{words}{'' if words.endswith('?') else '.'} See {command} --help.")
        return ExitCode.USAGE


def flush() -> None:
    """Write what is left to write, and end with an error if that fails: a disk may be full."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say_error(f"cannot write to standard output: {error.strerror}")
        raise SystemExit(ExitCode.FAILED) from None
