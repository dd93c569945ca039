"""An evaluation as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayespoint.reports import decisions, html, inputs, sections
from bayespoint.reports.drift import Shift
from bayespoint.reports.evaluation import Evaluation, Report
from bayespoint.tools.extras import require
from bayespoint.tools.files import write_text
from bayespoint.tools.pipelines import n_rows

# Titles and functions, in the order of the page. A function returns HTML, or "" to be left out.
SECTIONS: dict[str, Callable[[Report], str]] = {
    "Numbers": sections.numbers,
    "Refusing to answer": sections.rejection,
    "Calibration": sections.calibration,
    "Classes": sections.classes,
    "Thresholds": decisions.thresholds,
    "Costs": decisions.costs,
    "Features": inputs.features,
    "Columns": inputs.columns,
    "Examples": sections.examples,
    "Model": sections.model,
}


def write_evaluation(
    evaluation: Evaluation,
    path: str | Path,
    *,
    title: str = "Evaluation",
    rows: Any = None,
    image_shape: tuple[int, int] | str | None = "auto",
    details: Mapping[str, Any] | None = None,
    n_examples: int = 12,
    shifts: Sequence[Shift] = (),
    preparation: Sequence[str] = (),
) -> Path:
    """Write a page that tells all of an evaluation: one file, without network and scripts.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`measure` found.
    path : str or Path
        File to write; it is written whole or not at all.
    title : str, default="Evaluation"
        What the page is about.
    rows : DataFrame or array of shape (n_samples, n_features), default=None
        The test points as people know them, in the order that they were measured in, to show the
        most uncertain and the most confidently wrong ones. Without them, their numbers are shown.
        The rows of a data frame are named by its index, and others are counted from 0.
    image_shape : tuple of two ints, "auto" or None, default="auto"
        Height and width of the pictures that rows are. "auto" finds out: squares of at least 8 by
        8 grey values of which neighbours are alike. None: they are no pictures.
    details : mapping of str to str, default=None
        More to tell about data and model: files, training time.
    n_examples : int, default=12
        How many of each kind to show.
    shifts : sequence of Shift, default=()
        How columns differ from the training: what :func:`compare` found.
    preparation : sequence of str, default=()
        What was done to the columns before the training, in sentences.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import measure, write_evaluation
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[:200], y[:200])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_evaluation(
    ...         measure(machine, X[200:400], y[200:400]), f"{folder}/digits.html", rows=X[200:400]
    ...     )
    ...     path.read_text(encoding="utf-8").count("<figure>")
    5
    """
    require("matplotlib", "plot", "write_evaluation")
    if rows is not None and n_rows(rows) != evaluation.n_rows:
        raise ValueError(
            f"rows must be the {evaluation.n_rows} test points that were measured, in their order. "
            f"Got {n_rows(rows)} rows instead."
        )
    report = Report(
        evaluation, title, rows, image_shape, n_examples, details or {}, shifts, preparation
    )
    parts = [
        f"<section><h2>{heading}</h2>{body}</section>"
        for heading, section in SECTIONS.items()
        if (body := section(report))
    ]
    write_text(path, html.page(title, sections.summary(report), "\n".join(parts)))
    return Path(path)
