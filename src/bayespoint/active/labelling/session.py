"""A labelling session: which row each tab shows, the answers, and the progress."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.journal import Answer, Answers, Journal
from bayespoint.active.labelling.learner import Advice, Labels, Learner
from bayespoint.active.stopping import recommendation
from bayespoint.classifier.estimator import BayesPointClassifier

# Seconds without a request after which a tab loses its row. Browsers let hidden tabs send one a
# minute.
AWAY = 90.0
FIRST = 5  # labels from which the error is worth a point of the curve
PAST = 100  # answers in the list of the last ones
EVERY = 10  # questions after which a suspect label gets a second look


class RequestError(ValueError):
    """A request with invalid values."""


@dataclass
class Tab:
    """One tab of a browser: its row, whether it is a second look, and the predicted shares."""

    seen: float
    row: int | None = None
    second: bool = False
    shares: list[float] | None = None
    n_asked: int = 0


class Session:
    """The state behind the page; all methods may be called from any thread.

    Parameters
    ----------
    items : Items
        The rows as a person sees them.
    points : ndarray of shape (n_rows, n_features)
        The rows as the classifier takes them.
    classes : ndarray of shape (n_classes,)
        The classes, in the order of their keys.
    given : mapping of int to str
        Labels that the pool itself has.
    journal : Journal
        Where answers are written to.
    start : BayesPointClassifier, optional
        A fitted classifier to begin with.
    seed : int
        Seed of the questions.
    instructions : str
        What the page says about how to label.
    """

    def __init__(
        self,
        items: Items,
        points: NDArray[np.float64],
        classes: NDArray,
        given: Mapping[int, str],
        journal: Journal,
        *,
        start: BayesPointClassifier | None = None,
        seed: int = 0,
        instructions: str = "",
    ) -> None:
        self.items, self.classes = items, [str(label) for label in classes]
        self.instructions = instructions
        self._journal = journal
        self.answers = Answers(given, len(points), self.classes, journal.events)
        self._order = np.random.default_rng(seed).permutation(items.usable)
        self._tabs: dict[str, Tab] = {}
        self._advice = Advice()
        self._lock = threading.RLock()
        self.learner = Learner(
            points, classes, self.labels, self._take_advice, start=start, seed=seed
        )

    # What the page does -------------------------------------------------------------------------

    def begin(self, tab: str) -> dict[str, Any]:
        """The classes, the first row and the state, for a new page."""
        with self._lock:
            about = {"classes": self.classes, "pool": self.items.name}
            return {**about, "instructions": self.instructions, **self._shown(tab)}

    def answer(self, tab: str, row: Any, label: Any) -> dict[str, Any]:
        """Record an answer and return the next row; the label None means "cannot say"."""
        if label is not None and label not in self.classes:
            raise RequestError(f"there is no class {label!r:.80}")
        with self._lock:
            here = self._tab(tab)
            if not self._may_answer(here, tab, row):  # sent twice, or answered elsewhere
                return self._shown(tab)
            number = self.answers.last_number + 1
            now = datetime.now(UTC).isoformat(timespec="seconds")
            answer = Answer(number, row, label, tab, here.second, now)
            self._journal.append(answer.event())
            self.answers.add(answer)
            last = {"number": row + 1, "label": label, "opinion": self._opinion(here)}
            here.row, here.second, here.n_asked = None, False, here.n_asked + 1
            self.learner.wake()
            return {"last": last, **self._shown(tab)}

    def undo(self, tab: str) -> dict[str, Any]:
        """Undo the last answer of this tab, or of a closed one, and show its row again."""
        with self._lock:
            here, answer = self._tab(tab), self._last_of(tab)
            if answer is not None:
                self._journal.append({"undo": answer.number})
                self.answers.undo(answer.number)
                self._give(here, answer.row, answer.second)
                self.learner.wake()
            return self._shown(tab)

    def look_again(self, tab: str, row: Any = None) -> dict[str, Any]:
        """Show a row that has an answer, or that of the most suspect label."""
        with self._lock:
            here = self._tab(tab)
            if row is None:
                self._ask_suspect(here, tab)
            elif type(row) is int and self.answers.of(row) and row not in self._held(tab):
                self._give(here, row, second=True)
            return self._shown(tab)

    def past(self) -> list[dict[str, Any]]:
        """The last answers, the newest first, with their rows."""
        with self._lock:
            last = [one for one in self.answers.standing if self.answers.of(one.row) is one]
            return [
                {**self.items.show(one.row), "row": one.row, "label": one.label}
                for one in reversed(last[-PAST:])
            ]

    def close(self, tab: str) -> None:
        """Forget a tab; its row may be shown in another one."""
        with self._lock:
            self._tabs.pop(tab, None)

    def state(self, tab: str) -> dict[str, Any]:
        """The numbers at the side of the page."""
        with self._lock:
            here = self._tab(tab)
            found, open_rows = self._advice, int(self._is_open().sum())
            labels = self.answers.labels()
            counts = Counter(labels.values())
            return {
                "labels": len(labels),
                "counts": [(name, counts[name]) for name in self.classes if counts[name]],
                "skipped": len(self.answers.skipped()),
                "open": open_rows,
                "error": found.error and {**asdict(found.error), "n": found.n_labels},
                "history": self.answers.history,
                "rest": found.rest,
                "fall": found.fall,
                "advice": recommendation(
                    len(labels), len(set(labels.values())), open_rows, found.rest, found.fall
                ),
                "suspects": len(self._suspects()),
                "problem": found.problem,
                "can_undo": self._last_of(tab) is not None,
                "opinion": self._opinion(here),
            }

    # What others need ---------------------------------------------------------------------------

    def labels(self) -> Labels:
        """The current labels, for the learner."""
        with self._lock:
            codes = {row: self.classes.index(y) for row, y in self.answers.labels().items()}
            shown = self._held("")
            is_open = self._is_open()
            is_open[list(shown)] = False
            return Labels(codes, np.flatnonzero(is_open), sorted(shown))

    def answers_now(self) -> Answers:
        """A copy of the current answers."""
        with self._lock:
            return deepcopy(self.answers)

    def final_machine(self) -> BayesPointClassifier | None:
        """The classifier of all labels; None if they are of one class only."""
        return self.learner.final(self.labels())

    def end(self) -> Path | None:
        """End the learner and close the journal; returns its copy if others have changed it."""
        self.learner.end()
        with self._lock:
            try:
                return self._journal.rescue()
            finally:
                self._journal.close()

    # Inside -------------------------------------------------------------------------------------

    def _take_advice(self, found: Advice) -> None:
        with self._lock:
            self._advice = found
            for tab in self._tabs.values():
                if tab.row in found.opinions and not tab.second:
                    tab.shares = found.opinions[tab.row]
            history = self.answers.history
            is_known = bool(history) and history[-1][0] == found.n_labels
            if found.error is None or found.n_labels < FIRST or is_known:
                return
            point = [found.n_labels, *(round(part, 6) for part in astuple(found.error))]
            self._journal.append({"error": point})
            self.answers.measured(point)

    def _shown(self, tab: str) -> dict[str, Any]:
        """The row of a tab, a new one if it has none, and the numbers."""
        here = self._tab(tab)
        if here.row is None:
            self._ask(here, tab)
        row = here.row
        if row is None:
            return {"item": None, "state": self.state(tab)}
        item = {
            **self.items.show(row),
            "row": row,
            "before": self.answers.label(row) if here.second else None,
            "second": here.second,
            "opinion": self._opinion(here),
        }
        return {"item": item, "state": self.state(tab)}

    def _ask(self, here: Tab, tab: str) -> None:
        """Give a tab the next row, if there is one."""
        if here.n_asked and here.n_asked % EVERY == 0 and self._ask_suspect(here, tab):
            return
        is_free = self._is_open()
        is_free[list(self._held(tab))] = False
        best = next((row for row in self._advice.queue if is_free[row]), None)
        if best is None:
            left = self._order[is_free[self._order]]
            best = int(left[0]) if len(left) else None
        self._give(here, best)
        if best is None:
            self._ask_suspect(here, tab)

    def _ask_suspect(self, here: Tab, tab: str) -> bool:
        held = self._held(tab)
        row = next((row for row in self._suspects() if row not in held), None)
        if row is None:
            return False
        self._give(here, row, second=True)
        return True

    def _give(self, here: Tab, row: int | None, second: bool = False) -> None:
        here.row, here.second = row, second
        here.shares = None if row is None else self._advice.opinions.get(row)

    def _suspects(self) -> list[int]:
        done = self.answers.looked_at_twice()
        return [
            row
            for row in self._advice.suspects
            if row not in done and self.answers.label(row) is not None and self.items.is_usable(row)
        ]

    def _may_answer(self, here: Tab, tab: str, row: Any) -> bool:
        """Whether this is the row of the tab, or that of a tab which was away for long."""
        if here.row is not None or type(row) is not int:
            return type(row) is int and row == here.row
        return row in np.flatnonzero(self._is_open()) and row not in self._held(tab)

    def _opinion(self, here: Tab) -> list[tuple[str, float]] | None:
        """Classes and their probabilities, the most probable first; None if there are none."""
        if here.shares is None:
            return None
        pairs = zip(self.classes, here.shares, strict=True)
        return sorted(((name, round(p, 4)) for name, p in pairs), key=lambda pair: -pair[1])

    def _is_open(self) -> NDArray[np.bool_]:
        """Rows that may be asked for and have no answer."""
        is_open = np.zeros(len(self.items), dtype=bool)
        is_open[self._order] = True
        is_open[list(self.answers.answered())] = False
        return is_open

    def _tab(self, tab: str) -> Tab:
        """The tab that sent the request; forgets tabs that are away."""
        now = time.monotonic()
        self._tabs = {name: one for name, one in self._tabs.items() if now - one.seen < AWAY}
        here = self._tabs.setdefault(tab, Tab(now))
        here.seen = now
        return here

    def _held(self, tab: str) -> set[int]:
        """Rows that other tabs show."""
        return {one.row for name, one in self._tabs.items() if name != tab and one.row is not None}

    def _last_of(self, tab: str) -> Answer | None:
        """The last answer that this tab may undo: not one of another open tab."""
        others = self._tabs.keys() - {tab}
        return next((one for one in reversed(self.answers.standing) if one.tab not in others), None)
