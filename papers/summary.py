"""All runs in a folder without figures: ``summary.md``, and ``summary.json`` for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayespoint.tools.files import write_text
from papers.cells import table_heads, table_rows
from papers.page import measured_with
from papers.report import ordered_runs, write_json

TITLE = "# Papers reproduced, all numbers"
FIRST = (
    "Every table of `python -m papers`: printed and measured values, with an interval or a "
    "standard error if there is one, and a verdict."
)


def write_summary(out: Path) -> Path:
    """Write both files for all runs below ``out``, full ones first.

    Parameters
    ----------
    out : Path
        A folder in which runs were written.

    Returns
    -------
    Path
        The file for people, ``summary.md``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from papers import write_summary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_summary(Path(folder)).name)
    summary.md
    """
    runs = [run for _, run in ordered_runs(out)]
    write_json({"runs": runs}, out / "summary.json")
    path = out / "summary.md"
    write_text(path, summary_text(runs))
    return path


def summary_text(runs: Sequence[Mapping[str, Any]]) -> str:
    """All runs as Markdown."""
    blocks = [TITLE, FIRST, *(block for run in runs for block in run_blocks(run))]
    return "\n\n".join(blocks) + "\n"


def run_blocks(run: Mapping[str, Any]) -> Iterable[str]:
    """Paragraphs and tables of one run."""
    yield f"## {run['title']} ({run['mode']})"
    yield f"*{plain(run['paper'])}.* {plain(run['description'])}"
    if run["findings"]:
        yield findings_table(run["findings"])
    yield bullets(run["setting"])
    if run["warnings"]:
        yield "\n".join(f"- warning: {plain(words)}" for words in run["warnings"])
    for content in run["tables"]:
        yield f"### {plain(content['title'])}"
        yield markdown_table(table_heads(content), table_rows(content))
        yield plain(content["caption"])
    yield "### Computer and time"
    yield bullets(measured_with(run))


def findings_table(findings: Sequence[Mapping[str, str]]) -> str:
    """Claims of the paper, and what came out."""
    rows = [(one["claim"], one["found"], one["verdict"]) for one in findings]
    cells = [" | ".join(map(plain, row)) for row in rows]
    lines = ["| claim | found | verdict |", "|---|---|---|", *(f"| {line} |" for line in cells)]
    return "\n".join(lines)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table with right-aligned numbers.

    >>> print(markdown_table(["", "error", "verdict"], [["a|b", "1.5", "agrees"]]))
    |  | error | verdict |
    |---|--:|---|
    | a\|b | 1.5 | agrees |
    """
    rule = "|".join(["---", *["--:"] * (len(heads) - 2), "---"])
    lines = [heads, *rows]
    cells = [" | ".join(plain(cell) for cell in line) for line in lines]
    return "\n".join([f"| {cells[0]} |", f"|{rule}|", *(f"| {line} |" for line in cells[1:])])


def bullets(pairs: Mapping[str, str]) -> str:
    """Names and their descriptions, as a list."""
    return "\n".join(f"- {plain(name)}: {plain(words)}" for name, words in pairs.items())


def plain(words: str) -> str:
    """Text on one line, with Markdown's special characters escaped."""
    words = " ".join(words.split())
    for sign in "\\|*_`[]<>#":
        words = words.replace(sign, f"\\{sign}")
    return words
