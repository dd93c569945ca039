"""``bayespoint diagnose``: whether the engine of a model converged."""

from __future__ import annotations

from bayespoint.cli import options
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.output.printing import facts


def diagnose(model: options.ModelFile, as_json: options.AsJson = False) -> None:
    """Show how the training of a model converged, and what to do if it did not.

    If the model rejects rows, show what error is guaranteed on the others.
    Sweeps of ep, laplace and knapsack, chains of gibbs and billiard, perceptrons.

    Example: bayespoint diagnose --model loans.bpm
    """
    from bayespoint.cli import guarantees
    from bayespoint.cli.diagnostics import describe, tables, verdict
    from bayespoint.cli.models import model_errors, read_model
    from bayespoint.cli.training import baseline_lines, chosen_words, expected_lines

    notes = Notes(aloud=not as_json)
    read = read_model(model, notes, needs_table=False)
    found = describe(read)
    lines = [
        ("engine", f"{found['engine']}, kernel {found['kernel']}"),
        ("classes", ", ".join(found["classes"])),
        (found["run"]["unit"], str(found["run"]["iterations"])),
    ]
    if found["choice"]:
        lines.append(("chosen", chosen_words(found)))
    with model_errors(model):
        lines += [*expected_lines(found), *baseline_lines(read.summary)]
    lines += guarantees.lines(read.guarantee)
    notes.end(found, facts(lines), *tables(found), facts([("verdict", verdict(found["run"]))]))
