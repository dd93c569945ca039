"""``bayespoint label``: a page on which a person labels the rows that teach a model most."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from bayespoint.cli import options
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes
from bayespoint.cli.output.printing import facts, show

ClassNames = Annotated[
    str | None,
    typer.Option("--classes", metavar="A,B,...", help="The classes, in the order of their keys."),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--target", metavar="COL", help="Column with labels, some of them missing."),
]
StartModel = Annotated[
    Path | None,
    typer.Option("--model", metavar="FILE", help="Model that chooses the first questions."),
]
TextColumn = Annotated[
    str | None, typer.Option("--text", metavar="COL", help="Rows are texts, in this column.")
]
ImageColumn = Annotated[
    str | None,
    typer.Option(
        "--image", metavar="COL",
        help="Rows are pictures, whose files below the folder of POOL this column names.",
    ),
]  # fmt: skip
Pixels = Annotated[
    str | None,
    typer.Option(
        metavar="WxH", help="Rows are pictures of this size, with one column for each pixel."
    ),
]
Table = Annotated[bool, typer.Option("--table", help="Rows are rows, whatever they look like.")]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", metavar="FILE",
        help="Where answers are kept; by default POOL.labels.jsonl. Results go to its folder.",
    ),
]  # fmt: skip
NoFormulas = Annotated[
    bool,
    typer.Option(
        "--no-formulas",
        help="Put ' before texts of the result that a spreadsheet would run as formulas.",
    ),
]
Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65535, help="Port of the page; 0 is a free one.")
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of the first questions.")
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]


def label(
    data: Annotated[
        Path, typer.Argument(metavar="POOL", help="Table with a header: .csv, .csv.gz or .parquet.")
    ],
    classes: ClassNames = None,
    target: LabelColumn = None,
    model: StartModel = None,
    text: TextColumn = None,
    image: ImageColumn = None,
    pixels: Pixels = None,
    table: Table = False,
    drop: options.Drop = None,
    number: options.Number = None,
    category: options.Category = None,
    journal: JournalFile = None,
    no_formulas: NoFormulas = False,
    port: Port = 0,
    browser: Browser = True,
    seed: Seed = 0,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Label rows on a page in the browser; a model learns meanwhile and chooses the next.

    Rows may be rows of a table, texts or pictures. The page is for this computer only. Every
    answer is on disk at once: end it at any moment with Ctrl-C, and the same command goes on.

    At the end the rows with their labels, a model for bayespoint predict, and the tasks of Label
    Studio are written next to the journal: POOL.labelled.csv (or .parquet), .bpm and .json.

    Example: bayespoint label reviews.csv --classes bad,good
    """
    from bayespoint.active.labelling.server import LabelServer
    from bayespoint.cli.labelling import prepare_work

    notes = Notes(aloud=True)
    if data == Path("-"):
        bad_usage("the pool must be a file, so that labelling can go on later")
    work = prepare_work(
        data, classes, target, model, (text, image, pixels, table), drop or [], number or [],
        category or [], journal, seed, encoding, notes, no_formulas,
    )  # fmt: skip
    try:
        server = LabelServer(work.session, work.downloads(), port)
    except OSError as error:
        bad_usage(f"cannot use port {port}: {error.strerror}. Leave --port away for a free one")
    show(f"Label at {server.address}", "Ctrl-C ends it; all answers are on disk.")
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
    show(facts(work.end(notes)))
