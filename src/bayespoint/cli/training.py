"""Training data of a command, and the summary of a fitted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.pipeline import Pipeline

from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import Estimate
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes, class_words, count
from bayespoint.cli.tables.columns import CATEGORY, NUMBER, prepare, sort_columns, tell_missing
from bayespoint.cli.tables.labels import check_classes, check_column, class_array, rows_with_labels
from bayespoint.cli.tables.number_formats import as_numbers
from bayespoint.cli.tables.reading import read_table
from bayespoint.engines import Engine, get_engine
from bayespoint.reports import profile


@dataclass(frozen=True)
class TrainingData:
    """Rows with labels, the kinds of their columns, and statistics about them."""

    X: pd.DataFrame
    y: NDArray
    kinds: dict[str, str]
    missing: dict[str, int]
    counts: dict[Any, int]
    formats: dict[str, dict[str, Any]] = field(default_factory=dict)

    def part(self, rows: NDArray[np.intp]) -> TrainingData:
        """Some of the rows."""
        X, y = self.X.iloc[rows], self.y[rows]
        missing = {name: int(n) for name, n in X.isna().sum().items() if n}
        counts = {label: int(np.sum(y == label)) for label in self.counts}
        return replace(self, X=X, y=y, missing=missing, counts=counts)

    def columns(self) -> dict[str, dict[str, Any]]:
        """How each column is written, and its profile: what new rows are read and judged by."""
        profiles = profile(self.X)
        return {name: {**self.formats.get(name, {}), **one} for name, one in profiles.items()}


def read_training_data(
    path: Path,
    target: str,
    drop: Sequence[str],
    encoding: str,
    notes: Notes,
    classes: bool = True,
    numbers: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> TrainingData:
    """Read a table to learn from.

    ``classes`` says whether it must show at least two of them. ``numbers`` and ``categories`` are
    columns whose kind the user has said.
    """
    frame = read_table(path, encoding, notes)
    check_roles(
        frame, {"target": [target], "drop": drop, "number": numbers, "category": categories}
    )
    frame, labels = rows_with_labels(frame, target, notes)
    counts = labels.value_counts().sort_index().to_dict()
    if classes:
        check_classes(counts, target)
    features = frame.drop(columns=[target, *dict.fromkeys(drop)])
    kinds = sort_columns(features, notes, numbers, categories)
    X = prepare(features, kinds, notes)
    missing = tell_missing(X, kinds, notes)
    formats = {name: column_format(features[name], kind) for name, kind in kinds.items()}
    return TrainingData(X, class_array(labels), kinds, missing, counts, formats)


def check_roles(frame: pd.DataFrame, roles: Mapping[str, Sequence[str]]) -> None:
    """End the command if options name a column that is not there, or the same for two purposes."""
    option_of: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            check_column(frame, name, f"--{role}")
            other = option_of.setdefault(name, role)
            if other != role:
                bad_usage(f"--{role} and --{other} name the same column, {name!r}")


def column_format(series: pd.Series, kind: str) -> dict[str, Any]:
    """How a column is written, so that new rows are read in the same way."""
    is_text = not (is_numeric_dtype(series) or is_bool_dtype(series))
    if kind == CATEGORY:
        return {"text": is_text}
    return {"decimal_comma": as_numbers(series).decimal_comma} if is_text else {}


def describe(model: Pipeline, data: TrainingData) -> dict[str, Any]:
    """Data and model, ready for JSON."""
    machine = model[-1]
    right = model.predict(data.X) == data.y
    largest = max(data.counts, key=lambda label: data.counts[label])
    return {
        "rows": len(data.X),
        "columns": {
            "numbers": [name for name, kind in data.kinds.items() if kind == NUMBER],
            "categories": [name for name, kind in data.kinds.items() if kind == CATEGORY],
        },
        "missing": data.missing,
        "features": machine.n_features_in_,
        "classes": {str(label): n for label, n in data.counts.items()},
        **describe_classifier(model),
        "training_error": float(np.mean(~right)),
        "training_recall": {
            str(label): float(np.mean(right[data.y == label])) if n else None
            for label, n in data.counts.items()
        },
        "baseline": {"class": str(largest), "error": 1 - data.counts[largest] / len(data.X)},
        **learned_facts(machine),
    }


def learned_facts(machine: BayesPointClassifier) -> dict[str, Any]:
    """Results and run of the training, ready for JSON."""
    evidence, run = getattr(machine, "log_evidence_", None), machine.run_
    return {
        "log_evidence": None if evidence is None else evidence.tolist(),
        "expected": expected_on_new_rows(machine),
        "choice": list(run.choice),
        "run": {
            "iterations": run.n_iter,
            "unit": run.unit,
            "converged": run.converged,
            "summary": run.summary,
            "remedy": run.remedy,
            "seconds": run.seconds,
            "measures": {name: values.tolist() for name, values in run.measures.items()},
            "changes": [list(map(float, changes)) for changes in run.history],
        },
    }


def expected_on_new_rows(machine: BayesPointClassifier) -> dict[str, dict[str, float]] | None:
    """Error and log-loss to expect on new rows, with intervals, if the engine estimates them."""
    scores = getattr(machine, "expected_scores_", None)
    return None if scores is None else {name: one._asdict() for name, one in scores.items()}


def engine_of(machine: BayesPointClassifier) -> Engine:
    """The engine that was chosen or requested."""
    return get_engine(getattr(machine, "chosen_params_", {}).get("engine", machine.engine))


def describe_classifier(model: Pipeline) -> dict[str, Any]:
    """Engine and kernel with their parameters."""
    machine = model[-1]
    engine = engine_of(machine)
    return {
        "engine": {"name": engine.alias, **engine.get_params(deep=False)},
        "kernel": machine.kernel,
    }


def summary(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as text for the terminal."""
    nouns = {"numbers": ("number",), "categories": ("category", "categories")}
    kinds = [count(len(names), *nouns[kind]) for kind, names in found["columns"].items() if names]
    evidence = found["log_evidence"]
    lines = [
        ("rows", str(found["rows"])),
        ("columns", f"{', '.join(kinds)}: {count(found['features'], 'feature')}"),
        ("classes", class_words(found["classes"])),
        ("engine", engine_words(found)),
        ("chosen", chosen_words(found)),
        ("evidence", "" if evidence is None else evidence_words(evidence)),
        ("training error", f"{found['training_error']:.1%}"),
        *expected_lines(found),
        *baseline_lines(found),
        ("convergence", found["run"]["summary"]),
    ]
    return [(name, words) for name, words in lines if words]


