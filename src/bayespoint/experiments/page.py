"""One page for all runs in a folder: ``index.html``, which needs no other file and no network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayespoint.experiments.cells import table_heads, table_rows, verdict_word
from bayespoint.experiments.report import RESULTS, ordered_runs
from bayespoint.files import write_text
from bayespoint.reports import html
from bayespoint.reports.environment import environment_words
from bayespoint.reports.html import badge, definitions, text


def write_index(out: Path) -> Path:
    """Write the page of all runs below ``out``, full ones first, and return its path.

    Parameters
    ----------
    out : Path
        A folder in which runs were written.

    Returns
    -------
    Path
        The page, ``index.html``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayespoint.experiments import write_index
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_index(Path(folder)).name)
    index.html
    """
    runs = ordered_runs(out)
    contents = "".join(
        f'<li><a href="#{anchor(run)}">{text(run["title"])}</a> {badge(run["mode"])}</li>'
        for _, run in runs
    )
    header = f"""<h1>Papers reproduced</h1>
<p>Published experiments, repeated with <code>bayespoint</code>: printed and measured values.</p>
<nav><ul>{contents}</ul></nav>"""
    sections = "\n".join(section(folder, run, out) for folder, run in runs)
    path = out / "index.html"
    write_text(path, html.page("bayespoint: papers reproduced", header, sections))
    return path


def section(folder: Path, run: Mapping[str, Any], out: Path) -> str:
    """The section of one run."""
    place = folder.relative_to(out).as_posix()
    warned = "".join(f'<p class="warning">Warning: {text(words)}</p>' for words in run["warnings"])
    figures = "".join(figure(folder, content, place) for content in run["figures"])
    return f"""<section id="{anchor(run)}">
<h2>{text(run["title"])} {badge(run["mode"])}</h2>
<p class="quiet">{text(run["paper"])}</p>
<p>{text(run["description"])}</p>
{definitions(run["setting"])}
{warned}
<div class="figures">{figures}</div>
{"".join(map(table, run["tables"]))}
<details><summary>Computer, time and files</summary>
{definitions(measured_with(run))}
<p><a href="{text(place)}/{RESULTS}">{RESULTS}</a> holds everything above for programs.</p>
</details>
</section>"""


def figure(folder: Path, content: Mapping[str, Any], place: str) -> str:
    """A figure with links to its files; empty if its file is missing."""
    name, title = content["name"], content["title"]
    path = folder / f"{name}.png"
    if not path.is_file():
        return ""
    file = text(f"{place}/{name}")
    caption = (
        f"<strong>{text(title)}.</strong> {text(content['caption'])} "
        f'<a href="{file}.png">PNG</a> <a href="{file}.json">JSON</a>'
    )
    return html.figure(html.png_address(path.read_bytes()), title, caption)


def table(content: Mapping[str, Any]) -> str:
    """A table with its title and caption; below a last column of intervals, text is stacked."""
    title = content["title"]
    has_intervals = any(isinstance(row["values"][-1], list) for row in content["rows"])
    kind = "stacked" if has_intervals else ""
    *heads, last = table_heads(content)
    lines = [
        [*cells, html.Cell(verdict, f"words {verdict_word(verdict)}".strip())]
        for *cells, verdict in table_rows(content)
    ]
    shown = html.table([*heads, html.Cell(last, "words")], lines, kind=kind, label=title)
    return (
        f"<article><h3>{text(title)}</h3>{shown}"
        f'<p class="quiet">{text(content["caption"])}</p></article>'
    )


def measured_with(run: Mapping[str, Any]) -> dict[str, str]:
    """When the run finished, how long it took and on which computer, as text."""
    seconds = run["seconds"]
    steps = ", ".join(f"{part} {time:.1f} s" for part, time in seconds.items() if part != "all")
    return {
        "finished": run["finished"],
        "time": f"{seconds['all']:.1f} s" + (f" ({steps})" if steps else ""),
        **environment_words(run["environment"]),
    }


def anchor(run: Mapping[str, Any]) -> str:
    """The name of a run within the page."""
    return text(f"{run['name']}-{run['mode']}")
