"""Sets of labels that contain the true one with a given probability: conformal prediction.

V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, Springer 2005.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from bayespoint.classifier import fitting
from bayespoint.classifier.calibration import MOST_SCORES
from bayespoint.classifier.model import Model
from bayespoint.classifier.training_rows import (
    TrainingRows,
    is_plain,
    members,
    scaling_is_symmetric,
    training_rows,
)
from bayespoint.engines.gaussian.one_more import BATCH, OneMore
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import to_host
from bayespoint.tools.monitor import Monitor, current_monitor
from bayespoint.tools.validation import check_array, column_or_1d

METHODS = ("auto", "full", "left_out")
ROUNDING = 1e-9  # of p-values, relative
TIE = 1e-5  # probabilities that differ by less are ties, which count against a label's exclusion
# Training rows up to which "auto" adds new rows to them: with an rbf kernel 7 ms a row and label.
MOST_FULL = 1200

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class LabelSets:
    """For each row the labels that cannot be ruled out.

    Attributes
    ----------
    contains : ndarray of bool, shape (n, n_classes)
        Whether the set of a row contains each class.
    p_values : ndarray of shape (n, n_classes)
        Share of all rows, the new one with this label included, whose label is no more probable.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    coverage : float
        The probability that a set contains the true label, at least.
    method : {"full", "held_out", "left_out", "full and left_out"}
        Where the scores come from that new rows are compared with: the training rows together with
        the new row, held-out rows, or leave-one-out predictions of the training rows. The last one:
        full sets of the first rows, until ``max_time`` was over.
    is_exact : bool
        Whether the coverage is guaranteed for exchangeable rows, whatever their distribution.
    basis : str
        What the guarantee rests on, or why it is approximate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reject import label_sets
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="linear", standardize=True).fit(X[:200], y[:200])
    >>> sets = label_sets(clf, X[200:204], coverage=0.95)
    >>> sets.method, sets.is_exact
    ('full', True)
    >>> [labels.tolist() for labels in sets.labels]
    [[1], [0], [0], [0]]
    """

    contains: NDArray[np.bool_]
    p_values: NDArray[np.float64]
    classes: NDArray
    coverage: float
    method: str
    is_exact: bool
    basis: str

    @property
    def labels(self) -> list[NDArray]:
        """The labels of each set."""
        return [self.classes[row] for row in self.contains]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of labels of each set."""
        return self.contains.sum(axis=1)


class Way(NamedTuple):
    """A way to full sets: where scores come from that treat a new row as the training rows.

    Attributes
    ----------
    probabilities : callable
        Takes some new rows; returns left-out probabilities of the labels of n + 1 rows, of shape
        (n_classes, n_new, n + 1): the first axis is the label of the new row, the last of n + 1.
    n_rows : int
        New rows that it takes at a time.
    codes : ndarray of shape (n,)
        Index of the class of each training row.
    learned : tuple of str
        What depends on the training rows alone.
    """

    probabilities: Callable[[NDArray], NDArray[np.float64]]
    n_rows: int
    codes: NDArray[np.intp]
    learned: Sequence[str]


