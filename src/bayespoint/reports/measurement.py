"""Evaluation of a fitted classifier on a test set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import get_engine
from bayespoint.reject import SCORES, RejectionCurve, SelectiveClassifier, estimator_outputs
from bayespoint.reject.confusion import rejection_confusion
from bayespoint.reject.curve import point_weights
from bayespoint.reject.labels import encode
from bayespoint.reports.answers import Answers, score_interval, share
from bayespoint.reports.costs import check_costs
from bayespoint.reports.evaluation import Evaluation, Selective
from bayespoint.tools.pipelines import split_pipeline, take
from bayespoint.tools.validation import column_or_1d

WRAPPED = ("best_estimator_", "estimator_")  # where meta-estimators keep what they fitted
N_EXPLAINED = 3  # least certain points that the page explains
SUM_TOLERANCE = 1e-3  # of probabilities in float32, over thousands of classes


def measure(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    costs: ArrayLike | None = None,
) -> Evaluation:
    r"""Evaluate a fitted classifier on a test set.

    The result has all :data:`METRICS`, most with 95 % intervals: accuracy, balanced accuracy,
    log-loss, Brier score, expected calibration error and AUC. ``baseline`` has the same metrics for
    predictions from the class frequencies alone. It also has costs, the weights of a linear
    classifier with their uncertainty, the confusion matrix, precision, recall and AUC of each
    class, a reliability diagram, and the rejection curve.

    Parameters
    ----------
    estimator : classifier
        A fitted scikit-learn classifier with ``predict_proba``. For a
        :class:`~bayespoint.reject.SelectiveClassifier`, alone or at the end of a pipeline, the
        predictions for all rows are evaluated, and also those that it accepts.
    X : array-like of shape (n_samples, n_features)
        Test rows, in any form that the classifier accepts.
    y : array-like of shape (n_samples,)
        True labels, all of them classes of the classifier. Some classes may be absent.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; weight k counts as k copies, also in the intervals.
    costs : array-like of shape (n_classes, n_classes), default=None
        Cost of each predicted class (columns) for each true class (rows), in the order of
        ``classes_``. By default every error costs 1.

    Returns
    -------
    Evaluation
        The results; ``to_dict()`` is for JSON.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import measure
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = BayesPointClassifier(kernel="linear", engine="laplace")
    >>> _ = machine.fit(X[:1000] / 16, y[:1000])
    >>> evaluation = measure(machine, X[1000:] / 16, y[1000:])
    >>> for name in ("accuracy", "log_loss"):
    ...     value, (low, high) = evaluation.metrics[name]
    ...     print(f"{name} {value:.3f}, from {low:.3f} to {high:.3f}")
    accuracy 0.934, from 0.914 to 0.949
    log_loss 0.296, from 0.219 to 0.373
    """
    check_consistent_length(X, y)
    selective, answering, parts = None, estimator, split_pipeline(estimator)
    if isinstance(parts.last, SelectiveClassifier):
        selective, answering, X = parts.last, parts.last.estimator_, parts.transform(X)
    probabilities, classes = class_probabilities(answering, X)
    weight = point_weights(sample_weight, len(probabilities))
    labels = column_or_1d(y, warn=True)
    remedy = "evaluate on labels that the classifier was fitted to, of the same type"
    truth = encode(labels, classes, "y", remedy)
    remedy = "use a classifier that predicts labels of its classes_ only"
    predicted = encode(np.asarray(answering.predict(X)), classes, "predict", remedy)
    score = "proba" if selective is None else selective.confidence
    outputs = probabilities if score == "proba" else estimator_outputs(answering, X, score)

    here = np.flatnonzero(weight)
    confidence = SCORES[score].function(outputs)[here]
    ranks = getattr(getattr(split_pipeline(answering).last, "coding_", None), "ranks", None)
    answers = Answers(truth[here], predicted[here], probabilities[here], weight[here], ranks)
    return Evaluation(
        classes=classes,
        answers=answers,
        positions=here,
        n_rows=len(weight),
        rejection=RejectionCurve.from_confidence(confidence, ~answers.right, answers.weight),
        rejection_score=score,
        selective=None if selective is None else measure_refusals(selective, confidence, answers),
        costs=check_costs(costs, len(classes)),
        classifier=answering,
        model=describe_model(estimator),
        uncertain=take(X, here[np.argsort(answers.confidence, kind="stable")[:N_EXPLAINED]]),
    )


def measure_refusals(
    selective: SelectiveClassifier, confidence: NDArray, answers: Answers
) -> Selective:
    """Rejection rate at the classifier's own threshold, and accuracy on the accepted rows."""
    accepted = confidence >= selective.threshold_
    shown, n = np.where(accepted, answers.predicted, -1), answers.probabilities.shape[1]
    kept = float(answers.weight @ accepted)
    accuracy = share(answers.weight @ (accepted & answers.right), kept) if kept else None
    return Selective(
        threshold=selective.threshold_,
        source=selective.threshold_source_,
        rejected=share(answers.weight @ ~accepted, answers.total),
        accuracy=accuracy,
        interval=None if accuracy is None else score_interval(accuracy, kept),
        guarantee=getattr(selective, "guarantee_", None),
        calibration_curve=getattr(selective, "rejection_curve_", None),
        confusion=rejection_confusion(
            answers.truth, shown, classes=range(n), reject_label=-1, sample_weight=answers.weight
        ),
    )


