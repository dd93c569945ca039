"""A second fit: warm starts, and what a fit that fails leaves behind."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, PermutedPerceptron

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def refused(match):
    return pytest.raises(ValueError, match=match)


def warm(n_samples=2, **parameters):
    engine = PermutedPerceptron(n_samples=n_samples)
    return BayesPointClassifier(
        engine=engine, ridge=1.0, warm_start=True, random_state=0, **parameters
    )


CHANGED = "warm_start=True needs the same data, weights, .* Set warm_start=False to start again"


@pytest.mark.parametrize("before", [None, 1.0 + Y])
@pytest.mark.parametrize("after", [1.0 + 2 * Y, 2.0 - Y])
def test_warm_start_with_other_weights(before, after):
    clf = warm().fit(X, Y, sample_weight=before)
    with refused(CHANGED):
        clf.set_params(engine__n_samples=4).fit(X, Y, sample_weight=after)


def test_warm_start_with_other_class_weights():
    clf = warm().fit(X, Y)
    with refused(CHANGED):
        clf.set_params(engine__n_samples=4, class_weight={0: 1, 1: 5}).fit(X, Y)


def test_warm_start_with_weights_of_one_is_the_same_problem():
    clf = warm().fit(X, Y)
    clf.set_params(engine__n_samples=4).fit(X, Y, sample_weight=np.ones(60))
    assert clf.posterior_.n_samples == 4


def test_a_refused_warm_start_leaves_the_machine_as_it_was():
    clf = warm().fit(X, Y)
    before = clf.predict_proba(X)
    with refused(CHANGED):
        clf.fit(X[::-1].copy(), np.where(Y, "yes", "no"))
    with refused(CHANGED):
        clf.fit(X, np.arange(60) % 3)
    with refused("X has 1 features, but BayesPointClassifier is expecting 2"):
        clf.fit(X[:, :1], Y)
    assert clf.classes_.tolist() == [0, 1]
    assert np.array_equal(clf.predict_proba(X), before)


def test_a_failed_fit_leaves_the_classifier_as_it_was():
    clf = warm(2).fit(X, Y)
    before, predicted = vars(clf).copy(), clf.predict(X)
    other, labels = np.zeros((60, 3)), 1 - Y
    clf.set_params(warm_start=False, ridge=0.0, fit_intercept=False)
    with refused("zero in feature space"):
        clf.fit(other, labels)
    clf.set_params(warm_start=True, ridge=before["ridge"], fit_intercept=before["fit_intercept"])
    assert vars(clf).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(clf).items())
    assert np.array_equal(clf.predict(X), predicted)
    with refused("some of these have changed"):  # samples of two problems never join
        clf.set_params(engine__n_samples=3).fit(X, labels)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_the_classifier_as_it_was(error, monkeypatch):
    clf = BayesPointClassifier(kernel="linear", temperature=1.0).fit(X, Y)
    before = vars(clf).copy()

    def run(*args, **kwargs):
        raise error

    monkeypatch.setattr(ExpectationPropagation, "run", run)
    for fit in (clf.fit, clf.partial_fit):
        with pytest.raises(error):
            fit(X[:, ::-1], 1 - Y)
        assert vars(clf) == before


def test_a_new_start_may_have_fewer_samples():
    clf = warm(4).fit(X, Y).set_params(warm_start=False, engine__n_samples=3)
    assert clf.fit(X, Y).posterior_.n_samples == 3
