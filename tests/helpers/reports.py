"""Evaluations and their pages, for tests."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from bayespoint import BayesPointClassifier
from bayespoint.reports import compare, measure, profile, write_evaluation
from bayespoint.tools.plots import new_axes
from papers import (
    Column,
    Context,
    Experiment,
    Figure,
    Result,
    Row,
    Table,
    perform,
    write_index,
    write_run,
)

EVIL = "<script>alert('1')</script>\"&"


def digits_evaluation():
    """Eight by eight pixels, ten classes; the classifier, and the rows that it was tested on."""
    X, y = load_digits(return_X_y=True)
    machine = LogisticRegression(C=0.01, max_iter=500).fit(X[:600], y[:600])
    return measure(machine, X[600:1200], y[600:1200]), X[600:1200]


def digits_page(folder):
    evaluation, rows = digits_evaluation()
    return write_evaluation(evaluation, folder / "digits.html", title="Digits", rows=rows)


def names_evaluation():
    """Labels, columns and values that are long, or HTML; a table of forty columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    labels = np.array([EVIL, "a label of many letters without end " * 3, "b"])
    y = labels[np.argmax(X[:, :3] + rng.normal(size=(120, 3)), axis=1)]
    rows = pd.DataFrame(X, columns=[f"{EVIL} {j}" for j in range(40)])
    rows["text"] = EVIL
    return measure(LogisticRegression().fit(X[:60], y[:60]), X[60:], y[60:]), rows[60:]


def names_page(folder):
    evaluation, rows = names_evaluation()
    details = {EVIL: EVIL, "file": "/a/very/long/path" * 12}
    return write_evaluation(
        evaluation, folder / "names.html", title=f"{EVIL} " * 3, rows=rows, details=details
    )


def columns_page(folder):
    """Features and columns with names that are long, HTML, formulas or hidden; drift and costs."""
    rng = np.random.default_rng(0)
    names = [f"{EVIL} {'long ' * 20}", "$x_{1", "_hidden", "a\tb", *(f"x{j}" for j in range(12))]
    X = pd.DataFrame(rng.normal(size=(200, len(names))), columns=names)
    y = np.where(X["x0"] + X["_hidden"] + rng.normal(size=200) > 0, "_yes $1{", EVIL)
    clf = BayesPointClassifier(kernel="linear", engine="laplace").fit(X[:100], y[:100])
    new = X[100:].assign(x0=X["x0"] + 3)
    found = measure(clf, new, y[100:], costs=[[0, 5], [1, 0]])
    shifts = compare(profile(X[:100]), new)
    return write_evaluation(
        found,
        folder / "columns.html",
        title="Columns",
        rows=new,
        shifts=shifts,
        preparation=[EVIL, "a sentence of some length " * 6],
    )


def reproduce_page(folder):
    """A page of all that an experiment can bring about, with long words."""
    compared = [Column("printed"), Column("measured"), Column("interval")]
    values = (1.5, 1.46, (1.2, 1.7))
    rows = [Row(f"a quantity {EVIL}", values, "agrees within two standard errors")]
    columns = [Column(f"column\n{j}") for j in range(8)]
    lines = [Row("a line", [*range(8)], "better, by 2.5 standard errors", [0.5] * 8)]
    result = Result(
        setting={"data": "many words " * 20},
        tables=[
            Table("printed and measured", "A caption.", compared, rows),
            Table("side by side", "A caption.", columns, lines),
        ],
        figures=[Figure("line", f"a line {EVIL}", "A caption.", {"y": [1, 2]}, draw_line)],
    )
    experiment = Experiment("made-up", "Made up", "A paper", "What is done.", lambda _: [result])
    write_run(perform(experiment, Context()), folder)
    return write_index(folder)


def draw_line():
    figure, ax = new_axes()
    ax.plot([1, 2])
    return figure


class Oracle:
    """Says the probabilities that it is given; X is the number of the row."""

    def __init__(self, probabilities, classes):
        self.probabilities, self.classes_ = np.asarray(probabilities), np.asarray(classes)

    def predict_proba(self, X):
        return self.probabilities[np.asarray(X)[:, 0]]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def ask(probabilities, y, classes, **options):
    X = np.arange(len(y))[:, None]
    return measure(Oracle(probabilities, classes), X, y, **options)


def random_answers(n, n_classes, seed=0):
    """Rough probabilities (with ties), and labels of them."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(n_classes), size=n).round(2)
    probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    probabilities = probabilities.clip(0, 1)
    classes = np.array(["a", "b", "c", "d"])[:n_classes]
    y = np.array([rng.choice(classes, p=p / p.sum()) for p in probabilities])
    return probabilities, y, classes, rng.integers(1, 4, n).astype(float)
