"""Training data of a command, and the summary of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayespoint import BayesPointClassifier
from bayespoint.cli.columns import CATEGORY, NUMBER, prepare, sort_columns, tell_missing
from bayespoint.cli.errors import bad_usage
from bayespoint.cli.labels import check_classes, check_column, class_array, rows_with_labels
from bayespoint.cli.messages import Notes, class_words, count
from bayespoint.cli.reading import read_table
from bayespoint.engines import Engine, get_engine
from bayespoint.left_out import Estimate


@dataclass(frozen=True)
class TrainingData:
    """Rows with labels, the kinds of their columns, and statistics about them."""

    X: pd.DataFrame
    y: NDArray
    kinds: dict[str, str]
    missing: dict[str, int]
    counts: dict[Any, int]

    def part(self, rows: NDArray[np.intp]) -> TrainingData:
        """Some of the rows."""
        X, y = self.X.iloc[rows], self.y[rows]
        missing = {name: int(n) for name, n in X.isna().sum().items() if n}
        counts = {label: int(np.sum(y == label)) for label in self.counts}
        return TrainingData(X, y, self.kinds, missing, counts)


def read_training_data(
    path: Path, target: str, drop: Sequence[str], encoding: str, notes: Notes, classes: bool = True
) -> TrainingData:
    """Read a table to learn from; ``classes`` says whether it must show at least two of them."""
    frame = read_table(path, encoding, notes)
    check_column(frame, target, "--target")
    for name in drop:
        check_column(frame, name, "--drop")
        if name == target:
            bad_usage(f"--drop and --target name the same column, {name!r}")
    frame, labels = rows_with_labels(frame, target, notes)
    counts = check_classes(labels, target) if classes else labels.value_counts().to_dict()
    features = frame.drop(columns=[target, *dict.fromkeys(drop)])
    kinds = sort_columns(features, notes)
    X = prepare(features, kinds, notes)
    missing = tell_missing(X, kinds, notes)
    return TrainingData(X, class_array(labels), kinds, missing, counts)


def describe(model: Pipeline, data: TrainingData) -> dict[str, Any]:
    """Data and model, ready for JSON."""
    machine = model[-1]
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
        "training_error": float(np.mean(model.predict(data.X) != data.y)),
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


def evidence_words(evidence: list[float]) -> str:
    """The evidence, and what it is of."""
    of = "" if len(evidence) == 1 else ", all classes against the rest together"
    return f"log p(classes | columns) = {sum(evidence):.1f}{of}"


def engine_words(found: dict[str, Any]) -> str:
    """Engine and kernel, with the parameters that are not None."""
    name, *params = found["engine"].items()
    told = ", ".join(f"{key}={value}" for key, value in params if value is not None)
    return f"{name[1]} ({told}), kernel {found['kernel']}"
