"""The command ``bayespoint``; ``bayespoint --help`` says what it can do."""

import sys
from enum import IntEnum
from importlib.util import find_spec

LIBRARIES = ("typer", "rich", "pandas")


class ExitCode(IntEnum):
    """Exit codes; ``bayespoint --help`` promises them."""

    FAILED = 1
    USAGE = 2
    NO_DATA = 3
    NO_EXTRA = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def main() -> None:
    """Run the command, or say what to install."""
    for library in LIBRARIES:
        if find_spec(library) is None:
            message = f'error: the command needs {library}: pip install "bayespoint[cli]"'
            print(message, file=sys.stderr)
            raise SystemExit(ExitCode.NO_EXTRA)
    try:
        from bayespoint.cli.app import run

        raise SystemExit(run())
    except KeyboardInterrupt:  # outside of the commands, which handle it themselves
        print("error: interrupted", file=sys.stderr)
        raise SystemExit(ExitCode.INTERRUPTED) from None