def predict_set(
    model: Model,
    X: Any,
    coverage: float = 0.9,
    per_class: bool = False,
    *,
    calibration: Pair | None = None,
    groups: Pair | None = None,
    method: str = "auto",
    max_time: float | None = None,
) -> NDArray[np.bool_]:
    """Predict for each row the set of labels that cannot be ruled out.

    The true label is in the set with about the given probability, for any distribution of the
    rows. It is guaranteed, as "at least", with held-out rows (``calibration``), with
    ``method="full"``, and with kernels and priors that are given in numbers.
    :func:`bayespoint.reject.label_sets` returns the same sets, with p-values and with what the
    coverage rests on.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        New rows.
    coverage : float in (0, 1), default=0.9
        Probability that a set contains the true label.
    per_class : bool, default=False
        Whether it holds for the rows of each class, instead of for all rows together.
    calibration : tuple (X, y), optional
        Rows that the classifier was not trained on, to compare new rows with. By default these are
        the training rows.
    groups : tuple (ArrayLike, ArrayLike), optional
        The groups of the training rows, or of the calibration rows, and those of X: the coverage
        then holds in each group.
    method : {"auto", "full", "left_out"}, default="auto"
        How new rows are compared with the training rows. "full": each new row joins them with each
        label in turn. If anything was learned from the labels besides the posterior, such as the
        kernels of the default classifier, the classifier is fitted again for each row and label.
        "left_out": with leave-one-out predictions of the training rows, some microseconds for each
        row. "auto": full sets where they need no new fit and take milliseconds, otherwise
        "left_out".
    max_time : float, optional
        Seconds for full sets. The rows that are not done by then have leave-one-out sets.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_classes)
        Whether each set contains each class, in the order of ``classes_``.
    """
    options: Any = {"method": method, "max_time": max_time}
    return label_sets(model, X, coverage, per_class, calibration, groups, **options).contains


def label_sets(
    model: Model,
    X: Any,
    coverage: float = 0.9,
    per_class: bool = False,
    calibration: Pair | None = None,
    groups: Pair | None = None,
    *,
    method: str = "auto",
    max_time: float | None = None,
) -> LabelSets:
    """The sets of new rows X of a model; see :func:`predict_set`."""
    check_coverage(coverage)
    check_method(method, max_time)

    def result(p_values: NDArray, method: str, is_exact: bool, basis: str) -> LabelSets:
        contains = p_values > (1 - coverage) * (1 + ROUNDING)
        return LabelSets(contains, p_values, model.classes, coverage, method, is_exact, basis)

    if calibration is not None:
        if method != "auto":
            raise ValueError(
                f"method={method!r} compares new rows with the training rows, and calibration are "
                "others. Leave one of them away."
            )
        codes, scores = held_out_scores(model, *calibration)
        cells = Cells(codes, model.classes, coverage, per_class, groups)
        p_values = split_p_values(scores, model.predict_proba(X), cells)
        basis = "the held-out rows, which the classifier has not seen"
        return result(p_values, "held_out", True, basis)
    way = None if method == "left_out" else full_way(model, method)
    n_done = 0
    if way is not None:
        points = to_host(X if hasattr(X, "shape") else np.concatenate([to_host(x) for x in X]))
        cells = Cells(way.codes, model.classes, coverage, per_class, groups)
        cells.check_new(len(points))
        try:
            p_values = full_p_values(way, points, cells, max_time)
        except np.linalg.LinAlgError:
            if method == "full":
                way = refitting(model)
                p_values = full_p_values(way, points, cells, max_time)
            else:
                p_values = np.empty((0, len(model.classes)))
        n_done = len(p_values)
        basis = "all rows alike, the new one included"
        if way.learned:
            basis = f"all rows, but {' and '.join(way.learned)} depend on the training rows"
        if n_done == len(points):
            return result(p_values, "full", not way.learned, basis)
    codes, scores = stored_scores(model)
    cells = Cells(codes, model.classes, coverage, per_class, groups)
    others = split_p_values(scores, model.predict_proba(X), cells)
    rest = "leave-one-out predictions, each made with one row less than those of new rows"
    if model.fact("n_groups"):
        rest = "leave-group-out predictions of one row of each group, for rows of new groups"
    if not n_done:
        return result(others, "left_out", False, rest)
    others[:n_done] = p_values
    basis = f"{basis}, for the first {n_done} of {len(others)} rows; then time was over: {rest}"
    return result(others, "full and left_out", False, basis)


