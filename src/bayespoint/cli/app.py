"""The command-line application: the list of commands, each imported when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from shutil import get_terminal_size
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from bayespoint import __version__
from bayespoint.cli.options import Group
from bayespoint.cli.output.errors import errors_in_words, run_app

# What `bayespoint --help` says of each: the first sentence of its own help.
COMMANDS = {
    "train": "Train a classifier on a table and save it in a file.",
    "train-incremental": "Train a model on a table, and continue with further tables later.",
    "predict": "Predict the class of every row of a table.",
    "explain": "Explain the predictions for single rows of a table.",
    "evaluate": "Measure how good a model is on a table that it was not trained on.",
    "cross-validate": "Measure how good a model of a table would be on new rows.",
    "query": "Choose the rows of a table whose labels would teach the model most.",
    "suspects": "Find labels of a table that are probably wrong.",
    "label": "Label rows on a page in the browser; a model learns meanwhile and chooses the next.",
    "info": "Describe a model file; without one, show versions and the computer.",
}
EXIT_CODES = (
    "Exit codes: 0 success, 1 a run failed, 2 wrong usage, 3 data not found or broken, "
    "4 an extra is not installed, 5 --max-error is not reached, 130 interrupted."
)
# Panels need room: on a narrow terminal they would cut words.
STYLE: Literal["rich"] | None = "rich" if get_terminal_size().columns >= 80 else None


class Commands(TyperGroup):
    """Commands that are imported when they are called: NumPy and pandas take a second."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the command itself."""
        return plain(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself, in place of the name and sentence that are registered below."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(str(name)), rest


def load(name: str) -> Any:
    """Import a command."""
    function_name = name.replace("-", "_")
    with errors_in_words():
        module = import_module(f"bayespoint.cli.commands.{function_name}")
    command: Any = typer.main.get_command(single(getattr(module, function_name)))
    context = command.context_class(command, **command.context_settings)
    plain(command.get_params(context))
    return command


def plain(parameters: list[Any]) -> list[Any]:
    """Flags without a type: --json, not --json <bool>."""
    for one in parameters:
        one.metavar = "" if getattr(one, "is_flag", False) else one.metavar
    return parameters


def single(function: Any) -> typer.Typer:
    """An application of one command, whose help is the function's docstring."""
    alone = typer.Typer(**SETTINGS)
    guarded = errors_in_words()(flat(function))
    alone.command(help=flowing(function.__doc__), epilog=EXIT_CODES)(guarded)
    return alone


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups one by one, as typer takes them."""
    options: dict[str, inspect.Parameter] = {}
    groups: dict[str, tuple[type, list[str]]] = {}
    for name, one in inspect.signature(function, eval_str=True).parameters.items():
        inner = {name: one}
        if isinstance(one.annotation, type) and issubclass(one.annotation, Group):
            inner = dict(inspect.signature(one.annotation, eval_str=True).parameters)
            groups[name] = one.annotation, list(inner)
        options |= {key: each.replace(kind=each.KEYWORD_ONLY) for key, each in inner.items()}

    def call(**given: Any) -> None:
        for name, (group, names) in groups.items():
            given[name] = group(**{key: given.pop(key) for key in names})
        function(**given)

    call.__annotations__ = {name: one.annotation for name, one in options.items()}
    call.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    return call


def flowing(text: str) -> str:
    """Paragraphs on one line each, to be wrapped by the terminal and not by the source."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


SETTINGS: dict[str, Any] = {
    "rich_markup_mode": STYLE,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    name="bayespoint",
    cls=Commands,
    help="Bayes point machines: classifiers that average over all classifiers the data allow.",
    epilog=EXIT_CODES,
    **SETTINGS,
)
for command, sentence in COMMANDS.items():
    app.command(command, help=sentence)(lambda: None)


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
    return run_app(app, "bayespoint")
