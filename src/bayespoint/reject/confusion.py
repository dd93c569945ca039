"""Confusion matrices with a column for rejected rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.reject.labels import encode
from bayespoint.reject.selective import SelectiveClassifier
from bayespoint.tools.plots import BLUE, INK, Axes, axes_or_new, colours

DARK = 0.6  # share of a true class from which numbers are white


def rejection_confusion(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    classes: ArrayLike,
    reject_label: Any,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Count rows by true class, one line each, and by prediction; the last column is rejected.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True labels, and predictions of a :class:`SelectiveClassifier`.
    classes : array-like of shape (n_classes,)
        The labels, without the reject label.
    reject_label : scalar
        The prediction for rejected rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; by default every row counts 1.

    Returns
    -------
    ndarray of shape (n_classes, n_classes + 1)
        Sums of weights.

    Examples
    --------
    >>> from bayespoint.reject import rejection_confusion
    >>> rejection_confusion([0, 0, 1], [0, -1, 0], classes=[0, 1], reject_label=-1)
    array([[1., 0., 1.],
           [1., 0., 0.]])
    """
    labels = np.asarray(classes).tolist()
    truth = encode(np.asarray(y_true), labels, "y_true", "pass all of them")
    columns = [*labels, reject_label]
    answers = encode(np.asarray(y_pred), columns, "y_pred", "pass all of them, and reject_label")
    counts = np.zeros((len(labels), len(columns)))
    np.add.at(counts, (truth, answers), 1.0 if sample_weight is None else sample_weight)
    return counts


@dataclass(eq=False, repr=False)
class RejectionConfusionDisplay:
    """Plot of a confusion matrix with a column for rejected rows.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create one.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes + 1)
        As :func:`rejection_confusion` returns them.
    classes : array-like of shape (n_classes,)
        The labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bayespoint.reject import RejectionConfusionDisplay, SelectiveClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = LogisticRegression(max_iter=1000).fit(X[:900], y[:900])
    >>> selective = SelectiveClassifier(clf, threshold=0.9, confidence="proba")
    >>> display = RejectionConfusionDisplay.from_estimator(selective, X[900:], y[900:])
    >>> display.counts[8, [8, 10]]  # eights that are recognised, and rejected
    array([70., 15.])
    """

    counts: NDArray[np.float64]
    classes: ArrayLike

    @classmethod
    def from_estimator(
        cls, estimator: SelectiveClassifier, X: Any, y: ArrayLike, *, ax: Axes | None = None
    ) -> RejectionConfusionDisplay:
        """Plot the matrix of a fitted :class:`SelectiveClassifier` on test data."""
        labels: Any = {"classes": estimator.classes_, "reject_label": estimator.reject_label_}
        return cls.from_predictions(y, estimator.predict(X), **labels, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        classes: ArrayLike,
        reject_label: Any,
        ax: Axes | None = None,
    ) -> RejectionConfusionDisplay:
        """Plot the matrix of labels and predictions; see :func:`rejection_confusion`."""
        counts = rejection_confusion(y_true, y_pred, classes=classes, reject_label=reject_label)
        return cls(counts, classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> RejectionConfusionDisplay:
        """Plot the matrix, shaded by the shares of the true classes."""
        self.ax_ = ax = axes_or_new(ax, type(self).__name__)
        self.figure_ = ax.figure
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1e-300)
        ax.imshow(shares, cmap=colours("white", BLUE), vmin=0, vmax=1, aspect="auto")
        for (i, j), count in np.ndenumerate(self.counts):
            ink = "white" if shares[i, j] > DARK else INK
            ax.text(j, i, f"{count:.6g}", ha="center", va="center", color=ink)
        names = [str(label) for label in np.asarray(self.classes).tolist()]
        ax.set_xticks(range(len(names) + 1), [*names, "rejected"])
        ax.set_yticks(range(len(names)), names)
        ax.axvline(len(names) - 0.5, color=INK, linewidth=1.2)
        ax.set(xlabel="predicted", ylabel="true")
        ax.grid(False)
        return self
