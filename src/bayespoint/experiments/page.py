"""One page over all runs in a folder: ``index.html``, which needs no other file and no network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayespoint.experiments.cells import table_heads, table_rows, table_title, verdict_word
from bayespoint.experiments.report import RESULTS, read_runs


def write_index(out: Path) -> Path:
    """Write the page over all runs below ``out``, the full ones first, and return its path."""
    runs = sorted(read_runs(out), key=lambda run: (run[1]["mode"], run[1]["name"]))
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    contents = "".join(
        f'<li><a href="#{anchor(run)}">{text(run["title"])}</a> {badge(run)}</li>'
        for _, run in runs
    )
    sections = "\n".join(section(folder, run, out) for folder, run in runs)
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>bayespoint: papers reproduced</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>Papers reproduced</h1>
<p>Published experiments, repeated with <code>bayespoint</code>: what was printed there beside what
was measured here.</p>
<nav><ul>{contents}</ul></nav>
</header>
<main>
{sections}
</main>
</body>
</html>
"""
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def section(folder: Path, run: Mapping[str, Any], out: Path) -> str:
    """All of one run."""
    place = folder.relative_to(out).as_posix()
    warned = "".join(f'<p class="warning">Warning: {text(words)}</p>' for words in run["warnings"])
    figures = "".join(figure(folder, content, place) for content in run["figures"])
    return f"""<section id="{anchor(run)}">
<h2>{text(run["title"])} {badge(run)}</h2>
<p class="paper">{text(run["paper"])}</p>
<p>{text(run["description"])}</p>
{definitions(run["setting"])}
{warned}
<div class="figures">{figures}</div>
{"".join(map(table, run["tables"]))}
<details><summary>Machine, time and files</summary>
{definitions(measured_with(run))}
<p><a href="{place}/{RESULTS}">{RESULTS}</a> holds everything above for programs.</p>
</details>
</section>"""


def figure(folder: Path, content: Mapping[str, Any], place: str) -> str:
    """A picture inside the page, with links to its files; nothing if its file is gone."""
    name, title = content["name"], text(content["title"])
    path = folder / f"{name}.png"
    if not path.is_file():
        return ""
    picture = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{picture}" alt="{title}">'
        f"<figcaption><strong>{title}.</strong> {text(content['caption'])} "
        f'<a href="{place}/{name}.png">PNG</a> <a href="{place}/{name}.json">JSON</a>'
        "</figcaption></figure>"
    )


def table(content: Mapping[str, Any]) -> str:
    """A table of printed against measured values, or of any others; wide ones can be scrolled."""
    rows = "".join(map(table_row, table_rows(content)))
    heads = "".join(f"<th scope=col>{text(name)}</th>" for name in table_heads(content))
    kind = ' class="comparison"' if "columns" in content else ""
    return (
        f"<article{kind}><h3>{text(table_title(content))}</h3><div><table>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p>{text(content['caption'])}</p></article>"
    )


def table_row(cells: Sequence[str]) -> str:
    """One row of it."""
    quantity, *numbers, verdict = map(text, cells)
    middle = "".join(f"<td>{number}</td>" for number in numbers)
    last = f'<td class="verdict {verdict_word(verdict)}">{verdict}</td>'
    return f"<tr><th scope=row>{quantity}</th>{middle}{last}</tr>"


def measured_with(run: Mapping[str, Any]) -> dict[str, str]:
    """When, how long and on what, in words."""
    machine, seconds = run["machine"], run["seconds"]
    parts = ", ".join(f"{part} {time:.1f} s" for part, time in seconds.items() if part != "all")
    memory = "" if machine["memory_gb"] is None else f", {machine['memory_gb']:.0f} GB of memory"
    return {
        "finished": run["finished"],
        "time": f"{seconds['all']:.1f} s" + (f" ({parts})" if parts else ""),
        "machine": f"{machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}",
        "versions": ", ".join(f"{name} {number}" for name, number in machine["versions"].items()),
        "BLAS": ", ".join(
            f"{blas['internal_api']} {blas['version']} ({blas['num_threads']} threads)"
            for blas in machine["blas"]
        ),
    }


def definitions(pairs: Mapping[str, str]) -> str:
    """Names and what they stand for."""
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(words)}</dd></div>" for name, words in pairs.items()
    )
    return f"<dl>{items}</dl>"


def anchor(run: Mapping[str, Any]) -> str:
    """The name of a run within the page."""
    return escape(f"{run['name']}-{run['mode']}")


def badge(run: Mapping[str, Any]) -> str:
    """Whether a run was quick or full."""
    return f'<span class="badge">{text(run["mode"])}</span>'


def text(words: Any) -> str:
    """Words, safe inside HTML."""
    return escape(str(words))
