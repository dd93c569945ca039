"""The relevance of features."""

import numpy as np
import pandas as pd
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, KnapsackPropagation
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel

SUM = 2.0 * RadialKernel(gamma=[0.3, 0.1, 0.5]) + 0.5 * PolynomialKernel(gamma=0.7)
SUM += ConstantKernel()


def data(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2] + [0.0, 30.0, 1.0]
    return X, (X[:, 0] ** 2 + X[:, 2] > 1.5).astype(int)


def by_exchange(clf, X):
    """The expected fall of the log score if the cells of one column are exchanged, row by row."""
    falls, p = np.zeros(X.shape[1]), clf.predict_proba(X)
    for j in range(X.shape[1]):
        for i in range(len(X)):
            other = X[i].copy()
            other[j] = X[(i - len(X) // 2) % len(X), j]
            falls[j] += p[i] @ np.log(p[i] / clf.predict_proba(other[None])[0])
    return falls / falls.sum()


@pytest.mark.parametrize("kernel", [RadialKernel(gamma=0.2), SUM], ids=["rbf", "sum"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"engine": ExpectationPropagation(prior_scale=2.0), "standardize": True},
        {"engine": ExpectationPropagation(prior_scale=2.0), "n_components": 20},
        {"engine": KnapsackPropagation(n_iter=3)},
        {"engine": "perceptron", "ridge": 0.1},
    ],
    ids=["all points", "a basis", "principal axes", "perceptron"],
)
def test_predictions_with_exchanged_cells(kernel, parameters):
    X, y = data()
    clf = BayesPointClassifier(kernel=kernel, random_state=0, temperature=1.0, **parameters)
    clf.fit(X, y)
    np.testing.assert_allclose(clf.feature_relevance_, by_exchange(clf, X), rtol=1e-6)


def test_of_a_linear_kernel_it_is_the_variance_of_the_parts():
    X, y = data()
    clf = BayesPointClassifier(kernel="linear", standardize=True).fit(X, y)
    parts = (X * clf.coef_[0]).var(axis=0)
    np.testing.assert_allclose(clf.feature_relevance_, parts / parts.sum(), rtol=1e-8)


def test_one_width_for_all_features_still_tells_which_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    clf = BayesPointClassifier(kernel="rbf").fit(X, X[:, 1] * X[:, 3] > 0)
    assert clf.feature_relevance_[[1, 3]].sum() > 0.8


@pytest.mark.parametrize("kernel", ["auto", "linear"])
def test_levels_of_a_category_count_together(kernel):
    """Both columns decide, and neither does alone; a linear kernel needs one that does."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"weight": rng.normal(70, 10, 300), "city": rng.choice([*"WXYZ"], 300)})
    y = (frame["weight"] > 70) ^ (frame["city"] == "Z")
    if kernel == "linear":
        y = (frame["weight"] > 70) | (frame["city"] == "Z")
    clf = BayesPointClassifier(kernel=kernel, standardize=True, random_state=0).fit(frame, y)
    assert clf.feature_relevance_.shape == (2,)
    assert clf.feature_relevance_.min() > (0.35 if kernel == "auto" else 0.1)


def test_it_is_not_known_of_kernel_matrices():
    X, y = data()
    clf = BayesPointClassifier(kernel="precomputed").fit(X @ X.T, y)
    assert not hasattr(clf, "feature_relevance_")
