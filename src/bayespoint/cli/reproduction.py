"""Runs of published experiments, and their results on a terminal."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from papers.cells import table_heads, table_rows, verdict_word
from rich.text import Text

from bayespoint.cli.errors import bad_usage, check_name
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.cli.tables import NumbersTable, numbers_table, show
from bayespoint.tools.monitor import watch
from papers import (
    EXPERIMENTS,
    Context,
    perform,
    write_index,
    write_run,
    write_summary,
)

ALL = "all"
VERDICT_STYLES = {"agrees": "green", "better": "cyan", "worse": "bold yellow"}


def choose(names: Sequence[str] | None) -> list[str]:
    """Names of experiments to run, each once; ends the command where one is wrong."""
    known = [*EXPERIMENTS, ALL]
    if not names:
        bad_usage(f"name an experiment. There are {', '.join(known)}")
    for name in names:
        check_name("experiment", name, known)
    return list(EXPERIMENTS) if ALL in names else list(dict.fromkeys(names))


def prepare(out: Path) -> None:
    """Make the folder, and check that it is writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        reason = "it is not a folder" if out.exists() and not out.is_dir() else error.strerror
        bad_usage(f"cannot write to --out {out}: {reason}")


def run_one(name: str, context: Context) -> dict[str, Any]:
    """Run an experiment under a progress bar, write its files, and return its document."""
    out = context.out or Path()
    with ProgressMonitor(name) as progress, watch(progress):
        run = perform(EXPERIMENTS[name], replace(context, tell=progress.tell))
        progress.tell("drawing")
        write_run(run, out)
    write_index(out)  # after each run, so that an interrupted command leaves a page
    write_summary(out)
    return run.document


def show_run(document: Mapping[str, Any]) -> None:
    """Print the setting and the tables of a run."""
    show(
        Text(f"\n{document['title']} ({document['mode']})", style="bold"),
        Text(document["paper"], style="italic"),
        *(f"{name}: {words}" for name, words in document["setting"].items()),
        *(Text(f"warning: {words}", style="yellow") for words in document["warnings"]),
        *map(result_table, document["tables"]),
        f"Time: {document['seconds']['all']:.1f} s",
    )


def result_table(content: Mapping[str, Any]) -> NumbersTable:
    """A table with its title and its caption, verdicts in colours."""
    rows: list[list[str | Text]] = [
        [*cells, Text(verdict, style=VERDICT_STYLES.get(verdict_word(verdict), ""))]
        for *cells, verdict in table_rows(content)
    ]
    about = {"title": content["title"], "caption": content["caption"]}
    return numbers_table(table_heads(content), rows, words_last=True, **about)