def chosen_words(found: dict[str, Any]) -> str:
    """The kernels that were chosen, and why; "" if they were given."""
    lines = [line.strip() for line in found["choice"]]
    return "\n".join(line for line in lines if not line.startswith("0%"))


def expected_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Error and log-loss to expect on new rows, if they are known."""
    if found["expected"] is None:
        return []
    error, loss = (Estimate(**found["expected"][name]) for name in ("error", "log_loss"))
    return [
        ("expected error", f"{error.value:.1%} ({error.low:.1%} to {error.high:.1%})"),
        ("expected log-loss", str(loss)),
    ]


def baseline_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The error without any column, if the classes of the training are known."""
    baseline = found.get("baseline")
    if baseline is None:
        return []
    return [("baseline error", f"{baseline['error']:.1%}, always {baseline['class']!r}")]


def evidence_words(evidence: list[float]) -> str:
    """The evidence, and what it is of."""
    of = "" if len(evidence) == 1 else ", all classes against the rest together"
    return f"log p(classes | columns) = {sum(evidence):.1f}{of}"


def engine_words(found: dict[str, Any]) -> str:
    """Engine and kernel, with the parameters that are not None."""
    name, *params = found["engine"].items()
    told = ", ".join(f"{key}={value}" for key, value in params if value is not None)
    return f"{name[1]} ({told}), kernel {found['kernel']}"
