"""The rejection curve from labels and outputs."""

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.reject.curve import RejectionCurve
from bayespoint.reject.labels import column_labels, encode
from bayespoint.reject.scores import as_columns, get_score


def rejection_curve(
    y_true: ArrayLike,
    outputs: ArrayLike,
    *,
    y_pred: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    score: str = "max",
    sample_weight: ArrayLike | None = None,
) -> RejectionCurve:
    """Compute the error on the accepted points when those with the smallest scores are rejected.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    outputs : array-like of shape (n_samples, n_classes) or (n_samples,)
        Real-valued outputs f_y(x), one column per class. For two classes they can be
        one-dimensional: decision values f, whose score is the absolute value, or, for ``"vote"``
        and ``"proba"``, the share of the second class.
    y_pred : array-like of shape (n_samples,), default=None
        Predicted labels. By default the class of the largest output, argmax_y f_y(x). Pass them if
        the classifier predicts by another rule.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of `outputs`. By default the sorted labels in `y_true`.
    score : {"max", "gap", "vote", "proba"}, default="max"
        The score that orders the points: the largest output, the gap between the two largest, or
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
