"""Run an experiment and write its results: figures, and the numbers as JSON.

In the folder given each run has a folder of its own, ``<name>/quick`` or ``<name>/full``, with
``results.json`` and, for every figure, a PNG and a JSON file of the numbers that it shows.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bayespoint.reports.environment import describe_environment
from bayespoint.tools.files import replacing, write_text
from bayespoint.tools.plots import house_style
from papers.base import Context, Experiment, Figure, Result

FORMAT = 3  # of results.json; files of another format are not read
RESULTS = "results.json"


class Run(NamedTuple):
    """One run of an experiment: its result, and a document of everything about the run."""

    result: Result
    document: dict[str, Any]


def perform(experiment: Experiment, context: Context) -> Run:
    """Run an experiment and record time, environment and warnings.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    context : Context
        How to run it.

    Returns
    -------
    Run
        The result, and a document of everything about the run.

    Examples
    --------
    >>> from papers import Context, Experiment, Result, perform
    >>> nothing = Experiment("none", "Nothing", "-", "-", lambda context: [Result()])
    >>> run = perform(nothing, Context())
    >>> run.document["name"], run.document["mode"], run.document["warnings"]
    ('none', 'quick', [])
    """
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        result = experiment.run(context)
    document = {
        "format": FORMAT,
        "name": experiment.name,
        "mode": context.mode,
        "title": experiment.title,
        "paper": experiment.paper,
        "description": experiment.description,
        "setting": dict(result.setting),
        "findings": [asdict(finding) for finding in experiment.findings(result.tables)],
        "picture": experiment.picture,
        "tables": [asdict(table) for table in result.tables],
        "figures": [
            {"name": figure.name, "title": figure.title, "caption": figure.caption}
            for figure in result.figures
        ],
        "warnings": [str(warning.message) for warning in caught],
        "seconds": {
            "all": round(time.perf_counter() - start, 2),
            **{part: round(seconds, 2) for part, seconds in context.seconds.items()},
        },
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": describe_environment(),
    }
    return Run(result, document)


def write_run(run: Run, out: Path) -> Path:
    """Write all files of a run below the folder ``out`` and return its ``results.json``.

    Parameters
    ----------
    run : Run
        From :func:`perform`.
    out : Path
        A folder; it is created if it does not exist.

    Returns
    -------
    Path
        The file with all numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from papers import Context, Experiment, Result, perform, write_run
    >>> nothing = Experiment("none", "Nothing", "-", "-", lambda context: [Result()])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_run(perform(nothing, Context()), Path(folder))
    ...     print(path.relative_to(folder).as_posix())
    none/quick/results.json
    """
    folder = out / run.document["name"] / run.document["mode"]
    folder.mkdir(parents=True, exist_ok=True)
    for figure in run.result.figures:
        write_figure(figure, folder)
    write_json(run.document, folder / RESULTS)
    return folder / RESULTS


def write_figure(figure: Figure, folder: Path) -> None:
    """Write a figure to ``<name>.png`` and its numbers to ``<name>.json``."""
    with house_style():
        drawing = figure.draw()
        with replacing(folder / f"{figure.name}.png") as draft:
            drawing.savefig(draft)
    titles = {"title": figure.title, "caption": figure.caption}
    write_json({**titles, "data": figure.data}, folder / f"{figure.name}.json")


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write valid JSON, without NaN."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_runs(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folder and document of every run below ``out``; other files are ignored."""
    for path in sorted(out.glob(f"*/*/{RESULTS}")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("format") == FORMAT:
            yield path.parent, document


def ordered_runs(out: Path) -> list[tuple[Path, dict[str, Any]]]:
    """All runs below ``out``, the full ones first."""
    return sorted(read_runs(out), key=lambda run: (run[1]["mode"], run[1]["name"]))
