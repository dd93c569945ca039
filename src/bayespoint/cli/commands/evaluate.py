"""``bayespoint evaluate``: the quality of a model on rows with known classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from bayespoint.cli import options
from bayespoint.cli.options import option, several
from bayespoint.cli.output.printing import NumbersTable, TableNotes, facts, listed

if not options.ONLY_HELP:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import RenderableType

    from bayespoint.classifier.calibration import one_of_each
    from bayespoint.cli import guarantees
    from bayespoint.cli.models import model_errors, read_labelled, read_model
    from bayespoint.cli.output.errors import bad_usage, printable
    from bayespoint.cli.tables.reading import name_of
    from bayespoint.cli.tables.training import group_names
    from bayespoint.cli.tables.writing import check_place
    from bayespoint.reports import METRICS, Evaluation, measure, write_evaluation
    from bayespoint.reports.sections import cost_form, cost_words, has_own_costs
    from bayespoint.tools.extras import require

RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
WIDEST = 8  # classes up to which the confusion fits on a terminal
COST = "Cost of ANSWER where TRUE is right, such as sick:well=10 (other mistakes cost 1)"


def evaluate(
    data: options.Data,
    model: options.ModelFile,
    target: Annotated[
        str | None, option("COL", "Column with the classes, if its name has changed.")
    ] = None,
    report: Annotated[Path | None, option("FILE", "Report to write, an .html page.")] = None,
    group_column: options.GroupColumn = None,
    cost: Annotated[options.Names, several("TRUE:ANSWER=C", COST)] = None,
    force: options.Force = False,
    *,
    notes: TableNotes,
) -> None:
    """Measure how good a model is on a table that it was not trained on.

    Shows accuracy, log-loss, AUC and more, with 95 % intervals and a baseline that knows only how
    frequent the classes are; the confusion matrix; the error on the rest when the least certain
    rows are rejected; and which columns differ from the training.

    With --cost it also shows the mean cost of the predictions, and of predictions chosen to have
    the least expected cost.

    With --group-column one random row of each group is measured, since the intervals assume
    independent rows.

    Example: bayespoint evaluate test.csv --target repaid --model loans.bpm --report test.html
    """
    if report is not None:
        check_place(report, "--report", data, model, force=force)
        require("matplotlib", "plot", "--report")
    read = read_model(model, notes)
    costs = parse_costs(cost or [], read.classes)
    column = target or read.target or ""
    frame, rows = read_labelled(data, read, column, notes)
    if group_column is not None:
        groups = group_names(frame, group_column)
        some = one_of_each(groups, np.random.default_rng(0))
        notes.add(f"{len(some)} of {len(groups)} rows are measured, one of each group")
        frame, rows = frame.iloc[some], rows.part(some)
    shifts = read.compare(rows.X, notes)
    with notes.progress("evaluating") as progress:
        with model_errors(model):
            found = measure(read.estimator, rows.X, rows.y, costs=costs)
        if report is not None:
            progress.tell("drawing")
            details = {"model file": printable(model.name), "table": printable(name_of(data))}
            title = printable(f"Evaluation of {model.name} on {name_of(data)}")
            shown = frame.drop(columns=column)
            shown.index = (shown.index + 1).rename("those of the file; row 1 is the first")
            write_evaluation(
                found,
                report,
                title=title,
                rows=shown,
                details=details,
                shifts=shifts,
                preparation=read.preparation(),
            )
    document = {"report": report and str(report), **found.to_dict(), "shifts": shifts}
    end = [] if report is None else [f"Report written to {report}."]
    notes.end(document, *tables(found), *end)


def parse_costs(given: Sequence[str], classes: NDArray) -> NDArray[np.float64] | None:
    """The costs of options such as sick:well=10; ends the command if one is wrong."""
    if not given:
        return None
    labels = list(enumerate(map(str, classes)))
    pairs = [(f"{true}:{answer}", (i, j)) for i, true in labels for j, answer in labels]
    costs = 1 - np.eye(len(classes))
    for text in given:
        name, sign, value = text.rpartition("=")
        places = [place for pair, place in pairs if pair == name]
        if not sign or len(places) != 1:
            bad_usage(
                f"--cost needs TRUE:ANSWER=C with classes of the model, {listed(classes, 8)}; not "
                f"{text!r}"
            )
        try:
            costs[places[0]] = float(value)
        except ValueError:
            bad_usage(f"--cost {text}: {value!r} is not a number")
    if not np.isfinite(costs).all():
        bad_usage("--cost must be finite")
    return costs


def tables(found: Evaluation) -> list[RenderableType]:
    """Metrics, confusion, rejection and costs, for the terminal."""
    metrics = []
    for name, (value, interval) in found.metrics.items():
        show, ends = METRICS[name].show, " to ".join(map(METRICS[name].show, interval or []))
        metrics.append((METRICS[name].name, show(value), ends, show(found.baseline[name])))
    labels = [str(label) for label in found.classes]
    confusion = [
        [label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)
    ]
    rates = zip(RATES, found.rejection.error_at(RATES), strict=True)
    parts: list[RenderableType] = [
        facts([("rows", str(found.n))]),
        NumbersTable(["", "", "95 % interval", "baseline"], metrics),
        NumbersTable(["true class \\ predicted", *labels], confusion),
        NumbersTable(
            ["rejected", "error on the rest"], [(f"{rate:.0%}", f"{e:.1%}") for rate, e in rates]
        ),
    ]
    if len(labels) > WIDEST:
        del parts[2]
    return [*parts, *rejections(found), *cost_table(found)]


def rejections(found: Evaluation) -> list[RenderableType]:
    """What a model with a threshold rejects, and what it guarantees."""
    chosen = found.selective
    if chosen is None:
        return []
    error = "" if chosen.accuracy is None else f"{1 - chosen.accuracy:.2%} on the accepted rows"
    rejected = f"{chosen.rejected:.1%} by the threshold of the model"
    lines = [("rejected", rejected), ("error", error), *guarantees.lines(chosen.guarantee)]
    return [facts(lines)]


def cost_table(found: Evaluation) -> list[RenderableType]:
    """What answers cost, if costs were given."""
    if not has_own_costs(found):
        return []
    form = cost_form(found)
    rows = [
        (way.words, f"{way.cost:{form}}", " to ".join(f"{x:{form}}" for x in way.interval or []))
        for way in found.expected_costs
    ]
    heads = ["answers", "mean cost", "95 % interval"]
    return [NumbersTable(heads, rows, caption=cost_words(found))]
