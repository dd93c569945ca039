"""The command ``bayespoint``; ``bayespoint --help`` says what it can do."""

import sys

MISSING_EXTRA = 4  # exit code, see bayespoint.cli.errors, which cannot be imported without typer


def main() -> None:
    """Run the command, or say what to install."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        message = f'error: the command needs {error.name}: pip install "bayespoint[cli]"'
        print(message, file=sys.stderr)
        raise SystemExit(MISSING_EXTRA) from None

    from bayespoint.cli.app import run

    raise SystemExit(run())
