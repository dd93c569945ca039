"""The command ``bayespoint``; ``bayespoint --help`` says what it can do."""

import sys
from importlib.util import find_spec

MISSING_EXTRA = 4  # exit code, see bayespoint.cli.errors, which cannot be imported without typer
LIBRARIES = ("typer", "rich", "pandas")


def main() -> None:
    """Run the command, or say what to install."""
    for library in LIBRARIES:
        if find_spec(library) is None:
            message = f'error: the command needs {library}: pip install "bayespoint[cli]"'
            print(message, file=sys.stderr)
            raise SystemExit(MISSING_EXTRA)

    from bayespoint.cli.app import run

    raise SystemExit(run())
