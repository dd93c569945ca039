"""ONNX Runtime: the default classifier predicts there what it predicts in Python, to 1e-5.

``tests/storage/onnx`` tries every engine, kernel and kind of column.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier

pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")


def test_the_default_classifier():
    from bayespoint.storage.onnx import to_onnx

    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier().fit(X[::2], y[::2])
    session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    label, probabilities = session.run(None, {"X": X.astype(np.float32)})
    np.testing.assert_array_equal(label, clf.predict(X))
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), rtol=0, atol=1e-5)
