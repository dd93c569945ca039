"""Learning curves of active learning, and their plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.plots import Axes, axes_or_new


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The queries, the labels and the scores of an active learning run.

    Attributes
    ----------
    indices : ndarray of int of shape (n_asked,)
        Indices of the labelled rows, in the order of the queries.
    labels : ndarray of shape (n_asked,)
        Their labels.
    skipped : ndarray of int
        Indices of rows that the oracle could not label.
    n_start : int
        Number of initial rows, which the classifier did not choose.
    n_labels : ndarray of int of shape (n_fits,)
        Number of labels of each fit.
    scores : ndarray of shape (n_fits,) or None
        Accuracy of each fit on the test rows; None without test rows.
    estimator : classifier or None
        The classifier of the last fit; None if the run ended before the first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import learn_actively
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learn_actively(
    ...     BayesPointClassifier(), X, lambda i: y[i], start=10, n_queries=5, random_state=0
    ... )
    >>> curve.n_labels
    array([10, 11, 12, 13, 14, 15])
    """

    indices: NDArray[np.intp]
    labels: NDArray
    skipped: NDArray[np.intp]
    n_start: int
    n_labels: NDArray[np.intp]
    scores: NDArray[np.float64] | None
    estimator: Any


@dataclass(eq=False, repr=False)
class LearningCurveDisplay:
    """Plot of the score against the number of labels, with a band of one standard error.

    Use :meth:`from_curves` to create one. To compare strategies, draw each on the same axes.

    Parameters
    ----------
    n_labels : ndarray of int of shape (n_fits,)
        Numbers of labels.
    scores : ndarray of shape (n_runs, n_fits)
        Scores of each run.
    name : str, default=None
        Name for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        Mean over the runs.
    band_ : matplotlib PolyCollection or None
        One standard error on either side; None for a single run.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.active import LearningCurveDisplay
    >>> scores = np.array([[0.5, 0.8, 0.9], [0.6, 0.7, 0.9]])
    >>> display = LearningCurveDisplay(np.array([2, 4, 8]), scores, name="entropy").plot()
    >>> display.line_.get_ydata()
    array([0.55, 0.75, 0.9 ])
    """

    n_labels: NDArray[np.intp]
    scores: NDArray[np.float64]
    _: KW_ONLY
    name: str | None = None

    @classmethod
    def from_curves(
        cls,
        curves: LearningCurve | Sequence[LearningCurve],
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> LearningCurveDisplay:
        """Draw the mean of the curves of several runs.

        Parameters
        ----------
        curves : LearningCurve or sequence of them
            Runs with different seeds. The mean is taken at the numbers of labels that all runs
            have in common.
        name, ax, **kwargs
            See :meth:`plot`.

        Returns
        -------
        LearningCurveDisplay
        """
        runs = [curves] if isinstance(curves, LearningCurve) else list(curves)
        scores = [run.scores for run in runs if run.scores is not None]
        if not runs or len(scores) < len(runs):
            raise ValueError(
                "LearningCurveDisplay needs curves with scores: pass X_test and y_test to "
                f"learn_actively. Got {len(runs)} curves, {len(scores)} of them with scores."
            )
        common = reduce(np.intersect1d, [run.n_labels for run in runs])
        if len(common) == 0:
            raise ValueError(
                "The curves have no number of labels in common; they start at "
                f"{sorted({int(run.n_labels[0]) for run in runs})} and end at "
                f"{sorted({int(run.n_labels[-1]) for run in runs})}."
            )
        picked = [
            of_run[np.isin(run.n_labels, common)] for run, of_run in zip(runs, scores, strict=True)
        ]
        return cls(common, np.array(picked), name=name).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> LearningCurveDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default.
        name : str, default=None
            Name for the legend, instead of that of the display.
        **kwargs
            Passed to matplotlib's ``plot`` for the mean.

        Returns
        -------
        self
        """
        ax = axes_or_new(ax, type(self).__name__)
        label = self.name if name is None else name
        mean, n_runs = self.scores.mean(axis=0), len(self.scores)
        (self.line_,) = ax.plot(self.n_labels, mean, **{"label": label} | kwargs)
        self.band_ = None
        if n_runs > 1:
            deviation = self.scores.std(axis=0, ddof=1) / np.sqrt(n_runs)
            ends, colour = (mean - deviation, mean + deviation), self.line_.get_color()
            self.band_ = ax.fill_between(self.n_labels, *ends, color=colour, alpha=0.2, linewidth=0)
        ax.set_xlabel("Number of labels")
        ax.set_ylabel("Accuracy on the test rows")
        ax.grid(alpha=0.25)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
