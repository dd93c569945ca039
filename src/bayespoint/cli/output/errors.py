"""How the command ends: exit codes, and one line on standard error instead of a traceback."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import NoReturn, TextIO
from unicodedata import category

import typer

from bayespoint.cli import ExitCode

UNSAFE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # Unicode: controls, none, halves, line ends
ESCAPED = "backslashreplace"  # how characters are written that an encoding does not have
PARAMETER_ERROR = re.compile(r"The '\w+' parameter of \w+ must ")  # scikit-learn's wording


def run_app(app: typer.Typer, name: str) -> int:
    """Run a command-line application and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what an encoding does not have is escaped
            stream.reconfigure(errors=ESCAPED)
    try:
        code = app(standalone_mode=False, prog_name=name) or 0
        flush()
        return code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:  # as below, of help and versions, which no command writes
        discard(sys.stdout)
        return ExitCode.FAILED
    except OSError as error:
        discard(sys.stdout)
        say_error(f"cannot write to standard output: {error.strerror}")
        return ExitCode.FAILED
    except Exception as error:
        # Errors of usage. Their class is Click's in some versions of typer, its own in others.
        if not hasattr(error, "format_message"):
            raise
        words = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        command = name if context is None else context.command_path
        say_error(f"{words}{'' if words.endswith('?') else '.'} See {command} --help.")
        return ExitCode.USAGE


def flush() -> None:
    """Write what is left to write, and end with an error if that fails: a disk may be full."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        say_error(f"cannot write to standard output: {error.strerror}")
        raise SystemExit(ExitCode.FAILED) from None


def discard(stream: TextIO) -> None:
    """Send standard output nowhere: what is left in its buffer cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say_error(message: str) -> None:
    """Write one line to standard error."""
    with unless_full():
        typer.echo(f"error: {printable(' '.join(message.split()))}", err=True)


@contextmanager
def unless_full() -> Iterator[None]:
    """Continue if standard error cannot be written to: the exit code still says what happened."""
    try:
        yield
    except OSError:
        discard(sys.stderr)


def printable(text: str) -> str:
    r"""Text that does nothing to a terminal: control characters are escaped, as ESC is: ``\x1b``.

    So are marks that reverse the direction of text, and halves of characters, which no encoding
    has. Line ends stay.
    """
    return "".join(char if char == "\n" else escaped(char) for char in text)


def escaped(char: str) -> str:
    """A character, or its number in Python's spelling if it is unsafe."""
    return ascii(char)[1:-1] if category(char) in UNSAFE else char


class CommandError(Exception):
    """Ends a command with a message and an exit code."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message, code)  # so that a worker of a cluster can send it
        self.message, self.code = message, code

    def __str__(self) -> str:
        return self.message


def fail(message: str, code: ExitCode) -> NoReturn:
    """End the command with an error."""
    raise CommandError(message, code) from None


def bad_usage(message: str) -> NoReturn:
    """End the command: an option or an argument is wrong."""
    fail(message, ExitCode.USAGE)


def bad_data(message: str) -> NoReturn:
    """End the command: a file is missing or its contents are invalid."""
    fail(message, ExitCode.NO_DATA)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A suggestion of a similar name, with a space before it; empty if there is none."""
    known = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {known[near[0]]}?" if near else ""


def check_name(what: str, name: str, names: Collection[str]) -> None:
    """End the command unless this is one of the names."""
    if name not in names:
        hint = did_you_mean(name, names)
        bad_usage(f"there is no {what} {name!r}.{hint} Choose from {', '.join(names)}")


def is_interrupt(error: BaseException | None) -> bool:
    """Whether this is Ctrl-C, or was caused by it: compiled code turns it into a SystemError."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Turn errors that users can cause into one line and an exit code; all commands run in it."""
    try:
        yield
    except BrokenPipeError:  # what read standard output, such as head, has ended
        discard(sys.stdout)
        raise typer.Exit(ExitCode.FAILED) from None
    except (Exception, KeyboardInterrupt) as error:
        message, code = in_words(error)
        if is_full(error):  # so that what is left in the buffer is no second error
            discard(sys.stdout)
        say_error(message)
        raise typer.Exit(code) from None


def is_full(error: BaseException) -> bool:
    """Whether standard output has no room left: errors of other files have their names."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None


def in_words(error: BaseException) -> tuple[str, ExitCode]:
    """The message and the exit code of an error; raises those that no user can cause."""
    if isinstance(error, CommandError):
        return error.message, error.code
    if is_interrupt(error):
        return "interrupted", ExitCode.INTERRUPTED
    if isinstance(error, ImportError):
        return str(error), ExitCode.NO_EXTRA
    if isinstance(error, ValueError):
        is_usage = PARAMETER_ERROR.match(str(error))
        return str(error), ExitCode.USAGE if is_usage else ExitCode.FAILED
    if is_full(error):
        return f"cannot write to standard output: {os.strerror(errno.ENOSPC)}", ExitCode.FAILED
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}", ExitCode.FAILED
    if isinstance(error, (MemoryError, OSError)):
        from bayespoint.exceptions import one_line

        return one_line(error), ExitCode.FAILED
    raise error
