"""One page for all runs in a folder: ``index.html``, which needs no other file and no network."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bayespoint.reports import html
from bayespoint.reports.environment import environment_words
from bayespoint.reports.html import definitions, text
from bayespoint.tools.files import write_text
from papers.cells import table_heads, table_rows, verdict_word
from papers.report import RESULTS, ordered_runs

FIRST = (
    "Published experiments, repeated with <code>bayespoint</code>: what each paper says, what was "
    "measured, and whether it holds."
)
QUICK = (
    "Runs marked {} take seconds. They have less data than the papers, and numbers are compared "
    "with printed ones where the data are the same. <code>python -m papers all --full</code> "
    "repeats the experiments in their published size."
)
COLOURS = {"holds": "agrees", "holds in part": "partly", "does not hold": "worse"}  # CSS classes


def write_index(out: Path) -> Path:
    """Write the page of all runs below ``out``, full ones first, and return its path.

    The verdicts come first, then each paper in a few sentences with its picture. Tables, other
    pictures and parameters are folded.

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
    >>> from papers import write_index
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_index(Path(folder)).name)
    index.html
    """
    runs = ordered_runs(out)
    is_quick = any(run["mode"] == "quick" for _, run in runs)
    header = f"<h1>Papers reproduced</h1>\n<p>{FIRST}</p>"
    if is_quick:
        header += f'\n<p class="quiet">{QUICK.format(badge("quick"))}</p>'
    header += "".join(verdicts(run) for _, run in runs)
    sections = "\n".join(section(folder, run, out) for folder, run in runs)
    path = out / "index.html"
    write_text(path, html.page("bayespoint: papers reproduced", header, sections))
    return path


def verdicts(run: Mapping[str, Any]) -> str:
    """The claims of a paper and whether they hold, with a link to its section."""
    items = "".join(
        f"<li>{verdict(finding['verdict'])} {text(finding['claim'])}</li>"
        for finding in run["findings"]
    )
    return (
        f'<nav><a href="#{anchor(run)}"><strong>{text(run["title"])}</strong></a> '
        f'{badge(run["mode"])}<ul class="verdicts">{items}</ul></nav>'
    )


def verdict(words: str) -> str:
    """A verdict in its colour."""
    return f'<span class="badge {COLOURS.get(words, "")}">{text(words)}</span>'


def section(folder: Path, run: Mapping[str, Any], out: Path) -> str:
    """The section of one run."""
    place = folder.relative_to(out).as_posix()
    figures = {one["name"]: figure(folder, one, place) for one in run["figures"]}
    best = figures.pop(run["picture"], "")
    beside = "" if is_wide(folder / f"{run['picture']}.png") else "beside"
    others = [shown for shown in figures.values() if shown]
    story = "".join(
        f"<p>{verdict(finding['verdict'])} <strong>{text(finding['claim'])}.</strong> "
        f"{text(finding['found'])}</p>"
        for finding in run["findings"]
    )
    link = f'<a href="{text(place)}/{RESULTS}">{RESULTS}</a> holds everything above for programs.'
    return f"""<section id="{anchor(run)}">
<h2>{text(run["title"])} {badge(run["mode"])}</h2>
<p class="quiet">{text(run["paper"])}</p>
<p>{text(run["description"])}</p>
<div class="{beside}"><div>{story}</div>{best}</div>
{folded("More pictures", f'<div class="figures">{"".join(others)}</div>') if others else ""}
{"".join(map(table, run["tables"]))}
{folded("Data and parameters", definitions(run["setting"]))}
{folded("Warnings of single fits", warned(run["warnings"])) if run["warnings"] else ""}
{folded("Computer, time and files", definitions(measured_with(run)) + f"<p>{link}</p>")}
</section>"""


def folded(title: str, content: str) -> str:
    """HTML below a line that opens it."""
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def warned(warnings: Iterable[str]) -> str:
    """Warnings as a list, equal ones once."""
    return (
        "<ul>" + "".join(f"<li>{text(words)}</li>" for words in dict.fromkeys(warnings)) + "</ul>"
    )


def is_wide(path: Path) -> bool:
    """Whether a PNG file is so wide that it needs a line of its own."""
    if not path.is_file():
        return False
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width > 1.5 * height


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
    return html.figure(html.data_address("png", path.read_bytes()), title, caption)


def table(content: Mapping[str, Any]) -> str:
    """A folded table with its caption; below a last column of intervals, text is stacked."""
    title = content["title"]
    has_intervals = any(isinstance(row["values"][-1], list) for row in content["rows"])
    kind = "stacked" if has_intervals else ""
    *heads, last = table_heads(content)
    lines = [
        [*cells, html.Cell(words, f"words {verdict_word(words)}".strip())]
        for *cells, words in table_rows(content)
    ]
    shown = html.table([*heads, html.Cell(last, "words")], lines, kind=kind, label=title)
    return folded(title, f'{shown}<p class="quiet">{text(content["caption"])}</p>')


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


def badge(words: Any) -> str:
    """A short text in a frame."""
    return f'<span class="badge">{text(words)}</span>'
