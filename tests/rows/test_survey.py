"""The first reading: moments, classes and weights as in memory."""

import numpy as np
import pytest
from tests.helpers.blocks import noisy

from bayespoint.classifier.problem import weights
from bayespoint.rows import LocalExecutor, from_arrays
from bayespoint.rows.survey import survey
from bayespoint.spaces.scaling import Scaling


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_scaling_is_that_of_memory(dtype, class_weight):
    X, y = noisy(n=500, n_classes=3)
    X = (X * [1, 1e3, 1e-3, 0] + [1e4, 0, 0, 5]).astype(dtype)  # the last is constant
    sample_weight = np.random.default_rng(0).uniform(0, 2, 500)
    _, whole = survey(from_arrays(X, y, sample_weight, block_rows=77), LocalExecutor())
    found = whole.scaling(whole.class_weights(class_weight))
    expected = Scaling.of(X.astype(np.float64), weights(y, sample_weight, class_weight)[0])
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-5)
    assert found.scale[-1] == 1


def test_labels_and_counts():
    X, y = noisy(n=500, n_classes=3)
    weight = (np.arange(500) % 2).astype(float)
    names = np.array(["b", "c", "a"])[y]
    each, whole = survey(from_arrays(X, names, weight, block_rows=77), LocalExecutor())
    assert whole.labels.tolist() == ["a", "b", "c"]
    assert whole.counts.tolist() == [(names == one).sum() for one in "abc"]
    assert whole.positive.tolist() == [((names == one) & (weight > 0)).sum() for one in "abc"]
    assert sum(one.n_rows for one in each) == whole.n_rows == 500
    np.testing.assert_allclose(
        whole.deviations(np.ones(3, dtype=bool)), X[weight > 0].std(axis=0), rtol=1e-12
    )
