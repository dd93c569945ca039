"""skops saves our classifiers, of types that can be read in a list before they are loaded."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier

skops = pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_file_of_skops(kernel):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), BayesPointClassifier(kernel=kernel)).fit(
        X[:100], y[:100]
    )
    file = skops.dumps(model)
    types = skops.get_untrusted_types(data=file)
    assert all(name.startswith("bayespoint.") for name in types)
    with pytest.raises(TypeError):
        skops.loads(file)  # nothing is trusted unless it is named
    again = skops.loads(file, trusted=types)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
