"""One row, explained: what is known of its label, what is not, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import entr, logit

from bayespoint.classifier.model import Model
from bayespoint.classifier.training_rows import machine_of, members
from bayespoint.reports.html import short
from bayespoint.spaces import DualSpace
from bayespoint.tools.arrays import to_host
from bayespoint.tools.extras import in_pandas
from bayespoint.tools.numbers import TINY
from bayespoint.tools.pipelines import n_rows, take
from bayespoint.tools.plots import BLUE, INK, VERMILION, Axes, axes_or_new
from bayespoint.tools.stability import unstable
from bayespoint.tools.tables import supported
from bayespoint.tools.validation import new_points

N_DRAWS = 2000  # classifiers drawn from the posterior
ENDS = (0.05, 0.95)
SHOWN = 6  # features, and training rows on either side, in words
MOST_ROWS = 1000  # training rows that novelty compares with
NOISE = 0.1  # of their outputs, as a share of the variance: each is known nearly
ROUNDING = 1e-9
QUIET = 0.005  # voices that are not shown
FAR = 0.01  # novelty below which a row is called unlike the training rows
SURE = 1e-12  # probabilities stay that far from 0 and 1


class Push(NamedTuple):
    """A feature of a row, and how much it adds to the log-odds of the label.

    Attributes
    ----------
    name : str
        Name of the column.
    value, typical : object
        Its value in the row, and a typical one.
    push : float
        Log-odds of the label, less those with the typical value.

    Examples
    --------
    >>> from bayespoint.reports import Push
    >>> Push("age", 17, 42.0, -1.3).push
    -1.3
    """

    name: str
    value: Any
    typical: Any
    push: float


class Voice(NamedTuple):
    """A training row, and what its label adds to the output of the explained row.

    Attributes
    ----------
    row : int
        Its place among the training rows, from 0.
    label : object
        Its label.
    weight : float
        Positive if it speaks for the predicted label.

    Examples
    --------
    >>> from bayespoint.reports import Voice
    >>> Voice(3, "yes", 0.4).label
    'yes'
    """

    row: int
    label: Any
    weight: float


@dataclass(frozen=True)
class Explanation:
    """What a classifier knows about one row; returned by :func:`explain`.

    Attributes
    ----------
    label : object
        The predicted label.
    probability : float
        Its probability.
    interval : tuple of two floats
        5 % and 95 % quantiles of that probability over the classifiers of the posterior.
    data_uncertainty, model_uncertainty : float
        Entropy of the label in nats that would remain if the weights were known, and what is
        unknown of the weights: the mutual information of label and weights.
    novelty : float or None
        Share of the training rows that are at least as far from all others, as a p-value; None if
        the training rows are not known, and of perceptrons with a kernel.
    features : list of Push
        What each feature adds to the log-odds of the label, compared with its typical value; the
        largest first.
    voices : list of Voice
        What each training row adds to the output in favour of the label, the largest first; empty
        if the training rows are not known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> (one,) = explain(BayesPointClassifier(kernel="linear").fit(X[:100], y[:100]), X[:1])
    >>> int(one.label), one.features[0].name, one.voices[0].weight > 0
    (0, 'x2', True)
    """

    label: Any
    probability: float
    interval: tuple[float, float]
    data_uncertainty: float
    model_uncertainty: float
    novelty: float | None
    features: list[Push]
    voices: list[Voice]

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"label        {self.label}, p = {self.probability:.3f} ({low:.3f} to {high:.3f})",
            f"uncertainty  {self.data_uncertainty:.3f} nats in the data, "
            f"{self.model_uncertainty:.3f} in the model",
        ]
        if self.novelty is not None:
            far = "unlike the training rows: " if self.novelty < FAR else ""
            share = f"{self.novelty:.1%} of the training rows are as far from the others"
            lines.append(f"novelty      {far}{share}")
        for one in self.features[:SHOWN]:
            lines.append(
                f"  {one.push:+.2f}  {one.name} = {short(one.value)} (typical {short(one.typical)})"
            )
        for words, voices in {"for": self.voices, "against": self.voices[::-1]}.items():
            sign = 1 if words == "for" else -1
            told = [one for one in voices[:SHOWN] if sign * one.weight > QUIET]
            named = ", ".join(f"{one.row} ({one.label}, {one.weight:+.2f})" for one in told)
            lines += [f"rows {words:<7} {named}"] if named else []
        return "\n".join(lines)


@unstable("New in 1.0; how much a feature moves a prediction may be computed otherwise.")
def explain(
    clf: Any, X: Any, *, training: Any = None, random_state: int | None = 0
) -> list[Explanation]:
    r"""Explain the predictions for single rows.

    * The interval and both kinds of uncertainty are those of 2 000 classifiers drawn from the
      posterior. The posterior of expectation propagation is itself an approximation, a close one.
    * Novelty is a p-value among training rows (at most 1 000). Its statistic is the share of the
      prior variance of the output that is left if the outputs of the training rows are observed
      with little noise, a tenth of their variance; for a training row, those of the others:
      :math:`(k(x, x) - k_x^T (K + s I)^{-1} k_x) / k(x, x)`. (The variance in the posterior itself
      would not do: rows whose label is clear say little about their output.)
    * A feature pushes the label by the change of its log-odds when the feature alone is replaced by
      its typical value, the median or the most frequent one of the training rows. Pushes of
      features that act together do not add up to the log-odds.
    * With the messages :math:`\exp(h f - r f^2 / 2)` of the training rows, the mean output is
      :math:`f(x) = \sum_i k(x, x_i) (h_i - r_i f_i)`, exactly, with the prior covariance k: what
      each training row adds to it is its voice. (For several machines, the mean over them.)

    Parameters
    ----------
    clf : BayesPointClassifier
        A fitted classifier, alone or as the last step of a pipeline.
    X : array-like of shape (n, n_features)
        The rows.
    training : array-like of shape (n_training, n_features), optional
        The training rows, with the columns of X: for novelty and typical values. A classifier that
        was fitted to at most 2 000 rows, and neither pickled nor loaded, knows them; but not those
        before the first step of a pipeline, so that typical values are taken from X.
    random_state : int or None, default=0
        Seed of the draws.

    Returns
    -------
    list of Explanation
        One for each row. Their ``str`` fits on a screen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="rbf", gamma=0.2).fit(X[:100], y[:100])
    >>> (one,) = explain(clf, X[117:118])  # a flower of a species that it has not seen
    >>> int(one.label), one.novelty < 0.02
    (1, True)
    """
    parts = machine_of(clf)
    machine = parts.last
    model: Model = machine.model_
    X = supported(X)
    X, training = in_pandas(X if hasattr(X, "shape") else np.asarray(X)), in_pandas(training)

    def prepared(rows: Any) -> Any:
        options: Any = {"accepts_sparse": model.accepts_sparse, "table": model.table}
        found = new_points(machine, parts.transform(rows), **options)
        return found.toarray() if issparse(found) else found

    names = [str(name) for name in getattr(machine, "feature_names_in_", ())]
    if parts.before is not None or len(names) != X.shape[1]:
        names = column_names(X)
    points, known = prepared(X), None
    if training is not None:
        known = prepared(take(training, slice(None, None, -(-n_rows(training) // MOST_ROWS))))
    elif model.training is not None:
        known, scaling = to_host(model.training[1].points), model.scaling
        if scaling is not None:  # rows as they were given
            known = known * scaling.scale + scaling.mean
        is_plain = parts.before is None and (model.table is None or model.table.is_plain)
        training = known if is_plain else None
    far = [None] * len(points)
    if known is not None and not isinstance(model.space, DualSpace):  # which has no coordinates
        some = known[:: -(-len(known) // MOST_ROWS)]
        far = novelty(model.transform(some), model.transform(points)).tolist()
    typical = typical_values(X if training is None else training)
    p = model.predict_proba(points)
    found = []
    for i, code in enumerate(p.argmax(axis=1).tolist()):
        point = points[i : i + 1]
        outputs = model.draw_outputs(point, N_DRAWS, random_state)[0]
        drawn = model.coding.probabilities(*model.posterior.likelihood.log_likelihood(outputs))
        low, high = np.quantile(drawn[:, code], ENDS).tolist()
        inner, total = entr(drawn).sum(axis=1).mean(), entr(drawn.mean(axis=0)).sum()
        numbers = float(p[i, code]), (low, high), float(inner), max(float(total - inner), 0.0)
        reasons = pushes(clf, take(X, [i]), code, names, typical), voices(model, point, code)
        found.append(Explanation(model.classes[code], *numbers, far[i], *reasons))
    return found


def column_names(rows: Any) -> list[str]:
    """Names of the columns of a DataFrame, numbers of those of an array."""
    if rows is None:
        return []
    if hasattr(rows, "columns"):
        return [str(name) for name in rows.columns]
    shape = np.shape(rows)
    return [f"x{number}" for number in range(shape[1])] if len(shape) > 1 else ["x"]


def novelty(known: NDArray, new: NDArray) -> NDArray[np.float64]:
    """The p-value of each new row, from coordinates; see :func:`explain`."""
    sizes, own = (np.maximum(np.square(Z).sum(axis=1), TINY) for Z in (known, new))
    noise = NOISE * sizes.mean()
    inverse = np.linalg.inv(known @ known.T + noise * np.eye(len(known)))
    left_out = (1 / inverse.diagonal() - noise) / sizes
    k = new @ known.T
    left = 1 - ((k @ inverse) * k).sum(axis=1) / own
    above = left_out >= left[:, None] - ROUNDING
    return (1 + above.sum(axis=1)) / (1 + len(known))


def typical_values(rows: Any) -> list[Any]:
    """The median of each column, or its most frequent value; missing where there is none."""
    if not hasattr(rows, "iloc"):
        dense = rows.toarray() if issparse(rows) else np.asarray(rows)
        return np.median(dense, axis=0).tolist()
    return [typical_value(column) for _, column in rows.items()]


def typical_value(column: Any) -> Any:
    """The same of a column of pandas."""
    if column.dtype.kind in "iuf":
        return column.median()
    return next(iter(column.mode()), column.iloc[0])  # missing cells have no mode


def pushes(clf: Any, row: Any, code: int, names: list[str], typical: Sequence[Any]) -> list[Push]:
    """The change of the log-odds by each feature, the largest first."""
    row = row.toarray() if issparse(row) else row
    block = take(row, [0] * len(names))
    if hasattr(block, "iloc"):
        block = block.reset_index(drop=True).astype(object)
        for j, value in enumerate(typical):
            block.iat[j, j] = value
        block = block.infer_objects()
    else:
        block[np.diag_indices(len(names))] = typical
    both = np.append(clf.predict_proba(row)[:, code], clf.predict_proba(block)[:, code])
    odds = logit(np.clip(both, SURE, 1 - SURE))
    values = np.asarray(row, dtype=object).ravel()
    told = [
        Push(name, value, usual, float(odds[0] - without))
        for name, value, usual, without in zip(names, values, typical, odds[1:], strict=True)
    ]
    return sorted(told, key=lambda one: -abs(one.push))


def voices(model: Model, points: NDArray, code: int) -> list[Voice]:
    """What each training row adds to the output of one row, the largest first."""
    spoken = model.coding.task_of(code)
    if spoken is None:
        return []
    number, sign = spoken
    parts = [(weight, *tasks[number]) for weight, _, tasks in members(model)]
    if model.training is None or any(getattr(one[2], "messages", None) is None for one in parts):
        return []
    problem = model.training[1]
    scaled = points if model.scaling is None else model.scaling.transform(points)
    total = np.zeros(len(problem.codes))
    for weight, space, member, task in parts:
        Z = space.labelled(problem.points)
        unit = max(float(np.abs(Z).max()), 1e-300)  # squares of huge features would overflow
        Z, means, new = Z / unit, member.mean * unit, space.transform(scaled)[0] / unit
        f = Z @ means
        force = member.forces(f)
        pull, mean = Z.T @ force[:, task], means[:, task]
        scale = (mean @ pull) / max(float(pull @ pull), 1e-300)  # of the prior: mean = scale pull
        total += weight * sign * scale * force[:, task] * (Z @ new)
    labels, rows = model.classes[problem.codes], np.flatnonzero(problem.given)
    told = map(Voice, rows.tolist(), labels, total.tolist())
    return sorted(told, key=lambda one: -one.weight)


@dataclass(eq=False, repr=False)
class ExplanationDisplay:
    """Plot of an explanation: the probability with its interval, and what pushes it.

    Parameters
    ----------
    explanation : Explanation
        One of those that :func:`explain` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import ExplanationDisplay, explain
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="linear").fit(X, y)
    >>> display = ExplanationDisplay(explain(clf, X[:1])[0]).plot()
    >>> len(display.ax_.patches)  # a bar for each feature
    4
    """

    explanation: Explanation

    def plot(self, ax: Axes | None = None, *, n_features: int = 10) -> ExplanationDisplay:
        """Plot the features that push most, the largest on top."""
        self.ax_ = ax = axes_or_new(ax, type(self).__name__)
        self.figure_ = ax.figure
        told, (low, high) = self.explanation, self.explanation.interval
        shown = told.features[:n_features][::-1]
        size = [one.push for one in shown]
        ax.barh(range(len(shown)), size, color=[BLUE if s > 0 else VERMILION for s in size])
        ax.set_yticks(range(len(shown)), [f"{one.name} = {short(one.value)}" for one in shown])
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_xlabel(f"adds to the log-odds of {told.label}")
        ax.set_title(f"{told.label}: p = {told.probability:.2f} ({low:.2f} to {high:.2f})")
        return self
