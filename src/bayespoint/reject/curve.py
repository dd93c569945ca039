"""Rejection curves: the error on the rest when the least certain rows are rejected."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject import guarantee
from bayespoint.reject.labels import column_labels, encode
from bayespoint.reject.scores import as_columns, get_score
from bayespoint.tools.attributes import integer, need, shaped


@dataclass(frozen=True)
class OperatingPoint:
    """A point on a rejection curve.

    Attributes
    ----------
    threshold : float
        Rows with a score below it are rejected.
    rate : float
        Fraction of rows that are rejected.
    error : float
        Error on the accepted rows; NaN if none are accepted.

    Examples
    --------
    >>> from bayespoint.reject import rejection_curve
    >>> rejection_curve(["a", "b", "b", "a"], [-2.0, 1.0, -0.1, -0.5]).at_rate(0.25)
    OperatingPoint(threshold=0.3, rate=0.25, error=0.0)
    """

    threshold: float
    rate: float
    error: float


@dataclass(frozen=True, eq=False)
class RejectionCurve:
    r"""Error on the accepted rows against the fraction rejected.

    Row i has the score s_i, the weight w_i (1 by default), and e_i = 1 if its prediction is
    wrong. With threshold t the rows with s_i < t are rejected:

    .. math::
        \mathrm{rate}(t) = \frac{\sum_{s_i < t} w_i}{\sum_i w_i}, \qquad
        \mathrm{error}(t) = \frac{\sum_{s_i \ge t} w_i e_i}{\sum_{s_i \ge t} w_i}

    Rows with equal scores are rejected together, so the arrays have one entry for each set of rows
    that a threshold can reject. At rates in between, :meth:`error_at` returns the expected error
    over random orders of the tied rows. Neither depends on the order of the rows.

    Attributes
    ----------
    rate : ndarray of shape (n_thresholds,)
        Fraction rejected, increasing from 0. Without ties and weights 0, 1/n, ..., (n-1)/n.
    error : ndarray of shape (n_thresholds,)
        Error on the accepted rows.
    threshold : ndarray of shape (n_thresholds,)
        Rows with a score below it are rejected: -inf, then the midpoints between neighbouring
        scores, so that rounding does not decide on which side a row falls.
    aurc : float
        Area under the risk-coverage curve, the mean error over n coverages,

        .. math:: \mathrm{AURC} = \frac1n \sum_{k=1}^{n} R_k

        where R_k is the error on the most certain k/n of the rows, ``error_at(1 - k/n)``. Smaller
        is better.
    n_samples : int
        Number n of rows of positive weight.

    Examples
    --------
    >>> from bayespoint.reject import RejectionCurve
    >>> curve = RejectionCurve.from_confidence([0.1, 0.5, 0.9], [True, False, False])
    >>> curve.rate.round(3), curve.error.round(3)
    (array([0.   , 0.333, 0.667]), array([0.333, 0.   , 0.   ]))
    """

    rate: NDArray[np.float64]
    error: NDArray[np.float64]
    threshold: NDArray[np.float64]
    aurc: float
    n_samples: int

    @classmethod
    def from_confidence(
        cls, confidence: ArrayLike, wrong: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "RejectionCurve":
        """Compute the curve from scores and errors.

        Parameters
        ----------
        confidence : array-like of shape (n_samples,)
            Scores; larger is more certain.
        wrong : array-like of bool of shape (n_samples,)
            Whether each prediction is wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; weight k counts as k copies.
        """
        scores, errs = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=bool)
        if scores.ndim != 1 or scores.shape != errs.shape:
            raise ValueError(
                "confidence and wrong must be one-dimensional and of equal length. Got shapes "
                f"{scores.shape} and {errs.shape} instead."
            )
        lost = np.isnan(scores).sum()
        if lost:
            raise ValueError(f"confidence must not be NaN. Got {lost} NaN instead.")
        weight = point_weights(sample_weight, len(scores))
        scores, errs, weight = (column[weight > 0] for column in (scores, errs, weight))
        values, group = np.unique(scores, return_inverse=True)
        # Sums from the most certain group down: the weight accepted, and that of its errors.
        accepted = np.bincount(group, weights=weight)[::-1].cumsum()[::-1]
        errors = np.bincount(group, weights=weight * errs)[::-1].cumsum()[::-1]
        lower, upper = values[:-1], values[1:]
        middle = lower / 2 + upper / 2
        # Between two neighbouring floats there is no midpoint: take the upper one.
        middle = np.where((lower < middle) & (middle <= upper), middle, upper)
        rate = (accepted[0] - accepted) / accepted[0]
        threshold = np.append(-np.inf, middle)
        curve = cls(rate, errors / accepted, threshold, aurc=np.nan, n_samples=len(scores))
        for array in (curve.rate, curve.error, curve.threshold):
            array.flags.writeable = False
        return replace(
            curve, aurc=float(curve.error_at(np.arange(len(scores)) / len(scores)).mean())
        )

    def error_at(self, rates: ArrayLike) -> NDArray[np.float64]:
        """Error on the accepted rows at given rejection rates.

        Parameters
        ----------
        rates : array-like of float
            Fractions in [0, 1). Between the entries of `rate`, the expected error over a random
            order of tied rows is returned.

        Returns
        -------
        ndarray of the shape of rates
        """
        rates = np.asarray(rates, dtype=np.float64)
        if not ((rates >= 0) & (rates < 1)).all():
            raise ValueError(
                f"rates must lie in [0, 1): with every row rejected the error is undefined. "
                f"Got {rates} instead."
            )
        counts = 1 - self.rate, self.error * (1 - self.rate)
        # With ties in random order the expected number of errors is linear in the coverage.
        accepted, errors = (np.append(0.0, one[::-1]) for one in counts)
        return np.interp(1 - rates, accepted, errors) / (1 - rates)

    def at_rate(self, rate: float) -> OperatingPoint:
        """The operating point with the largest rejection rate not above `rate`."""
        if not 0 <= rate < 1:
            raise ValueError(f"rate must lie in [0, 1). Got {rate!r} instead.")
        n_below = np.searchsorted(self.rate, rate + guarantee.ROUNDING, side="right")
        return self._point(int(n_below) - 1)

    def at_cost(self, cost: float) -> OperatingPoint:
        r"""The operating point of least cost, where an error costs 1 and a rejection `cost`.

        .. math:: \min_t \; (1 - \mathrm{rate}(t))\,\mathrm{error}(t) + c\,\mathrm{rate}(t)

        One of the choices is to reject all rows (threshold inf, at cost c). Of several points with
        the least cost, the one with the fewest rejections is returned.
        """
        if not 0 < cost < 1:
            raise ValueError(f"cost must lie in (0, 1). Got {cost!r} instead.")
        costs = np.append((1 - self.rate) * self.error + cost * self.rate, cost)
        best = int(np.argmax(costs <= costs.min() + guarantee.ROUNDING))
        if best == len(self.rate):
            return OperatingPoint(threshold=np.inf, rate=1.0, error=np.nan)
        return self._point(best)

    def at_risk(
        self, risk: float, confidence_level: float = 0.95, *, share: float = 1.0
    ) -> OperatingPoint:
        r"""The operating point whose error is at most `risk` with probability `confidence_level`.

        Thresholds are tested in decreasing order. A test passes if the exact upper bound of the
        error on the accepted rows (:func:`error_bound`) is at most `risk`. The result is the last
        threshold before the first test that fails. Because the order of the tests is fixed in
        advance, no correction for their number is needed. The first test accepts 30 % of the rows,
        or :math:`\log(1 - \text{confidence level}) / \log(1 - \text{risk})` rows if that is more,
        because fewer rows cannot pass.

        This is a guarantee if the rows were not used to fit the classifier. With cross-validated or
        out-of-bag outputs, it is an estimate.

        Parameters
        ----------
        risk : float in (0, 1)
            Largest error on the accepted rows.
        confidence_level : float in (0, 1), default=0.95
            Probability, over the points of the curve, that the true error is at most `risk`.
        share : float in (0, 1], default=1.0
            Share of the data that these rows are, for the error message.

        Raises
        ------
        RiskNotReachedError
            If no threshold passes. The error says how many rows would be needed.
        """
        if not 0 < risk < 1:
            raise ValueError(f"risk must lie in (0, 1). Got {risk!r} instead.")
        promised = self.promised_error(risk, confidence_level)
        passing = promised <= risk + guarantee.ROUNDING
        if not passing.any():
            raise self._not_reached(risk, confidence_level, share)
        return self._point(int(np.argmax(passing)))

    def promised_error(self, risk: float, confidence_level: float = 0.95) -> NDArray[np.float64]:
        """The error that could be guaranteed at each threshold.

        This is the largest bound of this and all stricter thresholds, starting with the first one
        that :meth:`at_risk` tests for `risk`. It is infinite where fewer rows are accepted.
        """
        start = guarantee.first_test(self.n_samples, risk, confidence_level)
        return guarantee.promised_errors(*self._counts(), start, confidence_level)

    def _counts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of accepted rows at each threshold, and of errors among them."""
        accepted = self.n_samples * (1 - self.rate)
        counts = np.array([accepted, accepted * self.error])
        whole = np.rint(counts)
        if not np.allclose(counts, whole, rtol=0, atol=1e-6):
            raise ValueError(
                "An exact bound needs independent rows that count once each, and this curve has "
                "sample weights. Compute it without sample_weight."
            )
        return whole[0].astype(np.intp), whole[1].astype(np.intp)

    def _not_reached(
        self, risk: float, confidence_level: float, share: float
    ) -> RiskNotReachedError:
        accepted, errors = self._counts()
        start = guarantee.first_test(self.n_samples, risk, confidence_level)
        asked: Any = {"confidence_level": confidence_level, "n_points": self.n_samples}
        asked |= {"risk": risk, "share": share}
        if start > self.n_samples:
            return RiskNotReachedError(**asked, n_needed=start)
        first = np.flatnonzero(accepted >= start)[-1]
        n, k = int(accepted[first]), int(errors[first])
        needed = guarantee.points_needed(risk, confidence_level, k / n)
        return RiskNotReachedError(
            **asked,
            n_needed=None if needed is None else -(-needed * self.n_samples // n),
            n_accepted=n,
            n_errors=k,
            bound=float(guarantee.error_bound(k, n, confidence_level)),
        )

    def _point(self, index: int) -> OperatingPoint:
        columns = (self.threshold, self.rate, self.error)
        return OperatingPoint(*(float(column[index]) for column in columns))

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = shaped(self.rate, "f", "n")
        shaped(self.error, "f", "n", **sizes)
        shaped(self.threshold, "f", "n", **sizes)
        need(isinstance(self.aurc, (float, np.floating)), "its AURC is not a number")
        integer(self.n_samples, 1)


def rejection_curve(
    y_true: ArrayLike,
    outputs: ArrayLike,
    *,
    y_pred: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    score: str = "max",
    sample_weight: ArrayLike | None = None,
) -> RejectionCurve:
    """Compute the error on the accepted rows when those with the smallest scores are rejected.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    outputs : array-like of shape (n_samples, n_classes) or (n_samples,)
        Real-valued outputs f_y(x), one column per class. For two classes they can be
        one-dimensional: decision values f, whose score is the absolute value, or, for ``"vote"``
        and ``"proba"``, the share of the second class.
    y_pred : array-like of shape (n_samples,), default=None
        Predicted labels; by default the class of the largest output, argmax_y f_y(x). Pass them if
        the classifier uses another decision rule.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of `outputs`; by default the sorted labels in `y_true`.
    score : {"max", "gap", "vote", "proba"}, default="max"
        The score that orders the rows: the largest output, the gap between the two largest, or
        the largest share, if outputs are vote shares or probabilities.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; weight k counts as k copies.

    Returns
    -------
    RejectionCurve
        Arrays `rate`, `error` and `threshold`, the number `aurc`, and ``error_at(rates)``.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16(1), 1970.
    .. [2] R. El-Yaniv and Y. Wiener, "On the foundations of noise-free selective classification",
       Journal of Machine Learning Research 11, 2010.
    .. [3] Y. Geifman, G. Uziel and R. El-Yaniv, "Bias-reduced uncertainty estimation for deep
       neural classifiers", ICLR 2019 (the AURC).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from sklearn.svm import SVC
    >>> from bayespoint.reject import rejection_curve
    >>> X, X_test, y, y_test = train_test_split(
    ...     *load_digits(return_X_y=True), test_size=0.5, random_state=0
    ... )
    >>> clf = OneVsRestClassifier(SVC(gamma=0.001)).fit(X, y)
    >>> curve = rejection_curve(y_test, clf.decision_function(X_test))
    >>> (100 * curve.error_at([0.0, 0.02, 0.05, 0.1])).round(1)
    array([1.7, 0.7, 0.4, 0. ])
    """
    chosen = get_score(score, "rejection_curve")
    columns = as_columns(outputs, chosen)
    truth = np.asarray(y_true)
    if truth.ndim != 1 or len(truth) != len(columns):
        raise ValueError(
            "y_true must be one-dimensional with one label for each row of outputs. Got shape "
            f"{truth.shape} for {len(columns)} rows instead."
        )
    labels = column_labels(truth, columns.shape[1], classes)
    true_index = encode(
        truth, labels, "y_true", "pass classes=estimator.classes_, in the order of the columns"
    )
    if y_pred is None:
        predicted_index = columns.argmax(axis=1)
    else:
        predictions = np.asarray(y_pred)
        if predictions.shape != truth.shape:
            raise ValueError(
                f"y_pred must have the shape of y_true, {truth.shape}. Got {predictions.shape}."
            )
        predicted_index = encode(
            predictions, labels, "y_pred", "pass the predictions before rejection"
        )
    wrong = predicted_index != true_index
    return RejectionCurve.from_confidence(chosen.function(columns), wrong, sample_weight)


def point_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """The weights of n rows, checked; 1 by default."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},). Got {weight.shape} instead.")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise ValueError(
            "There must be at least one row, and sample_weight must be finite, not negative, and "
            f"not zero everywhere. Got {n} rows of total weight {weight.sum():g} instead."
        )
    return weight