def full_way(model: Model, method: str) -> Way | None:
    """How full sets are computed; None where leave-one-out sets are better or the only ones.

    What was learned from the labels of the training rows fits them better than the label of a new
    row: with kernels that were chosen, full sets with the same kernels cover too little. (Of 60
    rows with 300 features .6 to .7 instead of .9; with leave-one-out scores, which judge each row
    by what was learned without its half, .9.)
    """
    training = training_rows(model)
    if training is not None and not training.learned:
        few = len(training.codes) <= MOST_FULL or scaling_is_symmetric(model, training)
        return adding(model, training) if few or method == "full" else None
    if method == "full":
        return refitting(model)
    if training is None or training.from_labels or len(training.codes) > MOST_FULL:
        return None
    return adding(model, training)


def left_out_sets(
    model: Model, probabilities: NDArray, coverage: float
) -> NDArray[np.bool_] | None:
    """Sets from leave-one-out scores, for rows of known probabilities; None without scores."""
    if model.fact("label_scores") is None:
        return None
    codes, scores = stored_scores(model)
    cells = Cells(codes, model.classes, coverage, per_class=False)
    return split_p_values(scores, probabilities, cells) > (1 - coverage) * (1 + ROUNDING)


def check_coverage(coverage: Any) -> None:
    """Raise an error unless it is a probability."""
    if not (isinstance(coverage, (float, np.floating)) and 0 < coverage < 1):
        raise ValueError(f"coverage must be a float in the range (0, 1). Got {coverage!r} instead.")


def check_method(method: Any, max_time: Any) -> None:
    """Raise an error unless they are valid parameters."""
    if method not in METHODS:
        raise ValueError(
            f"The 'method' parameter must be a str among {list(METHODS)}. Got {method!r} instead."
        )
    is_number = isinstance(max_time, (int, float, np.number)) and not isinstance(max_time, bool)
    if max_time is not None and not (is_number and max_time > 0):
        raise ValueError(
            f"The 'max_time' parameter must be a positive number or None. Got {max_time!r} instead."
        )


def split_p_values(scores: NDArray, own: NDArray, cells: Cells) -> NDArray[np.float64]:
    """The p-values of all labels of new rows, from scores of rows that do not change."""
    cells.check_new(len(own))
    columns = enumerate(own.T)
    return np.stack([cells.p_values(y, scores[None], column) for y, column in columns], axis=1)


class Cells:
    """Which rows a new row of some label is compared with: all, or those of its class or group."""

    def __init__(
        self, codes: NDArray, classes: NDArray, coverage: float, per_class: bool, groups: Any = None
    ) -> None:
        self.codes = codes
        self._per_class = per_class
        self._of_rows: Any = None
        self._of_new: Any = None
        if groups is not None:
            self._of_rows, self._of_new = (column_or_1d(of) for of in groups)
            if len(self._of_rows) != len(codes):
                raise ValueError(
                    f"There are {len(codes)} rows to compare with, and {len(self._of_rows)} "
                    "groups of them. groups is a pair: those of the training rows, or of the "
                    "calibration rows, and those of X. A model that was loaded from a file needs "
                    "calibration rows."
                )
        needed = int(np.ceil((1 - ROUNDING) / (1 - coverage))) - 1
        names = [f" of class {label}" for label in classes.tolist()] if per_class else [""]
        for y, name in enumerate(names):
            for group in [None] if groups is None else dict.fromkeys(self._of_new.tolist()):
                n = int(self._members(y, group).sum())
                if n < needed:
                    where = name if group is None else f"{name} in group {group!r}"
                    raise ValueError(
                        f"coverage={coverage:g} needs at least {needed} rows{where} to compare "
                        f"with: from fewer, no label could be ruled out. Got {n}. Lower the "
                        "coverage, or use more rows."
                    )

    def check_new(self, n_new: int) -> None:
        """Raise an error unless there is a group for each new row."""
        if self._of_new is not None and len(self._of_new) != n_new:
            raise ValueError(f"X has {n_new} rows, and groups has {len(self._of_new)} for them.")

    def p_values(
        self, y: int, rows: NDArray, new: NDArray, part: slice = slice(None)
    ) -> NDArray[np.float64]:
        """The p-values of a label of some new rows.

        ``rows`` are the probabilities of the labels of all rows to compare with, one or more lines;
        ``new`` are those of this label of the new rows.
        """
        if self._of_new is None and len(rows) == 1:  # for many new rows
            alike = np.sort(rows[0, self._members(y, None)])
            return (1 + np.searchsorted(alike, new + TIE, side="right")) / (1 + len(alike))
        is_lower = rows <= new[:, None] + TIE
        if self._of_new is None:
            own = np.broadcast_to(self._members(y, None), (1, len(self.codes)))
        else:
            own = np.stack([self._members(y, group) for group in self._of_new[part].tolist()])
        return (1 + (is_lower & own).sum(axis=1)) / (1 + own.sum(axis=1))

    def _members(self, y: int, group: Any) -> NDArray[np.bool_]:
        own = self.codes == y if self._per_class else np.ones(len(self.codes), dtype=bool)
        return own if group is None else own & (self._of_rows == group)


