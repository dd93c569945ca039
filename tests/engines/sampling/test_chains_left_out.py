"""Chains: leave-one-out predictions by importance weights, and the ridge as noise of new labels."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification

from bayespoint import BayesPointClassifier
from bayespoint.engines import BilliardSampler, GibbsSampler
from bayespoint.engines.sampling.convergence import left_out_log_probability
from bayespoint.kernels import RadialKernel
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.spaces import BasisSpace


@pytest.mark.parametrize(("noise", "q"), [(0.3, 0.0), (0.0, 0.1), (0.2, 0.05)])
def test_importance_weights_by_a_loop(noise, q):
    margins = np.random.default_rng(0).normal(0.3, 0.5, (6, 40))
    found = left_out_log_probability(margins, ProbitLikelihood(noise, q), np.ones(len(margins)))
    for i, f in enumerate(margins):
        share = norm.cdf(f / noise) if noise else (f > 0).astype(float)
        weight = 1 / (q + (1 - 2 * q) * share)
        mean = (weight * f).sum() / weight.sum()
        variance = (weight * (f - mean) ** 2).sum() / weight.sum()
        t = mean / np.sqrt(variance + mean**2 / 40 + noise**2)
        assert np.exp(found[i]) == pytest.approx(q + (1 - 2 * q) * norm.cdf(t), rel=1e-9)


def test_left_out_probabilities_are_those_of_other_fits():
    X, y = make_classification(40, 4, flip_y=0.2, random_state=0)

    def fit(keep):
        engine = GibbsSampler(label_noise=0.1, n_samples=4000)
        clf = BayesPointClassifier(kernel="linear", engine=engine, temperature=1, random_state=0)
        return clf.fit(X[keep], y[keep])

    everything = fit(np.ones(40, dtype=bool))
    expected = np.array([fit(np.arange(40) != i).predict_proba(X[[i]])[0, y[i]] for i in range(40)])
    found = np.exp(everything.posterior_.left_out_log_probability[:, 0])
    assert np.abs(found - expected).max() < 0.1
    assert np.corrcoef(found, expected)[0, 1] > 0.99
    # The wrong variant: predictions that know the label.
    known = everything.predict_proba(X)[np.arange(40), y]
    assert np.abs(known - expected).max() > 0.15


def test_private_outputs_are_what_new_points_lack():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    space = BasisSpace(RadialKernel(gamma=0.5), ridge=0.3).fit(X)
    expected = space.rows() @ weights - space.transform(X) @ weights
    np.testing.assert_allclose(space.private_outputs(weights), expected, atol=1e-12)
    plain = BasisSpace(RadialKernel(gamma=0.5)).fit(X)
    assert not plain.private_outputs(weights[: plain.n_coordinates]).any()


@pytest.mark.parametrize("temperature", [1, "auto"])
def test_a_ridge_is_noise_of_new_labels(temperature):
    X, y = make_classification(2000, 10, n_informative=4, flip_y=0.2, random_state=2)
    clf = BayesPointClassifier(
        kernel="rbf",
        gamma=0.05,
        ridge="mean",
        engine="billiard",
        temperature=temperature,
        random_state=0,
    ).fit(X[:400], y[:400])
    right = clf.predict(X[400:]) == y[400:]
    tolerance = 5 * np.sqrt(right.var() * (1 / 400 + 1 / 1600))
    assert abs(clf.predict_proba(X[400:]).max(axis=1).mean() - right.mean()) < tolerance
    # The wrong variant: the spread of the samples alone.
    clf.posterior_.likelihood = ProbitLikelihood(0.0, 0.0)
    clf.coding_.temperature = 1.0
    assert clf.predict_proba(X[400:]).max(axis=1).mean() - right.mean() > tolerance


def test_without_noise_nothing_is_left_out():
    """No sample is wrong at any point, so that none stands for a posterior without its label."""
    X, y = make_classification(60, 4, class_sep=3, random_state=0)
    clf = BayesPointClassifier(kernel="rbf", engine=BilliardSampler(), random_state=0).fit(X, y)
    assert clf.posterior_.left_out_log_probability is None
    assert not hasattr(clf, "left_out_error_")


def test_all_of_a_heavy_row_is_left_out():
    """A class weight is no count: of copies of a row the others would tell its label."""
    X, y = make_classification(60, 3, n_redundant=0, flip_y=0.2, weights=[0.8], random_state=0)
    weights = {0: 0.7, 1: 3.0}

    def fit(keep, sample_weight=None, **settings):
        engine = GibbsSampler(label_noise=0.1, n_samples=4000)
        clf = BayesPointClassifier(
            kernel="linear", engine=engine, temperature=1, random_state=0, **settings
        )
        return clf.fit(X[keep], y[keep], sample_weight=sample_weight)

    def left_out(clf):
        return np.exp(clf.posterior_.left_out_log_probability[rare, 0])

    everyone, rare = np.ones(60, dtype=bool), np.flatnonzero(y == 1)
    others = [np.arange(60) != i for i in rare]
    refits = [fit(keep, class_weight=weights).predict_proba(X[~keep])[0, 1] for keep in others]
    found = left_out(fit(everyone, class_weight=weights))
    copies = left_out(fit(everyone, np.where(y == 1, 3.0, 0.7)))  # the wrong variant
    assert np.abs(found - refits).mean() < 0.05
    assert np.abs(copies - refits).mean() > 2 * np.abs(found - refits).mean()