def class_probabilities(estimator: Any, X: Any) -> tuple[NDArray, list]:
    """Probabilities, checked, and the labels of their columns."""
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"measure needs class probabilities, and {name} has no predict_proba: wrap it in "
            "scikit-learn's CalibratedClassifierCV, or use a BayesPointClassifier."
        )
    probabilities = np.asarray(estimator.predict_proba(X))
    classes = np.asarray(estimator.classes_).tolist()
    if probabilities.dtype.kind != "f":
        probabilities = probabilities.astype(np.float64)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(classes):
        raise ValueError(
            f"predict_proba must give one column for each of the {len(classes)} classes. {name} "
            f"gave an array of shape {probabilities.shape} instead."
        )
    valid = (probabilities >= 0) & (probabilities <= 1 + SUM_TOLERANCE)
    valid_rows = valid.all(axis=1) & (abs(probabilities.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not valid_rows.all():
        raise ValueError(
            f"predict_proba must give numbers in [0, 1] that sum to 1. {name} did not in "
            f"{np.count_nonzero(~valid_rows)} of {len(valid_rows)} rows, first in row "
            f"{np.argmin(valid_rows)}."
        )
    return probabilities, classes


def describe_model(estimator: Any) -> dict[str, str]:
    """Class, parameters, engine and results of the training, as far as they are known.

    >>> from bayespoint import BayesPointClassifier
    >>> machine = BayesPointClassifier(engine="laplace").fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    >>> words = describe_model(machine)
    >>> words["engine"], words["features"]
    ('LaplaceApproximation()', '1')
    """
    layers = fitted_layers(estimator)
    words = {"model": " > ".join(type(layer).__name__ for layer in layers)}
    words["parameters"] = " ".join(repr(estimator).split())
    for layer in layers:
        words |= facts(layer)
    return words


def fitted_layers(estimator: Any) -> list[Any]:
    """The estimator, then the estimators within it: steps of pipelines, winners of searches."""
    before, inner, _ = split_pipeline(estimator)
    if inner is estimator:
        found = (getattr(estimator, name, None) for name in WRAPPED)
        inner = next((one for one in found if one is not None), None)
    return [estimator, *(before or []), *([] if inner is None else fitted_layers(inner))]


def facts(fitted: Any) -> dict[str, str]:
    """Facts about one fitted estimator."""
    words = {}
    if hasattr(fitted, "best_params_"):
        words["chosen"] = ", ".join(f"{name} = {v!r}" for name, v in fitted.best_params_.items())
    if isinstance(fitted, BayesPointClassifier):
        words["engine"] = " ".join(repr(get_engine(fitted.engine)).split())
        words |= run_facts(fitted)
    if hasattr(fitted, "n_features_in_"):
        words["features"] = str(fitted.n_features_in_)
    return words


def run_facts(fitted: BayesPointClassifier) -> dict[str, str]:
    """Facts about the run of a fitted classifier."""
    posterior, run = fitted.posterior_, fitted.run_
    words = {"posterior": type(posterior).__name__, run.unit: str(run.n_iter)}
    words["convergence"] = run.summary
    if posterior.n_samples is not None:
        words["samples"] = str(posterior.n_samples)
    if posterior.log_evidence is not None:
        words["log evidence"] = f"{float(np.sum(posterior.log_evidence)):.2f}"
    if run.choice:
        words["chosen kernels"] = "; ".join(line.strip() for line in run.choice)
    if hasattr(fitted, "expected_scores_"):
        error, loss = fitted.expected_scores_["error"], fitted.expected_scores_["log_loss"]
        n_groups = fitted.model_.fact("n_groups")
        without = f", leave-one-group-out ({n_groups} groups)" if n_groups else ""
        words["expected error"] = f"{error:.2%}{without}"
        words["expected log-loss"] = f"{loss}{without}"
    return words
