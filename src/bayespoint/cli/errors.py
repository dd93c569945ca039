"""How the command ends: exit codes, and one line on standard error instead of a traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from enum import IntEnum
from typing import NoReturn

import typer

from bayespoint.cli import MISSING_EXTRA
from bayespoint.exceptions import DataUnavailableError, one_line

PARAMETER_ERROR = re.compile(r"The '\w+' parameter of \w+ must ")  # scikit-learn's wording


class ExitCode(IntEnum):
    """Exit codes; ``bayespoint --help`` promises them."""

    FAILED = 1
    USAGE = 2
    NO_DATA = 3
    NO_EXTRA = MISSING_EXTRA
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def say_error(message: str) -> None:
    """Write one line to standard error."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)


def fail(message: str, code: ExitCode) -> NoReturn:
    """Say what is wrong and end the command."""
    say_error(message)
    raise typer.Exit(code)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A guess at what was meant, with a space before it; nothing where there is none."""
    known = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {known[near[0]]}?" if near else ""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a user can cause into a line and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)
    except DataUnavailableError as error:
        fail(str(error), ExitCode.NO_DATA)


@contextmanager
def errors_in_words() -> Iterator[None]:
    """The same for commands that train and predict, whose data and parameters are the user's."""
    try:
        with plain_errors():
            yield
    except BrokenPipeError:  # whoever read standard output, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.FAILED) from None
    except ValueError as error:
        is_usage = PARAMETER_ERROR.match(str(error))
        fail(str(error), ExitCode.USAGE if is_usage else ExitCode.FAILED)
    except (MemoryError, OSError) as error:
        fail(one_line(error), ExitCode.FAILED)
