"""The page of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayespoint.reports import examples, html, inputs, sections
from bayespoint.reports.drift import Shift
from bayespoint.reports.evaluation import Evaluation, Report
from bayespoint.tools.extras import require
from bayespoint.tools.files import write_text
from bayespoint.tools.pipelines import n_rows

# Titles and functions, in the order of the page. A function returns HTML, or "" to be left out.
SECTIONS: dict[str, Callable[[Report], str]] = {
    "Metrics": sections.numbers,
    "Rejection": sections.rejection,
    "Label sets": sections.sets,
    "Calibration": sections.calibration,
    "Classes": sections.classes,
    "Thresholds": sections.thresholds,
    "Costs": sections.costs,
    "Features": inputs.features,
    "Columns": inputs.columns,
    "Examples": examples.examples,
    "Explanations": examples.explanations,
    "Suspect labels": examples.suspects,
    "Model": sections.model,
}


def write_evaluation(
    evaluation: Evaluation,
    path: str | Path,
    *,
    title: str | None = None,
    rows: Any = None,
    image_shape: tuple[int, int] | str | None = "auto",
    details: Mapping[str, Any] | None = None,
    n_examples: int = 12,
    shifts: Sequence[Shift] = (),
    preparation: Sequence[str] = (),
) -> Path:
    """Write the results of an evaluation as an HTML page: one file, without scripts.

    Parameters
    ----------
    evaluation : Evaluation
        The result of :func:`measure`.
    path : str or Path
        File to write; it is written completely or not at all.
    title : str, optional
        Title of the page. By default it names the class of the classifier.
    rows : DataFrame or array of shape (n_samples, n_features), default=None
        The test rows as people know them, in the order of the evaluation. The page shows the most
        uncertain and the most confidently wrong ones; without `rows`, their row numbers. Rows of a
        data frame are named by its index, others are counted from 0.
    image_shape : tuple of two ints, "auto" or None, default="auto"
        Height and width, if rows are images. "auto" recognises squares of at least 8 by 8 grey
        values with similar neighbours. None means that rows are not images.
    details : mapping of str to str, default=None
        More facts about data and model, such as files and training time.
    n_examples : int, default=12
        Number of examples of each kind.
    shifts : sequence of Shift, default=()
        Differences between columns and the training data: the result of :func:`compare`.
    preparation : sequence of str, default=()
        Sentences about how the columns were prepared before the training.

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
    ...     path.read_text(encoding="utf-8").count("<figure ")
    4
    """
    require("matplotlib", "plot", "write_evaluation")
    if rows is not None and n_rows(rows) != evaluation.n_rows:
        raise ValueError(
            f"rows must be the {evaluation.n_rows} test rows of the evaluation, in their order. "
            f"Got {n_rows(rows)} rows instead."
        )
    title = f"Evaluation of {type(evaluation.classifier).__name__}" if title is None else title
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
