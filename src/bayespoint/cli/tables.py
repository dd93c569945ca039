"""A run of an experiment on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayespoint.experiments.cells import table_heads, table_rows, table_title, verdict_word

VERDICT_STYLES = {"agrees": "green", "better": "cyan", "worse": "bold yellow"}


def show_run(document: Mapping[str, Any]) -> None:
    """Print the setting and the tables of a run."""
    console = Console(highlight=False, markup=False)
    console.print(f"\n{document['title']} ({document['mode']})", style="bold")
    console.print(document["paper"], style="italic")
    for name, words in document["setting"].items():
        console.print(f"{name}: {words}")
    for words in document["warnings"]:
        console.print(f"warning: {words}", style="yellow")
    for content in document["tables"]:
        console.print()
        console.print(result_table(content))
    console.print(f"\nTime: {document['seconds']['all']:.1f} s")


def result_table(content: Mapping[str, Any]) -> Table:
    """A table of printed beside measured values, or of any others."""
    table = Table(
        title=table_title(content),
        title_justify="left",
        title_style="bold",
        caption=content["caption"],
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # so that the usual verdicts fit into 80 columns
        pad_edge=False,
    )
    first, *numbers, last = table_heads(content)
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last)
    for *cells, verdict in table_rows(content):
        style = VERDICT_STYLES.get(verdict_word(verdict), "")
        table.add_row(*(Text(cell) for cell in cells), Text(verdict, style=style))
    return table
