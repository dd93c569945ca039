"""Outputs of perceptrons at points that they meet for the first time."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from tests.helpers.slow import honest_outputs

from bayespoint import BayesPointClassifier, load, save
from bayespoint.engines import PermutedPerceptron
from bayespoint.posteriors.log_odds import learn_log_odds

POLY = {"kernel": "poly", "degree": 3, "gamma": 0.5}


def digits(n=300, dtype=np.float64, classes=10):
    X, y = load_digits(return_X_y=True)
    keep = np.flatnonzero(y < classes)[:n]
    return X[keep].astype(dtype) / 16, y[keep]


def machine(n_samples=4, cache_size="auto", **parameters):
    parameters = POLY | {"random_state": 3} | parameters
    engine = PermutedPerceptron(n_samples=n_samples, cache_size=cache_size)
    return BayesPointClassifier(**parameters, engine=engine)


def orders(clf, m):
    seeds = np.random.default_rng(clf.model_.seed).spawn(clf.posterior_.n_samples)
    return [seed.permutation(m) for seed in seeds]


def encoded(clf, y):
    codes = np.searchsorted(clf.classes_, y)
    return clf.coding_.encode(codes).astype(int)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("parameters", "weighted"),
    [({}, False), ({"ridge": 0.3}, False), ({"ridge": 5.0}, True), ({"normalize": True}, False)],
    ids=["plain", "ridge", "weights", "normalised"],
)
def test_honest_outputs_by_plain_python(parameters, weighted, classes):
    X, y = digits(120, classes=classes)
    weight = np.random.default_rng(0).integers(1, 4, len(X)) if weighted else None
    clf = machine(**parameters).fit(X, y, sample_weight=weight)
    expected = honest_outputs(
        clf.kernel_(X, X), encoded(clf, y), orders(clf, len(X)), clf.ridge, weight
    )
    found = clf.posterior_.visits.honest_outputs
    assert np.isnan(expected).any()  # 1 of 16 points is never in a second half
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_precomputed_kernel_has_lengths_of_typical_points():
    """New points have the root mean square length, so that honest outputs are divided by it."""
    X, y = digits(120, classes=2)
    K = machine().fit(X, y).kernel_(X, X)
    clf = machine(kernel="precomputed").fit(K, y)
    lengths = np.sqrt(np.diag(K))
    plain = honest_outputs(K, encoded(clf, y), orders(clf, len(X)))
    unit = np.nanmean(np.abs(clf.posterior_.visits.honest_outputs)) / np.nanmean(np.abs(plain))
    assert unit == pytest.approx(1, abs=0.02)
    ratio = clf.posterior_.visits.honest_outputs / plain / lengths[:, None]
    assert np.nanstd(ratio) < 1e-9 * np.nanmean(ratio)


def test_ten_at_once_equal_four_and_then_six_to_the_bit():
    X, y = digits(400)
    at_once = machine(10).fit(X, y)
    grown = machine(4, warm_start=True).fit(X, y)
    assert np.isnan(grown.oob_decision_function_).sum() > 10 * 5  # of 400 / 2^4 points
    grown.set_params(engine__n_samples=10).fit(X, y)
    assert np.array_equal(
        at_once.oob_decision_function_, grown.oob_decision_function_, equal_nan=True
    )
    assert at_once.oob_score_ == grown.oob_score_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cache_and_threads_change_nothing_to_the_bit(dtype):
    X, y = digits(1000, dtype)
    row = len(X) * np.dtype(dtype).itemsize / 1e6
    reference = machine(n_jobs=1).fit(X, y).oob_decision_function_
    parallel = machine(n_jobs=2).fit(X, y).oob_decision_function_
    assert np.array_equal(reference, parallel, equal_nan=True)
    for rows in (1.1, 40):
        other = machine(cache_size=rows * row).fit(X, y).oob_decision_function_
        assert np.array_equal(reference, other, equal_nan=True)


@pytest.mark.parametrize("classes", [2, 10])
def test_oob_attributes_are_those_of_the_posterior(classes):
    X, y = digits(classes=classes)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    clf = machine(ridge=1.0).fit(X, y, sample_weight=weight)
    scores = clf.oob_decision_function_
    assert scores.shape == clf.decision_function(X).shape
    known = np.isfinite(scores.reshape(len(X), -1)).all(axis=1)
    assert not known[weight == 0].any()
    answers = scores[known].argmax(axis=1) if classes > 2 else (scores[known] > 0).astype(int)
    expected = np.average(clf.classes_[answers] == y[known], weights=weight[known])
    assert clf.oob_score_ == pytest.approx(expected, abs=1e-12)
    inside = scores[weight > 0].reshape(int((weight > 0).sum()), -1)
    np.testing.assert_allclose(inside, clf.posterior_.oob_decision("bayes_point"), atol=1e-9)


def test_attributes_are_kept_in_files_and_not_from_earlier_fits(tmp_path):
    X, y = digits()
    clf = machine().fit(X, y)
    save(clf, tmp_path / "model.bpm")
    again = load(tmp_path / "model.bpm")
    assert again.oob_score_ == clf.oob_score_
    assert np.array_equal(again.oob_decision_function_, clf.oob_decision_function_, equal_nan=True)
    clf.set_params(engine="ep").fit(X, y)
    assert not hasattr(clf, "oob_score_") and not hasattr(clf, "oob_decision_function_")
    assert not hasattr(machine(decision="vote").fit(X, y), "oob_score_")


@pytest.mark.parametrize("ridge", [0.03, 0.3])
def test_oob_score_is_that_of_new_points(ridge):
    X, y = make_classification(3000, 10, n_informative=4, flip_y=0.2, random_state=1)
    clf = machine(10, kernel="rbf", gamma=0.2, ridge=ridge).fit(X[:1000], y[:1000])
    new = clf.score(X[1000:], y[1000:])
    error = np.sqrt(new * (1 - new) * (1 / 1000 + 1 / 2000))
    assert abs(clf.oob_score_ - new) < 5 * error
    # The wrong variant: the final classifier on the points that it has learned.
    assert abs(clf.score(X[:1000], y[:1000]) - new) > 5 * error


@pytest.mark.parametrize("ridge", [0.01, 0.3])
def test_probabilities_of_noisy_classes_hold(ridge):
    """The mean probability of the predicted class is the accuracy; also after many passes."""
    X, y = make_classification(4000, 10, n_informative=4, flip_y=0.2, random_state=2)
    clf = machine(10, kernel="rbf", gamma=0.2, ridge=ridge).fit(X[:1000], y[:1000])
    probability = clf.predict_proba(X[1000:]).max(axis=1)
    right = clf.predict(X[1000:]) == y[1000:]
    tolerance = 5 * np.sqrt(right.var() * (1 / 1000 + 1 / 3000))
    assert abs((probability - right).mean()) < tolerance
    # The wrong variant: learned from the outputs at points that the classifiers know.
    final = clf.latent_mean_and_variance(X[:1000])[0][:, None]
    clf.posterior_.log_odds = learn_log_odds(final, encoded(clf, y[:1000]))
    assert (clf.predict_proba(X[1000:]).max(axis=1) - right).mean() > tolerance


@pytest.mark.parametrize(("n", "n_samples"), [(10, 1), (10, 10), (30, 10)])
def test_few_points_give_cautious_probabilities(n, n_samples):
    X, y = digits(n, classes=2)
    clf = machine(n_samples).fit(X, y)
    probability = clf.predict_proba(digits(300, classes=2)[0])
    assert np.isfinite(probability).all()
    assert 0.6 < probability.max(axis=1).mean() < 1 - 0.1 / n
