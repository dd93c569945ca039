"""Features of mean 0 and variance 1."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.spaces.scaling import Scaling


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_scikit_learn(dtype):
    X = np.random.default_rng(0).normal(3, [1e-3, 1, 1e3], size=(50, 3)).astype(dtype)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=50)
    expected = StandardScaler().fit(X.astype(float), sample_weight=weight).transform(X)
    scaled = Scaling.of(X, weight).transform(X)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scaled, expected, rtol=1e-3 if dtype == np.float32 else 1e-9)


def test_constant_and_huge_features():
    X = np.array([[0.1, 1e200, 0.0], [0.1, -1e200, 0.0], [0.1, 0.0, 0.0]])
    scaled = Scaling.of(X).transform(X)
    assert np.isfinite(scaled).all()
    np.testing.assert_allclose(scaled[:, [0, 2]], 0, atol=1e-12)
    np.testing.assert_allclose(scaled[:, 1].std(), 1)


def test_coefficients_are_those_of_the_given_features():
    rng = np.random.default_rng(0)
    X = rng.normal([5, -100], [0.1, 30], size=(80, 2))
    y = X @ [20, -0.1] - 110 + rng.normal(size=80) > 0
    clf = BayesPointClassifier(kernel="linear", standardize=True).fit(X, y)
    outputs = X @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(outputs, clf.latent_mean_and_variance(X)[0], rtol=1e-8)
    plain = BayesPointClassifier(kernel="linear").fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(
        clf.predict_proba(X)[:, 1] > 0.5, plain.predict(StandardScaler().fit_transform(X))
    )


def test_what_cannot_be_scaled_is_refused():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(TypeError, match="standardize=True needs features"):
        BayesPointClassifier(kernel="precomputed", standardize=True).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit cannot standardize"):
        BayesPointClassifier(kernel="linear", standardize=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="standardize"):
        BayesPointClassifier(standardize="yes").fit(X, y)


def test_scales_at_the_ends_of_what_floats_can_represent():
    X = np.array([[-1.5e308, 1e-310, 1.0], [1.5e308, 3e-310, 3.0]])
    with np.errstate(all="raise", under="ignore"):
        scaling = Scaling.of(X)
        np.testing.assert_allclose(scaling.transform(X)[:, [0, 2]], [[-1, -1], [1, 1]])
        coef, _ = scaling.weights(np.ones((1, 3)), np.zeros(1))
    assert np.isfinite(coef).all()
