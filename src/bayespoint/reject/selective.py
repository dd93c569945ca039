"""A classifier with a reject option."""

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.problem import group_codes
from bayespoint.exceptions import RiskNotReachedError
from bayespoint.reject.calibration import SOURCES, WrapsClassifier, calibrate, takes_groups
from bayespoint.reject.curve import RejectionCurve
from bayespoint.reject.guarantee import Guarantee
from bayespoint.reject.labels import joint_dtype, resolve_reject_label
from bayespoint.reject.parameters import check_labels, check_parameters, refuse_weights
from bayespoint.reject.scores import SCORES, estimator_outputs
from bayespoint.tools.attributes import need, shaped

# Attributes that need no fit, if the estimator is fitted and the threshold given.
WITHOUT_FIT = {"estimator_", "classes_", "reject_label_", "threshold_", "threshold_source_"}
# Attributes of a calibration.
CALIBRATED = ("rejection_curve_", "calibration_rate_", "calibration_error_", "guarantee_")


@dataclass(eq=False, repr=False)
class SelectiveClassifier(WrapsClassifier):
    r"""A classifier with a reject option: returns a reject label for uncertain rows.

    A row is rejected if its score s(x) is below a threshold. Set exactly one of `rate`, `cost`,
    `risk` and `threshold`. The first three choose the threshold on calibration data.

    * ``rate=r``: a fraction of at most r of the calibration rows is rejected. Rows with equal
      scores are rejected together. With a coarse score, such as the share of a few votes, the
      fraction can therefore be smaller than r; see `calibration_rate_`.
    * ``cost=c``: an error costs 1, a rejection c. The threshold minimises the cost on the
      calibration rows,

      .. math:: \tfrac1n \bigl( \#\{\text{accepted and wrong}\} + c\,\#\{\text{rejected}\} \bigr).

    * ``risk=r``: the error on the accepted rows is at most r, with the probability
      `confidence_level` over the calibration rows [3]_ [4]_:

      .. math:: P \bigl( P(\text{wrong} \mid s(x) \ge t) \le r \bigr) \ge
         \text{confidence level}.

      The calibration rows must not be used in the fit, so part of the data is held out by default.
      New rows must be drawn from the same distribution. See :meth:`RejectionCurve.at_risk` for the
      threshold, and `guarantee_` for the numbers. The probability includes calibrations that find
      no threshold (``RiskNotReachedError``). If most find none, it does not hold for those that
      find one.
    * ``threshold=t``: the threshold is given. If the classifier is already fitted, no `fit` is
      needed. With true class probabilities Chow's rule [1]_ is optimal: reject if
      :math:`1 - \max_y p(y|x) > c`. If the probabilities are well calibrated,
      ``confidence="proba", threshold=1 - c`` is this rule, without calibration data. ``cost=c``
      does not depend on calibrated probabilities, and gives nearly the same threshold with them.

    Parameters
    ----------
    estimator : classifier
        The classifier. `fit` fits a clone of it, unless it is a scikit-learn ``FrozenEstimator`` or
        ``cv="prefit"``.
    rate : float in [0, 1), default=None
        Fraction to reject.
    threshold : float, default=None
        Rows with a score below it are rejected.
    cost : float in (0, 1), default=None
        Cost of a rejection, where an error costs 1.
    risk : float in (0, 1), default=None
        Largest error on the accepted rows.
    confidence_level : float in (0, 1), default=0.95
        Probability that the error on the accepted rows is at most `risk`.
    confidence : {"max", "gap", "vote", "proba"}, default="max"
        The confidence score s(x): the largest output, the gap between the two largest, the largest
        vote share (the estimator's ``vote_shares``), or the largest probability. It is called
        `score` in :func:`rejection_curve`.
    reject_label : scalar, default="auto"
        The prediction for rejected rows, which must not be one of the classes. The default is
        ``"reject"`` for strings and -1 for numbers; 0 if -1 is a class, and the smallest class
        minus one if both are. For boolean classes, predictions are the integers 0, 1 and -1. If the
        type of the label differs from that of the classes, as with None, predictions are an array
        of objects.
    cv : int, splitter, iterable, "holdout", "prefit" or "train", default=None
        The calibration data. ``"holdout"``: part of the data; the estimator is fitted to the rest.
        ``"prefit"``: the estimator is already fitted, and the data passed to `fit` are held-out
        calibration data. A number of folds, a splitter or splits: cross-validation on the training
        data, after which the estimator is fitted to all of them; with `risk` this gives an
        estimate, not a guarantee. ``"train"``: the training data. Outputs are more certain there
        than on new data, so that more new rows than intended are rejected, and `calibration_error_`
        is too small. The default is ``"prefit"`` for a scikit-learn ``FrozenEstimator``,
        ``"holdout"`` for `risk`, and 5 folds otherwise. With `threshold` nothing is calibrated, and
        only ``"prefit"`` has an effect.
    calibration_size : float in (0, 1), default=0.3
        Share of the data that ``cv="holdout"`` holds out, stratified by class. If a class has a
        single row, this row is not held out.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out part; equal seeds give equal results. A guarantee does not hold for the
        best of several seeds.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, without the reject label.
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        Rows with a score below it are rejected.
    threshold_source_ : str
        How the threshold was set.
    reject_label_ : scalar
        The prediction for rejected rows.
    guarantee_ : Guarantee
        With `risk`: the numbers of calibration rows, of accepted rows and of errors among these.
    risk_bound_ : float
        With `risk`: exact upper bound of the error on the accepted rows at the threshold, at most
        `risk`.
    coverage_ : float
        With `risk`: fraction of the calibration rows that are accepted.
    rejection_curve_ : RejectionCurve
        The curve on the calibration data. This and the next two do not exist if `threshold` is
        given.
    calibration_rate_ : float
        Fraction of the calibration rows that are rejected.
    calibration_error_ : float
        Error on the accepted calibration rows.
    n_features_in_ : int
        Number of features, if the fitted classifier has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the fitted classifier has them.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16(1), 1970.
    .. [2] R. El-Yaniv and Y. Wiener, "On the foundations of noise-free selective classification",
       Journal of Machine Learning Research 11, 2010.
    .. [3] Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks",
       NeurIPS 2017.
    .. [4] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "Learn then test:
       calibrating predictive algorithms to achieve risk control", arXiv:2110.01052, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from sklearn.svm import SVC
    >>> from bayespoint.reject import SelectiveClassifier
    >>> X, X_test, y, y_test = train_test_split(
    ...     *load_digits(return_X_y=True), test_size=0.5, random_state=0
    ... )
    >>> clf = SelectiveClassifier(OneVsRestClassifier(SVC(gamma=0.001)), rate=0.05)
    >>> clf = clf.fit(X, y)
    >>> clf.predict(X_test[118:126])
    array([-1,  5,  2,  5, -1,  4, -1,  7])
    >>> y_test[118:126]
    array([6, 5, 2, 5, 8, 4, 8, 7])
    >>> f"{clf.rejects(X_test).mean():.0%} rejected"
    '5% rejected'
    >>> f"accuracy {clf.score(X_test, y_test):.1%} on the accepted rows"
    'accuracy 99.5% on the accepted rows'
    >>> f"accuracy {clf.estimator_.score(X_test, y_test):.1%} without rejection"
    'accuracy 98.3% without rejection'

    At most 2 % errors on the accepted rows, with a confidence of 95 %:

    >>> guaranteed = SelectiveClassifier(
    ...     OneVsRestClassifier(SVC(gamma=0.001)), risk=0.02, calibration_size=0.5, random_state=0
    ... ).fit(X, y)
    >>> print(guaranteed.guarantee_.details)
    432 of 449 calibration rows accepted, with 3 errors: exact bound 1.78 %
    >>> f"{guaranteed.rejects(X_test).mean():.0%} rejected"
    '4% rejected'
    >>> f"error {1 - guaranteed.score(X_test, y_test):.1%} on the accepted rows"
    'error 0.7% on the accepted rows'

    A given threshold, with a classifier that is fitted already:

    >>> by_gap = SelectiveClassifier(clf.estimator_, threshold=1.0, confidence="gap")
    >>> by_gap.predict(X_test[118:126])
    array([-1,  5,  2,  5, -1,  4, -1,  7])
    """

    estimator: Any
    _: KW_ONLY
    rate: float | None = None
    threshold: float | None = None
    cost: float | None = None
    risk: float | None = None
    confidence_level: float = 0.95
    confidence: str = "max"
    reject_label: Any = "auto"
    cv: Any = None
    calibration_size: float = 0.3
    random_state: Any = None
    n_jobs: int | None = None
    estimator_: Any = field(init=False)
    classes_: NDArray[Any] = field(init=False)
    reject_label_: Any = field(init=False)
    threshold_: float = field(init=False)
    threshold_source_: str = field(init=False)
    rejection_curve_: RejectionCurve = field(init=False)
    calibration_rate_: float = field(init=False)
    calibration_error_: float = field(init=False)
    guarantee_: Guarantee = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> "SelectiveClassifier":
        """Fit the classifier and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, in any form that the estimator accepts; with ``cv="prefit"``, held-out
            calibration rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the ``fit`` of the estimator. In the calibration, weight k counts as k copies.
            Not allowed with `risk`, since copies are not independent rows.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of one patient. No group is in both the
            training and the calibration data, and `risk` counts one random row of each group.
            Passed to the ``fit`` of the estimator if it has this parameter.
        **fit_params
            Passed to the ``fit`` of the estimator; in cross-validation, for the rows of each fold.

        Returns
        -------
        self
        """
        check_parameters(self)
        labels = check_labels(self, X, y)
        if self.risk is not None:
            refuse_weights(sample_weight)
        source = self._source()
        if source == "prefit":
            check_is_fitted(self.estimator)
            if fit_params:
                raise ValueError(
                    f"Got {sorted(fit_params)} with cv='prefit', where nothing is fitted. Pass "
                    "them to the fit of the estimator."
                )
        elif sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        if groups is not None:
            groups = group_codes(groups, len(labels))
            if source != "prefit" and takes_groups(self.estimator):
                fit_params["groups"] = groups
        if self.threshold is None:
            fitted, curve = calibrate(self, source, X, labels, sample_weight, groups, fit_params)
            try:
                found = self._choose(curve, source)
            except RiskNotReachedError as error:
                error.estimator = fitted  # its training is not lost
                raise
        else:
            is_fitted = source == "prefit"
            fitted = self.estimator if is_fitted else self._fit_clone(X, labels, fit_params)
            found = {}
        found |= self._known_of(fitted)
        # All at once, and without the results of an earlier calibration: a threshold must never
        # be combined with another classifier than the one that it was set for.
        for name in CALIBRATED:
            self.__dict__.pop(name, None)
        self.__dict__.update(found)
        return self

    def _source(self) -> str:
        """Where the calibration data come from, a key of SOURCES."""
        if isinstance(self.cv, str):
            return self.cv
        if self.cv is None and isinstance(self.estimator, FrozenEstimator):
            return "prefit"
        return "holdout" if self.cv is None and self.risk is not None else "cross-validation"

    def _known_of(self, fitted: Any) -> dict[str, Any]:
        """The attributes that follow from a fitted classifier and a given threshold."""
        classes = np.asarray(fitted.classes_)
        label = resolve_reject_label(self.reject_label, classes)
        known = {"estimator_": fitted, "classes_": classes, "reject_label_": label}
        if self.threshold is not None:
            known |= {"threshold_": float(self.threshold), "threshold_source_": SOURCES["given"]}
        return known

    def __getattr__(self, name: str) -> Any:
        # Called if no fit has set the attribute, which may not be needed.
        if name in WITHOUT_FIT and self.__sklearn_is_fitted__():
            check_parameters(self)
            return self._known_of(self.estimator)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        if "estimator_" in vars(self):
            return True
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            return False
        return self.threshold is not None

    def _choose(self, curve: RejectionCurve, source: str) -> dict[str, Any]:
        """The operating point on the curve, as attributes."""
        found: dict[str, Any] = {"rejection_curve_": curve, "threshold_source_": SOURCES[source]}
        if self.rate is not None:
            point = curve.at_rate(self.rate)
        elif self.cost is not None:
            point = curve.at_cost(self.cost)
        elif self.risk is not None:
            share = self.calibration_size if source == "holdout" else 1.0
            point = curve.at_risk(self.risk, self.confidence_level, share=share)
            n_accepted = round(curve.n_samples * (1 - point.rate))
            found["guarantee_"] = Guarantee(
                self.risk,
                self.confidence_level,
                curve.n_samples,
                n_accepted,
                round(n_accepted * point.error),
                held_out=source != "cross-validation",
            )
        if point.threshold == np.inf:
            warnings.warn(
                f"Every row will be rejected: at cost={self.cost} rejecting all calibration "
                f"rows is cheapest (error without rejection: {curve.error[0]:.3g}). Raise the "
                "cost, or improve the estimator.",
                UserWarning,
                stacklevel=3,
            )
        return found | {
            "threshold_": point.threshold,
            "calibration_rate_": point.rate,
            "calibration_error_": point.error,
        }

    @property
    def risk_bound_(self) -> float:
        """Exact upper bound of the error on the accepted rows."""
        return self.guarantee_.bound

    @property
    def coverage_(self) -> float:
        """Fraction of the calibration rows that are accepted."""
        return self.guarantee_.coverage

    def rejects(self, X: Any) -> NDArray[np.bool_]:
        """Whether each row is rejected, a boolean array of shape (n_samples,)."""
        check_is_fitted(self)
        outputs = estimator_outputs(self.estimator_, X, self.confidence)
        return SCORES[self.confidence].function(outputs) < self.threshold_

    def predict(self, X: Any) -> NDArray:
        """Predict the labels of the estimator, and the reject label for rejected rows."""
        rejected = self.rejects(X)
        dtype = joint_dtype(self.classes_, self.reject_label_)
        labels = np.array(self.estimator_.predict(X), dtype=dtype)
        labels[rejected] = self.reject_label_
        return labels

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on the accepted rows.

        Rejected rows count neither as correct nor as wrong, so compare scores only at equal rates.
        To count them as errors, use ``accuracy_score(y, clf.predict(X))``. If all rows are
        rejected, the score is NaN, with a warning.
        """
        accepted = ~self.rejects(X)
        if not accepted.any():
            warnings.warn(
                f"All {len(accepted)} rows are rejected: the accuracy on the accepted ones is "
                "undefined.",
                UndefinedMetricWarning,
                stacklevel=2,
            )
            return float("nan")
        answers = np.asarray(self.estimator_.predict(X))[accepted]
        weight = None if sample_weight is None else np.asarray(sample_weight)[accepted]
        return accuracy_score(np.asarray(y)[accepted], answers, sample_weight=weight)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        if "estimator_" not in vars(self):
            return
        need(hasattr(self.estimator_, "predict"), "its estimator cannot predict")
        need(self.confidence in SCORES, "its confidence is unknown")
        need(isinstance(self.threshold_, (float, np.floating)), "its threshold is not a number")
        shaped(self.classes_, "biufUO", "c")
        need((self.classes_[:-1] < self.classes_[1:]).all(), "its classes are not sorted")
        label = self.reject_label_
        need(label is None or np.isscalar(label), "its reject label is not a single value")
        guarantee = vars(self).get("guarantee_")
        need(guarantee is None or isinstance(guarantee, Guarantee), "its guarantee is invalid")