def full_p_values(
    way: Way, points: NDArray, cells: Cells, max_time: float | None = None
) -> NDArray[np.float64]:
    """The p-values of all labels of new rows, each of which joins the training rows.

    They end early, with those of the rows that are done, after ``max_time`` seconds or if the
    monitor stops them.
    """
    monitor, end = current_monitor(), np.inf if max_time is None else time.monotonic() + max_time
    found = []
    with monitor.running(len(points), "rows"):
        for begin in range(0, len(points), way.n_rows):
            part = slice(begin, begin + way.n_rows)
            own = way.probabilities(points[part])
            rows = [cells.p_values(y, one[:, :-1], one[:, -1], part) for y, one in enumerate(own)]
            found.append(np.stack(rows, axis=1))
            monitor.update(min(part.stop, len(points)))
            if time.monotonic() > end or monitor.should_stop():
                break
    return np.concatenate(found)


def adding(model: Model, training: TrainingRows) -> Way:
    """Full sets by expectation propagation on one more row."""
    rescales = scaling_is_symmetric(model, training)
    machines = []
    for weight, coding, tasks in members(model):
        targets = coding.encode(training.codes).T
        known = {space: space.labelled(training.points) for space in {one[0] for one in tasks}}
        more = []
        for (space, member, t), target in zip(tasks, targets, strict=True):
            Z = known[space]
            few = Z.shape[1] if rescales else 30
            more.append((space, OneMore(member, t, Z, target, few)))
        machines.append((weight, coding, list(known), more))

    def all_probabilities(new: NDArray) -> NDArray[np.float64]:
        points = new if model.scaling is None else model.scaling.transform(new)
        own = np.zeros((len(model.classes), len(points), len(training.codes) + 1))
        for weight, coding, spaces, more in machines:
            if rescales:  # one space
                rows = [rescaled(model.space, training.points, one) for one in points]
                answers = [np.stack([task.refitted(one) for one in rows]) for _, task in more]
            else:
                seen = {space: space.labelled(points) for space in spaces}
                answers = [task.answers(seen[space]) for space, task in more]
            own += weight * probabilities(coding, np.stack(answers, axis=-1), training.codes)
        if not np.isfinite(own).all():
            raise np.linalg.LinAlgError("Predictions with one more row are not finite numbers.")
        return own

    return Way(all_probabilities, BATCH, training.codes, training.learned)


