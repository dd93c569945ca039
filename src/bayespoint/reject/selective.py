"""A classifier that refuses to answer where it is not sure."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from bayespoint.reject.calibration import (
    SOURCES,
    ScoresAndAnswers,
    WrapsClassifier,
    scores_and_answers,
)
from bayespoint.reject.curve import RejectionCurve
from bayespoint.reject.labels import encode, joint_dtype, resolve_reject_label
from bayespoint.reject.parameters import check_labels, check_parameters
from bayespoint.reject.scores import SCORES, estimator_outputs

# What there is without a fit, if the estimator is fitted and the threshold given.
WITHOUT_FIT = {"estimator_", "classes_", "reject_label_", "threshold_", "threshold_source_"}


class SelectiveClassifier(WrapsClassifier):
    r"""A classifier that answers where it is sure and returns a reject label elsewhere.

    A point is rejected when its score s(x) is below a threshold. Exactly one of `rate`, `cost` and
    `threshold` says how the threshold is found. The first two need calibration data, and these are
    never the data on which you predict: by default the outputs come from cross-validation on the
    training data.

    * ``rate=r``: the largest fraction not above r of the calibration points is rejected. (Points
      of equal score are rejected together, so with a coarse score, such as the share of a few
      votes, the fraction can be smaller than r: see `calibration_rate_`.)
    * ``cost=c``: an error costs 1, a rejection c. The threshold minimises the cost on the
      calibration points,

      .. math:: \tfrac1n \bigl( \#\{\text{accepted and wrong}\} + c\,\#\{\text{rejected}\} \bigr).

    * ``threshold=t``: known beforehand. Around a classifier that is fitted already there is nothing
      to learn, and no `fit` is needed. For true class probabilities Chow's rule [1]_ is optimal:
      reject where :math:`1 - \max_y p(y|x) > c`. Where probabilities can be trusted,
      ``confidence="proba", threshold=1 - c`` does just this, without calibration; ``cost=c`` does
      not need to trust them, and finds nearly the same threshold where they are right.

    Parameters
    ----------
    estimator : classifier
        The classifier that answers. `fit` fits a clone of it, unless it is a scikit-learn
        ``FrozenEstimator``, or ``cv="prefit"``.
    rate : float in [0, 1), default=None
        Fraction to reject.
    threshold : float, default=None
        Reject points with a score below it.
    cost : float in (0, 1), default=None
        Cost of a rejection, where an error costs 1.
    confidence : {"max", "gap", "vote", "proba"}, default="max"
        The score s(x), which says how sure an answer is: the largest output, the gap between the
        two largest, the largest share of votes (the estimator's ``vote_shares``), the largest
        probability. (It is the `score` of :func:`rejection_curve`; here that is a method.)
    reject_label : scalar, default="auto"
        What `predict` returns for a rejected point; never one of the classes. By default
        ``"reject"`` for strings and -1 for numbers; 0 where -1 is a class, and one less than the
        smallest class where 0 is one, too. Booleans have no third value: predictions are then the
        integers 0, 1 and -1. A label of another kind than the classes, such as None, makes the
        predictions an array of objects.
    cv : int, splitter, iterable, "prefit" or "train", default=5
        The calibration data. A number of folds, a splitter or splits: cross-validation on the
        training data, after which the estimator is fitted to all of them. ``"prefit"``: the
        estimator is fitted already and what is passed to `fit` are held-out calibration data.
        ``"train"``: the outputs on the training data themselves. These look surer than outputs on
        new data, so that more new points than asked for are rejected, and `calibration_error_` is
        too small. With `threshold` there is nothing to calibrate, and only ``"prefit"`` matters.
    n_jobs : int, default=None
        Folds fitted in parallel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, without the reject label.
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        Points with a score below it are rejected.
    threshold_source_ : str
        On which data the threshold was set, in words.
    reject_label_ : scalar
        What `predict` returns for a rejected point.
    rejection_curve_ : RejectionCurve
        The whole curve on the calibration data. Not there when `threshold` was given; nor are the
        next two.
    calibration_rate_ : float
        Fraction of the calibration points that is rejected.
    calibration_error_ : float
        Error on the accepted calibration points.
    n_features_in_ : int
        Number of features, where the fitted classifier knows it.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the fitted classifier knows them.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16(1), 1970.
    .. [2] R. El-Yaniv and Y. Wiener, "On the foundations of noise-free selective classification",
       Journal of Machine Learning Research 11, 2010.
    .. [3] Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks",
       NeurIPS 2017.

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
    >>> machine = SelectiveClassifier(OneVsRestClassifier(SVC(gamma=0.001)), rate=0.05)
    >>> machine = machine.fit(X, y)
    >>> machine.predict(X_test[118:126])
    array([-1,  5,  2,  5, -1,  4, -1,  7])
    >>> y_test[118:126]
    array([6, 5, 2, 5, 8, 4, 8, 7])
    >>> f"{machine.rejects(X_test).mean():.0%} rejected"
    '5% rejected'
    >>> f"{machine.score(X_test, y_test):.1%} of the accepted right"
    '99.5% of the accepted right'
    >>> f"{machine.estimator_.score(X_test, y_test):.1%} right without rejections"
    '98.3% right without rejections'

    A threshold, around a classifier that is fitted already:

    >>> by_gap = SelectiveClassifier(machine.estimator_, threshold=1.0, confidence="gap")
    >>> by_gap.predict(X_test[118:126])
    array([-1,  5,  2,  5, -1,  4, -1,  7])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rate: float | None = None,
        threshold: float | None = None,
        cost: float | None = None,
        confidence: str = "max",
        reject_label: Any = "auto",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.threshold = threshold
        self.cost = cost
        self.confidence = confidence
        self.reject_label = reject_label
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> "SelectiveClassifier":
        """Fit the classifier and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, in whatever form the estimator takes them; with ``cv="prefit"``,
            held-out calibration points.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the ``fit`` of the estimator; and in the calibration, weight k counts a point
            k times.
        **fit_params
            Passed to the ``fit`` of the estimator: in every fold the part that belongs to it.

        Returns
        -------
        self
        """
        check_parameters(self)
        labels = check_labels(self, X, y)
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            if fit_params:
                raise ValueError(
                    f"Got {sorted(fit_params)} with cv='prefit', where no estimator is fitted: "
                    "pass them to the fit of the estimator itself."
                )
            self.estimator_ = self.estimator
        else:
            if sample_weight is not None:
                fit_params["sample_weight"] = sample_weight
            self.estimator_ = self._fit_clone(X, labels, fit_params)
        self.__dict__.update(self._known_of(self.estimator_))
        # Nothing of an earlier fit may stay, where this one has no calibration.
        for name in ("rejection_curve_", "calibration_rate_", "calibration_error_"):
            self.__dict__.pop(name, None)
        if self.threshold is None:
            self._calibrate(X, labels, sample_weight, fit_params)
        return self

    def _known_of(self, fitted: Any) -> dict[str, Any]:
        """The attributes that a fitted classifier, and the threshold if it is given, decide."""
        classes = np.asarray(fitted.classes_)
        label = resolve_reject_label(self.reject_label, classes)
        known = {"estimator_": fitted, "classes_": classes, "reject_label_": label}
        if self.threshold is not None:
            known |= {"threshold_": float(self.threshold), "threshold_source_": SOURCES["given"]}
        return known

    def __getattr__(self, name: str) -> Any:
        # Reached where no fit has set the attribute, and maybe none is needed.
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

    def _calibrate(self, X: Any, y: NDArray, weight: ArrayLike | None, fit_params: dict) -> None:
        classes = self.classes_.tolist()
        if isinstance(self.cv, str):
            columns = scores_and_answers(self.estimator_, X, self.confidence, classes)
            self.threshold_source_ = SOURCES[self.cv]
        else:
            fold = ScoresAndAnswers(self.estimator, score=self.confidence, classes=classes)
            cv = check_cv(self.cv, y, classifier=True)
            columns = cross_val_predict(fold, X, y, cv=cv, n_jobs=self.n_jobs, params=fit_params)
            self.threshold_source_ = SOURCES["cross-validation"]
        remedy = "calibrate on data of the classes that the estimator was fitted to"
        wrong = columns[:, 1] != encode(y, classes, "y", remedy)
        self.rejection_curve_ = RejectionCurve.from_confidence(columns[:, 0], wrong, weight)
        if self.rate is not None:
            point = self.rejection_curve_.at_rate(self.rate)
        elif self.cost is not None:
            point = self.rejection_curve_.at_cost(self.cost)
        self.threshold_ = point.threshold
        self.calibration_rate_ = point.rate
        self.calibration_error_ = point.error
        if point.threshold == np.inf:
            warnings.warn(
                f"Every point will be rejected: at cost={self.cost} no set of accepted calibration "
                f"points pays (error without rejections: {self.rejection_curve_.error[0]:.3g}). "
                "Raise the cost, or improve the estimator.",
                UserWarning,
                stacklevel=3,
            )

    def rejects(self, X: Any) -> NDArray[np.bool_]:
        """Whether each point is rejected: a mask of shape (n_samples,)."""
        check_is_fitted(self)
        outputs = estimator_outputs(self.estimator_, X, self.confidence)
        return SCORES[self.confidence].function(outputs) < self.threshold_

    def predict(self, X: Any) -> NDArray:
        """The labels that the estimator predicts, and the reject label where it is not sure."""
        rejected = self.rejects(X)
        dtype = joint_dtype(self.classes_, self.reject_label_)
        labels = np.array(self.estimator_.predict(X), dtype=dtype)
        labels[rejected] = self.reject_label_
        return labels

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on the accepted points.

        The rejected ones count neither as right nor as wrong, so compare scores at one rate only.
        To count them as errors, ``accuracy_score(y, machine.predict(X))``. Where every point is
        rejected there is no accuracy: NaN, with a warning.
        """
        accepted = ~self.rejects(X)
        if not accepted.any():
            warnings.warn(
                f"All {len(accepted)} points are rejected: the accuracy on the accepted ones is "
                "undefined.",
                UndefinedMetricWarning,
                stacklevel=2,
            )
            return float("nan")
        answers = np.asarray(self.estimator_.predict(X))[accepted]
        weight = None if sample_weight is None else np.asarray(sample_weight)[accepted]
        return accuracy_score(np.asarray(y)[accepted], answers, sample_weight=weight)
