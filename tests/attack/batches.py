"""Hostile batches: other columns, classes and types than before, and copies in another process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from tests.attack.fits import ENGINES, blobs
from tests.attack.judge import WRONG, Outcome, check_predictions, judged, judged_error

from bayespoint import BayesPointClassifier

SECONDS = 120  # for all batches of a case
LEARNS = ["auto", "ep", "ep parallel", "ep diagonal", "ep stream", "ep flips", "laplace"]
Batch = tuple[Any, Any]


def cells(change: Callable) -> Callable:
    """A batch whose rows are changed."""
    return lambda X, y, rng: (change(np.array(X), rng), y)


def labels(change: Callable) -> Callable:
    """A batch whose labels are changed."""
    return lambda X, y, rng: (X, change(np.array(y), rng))


def framed(X: Any, names: list) -> pd.DataFrame:
    return pd.DataFrame(np.array(X), columns=names[: np.shape(X)[1]])


def words(X: np.ndarray) -> pd.DataFrame:
    """A frame with a column of words."""
    return framed(X, ["a", "b", "c"]).assign(b=np.where(X[:, 1] > 0, "x", "y"))


CHANGES: dict[str, Callable] = {
    "same": lambda X, y, rng: (X, y),
    "one row": lambda X, y, rng: (X[:1], y[:1]),
    "no row": lambda X, y, rng: (X[:0], y[:0]),
    "one class": lambda X, y, rng: (X[y == y[0]], y[y == y[0]]),
    "fewer columns": cells(lambda X, rng: X[:, :-1]),
    "more columns": cells(lambda X, rng: np.hstack([X, X[:, :1]])),
    "a series": cells(lambda X, rng: X[:, 0]),
    "three axes": cells(lambda X, rng: X[:, :, None]),
    "frame": cells(lambda X, rng: framed(X, ["a", "b", "c"])),
    "frame in another order": cells(lambda X, rng: framed(X, ["c", "b", "a"])),
    "frame of other names": cells(lambda X, rng: framed(X, ["a", "b", "z"])),
    "frame of numbered names": cells(lambda X, rng: framed(X, [0, 1, 2])),
    "frame with words": cells(lambda X, rng: words(X)),
    "frame of categories": cells(lambda X, rng: words(X).astype({"b": "category"})),
    "f4": cells(lambda X, rng: X.astype("f4")),
    "f2": cells(lambda X, rng: X.astype("f2")),
    "i8": cells(lambda X, rng: X.astype("i8")),
    "truth": cells(lambda X, rng: X > 0),
    "objects": cells(lambda X, rng: X.astype(object)),
    "text": cells(lambda X, rng: X.astype(str)),
    "words in cells": cells(lambda X, rng: np.where(X > 1, "x", X.astype(object))),
    "complex": cells(lambda X, rng: X * 1j),
    "times": cells(lambda X, rng: X.astype("i8").astype("M8[D]")),
    "list": cells(lambda X, rng: X.tolist()),
    "sparse": cells(lambda X, rng: sparse.csr_array(X)),
    "sparse, other format": cells(lambda X, rng: sparse.coo_matrix(X)),
    "missing": cells(lambda X, rng: np.where(rng.random(X.shape) < 0.1, np.nan, X)),
    "all missing": cells(lambda X, rng: np.full_like(X, np.nan)),
    "infinite": cells(lambda X, rng: np.where(rng.random(X.shape) < 0.1, np.inf, X)),
    "huge": cells(lambda X, rng: X * 1e200),
    "tiny": cells(lambda X, rng: X * 1e-200),
    "shifted": cells(lambda X, rng: X + 1e9),
    "new class": labels(lambda y, rng: np.where(rng.random(len(y)) < 0.2, y.max() + 1, y)),
    "labels as floats": labels(lambda y, rng: y.astype(float)),
    "labels as odd floats": labels(lambda y, rng: y + 0.5),
    "labels as text": labels(lambda y, rng: y.astype(str)),
    "labels as objects": labels(lambda y, rng: y.astype(object)),
    "labels as truth": labels(lambda y, rng: y == 1),
    "labels as categories": labels(lambda y, rng: pd.Categorical(y)),
    "labels as bytes": labels(lambda y, rng: y.astype("S")),
    "labels that are missing": labels(lambda y, rng: np.where(y, 1.0, np.nan)),
    "labels in a column": labels(lambda y, rng: y[:, None]),
    "labels in two columns": labels(lambda y, rng: np.stack([y, y], axis=1)),
    "too few labels": labels(lambda y, rng: y[:-1]),
    "unsigned labels": labels(lambda y, rng: y.astype("u1")),
}
CLASSES: dict[str, Callable] = {
    "none": lambda y: None,
    "all": np.unique,
    "more": lambda y: np.arange(y.max() + 2),
    "fewer": lambda y: np.unique(y)[:-1],
    "reversed": lambda y: np.unique(y)[::-1],
    "twice": lambda y: np.repeat(np.unique(y), 2),
    "text": lambda y: np.unique(y).astype(str),
    "floats": lambda y: np.unique(y).astype(float),
    "list": lambda y: np.unique(y).tolist(),
    "nothing": lambda y: [],
    "mixed": lambda y: [0, "1"],
    "missing": lambda y: [0.0, np.nan],
}
WEIGHTS: dict[str, Callable] = {
    "ones": lambda n: np.ones(n),
    "zeros": lambda n: np.zeros(n),
    "short": lambda n: np.ones(max(n - 1, 0)),
    "negative": lambda n: -np.ones(n),
    "text": lambda n: np.array(["1"] * n),
    "missing": lambda n: np.full(n, np.nan),
}


def contents(batch: Batch) -> bytes:
    """The numbers of a batch; sparse matrices also note what they know of their order."""
    X, y = batch
    if sparse.issparse(X):
        names = ("data", "indices", "indptr", "row", "col")
        X = [getattr(X, name) for name in names if hasattr(X, name)]
    return pickle.dumps(copy.deepcopy((X, y)))


def predicted(data: bytes) -> Any:
    """What a pickled classifier predicts for pickled rows."""
    clf, X = pickle.loads(data)
    return clf.predict_proba(X)


@cache
def elsewhere() -> ProcessPoolExecutor:
    """Another process, which knows nothing of this one."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def taught(clf: Any, base: Batch, done: list[str], rng: np.random.Generator) -> str:
    """What is wrong with batches: those that are refused change nothing, others no input."""
    (rows, targets), known, answers, usual = base, base[0], None, "same"
    for step in range(int(rng.integers(2, 7))):
        name = usual if rng.random() < 0.6 else str(rng.choice(list(CHANGES)))
        part = np.sort(rng.permutation(len(rows))[: rng.integers(2, len(rows) + 1)])
        try:
            X, y = CHANGES[name](rows[part], targets[part], rng)
        except Exception:  # not a batch that anybody can make
            continue
        which = "all" if step == 0 and rng.random() < 0.8 else str(rng.choice(list(CLASSES)))
        which = "none" if step and rng.random() < 0.8 else which
        more = {}
        if rng.random() < 0.1:
            more["sample_weight"] = WEIGHTS[str(rng.choice(list(WEIGHTS)))](len(part))
        done.append(f"{name}, classes {which}{', weights' * bool(more)}")
        before = copy.deepcopy((X, y))
        try:
            clf.partial_fit(X, y, classes=CLASSES[which](targets), **more)
        except Exception as error:
            outcome = judged_error(error)
            if outcome.kind == WRONG:
                return outcome.reason
            if answers is None and hasattr(clf, "classes_") and hasattr(clf, "model_"):
                return "a first batch was refused, and left a model"
            if answers is not None and not np.array_equal(clf.predict_proba(known), answers):
                return f"a batch was refused ({outcome.reason}), and changed predictions"
            continue
        if contents(before) != contents((X, y)):
            return "a batch was changed"
        if answers is None:
            usual, known = name, CHANGES[name](rows, targets, rng)[0]  # of that kind from now on
        wrong = check_predictions(clf, known)
        if wrong:
            return wrong
        answers = clf.predict_proba(known)
    if answers is None or rng.random() < 0.3:
        return ""
    found = elsewhere().submit(predicted, pickle.dumps((clf, known))).result()
    return "" if np.array_equal(found, answers) else "a copy elsewhere predicts something else"


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One classifier and its batches, by their number."""
    rng = np.random.default_rng([seed, 12])
    engine, done = str(rng.choice(LEARNS)), []
    X, y = blobs(rng, 30, 3, int(rng.integers(2, 4)))
    clf = BayesPointClassifier(
        engine=ENGINES[engine],
        random_state=0,
        kernel=["linear", "linear", "auto"][rng.integers(3)],
        multi_class=["auto", "auto", "joint"][rng.integers(3)],
        class_weight=[None, None, None, "balanced"][rng.integers(4)],
        standardize=["auto", "auto", True][rng.integers(3)],
    )
    outcome = judged(lambda: taught(clf, (X, y), done, rng), SECONDS)
    return f"{engine}, {clf.kernel}, {clf.multi_class}, {done}", outcome