def refitting(model: Model) -> Way:
    """Full sets by a fit to all rows, the new one included, for each row and label.

    Everything is learned again: scaling, kernels, prior and temperature.
    """
    known = model.training
    if known is None or not is_plain(*known) or len(known[1].codes) >= MOST_SCORES:
        raise ValueError(
            "method='full' adds new rows to the training rows, and needs a classifier that was "
            f"fitted to fewer than {MOST_SCORES} dense rows in memory, without sample weights or "
            "groups, by an engine with leave-one-out predictions ('ep', 'laplace'), and neither "
            "pickled nor loaded. Use method='auto', or calibration=(X, y), rows that it was not "
            "trained on."
        )
    parameters, problem = known
    before, scaling = problem.points, model.scaling
    if scaling is not None:
        before = before * scaling.scale + scaling.mean

    def left_out(row: NDArray, code: int) -> NDArray[np.float64]:
        rows = np.vstack([before, row])
        again = None if scaling is None else Scaling.of(rows, None, problem.block)
        more = replace(
            problem,
            points=rows if again is None else again.transform(rows),
            codes=np.append(problem.codes, code),
            given=np.ones(len(rows), dtype=bool),
            scaling=again,
        )
        scores = fitting.fit(parameters, more, Monitor()).fact("label_scores")
        if scores is None or len(scores) != len(rows):  # perceptrons, which do not judge all rows
            return np.ones(len(rows))  # ties: the label is not ruled out
        return scores[:, 0]

    def all_probabilities(new: NDArray) -> NDArray[np.float64]:
        labels = range(len(model.classes))
        return np.array([[left_out(row, code) for row in new] for code in labels])

    learned = []
    if model.table is not None and not model.table.is_plain:
        learned.append("the columns")
    if parameters.max_time is not None:
        learned.append("what there was time for")
    parameters = replace(parameters, random_state=model.seed, warm_start=False)
    return Way(all_probabilities, 1, problem.codes, learned)


def probabilities(coding: Any, answers: NDArray, codes: NDArray) -> NDArray[np.float64]:
    """Left-out probabilities of the labels of n + 1 rows, (n_classes, n_new, n + 1).

    The first axis is the label of the new row. ``answers`` are those of all tasks, (n_new, 2,
    n + 1, n_tasks).
    """
    n_new, _, n_rows, n_tasks = answers.shape
    own = []
    for y in range(len(coding.classes)):
        signs = (coding.encode(np.array([y]))[0] > 0).astype(int)
        log_p = answers[:, signs, :, np.arange(n_tasks)]  # (n_tasks, n_new, n + 1)
        labels = np.tile(np.append(codes, y), n_new)
        told = coding.left_out(np.moveaxis(log_p, 0, 2).reshape(-1, n_tasks), labels)
        p = coding.probabilities(*told)[np.arange(len(labels)), labels]
        own.append(p.reshape(n_new, n_rows))
    return np.array(own)


def rescaled(space: Any, points: NDArray, new: NDArray) -> NDArray:
    """Coordinates of n + 1 rows, scaled alike."""
    rows = np.vstack([points, new])
    return space.transform(Scaling.of(rows).transform(rows))


def held_out_scores(model: Model, X: Any, y: ArrayLike) -> tuple[NDArray, NDArray]:
    """Codes of held-out rows, and the probabilities of their labels."""
    labels = column_or_1d(y)
    unknown = np.setdiff1d(labels, model.classes)
    if len(unknown):
        raise ValueError(f"The calibration rows have unknown labels: {unknown.tolist()[:6]}.")
    codes = np.searchsorted(model.classes, labels)
    if model.table is None or issparse(X):
        points = check_array(X, dtype=np.float64, accept_sparse="csr")
    else:
        points = model.table.transform(X if hasattr(X, "shape") else np.asarray(X))
    p = model.predict_proba(points)
    if len(p) != len(codes):
        raise ValueError(f"The calibration rows are {len(p)}, and their labels {len(codes)}.")
    return codes, p[np.arange(len(codes)), codes]


def stored_scores(model: Model) -> tuple[NDArray, NDArray]:
    """Codes of training rows, and the left-out probabilities of their labels."""
    kept = model.fact("label_scores")
    if kept is None:
        raise ValueError(
            "The model keeps no leave-one-out predictions, which sets of labels are compared with. "
            "Pass calibration=(X, y), rows that it was not trained on."
        )
    return kept[:, 1].astype(np.intp), kept[:, 0].astype(np.float64)
