"""Learning in the background, so that a person never has to wait."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.active import query
from bayespoint.active.stopping import expected_fall
from bayespoint.active.suspects import SuspectLabels, left_out_probabilities
from bayespoint.classifier.calibration import Estimate
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import get_engine
from bayespoint.exceptions import one_line

BATCH = 12  # questions that are chosen together
FIRST = 4  # of them, the one that lowers the error most comes first
CANDIDATES = 1000  # rows among which questions are chosen
REST = 300  # rows on which the error is expected
IDLE = 0.3  # seconds without an answer after which kernels are tried
BEHIND = 1.25  # labels, as a multiple of those that the last choice of kernels has seen
MOST_LABELS_STARTED = 30  # labels from which a given model that cannot be updated is not used
WIDE = 500  # features from which one more site has a diagonal covariance
MAX_TIME = 20.0  # seconds for a choice of kernels


@dataclass(frozen=True)
class Advice:
    """Predictions and questions of a model.

    Attributes
    ----------
    n_labels : int
        Number of labels that the model was fitted to.
    queue : list of int
        Rows to ask for, the most informative first.
    opinions : dict of int to list of float
        Probabilities of the classes for these rows.
    error : Estimate or None
        Leave-one-out error of the labels, with its interval.
    rest : float or None
        Expected error on rows without a label.
    fall : float or None
        Expected decrease of that error by the next label.
    suspects : list of int
        Rows whose label is improbable given all others.
    problem : str
        Why the fit failed; "" if it did not.
    """

    n_labels: int = 0
    queue: list[int] = field(default_factory=list)
    opinions: dict[int, list[float]] = field(default_factory=dict)
    error: Estimate | None = None
    rest: float | None = None
    fall: float | None = None
    suspects: list[int] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True)
class Labels:
    """Labels at one moment, rows without an answer, and rows that are shown."""

    codes: Mapping[int, int]
    open: NDArray[np.intp]
    shown: list[int] = field(default_factory=list)


class Learner(threading.Thread):
    """Fits models to the labels as they arrive.

    A linear classifier is updated with every new label, as one more site of expectation
    propagation. When there was no answer for a moment, or many labels are new, the kernel is chosen
    again on all labels. This classifier chooses the questions as long as it knows most labels.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_features)
        The pool, as the classifier gets it.
    classes : ndarray of shape (n_classes,)
        The classes, in the order of the codes of labels.
    labels : callable
        Returns the current :class:`Labels`.
    publish : callable
        Takes an :class:`Advice`.
    start : BayesPointClassifier, optional
        A fitted classifier for the first questions, which knows some of the classes.
    seed : int
        Seed of the questions.
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        classes: NDArray,
        labels: Callable[[], Labels],
        publish: Callable[[Advice], None],
        *,
        start: BayesPointClassifier | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(name="learner", daemon=True)
        self.points, self.classes = points, classes
        self._codes = {label: code for code, label in enumerate(classes.tolist())}
        self._labels, self._publish = labels, publish
        self._start, self._seed = start, seed
        self._rng = np.random.default_rng(seed)
        self._news, self._ended = threading.Event(), False
        self._work = threading.Lock()
        self._quick: BayesPointClassifier | None = None
        self._quick_codes: dict[int, int] = {}
        self._best: BayesPointClassifier | None = None
        self._best_codes: dict[int, int] = {}
        self._advice = Advice()

    def wake(self) -> None:
        """Report that labels have changed."""
        self._news.set()

    def end(self) -> None:
        """End the thread after its current step."""
        self._ended = True
        self._news.set()

    def run(self) -> None:
        """Learn until the end."""
        while True:
            self._news.wait()
            self._news.clear()
            if self._ended:
                return
            labels = self._labels()
            self.step(labels, idle=False)
            if not self._news.wait(IDLE):
                self.step(labels, idle=True)

    def step(self, labels: Labels, *, idle: bool) -> None:
        """Learn what is new, and publish advice."""
        if idle and labels.codes == self._best_codes:
            return
        try:
            with self._work, warnings.catch_warnings(action="ignore"):
                self._learn(labels, idle)
        except Exception as error:  # labelling continues without a model
            self._quick, self._quick_codes = None, {}
            self._publish(Advice(problem=one_line(error)))

    def final(self, labels: Labels) -> BayesPointClassifier | None:
        """The classifier of all labels; None if they are of one class only."""
        with self._work, warnings.catch_warnings(action="ignore"):
            if is_updatable(self._start):
                self._learn_quickly(labels.codes)
                return self._quick
            if self._best_codes != labels.codes:
                self._choose_kernel(labels.codes)
            return self._best

    def _learn(self, labels: Labels, idle: bool) -> None:
        codes = labels.codes
        many = len(codes) >= BEHIND * len(self._best_codes) + 2
        if (idle or many) and codes != self._best_codes:
            self._choose_kernel(codes)
        self._learn_quickly(codes)
        machine = self._machine(codes)
        if machine is None:
            self._publish(Advice(n_labels=len(codes)))
        elif len(labels.open):
            self._advise(machine, labels)
        else:
            self._publish_with(queue=[], opinions={}, rest=None, fall=None)

    def _machine(self, codes: Mapping[int, int]) -> BayesPointClassifier | None:
        """The classifier that chooses questions: first the one that was given, if any."""
        if is_updatable(self._start):
            return self._quick
        if self._start is not None and len(codes) < MOST_LABELS_STARTED:
            return self._start
        if self._best is not None and len(codes) <= BEHIND * len(self._best_codes):
            return self._best
        return self._quick

    def _learn_quickly(self, codes: Mapping[int, int]) -> None:
        """One more site for each new label; after an undo, all of them again."""
        is_changed = any(codes.get(row) != code for row, code in self._quick_codes.items())
        if is_changed:
            self._quick, self._quick_codes = None, {}
        new = {row: code for row, code in codes.items() if row not in self._quick_codes}
        if self._quick is None:
            if is_updatable(self._start):
                self._quick = deepcopy(self._start)
            elif len(set(codes.values())) < 2:
                return
            else:
                wide = self.points.shape[1] > WIDE
                engine = get_engine("factorised-ep" if wide else "ep")
                self._quick = BayesPointClassifier(
                    kernel="linear", engine=engine, multi_class="one_vs_rest"
                )
        if new and self._quick is not None:
            rows = np.fromiter(new, dtype=np.intp)
            classes = None if hasattr(self._quick, "classes_") else np.sort(self.classes)
            self._quick.partial_fit(self.points[rows], self._labels_of(new), classes=classes)
        self._quick_codes = dict(codes)

    def _labels_of(self, codes: Mapping[int, int]) -> NDArray:
        return self.classes[np.fromiter(codes.values(), dtype=np.intp)]

    def _choose_kernel(self, codes: Mapping[int, int]) -> None:
        """Choose a kernel for all labels, and find suspect labels."""
        if len(set(codes.values())) < 2:
            self._best, self._best_codes = None, {}
            self._advice = Advice()
            return
        rows = np.fromiter(codes, dtype=np.intp)
        y = self._labels_of(codes)
        machine = BayesPointClassifier(max_time=MAX_TIME, random_state=self._seed)
        self._best, self._best_codes = machine.fit(self.points[rows], y), dict(codes)
        known = np.searchsorted(self._best.classes_, y)
        left_out = left_out_probabilities(self._best, known)
        scores = getattr(self._best, "expected_scores_", None)
        doubtful: list[int] = []
        forecast: Any = []
        if left_out is not None:
            found = SuspectLabels.of(left_out, known)
            places = found.order[found.is_suspect[found.order]]
            doubtful, forecast = rows[places].tolist(), left_out[places]
        self._advice = Advice(
            n_labels=len(rows),
            error=None if scores is None else scores["error"],
            suspects=doubtful,
            opinions=self._opinions(self._best, doubtful, forecast),
        )

    def _advise(self, machine: BayesPointClassifier, labels: Labels) -> None:
        """Choose questions, and the expected decrease of the error."""
        some = self._rng.permutation(labels.open)[:CANDIDATES]
        seed = int(self._rng.integers(2**31))
        done = np.array([*labels.codes, *labels.shown], dtype=np.intp)
        both = self.points[np.concatenate([some, done])]
        taken = np.arange(len(some), len(both))  # copies of these are asked for last
        n = min(BATCH, len(some))
        queue = some[query(machine, both, n, exclude=taken, random_state=seed)]
        first = queue[:FIRST]
        both = self.points[np.concatenate([first, some[:REST]])]
        rest, falls = expected_fall(machine, both, len(first), seed)
        best = int(falls.argmax())
        queue[: len(falls)] = np.roll(queue[: len(falls)], -best)  # begins with the best
        rows = [*queue.tolist(), *labels.shown]
        opinions = self._opinions(machine, rows, machine.predict_proba(self.points[rows]))
        self._publish_with(
            queue=queue.tolist(), opinions=opinions, rest=rest, fall=float(falls[best])
        )

    def _opinions(
        self, machine: BayesPointClassifier, rows: list[int], shares: Any
    ) -> dict[int, list[float]]:
        """Probabilities of all classes by row, 0 for classes that the classifier does not know."""
        known = [self._codes[label] for label in machine.classes_.tolist()]
        full = np.zeros((len(rows), len(self.classes)))
        full[:, known] = np.reshape(shares, (len(rows), len(known)))
        return dict(zip(rows, full.tolist(), strict=True))

    def _publish_with(self, opinions: dict[int, list[float]], **parts: Any) -> None:
        """Publish advice; error and suspects are those of the last choice of kernels."""
        self._publish(replace(self._advice, opinions=self._advice.opinions | opinions, **parts))


def is_updatable(machine: BayesPointClassifier | None) -> bool:
    """Whether a fitted classifier can take one more label."""
    return hasattr(machine, "partial_fit") and not hasattr(machine, "chosen_params_")
