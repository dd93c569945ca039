"""Pipelines taken apart."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from bayespoint.tools.pipelines import split_pipeline

X, y = np.array([[0.0], [1.0], [2.0], [4.0]]), [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("estimator", "prefix"),
    [
        (SVC(), ""),
        (Pipeline([("only", SVC())]), "only__"),
        (make_pipeline(StandardScaler(), SVC()), "svc__"),
        (make_pipeline(PolynomialFeatures(), StandardScaler(), SVC()), "svc__"),
    ],
)
def test_the_last_step_answers_as_the_whole(estimator, prefix):
    parts = split_pipeline(estimator.fit(X, y))
    assert parts.prefix == prefix
    assert isinstance(parts.last, SVC)
    assert f"{prefix}C" in estimator.get_params()
    assert (parts.before is None) == (prefix != "svc__")
    answers = parts.last.decision_function(parts.transform(X))
    assert answers.tolist() == estimator.decision_function(X).tolist()
