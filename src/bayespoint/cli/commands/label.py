"""``bayespoint label``: a page on which a person labels the rows that teach a model most."""

from __future__ import annotations

import json
import signal
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, Self

import typer

from bayespoint.cli import options
from bayespoint.cli.options import option, up_to

if not options.ONLY_HELP:
    import numpy as np
    import pandas as pd

    from bayespoint.active.labelling.exports import label_column, label_studio
    from bayespoint.active.labelling.items import IMAGE, PIXELS, Items
    from bayespoint.active.labelling.journal import Journal, JournalError
    from bayespoint.active.labelling.server import LabelServer
    from bayespoint.active.labelling.session import Session
    from bayespoint.cli.models import read_model, read_rows, write_model
    from bayespoint.cli.output.errors import bad_data, bad_usage
    from bayespoint.cli.output.printing import Notes, TableNotes, count, facts, show
    from bayespoint.cli.summaries import count_correct, describe
    from bayespoint.cli.tables import pool
    from bayespoint.cli.tables.reading import read_table
    from bayespoint.cli.tables.training import TrainingData, check_roles, count_labels
    from bayespoint.cli.tables.writing import PARQUET, write_table
    from bayespoint.exceptions import one_line
    from bayespoint.tools.extras import require
    from bayespoint.tools.files import write_text

KEYS = 10  # classes that have a key of their own
# Of a system that shuts down or a service that is stopped, of a terminal that is closed, on Unix
# and on Windows.
SIGNALS = ("SIGTERM", "SIGHUP", "SIGBREAK")

IMAGES = "Rows are pictures; this column names their files, below the folder of POOL."
PIXEL_SIZE = "Rows are pictures of this size, with one column for each pixel."
JOURNAL = "Where answers are saved; by default POOL.labels.jsonl. Results are named after it."

Pool = Annotated[
    Path, typer.Argument(metavar="POOL", help="Table with a header: .csv, .csv.gz or .parquet.")
]
ClassNames = Annotated[str | None, option("A,B,...", "The classes, in the order of their keys.")]
LabelColumn = Annotated[str | None, option("COL", "Column with labels, some of them missing.")]
StartModel = Annotated[Path | None, option("FILE", "Model that chooses the first rows.")]
TextColumn = Annotated[str | None, option("COL", "Rows are texts, in this column.")]
ImageColumn = Annotated[str | None, option("COL", IMAGES)]
Pixels = Annotated[str | None, option("WxH", PIXEL_SIZE)]
Table = Annotated[
    bool, typer.Option("--table", help="Rows are rows of a table, whatever they look like.")
]
Instructions = Annotated[
    Path | None, option("FILE", "Text that the page shows: how to label, and what classes mean.")
]
JournalFile = Annotated[Path | None, option("FILE", JOURNAL)]
Port = Annotated[int, option("N", "Port of the page; 0 for any free port.", callback=up_to(65535))]
Seed = Annotated[int, option("N", "Seed of the first rows.", callback=up_to(2**32 - 1))]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]


