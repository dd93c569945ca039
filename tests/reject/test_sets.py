"""Sets of labels of pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.reject import label_sets


def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, "yes", "no")


def test_steps_before_the_classifier_depend_on_the_training_rows():
    X, y = rows()
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(kernel="linear"))
    sets = label_sets(pipeline.fit(X[:40], y[:40]), X[40:])
    assert sets.method == "full"
    assert not sets.is_exact
    assert "steps before" in sets.basis
    alone = BayesPointClassifier(kernel="linear").fit(pipeline[0].transform(X[:40]), y[:40])
    scaled = pipeline[0].transform(X)
    np.testing.assert_array_equal(sets.contains, alone.predict_set(scaled[40:]))
    held_out = label_sets(pipeline, X[50:], calibration=(X[40:50], y[40:50]))
    assert held_out.is_exact
    assert set(held_out.labels[0]) <= {"yes", "no"}


def test_data_frames():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf = BayesPointClassifier(kernel="linear").fit(frame[:40], y[:40])
    np.testing.assert_array_equal(clf.predict_set(frame[40:]), label_sets(clf, frame[40:]).contains)


def test_other_classifiers_are_refused():
    X, y = rows()
    with pytest.raises(TypeError, match="needs a BayesPointClassifier"):
        label_sets(LogisticRegression().fit(X, y), X)
