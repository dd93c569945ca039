"""``bayespoint train``: a model from a table, in memory or in blocks."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bayespoint.cli import options
from bayespoint.cli.options import option
from bayespoint.cli.output.printing import Notes, TableNotes, count, facts, joined, share

if not options.ONLY_HELP:
    from sklearn.pipeline import Pipeline

    from bayespoint import BayesPointClassifier
    from bayespoint.cli import guarantees
    from bayespoint.cli.models import write_model
    from bayespoint.cli.output.errors import ExitCode, bad_data, bad_usage, fail
    from bayespoint.cli.pipelines import make_classifier, make_model, of_columns, of_groups
    from bayespoint.cli.summaries import count_correct, describe, engine_of, training_lines
    from bayespoint.cli.tables.blocks import TableBlocks, is_too_large, learn_columns, prepared
    from bayespoint.cli.tables.reading import open_blocks, reading_errors
    from bayespoint.cli.tables.training import TrainingData, read_training_data
    from bayespoint.cli.tables.writing import check_place
    from bayespoint.exceptions import BlockError, CheckpointError, ClusterError, RiskNotReachedError
    from bayespoint.reject.calibration import hold_out as hold_out_rows
    from bayespoint.rows import Blocks, checkpoints
    from bayespoint.tools.extras import require

RARE = 0.5  # of the share that a class would have if all were equally frequent
SELDOM = 0.5  # share of its rows below which a class is seldom predicted
PATIENCE = 10  # seconds until a scheduler must have answered

IN_BLOCKS = (
    "Read the table in blocks, with a linear kernel; the default for tables too large for memory."
)
RESUME = "Continue an out-of-core training that was interrupted, from its last round."
SCHEDULER = (
    "Train on the Dask cluster of this scheduler, such as tcp://node1:8786. Its workers read the "
    "table in blocks."
)

OutOfCore = Annotated[bool, typer.Option("--out-of-core", help=IN_BLOCKS)]
Resume = Annotated[bool, typer.Option("--resume", help=RESUME)]
Scheduler = Annotated[str | None, option("ADDRESS", SCHEDULER)]


def train(
    data: options.Data,
    target: options.Target,
    model: options.ModelFile,
    classifier: options.Classifier,
    columns: options.Columns,
    group_column: options.GroupColumn = None,
    max_error: options.MaxError = None,
    confidence: options.Confidence = None,
    hold_out: options.HoldOut = None,
    force: options.Force = False,
    out_of_core: OutOfCore = False,
    resume: Resume = False,
    scheduler: Scheduler = None,
    *,
    notes: TableNotes,
) -> None:
    """Train a classifier on a table and save it in a file.

    Numbers are scaled, texts become categories, and missing values are filled in. Notes say what
    else is done with a column. An existing model is overwritten only with --force.

    With --max-error some rows are held out: they set a threshold below which predict rejects
    rows. With the probability --confidence, the error on the accepted rows is at most R. If no
    threshold can guarantee that, the model is saved without one, and the exit code is 5.

    A table too large for memory is read in blocks, once in every round; --out-of-core does so
    with any table. Rounds are saved in FILE.checkpoint, and --resume continues from there after a
    crash. With --scheduler the workers of a Dask cluster read the blocks and learn from them.

    With --ordinal low,middle,high the classes are ordered: the model has one output, and thresholds
    between the classes.

    With --group-column the expected scores come from predictions that leave out the whole group of
    a row, and --max-error holds out whole groups.

    Example: bayespoint train loans.csv --target repaid --model loans.bpm --max-error 0.05
    """
    guarantees.check(max_error, confidence=confidence, hold_out=hold_out)
    check_place(model, "--model", data, force=force)
    machine = make_classifier(classifier)
    in_blocks = out_of_core or resume or scheduler is not None
    why = "" if in_blocks else is_too_large(data)
    if not in_blocks and not why:
        rows = read_training_data(data, target, columns, notes, group=group_column)
        part = {"calibration_size": hold_out or options.HELD_OUT, "random_state": classifier.seed}
        trained = train_in_memory(machine, rows, notes, max_error, confidence, **part)
    elif max_error is not None or group_column is not None:
        name = "--group-column" if max_error is None else "--max-error"
        bad_usage(f"{name} needs a table that fits in memory, not --out-of-core")
    else:
        trained = train_in_blocks(
            machine, data, (target, columns), model, notes, why, scheduler, resume
        )
    pipeline = pipeline_of(trained.estimator)
    guarantee = getattr(trained.estimator, "guarantee_", None)
    found = describe(pipeline[-1], trained.table, trained.correct)
    found |= {"seconds": trained.seconds, "guarantee": guarantee and guarantee.to_dict()}
    note_rare_classes(found, pipeline[-1], notes)
    found["notes"] = list(notes)
    write_model(trained.estimator, model, trained.table.kinds, found, trained.columns)
    time_line = ("time", f"{trained.seconds:.1f} s")
    lines = [*training_lines(found), *guarantees.lines(guarantee), time_line]
    without = " without a guarantee" if trained.failure else ""
    written = f"Model written to {model}{without}."
    notes.end({"model": str(model), **found}, facts(lines), written)
    if trained.failure:
        fail(trained.failure, ExitCode.NO_GUARANTEE)


class Trained(NamedTuple):
    """A model, and what it was trained on."""

    estimator: Any  # the pipeline, or the classifier around it that rejects rows
    table: TrainingData
    columns: dict[str, dict[str, Any]]
    correct: Counter
    seconds: float
    failure: str = ""  # why the error cannot be guaranteed


def pipeline_of(estimator: Any) -> Pipeline:
    """Columns and classifier."""
    return getattr(estimator, "estimator_", estimator)


def train_in_memory(
    machine: BayesPointClassifier,
    rows: TrainingData,
    notes: Notes,
    max_error: float | None,
    confidence: float | None,
    **part: Any,
) -> Trained:
    """Train on a table, or on a part of it if the error is to be guaranteed."""
    started = time.perf_counter()
    model: Any = make_model(rows.kinds, machine)
    trained_on, failure = rows, ""
    if max_error is not None:
        kept, held = hold_out_rows(rows.y, **part, groups=rows.groups)
        notes.add(f"{len(held)} of {len(rows.y)} rows are held out, to set the threshold")
        trained_on = rows.part(kept)
    with notes.training():
        if max_error is None:
            model.fit(rows.X, rows.y, **of_groups(rows.groups))
        else:
            try:
                model = guarantees.fit(model, rows, max_error, confidence, **part)
            except RiskNotReachedError as error:
                model, failure = error.estimator, str(error)
    seconds = time.perf_counter() - started
    correct = count_correct(pipeline_of(model), trained_on.X, trained_on.y)
    return Trained(model, trained_on, trained_on.columns(), correct, seconds, failure)


def train_in_blocks(
    machine: BayesPointClassifier,
    data: Path,
    roles: tuple[str, options.Columns],
    model: Path,
    notes: TableNotes,
    why: str,
    scheduler: str | None,
    resume: bool,
) -> Trained:
    """Train on a table that is read in blocks, here or by the workers of a cluster."""
    started = time.perf_counter()
    try:
        with notes.training(), reading_errors(data, notes.encoding):
            source = open_blocks(data if scheduler is None else data.absolute(), notes.encoding)
            in_blocks = f"{data.name} is read in {count(len(source), 'block')}, out of core"
            notes.add(f"{in_blocks}: {why}" if why else in_blocks)
            table = learn_columns(source, *roles, notes)
            rows = TableBlocks(source, table)
            correct: Counter = Counter()
            with tempfile.TemporaryDirectory(dir=model.parent, prefix=".bayespoint-") as folder:
                # Workers prepare the rows themselves, and keep them in memory.
                blocks = rows if scheduler is not None else prepared(rows, Path(folder), notes)
                with checkpoints(model.with_name(f"{model.name}.checkpoint"), resume=resume):
                    fitted = fit_blocks(machine, blocks, scheduler)
                for X, y, _ in blocks:
                    if y is not None and len(y):
                        correct += count_correct(fitted, X, y)
    except (BlockError, CheckpointError) as error:
        bad_data(f"{data}: {error}")
    sample = table.rows
    pipeline = of_columns(fitted, sample.kinds, table.features, table.scaling)
    seconds = time.perf_counter() - started
    return Trained(pipeline, sample, sample.columns(), correct, seconds)


def fit_blocks(
    machine: BayesPointClassifier, rows: Blocks, scheduler: str | None
) -> BayesPointClassifier:
    """The classifier, fitted here or on the cluster of a scheduler."""
    if scheduler is None:
        return machine.fit(rows)
    with connected(scheduler) as client:
        from bayespoint.classifier.dask import DaskBayesPointClassifier
        from bayespoint.rows.dask.cluster import Cluster
        from bayespoint.rows.dask.collections import held

        params = machine.get_params(deep=False)
        classifier = DaskBayesPointClassifier(client=client)
        able = classifier.get_params(deep=False).keys() - {"client"}
        classifier.set_params(**{name: params[name] for name in able})
        return classifier.fit(held(Cluster(client), rows)).to_local()


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler; ends the command if there is none, or if it is lost."""
    require("distributed", "dask", "--scheduler")
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        bad_usage(f"--scheduler {address}: no scheduler answers ({type(error).__name__})")
    with client:
        try:
            yield client
        except ClusterError as error:
            bad_data(str(error))


def note_rare_classes(found: dict[str, Any], machine: BayesPointClassifier, notes: Notes) -> None:
    """Suggest ``class_weight`` where rare classes are seldom predicted."""
    if machine.class_weight is not None or not engine_of(machine).weighs_rows:
        return
    total, fair = found["rows"], 1 / len(found["classes"])
    rare = [
        f"{label!r} ({share(n / total)} of the rows, {share(found['training_recall'][label])} of "
        "them recognised)"
        for label, n in found["classes"].items()
        if 0 < n / total < RARE * fair and found["training_recall"][label] < SELDOM
    ]
    if rare:
        notes.add(
            f"rare classes are seldom predicted: {joined(rare)}; --param "
            "class_weight=balanced recognises more of them, with more mistakes in other classes, "
            "and probabilities as if all classes were equally frequent"
        )
