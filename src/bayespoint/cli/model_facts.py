"""A model file, described."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType

from bayespoint.cli import guarantees
from bayespoint.cli.evaluations import preparation
from bayespoint.cli.models import Model
from bayespoint.cli.output.messages import class_words, count
from bayespoint.cli.output.printing import facts, numbers_table
from bayespoint.cli.training import (
    baseline_lines,
    engine_of,
    engine_words,
    expected_lines,
    learned_facts,
)
from bayespoint.exceptions import in_bytes
from bayespoint.reject import Guarantee
from bayespoint.reports.drift import words
from bayespoint.storage import describe


def describe_file(model: Model) -> dict[str, Any]:
    """What the file of a model holds, ready for JSON."""
    path, machine = model.path, model.machine
    file = describe(path)
    engine = engine_of(machine)
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "format": file.format_version,
        "libraries": dict(file.libraries),
        "target": model.target,
        "classes": model.summary.get("classes") or [str(label) for label in machine.classes_],
        "rows": model.summary.get("rows_of_all_batches", model.summary.get("rows")),
        "features": machine.n_features_in_,
        "engine": {"name": engine.alias, **engine.get_params(deep=False)},
        "kernel": " ".join(str(machine.kernel).split()),
        **learned_facts(machine),
        "baseline": model.summary.get("baseline"),
        "training_error": model.summary.get("training_error"),
        "guarantee": guarantees.as_json(model.guarantee),
        "columns": columns(model),
        "preparation": preparation(model),
    }


def columns(model: Model) -> dict[str, dict[str, str]]:
    """The columns that the model needs, what they are used as, and what they were in training."""
    return {
        name: {
            "kind": kind,
            "training": words(model.columns[name]) if name in model.columns else "",
        }
        for name, kind in model.kinds.items()
    }


def tables(found: dict[str, Any], guarantee: Guarantee | None) -> list[RenderableType]:
    """The same for the terminal."""
    classes, error = found["classes"], found["training_error"]
    lines = [
        ("file", f"{in_bytes(found['bytes'])}, format {found['format']}"),
        ("written by", ", ".join(f"{name} {one}" for name, one in found["libraries"].items())),
        ("predicts", found["target"] or "no column by name: it was not trained by this command"),
        ("classes", class_words(classes) if isinstance(classes, dict) else ", ".join(classes)),
        ("trained on", "" if found["rows"] is None else count(found["rows"], "row")),
        ("features", str(found["features"])),
        ("engine", engine_words(found)),
        ("training error", "" if error is None else f"{error:.1%}"),
        *expected_lines(found),
        *baseline_lines(found),
        ("convergence", found["run"]["summary"]),
        *guarantees.lines(guarantee),
        ("preparation", "\n".join(found["preparation"])),
    ]
    parts: list[RenderableType] = [facts([(name, words) for name, words in lines if words])]
    rows = [(name, one["kind"], one["training"]) for name, one in found["columns"].items()]
    if rows:
        parts.append(numbers_table(["column", "used as", "in training"], rows, words_last=True))
    return parts
