"""The command ``bayespoint``; see ``bayespoint --help``."""

import sys
from enum import IntEnum
from importlib import import_module

from bayespoint.tools.extras import require

LIBRARIES = ("typer", "rich", "pandas")


class ExitCode(IntEnum):
    """Exit codes, as documented in ``bayespoint --help``."""

    FAILED = 1
    USAGE = 2
    NO_DATA = 3
    NO_EXTRA = 4
    NO_GUARANTEE = 5
    INTERRUPTED = 130  # 128 + SIGINT, as in shells


def main(module: str = "bayespoint.cli.app") -> None:
    """Call ``run`` of a module, or print what to install."""
    try:
        for library in LIBRARIES:
            require(library, "cli", "the command")
        code = import_module(module).run()
    except ImportError as error:
        code = end(str(error), ExitCode.NO_EXTRA)
    except KeyboardInterrupt:  # outside of the commands, which handle it themselves
        code = end("interrupted", ExitCode.INTERRUPTED)
    raise SystemExit(code)


def end(message: str, code: ExitCode) -> ExitCode:
    """Print an error in one line."""
    print(f"error: {message}", file=sys.stderr)
    return code
