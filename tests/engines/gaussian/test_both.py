"""What expectation propagation and Laplace's approximation have in common."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from tests.helpers import logistic, probit

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.rows import from_arrays


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


RARE = {0: 0.6, 1: 2.8}  # weights of the classes
WAYS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "joint": {"kernel": "linear", "multi_class": "joint"},
    "blocks": {"kernel": "linear"},
}


def rare_class(n, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = (1.2 * X[:, 0] - 1 + 0.7 * rng.normal(size=n) > 0).astype(int)
    return X, np.where(X[:, 1] > 0.5, 2, y) if n_classes == 3 else y


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", [ExpectationPropagation, LaplaceApproximation])
def test_leave_one_out_takes_all_of_a_heavy_row_out(engine, way):
    """A class weight is no count. Copies, by sample weights, stay: that is the wrong variant."""
    X, y = rare_class(150, 3 if way == "joint" else 2)
    weights = RARE | {2: 1.5} if way == "joint" else RARE
    weight = np.array([weights[label] for label in y])

    def left_out(sample_weight=None, **settings):
        clf = BayesPointClassifier(
            engine=engine(prior_scale=1.0), temperature=1.0, **WAYS[way], **settings
        )
        if way == "blocks":
            clf.fit(from_arrays(X, y, sample_weight, block_rows=64))
        else:
            clf.fit(X, y, sample_weight=sample_weight)
        coding = clf.coding_
        p = coding.probabilities(*coding.left_out(clf.posterior_.left_out_log_probability, y))
        return clf, p[np.arange(150), y]

    clf, found = left_out(class_weight=weights)
    _, copies = left_out(sample_weight=weight)
    rare = np.flatnonzero(y == 1)[:15]
    refitted = []
    for i in rare:
        others = np.arange(150) != i
        p = clf.fit(X[others], y[others]).predict_proba(X[i : i + 1])
        refitted.append(p[0, y[i]])
    away = np.abs(found[rare] - refitted)
    assert away.mean() < 1e-3
    assert np.abs(copies[rare] - refitted).mean() > 5 * away.mean()
    _, both = left_out(sample_weight=weight, class_weight={0: 1, 1: 1, 2: 1})
    np.testing.assert_allclose(both, copies, rtol=1e-9)


def test_independent_weights_leave_all_of_a_heavy_row_out():
    X, y = rare_class(150)
    fits = [
        BayesPointClassifier(kernel="linear", engine="factorised-ep", class_weight=RARE).fit(*data)
        for data in ((X, y), (from_arrays(X, y, block_rows=64),))
    ]
    one, other = (clf.posterior_.left_out_log_probability for clf in fits)
    np.testing.assert_allclose(one, other, atol=1e-5)
    weight = np.array([RARE[label] for label in y])
    copies = BayesPointClassifier(kernel="linear", engine="factorised-ep")
    copies.fit(X, y, sample_weight=weight)
    kept = copies.posterior_.left_out_log_probability
    assert (one[y == 1] < kept[y == 1]).all() and (one[y == 0] < kept[y == 0]).mean() < 0.5
