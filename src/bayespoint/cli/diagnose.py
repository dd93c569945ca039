"""``bayespoint diagnose``: whether the engine of a model got where it wanted to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from bayespoint.cli import options
from bayespoint.cli.convergence import convergence, verdict
from bayespoint.cli.errors import errors_in_words
from bayespoint.cli.messages import Notes, facts, numbers_table, print_json, show
from bayespoint.cli.models import Model, read_model

SHOWN = 12  # sweeps that are shown of a long run: the first and the last


def diagnose(model: options.ModelFile, as_json: options.AsJson = False) -> None:
    """Show how the training of a model converged, and say what to do if it did not.

    Sweeps of ep, laplace and knapsack, chains of gibbs and billiard, perceptrons.

    Example: bayespoint diagnose --model loans.bpm
    """
    with errors_in_words():
        notes = Notes(aloud=not as_json)
        machine = read_model(model, notes, needs_table=False)
        found = describe(machine)
        if as_json:
            print_json({**found, **notes.to_dict()})
            return
        lines = [
            ("engine", f"{found['engine']}, {found['kernel']} kernel"),
            ("classes", ", ".join(found["classes"])),
            ("iterations", str(found["iterations"])),
        ]
        word = "good" if found["converged"] else "not yet"
        show(
            facts(lines),
            *tables(found),
            facts([("verdict", f"{word}: {found['verdict']}.")]),
        )


def describe(model: Model) -> dict[str, Any]:
    """All that is known, ready for JSON."""
    machine = model.machine
    found = convergence(machine)
    alias = getattr(machine.engine, "alias", machine.engine)
    good, words = verdict(found, alias)
    evidence = getattr(machine, "log_evidence_", None)
    left_out = getattr(machine.posterior_, "left_out_error", None)
    return {
        "model": str(model.path),
        "engine": alias,
        "kernel": machine.kernel if isinstance(machine.kernel, str) else "own",
        "classes": [str(label) for label in machine.classes_],
        **found,
        "log_evidence": None if evidence is None else evidence.tolist(),
        "left_out_error": None if left_out is None else left_out.tolist(),
        "converged": good,
        "verdict": words,
    }


def tables(found: dict[str, Any]) -> list[RenderableType]:
    """One table of the tasks, and one of sweeps or chains."""
    classes = found["classes"]
    names = [f"{classes[0]} or {classes[1]}"] if len(classes) == 2 else classes
    if found["kind"] == "chains":
        words = "Cosine of the mean of each chain with the mean of all; 1 is agreement."
        return [task_table(names, found), words, chain_table(names, found)]
    if found.get("changes"):
        return [task_table(names, found), sweep_table(names, found)]
    return [task_table(names, found)] if found["log_evidence"] is not None else []


def task_table(names: Sequence[str], found: dict[str, Any]) -> Table:
    """What is known of each task, as far as it is known."""
    columns: dict[str, list[str]] = {}
    if found["kind"] == "chains":
        columns["R-hat"] = [f"{value:.3f}" for value in found["r_hat"]]
        columns["worth samples"] = [f"{value:.0f}" for value in found["effective_sample_size"]]
        columns["label noise"] = [f"{value:.3g}" for value in found["label_noise"]]
    if found.get("changes"):
        columns["iterations"] = [str(len(task)) for task in found["changes"]]
        columns["last change"] = [f"{task[-1]:.1e}" if task else "" for task in found["changes"]]
    if found.get("endings"):
        columns["ended"] = [reason or "at rest" for reason in found["endings"]]
    if found["log_evidence"] is not None:
        columns["log evidence"] = [f"{value:.1f}" for value in found["log_evidence"]]
    if found["left_out_error"] is not None:
        columns["left-out error"] = [f"{value:.1%}" for value in found["left_out_error"]]
    heads = ["class" if len(names) > 1 else "classes", *columns]
    return numbers_table(heads, zip(names, *columns.values(), strict=True))


def sweep_table(names: Sequence[str], found: dict[str, Any]) -> Table:
    """The largest change in every iteration, of the task that took longest."""
    longest = max(range(len(names)), key=lambda task: len(found["changes"][task]))
    changes = found["changes"][longest]
    rows = [(str(number), f"{change:.1e}") for number, change in enumerate(changes, start=1)]
    if len(rows) > SHOWN:
        rows = [*rows[: SHOWN // 2], ("...", ""), *rows[-SHOWN // 2 :]]
    of = f", {names[longest]} against the rest" if len(names) > 1 else ""
    return numbers_table(["iteration", f"largest change{of}"], rows)


def chain_table(names: Sequence[str], found: dict[str, Any]) -> Table:
    """How near the mean of each chain is to that of all."""
    rows = [
        [str(chain), *(f"{value:.4f}" for value in cosines)]
        for chain, cosines in enumerate(zip(*found["cosines"], strict=True), start=1)
    ]
    return numbers_table(["chain", *names], rows)
