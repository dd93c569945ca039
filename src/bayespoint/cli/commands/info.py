"""``bayespoint info``: a model file, or versions, computer and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.output.printing import facts


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="File of a model to describe.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Describe a model file; without one, show versions and the computer.

    Of a model: what it predicts and from which columns, what was done to these, what it was
    trained on, which error to expect, and which versions wrote the file.

    Example: bayespoint info loans.bpm
    """
    notes = Notes(aloud=not as_json)
    if model is None:
        from bayespoint.cli.installation import describe, summary

        found = describe()
        notes.end(found, facts(summary(found).items()))
    else:
        from bayespoint.cli.model_facts import describe_file, tables
        from bayespoint.cli.models import model_errors, read_model

        read = read_model(model, notes, needs_table=False)
        with model_errors(model):
            found = describe_file(read)
            parts = tables(found, read.guarantee)
        notes.end(found, *parts)
