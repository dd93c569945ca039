"""How the command ends: exit codes, and one line on standard error instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer

from bayespoint.cli import MISSING_EXTRA
from bayespoint.exceptions import DataUnavailableError


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


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a user can cause into a line and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)
    except DataUnavailableError as error:
        fail(str(error), ExitCode.NO_DATA)
