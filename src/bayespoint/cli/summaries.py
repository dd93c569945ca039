"""What is reported of a trained model: values for JSON, and lines for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import Estimate
from bayespoint.cli.output.printing import class_words, count
from bayespoint.cli.tables.columns import CATEGORY, NUMBER
from bayespoint.cli.tables.training import TrainingData
from bayespoint.engines import Engine, get_engine

Lines = list[tuple[str, str]]  # names and values below each other


def count_correct(model: Any, X: Any, y: NDArray) -> Counter:
    """How many rows of each class a model predicts correctly."""
    return Counter(y[model.predict(X) == y].tolist())


def describe(
    machine: BayesPointClassifier, table: TrainingData, correct: Mapping[Any, int]
) -> dict[str, Any]:
    """Training rows and classifier, ready for JSON."""
    counts, n = table.counts, table.n_rows
    largest = max(counts, key=lambda label: counts[label])
    return {
        "target": table.target,
        "rows": n,
        "columns": {"numbers": table.names(NUMBER), "categories": table.names(CATEGORY)},
        "missing": table.missing,
        "features": machine.model_.n_features,
        "classes": {str(label): times for label, times in counts.items()},
        **describe_classifier(machine),
        "training_error": (n - sum(correct.values())) / n,
        "training_recall": {
            str(label): correct.get(label, 0) / times if times else None
            for label, times in counts.items()
        },
        "baseline": {"class": str(largest), "error": 1 - counts[largest] / n},
        **describe_run(machine),
    }


def describe_classifier(machine: BayesPointClassifier) -> dict[str, Any]:
    """Engine with its parameters, and kernel."""
    engine = engine_of(machine)
    return {
        "engine": {"name": engine.alias, **engine.get_params(deep=False)},
        "kernel": " ".join(str(machine.kernel).split()),  # a sum is printed on several lines
    }


def engine_of(machine: BayesPointClassifier) -> Engine:
    """The engine that was chosen or requested."""
    return get_engine(getattr(machine, "chosen_params_", {}).get("engine", machine.engine))


def describe_run(machine: BayesPointClassifier) -> dict[str, Any]:
    """What the training found, and how it went."""
    evidence, run = getattr(machine, "log_evidence_", None), machine.run_
    scores = getattr(machine, "expected_scores_", None)
    return {
        "log_evidence": None if evidence is None else evidence.tolist(),
        "expected": scores and {name: asdict(one) for name, one in scores.items()},
        "groups": machine.model_.fact("n_groups"),
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


def training_lines(found: Mapping[str, Any]) -> Lines:
    """What `describe` says, for the terminal."""
    nouns = {"numbers": ("number",), "categories": ("category", "categories")}
    kinds = [count(len(names), *nouns[kind]) for kind, names in found["columns"].items() if names]
    return [
        ("rows", str(found["rows"])),
        ("columns", ", ".join(kinds)),
        ("classes", class_words(found["classes"])),
        ("engine", engine_words(found)),
        *choice_lines(found),
        ("evidence", evidence_words(found["log_evidence"])),
        ("training error", f"{found['training_error']:.1%}"),
        *expected_lines(found),
        *baseline_lines(found),
        ("convergence", found["run"]["summary"]),
    ]


def engine_words(found: Mapping[str, Any]) -> str:
    """Engine and kernel, with the parameters that are not None."""
    name, *params = found["engine"].items()
    settings = ", ".join(f"{key}={value}" for key, value in params if value is not None)
    return f"{name[1]} ({settings}), kernel {found['kernel']}"


def evidence_words(evidence: list[float] | None) -> str:
    """The evidence, and what it is of; "" without one."""
    if evidence is None:
        return ""
    of = "" if len(evidence) == 1 else ", all classes against the rest together"
    return f"log p(classes | columns) = {sum(evidence):.1f}{of}"


def choice_lines(found: Mapping[str, Any]) -> Lines:
    """The kernels that were chosen, and why; "" if they were given."""
    lines = [line.strip() for line in found["choice"]]
    return [("chosen", "\n".join(line for line in lines if not line.startswith("0%")))]


def expected_lines(found: Mapping[str, Any]) -> Lines:
    """Error and log-loss to expect on new rows, if they are known."""
    if found["expected"] is None:
        return []
    error, loss = (Estimate(**found["expected"][name]) for name in ("error", "log_loss"))
    n_groups = found["groups"]
    without = f", leave-one-group-out ({n_groups} groups)" if n_groups else ""
    return [("expected error", f"{error:.1%}{without}"), ("expected log-loss", f"{loss}{without}")]


def baseline_lines(found: Mapping[str, Any]) -> Lines:
    """The error without any column, if the classes of the training are known."""
    one = found.get("baseline")
    return [("baseline error", f"{one['error']:.1%}, always {one['class']!r}")] if one else []
