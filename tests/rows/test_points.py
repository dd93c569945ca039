"""Perceptrons whose points stay in a file."""

import numpy as np
import pytest
from tests.helpers.blocks import noisy

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.rows import from_arrays, from_batches, from_npy

SETTINGS = {
    "linear": {"kernel": "linear", "ridge": 50.0},
    "poly": {"kernel": "poly", "degree": 3, "ridge": "mean"},
    "unit poly": {"kernel": "poly", "degree": 2, "gamma": 0.3, "normalize": True, "ridge": 0.1},
    "rbf": {"kernel": "rbf", "standardize": True, "ridge": 0.1},
}


def perceptron(**params):
    engine = PermutedPerceptron(n_samples=3, cache_size=1.0)
    return BayesPointClassifier(engine=engine, random_state=0, **params)


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_bits_of_a_fit_in_memory(tmp_path, params, order):
    X, y = noisy(n=700, n_classes=3)
    X[:, 0] *= 10
    weight = np.ones(700)
    weight[::7] = 0
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    inside = perceptron(**params).fit(X, y, weight)
    outside = perceptron(**params).fit(from_npy(tmp_path / "X.npy", y, weight, block_rows=150))
    tolerance = 1e-9 if params.get("standardize") else 0
    np.testing.assert_allclose(
        outside.posterior_.weights, inside.posterior_.weights, rtol=tolerance
    )
    np.testing.assert_allclose(outside.predict_proba(X), inside.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(
        outside.oob_decision_function_, inside.oob_decision_function_, rtol=1e-6
    )
    # In memory, as the support.
    assert type(outside.model_.space.points) is type(inside.model_.space.points)


def test_sources_of_whole_blocks_are_refused():
    X, y = noisy(n=50)
    with pytest.raises(ValueError, match="reads single rows in any order"):
        perceptron(kernel="linear").fit(from_batches([(X, y)]))


def test_few_points_are_in_memory(tmp_path):
    """A tile of points and the cache: not all of the file, nor its features."""
    X, y = noisy(n=700)
    np.save(tmp_path / "X.npy", X)
    blocks = from_npy(tmp_path / "X.npy", y)
    taken = []
    take = type(blocks).take
    blocks.__class__ = type(
        "Watched",
        (type(blocks),),
        {"take": lambda self, rows: taken.append(len(rows)) or take(self, rows)},
    )
    perceptron(kernel="rbf", ridge=0.1).fit(blocks)
    assert max(taken[:3]) == 700  # the kernel's sample, and parts that are measured
    assert max(taken[3:-1]) <= 512
    perceptron(kernel="rbf", ridge=0.1).fit(from_arrays(X, y))