def label(
    data: Pool,
    classes: ClassNames = None,
    target: LabelColumn = None,
    model: StartModel = None,
    text: TextColumn = None,
    image: ImageColumn = None,
    pixels: Pixels = None,
    table: Table = False,
    instructions: Instructions = None,
    journal: JournalFile = None,
    for_spreadsheet: options.ForSpreadsheet = False,
    port: Port = 0,
    browser: Browser = True,
    seed: Seed = 0,
    encoding: options.Encoding = "utf-8",
    *,
    columns: options.Columns,
) -> None:
    """Label rows on a page in the browser; a model learns meanwhile and chooses the next.

    Rows may be rows of a table, texts or pictures. The page is for this computer only. Every
    answer is saved at once: stop at any time with Ctrl-C, and continue with the same command.

    At the end the rows with their labels, a model for bayespoint predict, and the tasks of Label
    Studio are written next to the journal: POOL.labelled.csv (or .parquet), .bpm and .json.
    With --journal FILE.jsonl, they are FILE.labelled.csv and so on.

    Example: bayespoint label reviews.csv --classes bad,good
    """
    notes = TableNotes(encoding)
    if data == options.STDIO:
        bad_usage("the pool must be a file, so that labelling can continue later")
    start, named = None, None if classes is None else [one.strip() for one in classes.split(",")]
    if model is None:
        frame = read_table(data, notes)
    elif any(vars(columns).values()):
        bad_usage("--drop, --number and --category exclude --model, which has its columns")
    else:
        start = read_model(model, notes)
        frame = read_rows(data, start, notes)
        start.check_same(target, named)
        target, named = start.target or "label", named or [str(one) for one in start.classes]
    if named is None and target is None:
        bad_usage("name the classes with --classes A,B,..., or their column with --target COL")
    found = pool.find_classes(frame, target, named)
    there = found.target if found.target in frame else None
    check_roles(frame, there, columns)
    rows = frame.drop(columns=[*([there] if there else []), *columns.drop])
    view = pool.find_view(rows, text, image, pixels, table)
    if view.kind in (IMAGE, PIXELS):
        require("PIL", "label", "labelling pictures")
    items = Items(rows, data.name, data.parent, view.kind, view.columns, view.shape)
    pool.check_items(items, notes)
    points = pool.find_points(rows, view, start, notes, columns)
    stem = data.with_name(data.name.removesuffix(".gz").rpartition(".")[0] or data.name)
    path = journal or Path(f"{stem}.labels.jsonl")
    words = "" if instructions is None else read_instructions(instructions)
    kept = open_journal(path, rows, found)
    try:
        session = Session(
            items,
            points.values,
            found.values,
            found.given,
            kept,
            start=None if start is None else start.of_features,
            seed=seed,
            instructions=words,
        )
    except JournalError as error:
        kept.close()
        bad_data(f"{path}: {error}")
    if n_before := len(session.answers.standing):
        notes.add(f"{path} has {count(n_before, 'answer')} already; continuing")
    if len(found.values) > KEYS:
        notes.add(f"{len(found.values)} classes: ten have a key, search for others with /")
    suffix = ".parquet" if data.suffix.lower() in PARQUET else ".csv"
    results = path.with_name(path.name.removesuffix(".jsonl").removesuffix(".labels") or stem.name)
    work = Work(frame, found, points, session, results, suffix, for_spreadsheet)
    with Ending() as ending:
        serve(work, port, browser, ending)
        show(facts(work.end(notes)))


