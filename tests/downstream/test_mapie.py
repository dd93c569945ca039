"""MAPIE makes sets of labels from our probabilities, and they keep MAPIE's promise."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from bayespoint import BayesPointClassifier

classification = pytest.importorskip("mapie.classification", reason="mapie is not installed")
N_NEW = 5000


def test_sets_contain_the_right_label():
    X, y = make_classification(
        6000, 10, n_informative=5, n_classes=3, flip_y=0.1, class_sep=0.7, random_state=0
    )
    clf = BayesPointClassifier(kernel="linear").fit(X[:200], y[:200])
    sets = classification.SplitConformalClassifier(clf, confidence_level=0.9, prefit=True)
    sets.conformalize(X[200:-N_NEW], y[200:-N_NEW])
    labels, members = sets.predict_set(X[-N_NEW:])
    np.testing.assert_array_equal(labels, clf.predict(X[-N_NEW:]))
    inside = members[np.arange(N_NEW), y[-N_NEW:], 0].mean()
    # The coverage given 800 calibration points is a beta variable: its variance and that of the
    # mean over new points, five standard errors.
    error = np.sqrt(0.9 * 0.1 * (1 / 802 + 1 / N_NEW))
    assert abs(inside - 0.9) < 5 * error
    most_probable = np.mean(labels == y[-N_NEW:])
    assert most_probable < 0.9 - 5 * error  # a single label would not do
