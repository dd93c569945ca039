"""Confusion matrices with a column for rejected points."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

from bayespoint.reject import RejectionConfusionDisplay, SelectiveClassifier, rejection_confusion


def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(200) > 0, "yes", "no")


def test_counts_are_those_of_scikit_learn_and_the_rejected():
    X, y = problem()
    clf = SelectiveClassifier(LogisticRegression(), rate=0.2).fit(X, y)
    answers = clf.predict(X)
    labels = ["no", "yes", "reject"]
    counts = rejection_confusion(y, answers, classes=labels[:2], reject_label="reject")
    np.testing.assert_array_equal(counts, confusion_matrix(y, answers, labels=labels)[:2])
    assert counts[:, 2].sum() == clf.rejects(X).sum()
    weight = np.arange(200.0)
    counts = rejection_confusion(
        y, answers, classes=labels[:2], reject_label="reject", sample_weight=weight
    )
    whole = confusion_matrix(y, answers, labels=labels, sample_weight=weight)
    np.testing.assert_allclose(counts, whole[:2])
    with pytest.raises(ValueError, match="y_pred contains labels"):
        rejection_confusion(y, answers, classes=["no", "yes"], reject_label=-1)


def test_display():
    X, y = problem()
    clf = SelectiveClassifier(LogisticRegression(), rate=0.2).fit(X, y)
    display = RejectionConfusionDisplay.from_estimator(clf, X, y)
    assert display.counts.sum() == 200
    shown = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert shown == ["no", "yes", "rejected"]
    assert [text.get_text() for text in display.ax_.texts] == [
        f"{count:g}" for count in display.counts.ravel()
    ]