def read_instructions(path: Path) -> str:
    """The text of a file; ends the command if there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        bad_data(f"cannot read the instructions {path}: {one_line(error)}")


def open_journal(path: Path, frame: pd.DataFrame, classes: pool.Classes) -> Journal:
    """The journal of this pool, which may have got more rows since."""
    about = {
        "rows": len(frame),
        "pool": pool.fingerprint(frame),
        "target": classes.target,
        "classes": [str(one) for one in classes.values],
    }
    try:
        journal = Journal(path, about)
    except JournalError as error:
        bad_data(str(error))
    n_rows = journal.about.get("rows")
    known = type(n_rows) is int and 0 < n_rows <= len(frame)
    if not known or pool.fingerprint(frame.head(n_rows)) != journal.about.get("pool"):
        journal.close()
        bad_data(
            f"the journal {path} belongs to another pool, or the rows of this one have changed. "
            "Restore the table, or name another journal with --journal FILE"
        )
    return journal


class Ending:
    """Whether the system has asked the process to end, in place of its end.

    Results are written then, as after Ctrl-C. Signals that are ignored, as SIGHUP is by ``nohup``,
    stay so.
    """

    def __init__(self) -> None:
        self._is_near = False
        self._before: dict[int, Any] = {}

    def is_near(self) -> bool:
        """Whether a signal has arrived."""
        return self._is_near

    def _note(self, *signal_and_frame: Any) -> None:
        self._is_near = True  # no lock, no event: the thread that is interrupted may hold it

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there signals are handled
            for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def serve(work: Work, port: int, browser: bool, ending: Ending) -> None:
    """Serve the page until Ctrl-C or another signal."""
    try:
        server = LabelServer(work.session, work.downloads(), port, must_end=ending.is_near)
    except OSError as error:
        bad_usage(f"cannot use port {port}: {error.strerror}. Omit --port to use a free one")
    show(f"Label at {server.address}", "Stop with Ctrl-C; all answers are saved.")
    if browser:
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    work.session.learner.start()
    work.session.learner.wake()
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


class Work(NamedTuple):
    """A session, and what its results are made of."""

    frame: pd.DataFrame
    classes: pool.Classes
    points: pool.Points
    session: Session
    stem: Path
    suffix: str
    for_spreadsheet: bool

    def table(self) -> pd.DataFrame:
        """The rows with their labels."""
        values = {str(value): value for value in self.classes.values.tolist()}
        column = label_column(self.session.answers_now(), len(self.frame))
        labels = pd.Series([values.get(one) for one in column], dtype=object)
        return self.frame.assign(**{self.classes.target: labels})

    def write_table(self, path: Path) -> None:
        """The rows with their labels, as a file."""
        write_table(self.table(), path, for_spreadsheet=self.for_spreadsheet)

    def write_model(self, path: Path, machine: Any = None) -> None:
        """A model for bayespoint predict."""
        machine = machine or self.session.final_machine()
        if machine is None:
            raise ValueError("there is no model before two classes have labels")
        points, target = self.points, self.classes.target
        labels = self.table()[target]
        rows = np.flatnonzero(labels.notna())
        X, y = points.X.iloc[rows], np.array(labels.iloc[rows].tolist(), self.classes.values.dtype)
        counts = count_labels(y, self.classes.values.tolist())
        pipeline = points.pipeline(machine)
        table = TrainingData(target, points.kinds, {}, counts, X, y)
        found = describe(machine, table, count_correct(pipeline, X, y))
        write_model(pipeline, path, points.kinds, found, points.columns(self.frame))

    def tasks(self, machine: Any) -> str:
        """The tasks of Label Studio."""
        shares, names = None, []
        if machine is not None:
            shares, names = machine.predict_proba(self.points.values), machine.classes_
        tasks = label_studio(self.session.items, self.session.answers_now(), names, shares)
        return json.dumps(tasks, indent=1, ensure_ascii=False)

    def downloads(self) -> dict[str, Any]:
        """Files that the page offers, and functions that make them."""

        def written(name: str, write: Callable[[Path], None]) -> bytes:
            with TemporaryDirectory() as folder:
                path = Path(folder, name)
                write(path)
                return path.read_bytes()

        def tasks() -> bytes:
            return self.tasks(self.session.final_machine()).encode(errors="replace")

        tables = ["labelled.csv", *(["labelled.parquet"] if find_spec("pyarrow") else [])]
        writers = dict.fromkeys(tables, self.write_table) | {"model.bpm": self.write_model}
        files: dict[str, Any] = {name: partial(written, name, one) for name, one in writers.items()}
        return files | {"labelstudio.json": tasks}

    def end(self, notes: Notes) -> list[tuple[str, str]]:
        """Write the results, and return what they are and where."""
        n_labels = len(self.session.answers.labels())
        machine = self.session.final_machine()
        copy = self.session.end()
        if copy is not None:
            notes.warn(
                [
                    f"another program changed the journal while it was open: all answers are in "
                    f"{copy}. Give it the name of the journal to continue with it"
                ]
            )
        ends = (self.suffix, ".bpm", ".json")
        table, model, tasks = (Path(f"{self.stem}.labelled{end}") for end in ends)
        self.write_table(table)
        write_text(tasks, self.tasks(machine))
        if machine is None:
            notes.add("no model is written: it needs labels of two classes")
        else:
            self.write_model(model, machine)
        return [
            ("labels", f"{n_labels} of {count(len(self.frame), 'row')}"),
            ("table", str(table)),
            ("model", "" if machine is None else str(model)),
            ("Label Studio", str(tasks)),
        ]
