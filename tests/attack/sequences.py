"""Hostile sequences: one classifier that is fitted, changed, stored and asked in any order."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack.fits import DATA, ENGINES
from tests.attack.judge import WRONG, Outcome, check_predictions, judged, judged_error

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.active import query
from bayespoint.reject import SelectiveClassifier

SECONDS = 120  # for a whole sequence
STEPS = ["fit", "batch", "batch", "batch", "set", "pickle", "save", "predict", "select", "query"]
KERNELS = ["linear", "linear", "rbf", "poly", "auto"]


class Life:
    """A classifier, what it learned from last, and what was done to it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.seen, self.done = rng, None, []
        self.clf = BayesPointClassifier(random_state=0, warm_start=bool(rng.random() < 0.2))
        self.change()

    def step(self) -> None:
        """Something that may well be refused; at first something that may well succeed."""
        name, kind = str(self.rng.choice(STEPS)), str(self.rng.choice(list(DATA)))
        if not self.done:
            name, kind = str(self.rng.choice(["fit", "batch"])), "plain"
        with np.errstate(all="ignore"):
            X, y = DATA[kind](self.rng)
        self.done.append(f"{name} {kind}")
        getattr(self, name)(X, y)

    def fit(self, X: Any, y: Any) -> None:
        self.clf.fit(X, y)
        self.seen = X

    def batch(self, X: Any, y: Any) -> None:
        if not hasattr(self.clf, "partial_fit"):
            return
        n = int(self.rng.integers(1, len(y) + 1)) if len(y) else 0
        is_first = not hasattr(self.clf, "classes_")
        self.clf.partial_fit(X[:n], y[:n], classes=np.unique(y) if is_first else None)
        self.seen = X[:n]

    def set(self, X: Any, y: Any) -> None:
        self.change()

    def change(self) -> None:
        """Other parameters, for the next fit."""
        self.clf.set_params(
            kernel=str(self.rng.choice(KERNELS)),
            engine=ENGINES[str(self.rng.choice(list(ENGINES)))],
        )

    def pickle(self, X: Any, y: Any) -> None:
        self.replace(pickle.loads(pickle.dumps(self.clf)))

    def save(self, X: Any, y: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.bpm")
            bayespoint.save(self.clf, path)
            self.replace(bayespoint.load(path))

    def replace(self, clf: Any) -> None:
        """Go on with a copy, which must predict the same."""
        before, self.clf = self.answers(), clf
        assert np.array_equal(before, self.answers()), "a copy predicts something else"

    def predict(self, X: Any, y: Any) -> None:
        self.clf.predict_proba(X)

    def select(self, X: Any, y: Any) -> None:
        SelectiveClassifier(self.clf, confidence="proba", threshold=0.7).predict(X)

    def query(self, X: Any, y: Any) -> None:
        query(self.clf, X, 1, random_state=0)

    def answers(self) -> Any:
        """What it predicts for the points that it has seen; nothing before a fit."""
        return None if self.seen is None else self.clf.predict_proba(self.seen)


def lived(life: Life) -> str:
    """What is wrong with a life: a step that is refused must change nothing."""
    for _ in range(life.rng.integers(2, 7)):
        before = life.answers()
        try:
            life.step()
        except AssertionError as error:
            return str(error)
        except Exception as error:
            outcome = judged_error(error)
            if outcome.kind == WRONG:
                return f"{outcome.reason} after {life.done}"
            if not np.array_equal(before, life.answers()):
                return f"{life.done[-1]} was refused ({outcome.reason}), and changed predictions"
    return "" if life.seen is None else check_predictions(life.clf, life.seen)


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One sequence, by its number."""
    life = Life(np.random.default_rng([seed, len(kind)]))
    outcome = judged(lambda: lived(life), SECONDS)
    return f"{life.clf.engine}, {life.clf.kernel!r}, {life.done}", outcome
