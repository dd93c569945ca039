"""A limit on the time of the automatic choice."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from bayespoint import BayesPointClassifier
from bayespoint.classifier.kernel_choice.candidates import candidates
from bayespoint.classifier.kernel_choice.clock import Clock


def test_after_the_time_nothing_is_tried_but_what_came_first():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(random_state=0, max_time=1e-9).fit(X, y)
    assert clf.kernel_.is_linear
    first, _, *others = clf.run_.choice
    assert first.startswith("100% linear")
    assert len(others) == 6
    assert all(line.startswith("not tried, max_time is over") for line in others)
    again = BayesPointClassifier(random_state=0, **clf.chosen_params_).fit(X, y)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_enough_time_changes_nothing():
    X, y = load_iris(return_X_y=True)
    free = BayesPointClassifier(random_state=0).fit(X, y)
    limited = BayesPointClassifier(random_state=0, max_time=1e6).fit(X, y)
    assert np.array_equal(free.predict_proba(X), limited.predict_proba(X))
    assert not any("max_time" in line for line in limited.run_.choice)


def test_a_search_ends_with_its_time(monkeypatch):
    ticks = iter(range(10**6))  # every look at the clock takes a second
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    X, y = make_classification(100, 4, random_state=0)
    clf = BayesPointClassifier(random_state=0, max_time=9.0).fit(X, y)
    assert any("search ended by max_time" in line for line in clf.run_.choice)


def test_time_is_kept_for_training(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock(10.0)
    points = np.random.default_rng(0).normal(size=(100, 4))
    *_, learned = candidates(points, np.arange(4), None, learns=True, constant=True)
    fixed, _ = candidates(points, np.arange(4), None, learns=False, constant=True)
    with clock.training():
        now[0] = 3.0
    assert clock.has_time_for(learned)  # 7 seconds are left, and two trainings take 6
    assert clock.end_of_search(2) == 3.5
    now[0] = 5.0
    assert clock.has_time_for(fixed)
    assert not clock.has_time_for(learned)


@pytest.mark.parametrize("wrong", [0, -1.0, "1"])
def test_the_time_must_be_positive(wrong):
    with pytest.raises(ValueError, match="'max_time' parameter of BayesPointClassifier"):
        BayesPointClassifier(max_time=wrong).fit([[0.0], [1.0]], [0, 1])
