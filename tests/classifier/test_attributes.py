"""The relevance of features."""

import numpy as np
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


def by_differences(clf, X, step=1e-5):
    """Squared slopes of the mean output, by central differences."""
    squares = []
    for j in range(X.shape[1]):
        moved = np.zeros(X.shape[1])
        moved[j] = step
        f = [clf.model_.space.transform(X + sign * moved) @ clf.posterior_.mean for sign in (1, -1)]
        squares.append(np.square((f[0] - f[1]) / (2 * step)).mean())
    relevance = np.array(squares) * X.var(axis=0)
    return relevance / relevance.sum()


@pytest.mark.parametrize("kernel", [RadialKernel(gamma=0.2), SUM], ids=["rbf", "sum"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"engine": ExpectationPropagation(prior_scale=2.0)},
        {"engine": ExpectationPropagation(prior_scale=2.0), "n_components": 20},
        {"engine": KnapsackPropagation(n_iter=3)},
        {"engine": "perceptron", "ridge": 0.1},
    ],
    ids=["all points", "a basis", "principal axes", "perceptron"],
)
def test_slopes_are_those_of_the_output(kernel, parameters):
    X, y = data()
    if parameters["engine"] == "perceptron":
        kernel = RadialKernel(gamma=[0.3, 0.1, 0.5])  # all points have the same length
    clf = BayesPointClassifier(kernel=kernel, random_state=0, temperature=1.0, **parameters)
    clf.fit(X, y)
    np.testing.assert_allclose(clf.feature_relevance_, by_differences(clf, X), rtol=1e-4)


def test_one_width_for_all_features_still_tells_which_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    clf = BayesPointClassifier(kernel="rbf").fit(X, X[:, 1] * X[:, 3] > 0)
    assert clf.feature_relevance_[[1, 3]].sum() > 0.8


def test_it_is_not_known_of_kernels_without_slopes():
    X, y = data()
    for kernel in (PolynomialKernel(degree=3), SUM + PolynomialKernel(degree=2)):
        clf = BayesPointClassifier(kernel=kernel).fit(X / 30, y)
        assert not hasattr(clf, "feature_relevance_")
