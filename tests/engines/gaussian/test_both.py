"""What expectation propagation and Laplace's approximation have in common."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from tests.helpers import logistic, probit

from bayespoint import BayesPointClassifier


@pytest.mark.parametrize(("model", "error"), [(probit, 0.015), (logistic, 0.02)])
def test_cavities_predict_what_a_fit_without_the_point_predicts(model, error):
    X, y = model.problem(40, 3)
    clf = model.machine().fit(X, y)
    posterior, own = clf.posterior_, (y == 1).astype(int)
    refitted, points = np.empty(40), np.arange(40)
    for i in points:
        rest = points != i
        p = model.machine().fit(X[rest], y[rest]).predict_proba(X[i : i + 1])
        refitted[i] = p[0, own[i]]
    left_out = posterior.left_out_log_probability[:, 0]
    wrong = np.abs(np.exp(left_out) - refitted).max()
    assert wrong < error
    with_it = clf.predict_proba(X)[points, own]
    assert wrong < np.abs(with_it - refitted).max() / 4
    assert clf.left_out_error_ == pytest.approx(np.mean(left_out < np.log(0.5)))


# The moderated output of the logistic model is an approximation; 0.005 is its error here.
@pytest.mark.parametrize(
    ("model", "engine", "noise", "link", "error"),
    [(probit, "ep", 1, ndtr, 0), (logistic, "laplace", np.pi / 8, expit, 0.005)],
)
def test_default_run_converges_and_publishes_what_it_knows(model, engine, noise, link, error):
    X, y = model.problem()
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(X, y)
    assert clf.log_evidence_.shape == (1,)
    np.testing.assert_array_equal(
        np.hstack([clf.coef_[0], clf.intercept_]), clf.posterior_.mean[:, 0]
    )
    mean, variance = clf.latent_mean_and_variance(X)
    np.testing.assert_allclose(mean, X @ clf.coef_[0] + clf.intercept_[0])
    scores = clf.decision_function(X)
    np.testing.assert_allclose(scores, mean / np.sqrt(1 + noise * variance))
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], link(scores))
    assert (clf.predict(X) == np.where(scores > 0, 1, -1)).all()
    drawn = clf.sample_proba(X, n_samples=4000, random_state=0)
    error = error + 5 * drawn.std(axis=0) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - clf.predict_proba(X)) < error).all()
    np.testing.assert_allclose(clf.vote_shares(X)[:, 1], ndtr(mean / np.sqrt(variance)))
