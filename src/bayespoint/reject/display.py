"""Plots of rejection curves."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.reject.curve import OperatingPoint, RejectionCurve, rejection_curve
from bayespoint.reject.guarantee import Guarantee
from bayespoint.reject.scores import estimator_outputs, get_score
from bayespoint.reject.selective import SelectiveClassifier
from bayespoint.tools.plots import Axes, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False)
class RejectionCurveDisplay:
    """Plot of the error on the accepted rows against the fraction rejected.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create one. For a
    :class:`SelectiveClassifier` with `risk` a dashed line shows the error that its calibration data
    could guarantee at each rejection rate, beside the observed one.

    Parameters
    ----------
    curve : RejectionCurve
        The curve.
    score : {"max", "gap", "vote", "proba"}, default="max"
        The score that orders the rows, for the legend.
    name : str, default=None
        Name of the classifier, for the legend.
    operating_point : OperatingPoint, default=None
        Operating point of a :class:`SelectiveClassifier` on these data.
    threshold_source : str, default=None
        How its threshold was set, for the legend.
    guarantee : Guarantee, default=None
        Its guaranteed error.
    calibration_curve : RejectionCurve, default=None
        The curve on its calibration data, from which the guaranteed errors are computed.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve.
    point_ : matplotlib Line2D or None
        Marker of the operating point, if there is one within the axes.
    promised_ : matplotlib Line2D or None
        The errors that could be guaranteed, if there is a guarantee.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bayespoint.reject import RejectionCurveDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = LogisticRegression(max_iter=1000).fit(X[:1000], y[:1000])
    >>> display = RejectionCurveDisplay.from_estimator(clf, X[1000:], y[1000:], score="proba")
    >>> display.line_.get_label()
    'LogisticRegression, by predictive probability (AURC 0.91 %)'
    """

    curve: RejectionCurve
    _: KW_ONLY
    score: str = "max"
    name: str | None = None
    operating_point: OperatingPoint | None = None
    threshold_source: str | None = None
    guarantee: Guarantee | None = None
    calibration_curve: RejectionCurve | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        score: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> "RejectionCurveDisplay":
        """Plot the curve of a fitted classifier on test data.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier. For a :class:`SelectiveClassifier` the curve is that of the wrapped
            classifier. A marker shows its operating point on these data, and the legend says how
            its threshold was set and what it guarantees.
        X : array-like of shape (n_samples, n_features)
            Test rows.
        y : array-like of shape (n_samples,)
            True labels.
        score : {"max", "gap", "vote", "proba"}, default=None
            The score that orders the rows. By default the `confidence` of a
            :class:`SelectiveClassifier`, and ``"max"`` for other classifiers.
        name : str, default=None
            Name for the legend. By default the name of the class.
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        RejectionCurveDisplay
        """
        chosen: dict[str, Any] = {}
        classifier = estimator
        if isinstance(estimator, SelectiveClassifier):
            classifier = estimator.estimator_
            score = estimator.confidence if score is None else score
            chosen = {
                "operating_point": _operating_point(estimator, X, y),
                "threshold_source": estimator.threshold_source_,
                "guarantee": getattr(estimator, "guarantee_", None),
                "calibration_curve": getattr(estimator, "rejection_curve_", None),
            }
        score = "max" if score is None else score
        outputs, predicted = estimator_outputs(classifier, X, score), classifier.predict(X)
        curve = rejection_curve(
            y, outputs, y_pred=predicted, classes=classifier.classes_, score=score
        )
        name = type(classifier).__name__ if name is None else name
        return cls(curve, score=score, name=name, **chosen).plot(**kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        outputs: ArrayLike,
        *,
        y_pred: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        score: str = "max",
        name: str | None = None,
        **kwargs: Any,
    ) -> "RejectionCurveDisplay":
        """Plot the curve of labels and outputs; see :func:`rejection_curve` and :meth:`plot`."""
        curve = rejection_curve(y_true, outputs, y_pred=y_pred, classes=classes, score=score)
        return cls(curve, score=score, name=name).plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        max_rate: float = 1.0,
        log_error: bool = False,
        **kwargs: Any,
    ) -> "RejectionCurveDisplay":
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default.
        name : str, default=None
            Name for the legend, instead of that of the display.
        max_rate : float in (0, 1], default=1.0
            Largest fraction rejected.
        log_error : bool, default=False
            Whether to use a logarithmic scale for the error; errors of zero are not visible.
        **kwargs
            Passed to matplotlib's ``plot`` for the curve.

        Returns
        -------
        self
        """
        if not 0 < max_rate <= 1:
            raise ValueError(
                "The 'max_rate' parameter of RejectionCurveDisplay.plot must be a float in the "
                f"range (0.0, 1.0]. Got {max_rate!r} instead."
            )
        ax = axes_or_new(ax, type(self).__name__)
        # Every rate k/n, not only those of thresholds: between them ties bend the curve.
        rates = np.arange(self.curve.n_samples) / self.curve.n_samples
        rates = rates[rates <= max_rate]
        style = {"label": self._label(self.name if name is None else name)} | kwargs
        (self.line_,) = ax.plot(rates, self.curve.error_at(rates), **style)
        self.point_ = self._plot_point(ax, max_rate, log_error)
        self.promised_ = self._plot_promised(ax, max_rate)
        if log_error:
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set_xlim(0, max_rate)
        _in_percent(ax.xaxis)
        _in_percent(ax.yaxis, logarithmic=log_error)
        ax.set_xlabel("Rejected rows, the least certain first")
        ax.set_ylabel("Error on the accepted rows")
        ax.grid(alpha=0.25)
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, name: str | None) -> str:
        # Not on the axis, because curves of several scores can share the axes.
        score = f"by {get_score(self.score, type(self).__name__).words}"
        title = f"{name}, {score}" if name else score.capitalize()
        return f"{title} (AURC {100 * self.curve.aurc:.2g} %)"

    def _plot_point(self, ax: Axes, max_rate: float, log_error: bool) -> "Line2D | None":
        point = self.operating_point
        if point is None or np.isnan(point.error) or point.rate > max_rate:
            return None
        words = f"{100 * point.rate:.2g} % rejected, error {100 * point.error:.2g} %"
        style: Any = {"marker": "o", "markersize": 8, "markeredgecolor": "white"}
        style |= {"linestyle": "none", "color": self.line_.get_color(), "zorder": 3}
        # Drawn complete at the edge, except for a logarithm of 0.
        style |= {"clip_on": log_error, "label": f"{words};\n{self.threshold_source}"}
        return ax.plot(point.rate, point.error, **style)[0]

    def _plot_promised(self, ax: Axes, max_rate: float) -> "Line2D | None":
        kept, curve = self.guarantee, self.calibration_curve
        if kept is None or curve is None:
            return None
        promised = curve.promised_error(kept.risk, kept.confidence_level)
        shown = np.isfinite(promised) & (curve.rate <= max_rate)
        kind = "promised" if kept.held_out else "estimated"
        label = f"{kind} with confidence {100 * kept.confidence_level:.4g} %"
        style: Any = {"color": self.line_.get_color(), "linestyle": "--", "linewidth": 1.2}
        (line,) = ax.plot(curve.rate[shown], promised[shown], label=label, **style)
        wanted = f"wanted: at most {100 * kept.risk:.4g} %"
        ax.axhline(kept.risk, color="0.5", linestyle=":", linewidth=1.2, label=wanted)
        return line


def _operating_point(selective: SelectiveClassifier, X: Any, y: ArrayLike) -> OperatingPoint:
    rejected = selective.rejects(X)
    wrong = np.asarray(selective.estimator_.predict(X)) != np.asarray(y)
    # If all points are rejected, the error is undefined and there is no marker.
    error = float("nan") if rejected.all() else float(wrong[~rejected].mean())
    return OperatingPoint(selective.threshold_, float(rejected.mean()), error)


def _in_percent(axis: "Axis", logarithmic: bool = False) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if logarithmic:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
