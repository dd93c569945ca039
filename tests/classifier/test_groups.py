"""Rows that belong together: fit(groups=)."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_val_score
from tests.helpers.noisy_copies import noisy_copies

from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import expected_scores, one_of_each, spreading
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.problem import Problem
from bayespoint.engines import ExpectationPropagation
from bayespoint.reject import label_sets
from bayespoint.rows import from_arrays
from bayespoint.storage import load, save

WAYS = {
    "linear": {"kernel": "linear"},
    "laplace": {"kernel": "rbf", "engine": "laplace"},
    "mixture": {"mixture": [(1, {"kernel": "linear"}), (2, {"kernel": "rbf"})]},
    "auto": {},
    "perceptron": {"kernel": "rbf", "engine": "perceptron", "ridge": 0.1},
}


@pytest.mark.parametrize("way", WAYS)
def test_groups_of_one_row_are_as_good_as_none(way):
    X, y, _ = noisy_copies(20, 2)
    names = [f"patient {i}" for i in range(len(y))]
    plain, grouped = (
        BayesPointClassifier(random_state=0, **WAYS[way]).fit(X, y, groups=groups)
        for groups in (None, names)
    )
    assert grouped.expected_scores_ == plain.expected_scores_
    np.testing.assert_array_equal(grouped.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("way", WAYS)
def test_copies_do_not_make_a_classifier_sure(way):
    X, y, groups = noisy_copies(40, 4, spread=0.05)
    make = BayesPointClassifier(random_state=0, **WAYS[way])
    plain = make.fit(X, y).expected_scores_["log_loss"]
    found = make.fit(X, y, groups=groups)
    assert found.expected_scores_["log_loss"] > plain
    assert found.model_.fact("n_groups") == 40


@pytest.mark.parametrize("multi_class", ["joint", "one_vs_rest", "ordinal"])
def test_several_classes_with_weights_and_categories(multi_class):
    X, y, groups = noisy_copies(40, 3, n_classes=3)
    frame = pd.DataFrame(X, columns=list("abc")).assign(city=np.where(X[:, 0] > 0, "x", "y"))
    weight = np.where(groups < 5, 0.0, 1.0 + groups % 2)
    machine = BayesPointClassifier(multi_class=multi_class, random_state=0)
    plain = machine.fit(frame, y, sample_weight=weight).expected_scores_["log_loss"]
    machine.fit(frame, y, sample_weight=weight, groups=groups)
    assert machine.model_.fact("n_groups") == 35
    assert machine.expected_scores_["log_loss"] > plain


def simulated(rng, n_groups, size, direction):
    centre = rng.normal(size=(n_groups, len(direction)))
    groups = np.repeat(np.arange(n_groups), size)
    labels = (centre @ direction + rng.normal(size=n_groups) > 0).astype(int)
    return (
        centre[groups] + 0.2 * rng.normal(size=(len(groups), len(direction))),
        labels[groups],
        groups,
    )


def test_the_expected_log_loss_holds_for_new_groups():
    hits = np.zeros((60, 2))
    for k in range(len(hits)):
        rng = np.random.default_rng([1, k])
        direction = rng.normal(size=6) * 2 / np.sqrt(6)
        X, y, groups = simulated(rng, 40, 8, direction)
        X_new, y_new, _ = simulated(rng, 2000, 1, direction)
        for j, of_rows in enumerate((groups, None)):  # leave-one-out is the wrong variant
            machine = BayesPointClassifier(kernel="linear").fit(X, y, groups=of_rows)
            p = machine.predict_proba(X_new)[np.arange(len(y_new)), y_new]
            expected = machine.expected_scores_["log_loss"]
            hits[k, j] = expected.low <= -np.log(p).mean() <= expected.high
    share = hits.mean(axis=0)
    assert share[0] >= 0.9
    assert share[1] <= 0.6


def problem_of(X, y, groups):
    return replace(Problem.pose(X, y, None, None), groups=groups)


def test_the_scale_of_tight_groups_is_that_of_one_row_of_each():
    X, y, groups = noisy_copies(60, 6, spread=0.02)
    machine, one = BayesPointClassifier(kernel="rbf", gamma=0.3), np.unique(groups, True)[1]
    grouped, plain, single = (
        machine.fit(*data).run_.measures["prior_scale"][0]
        for data in ((X, y, None, groups), (X, y), (X[one], y[one]))
    )
    assert grouped == pytest.approx(single, rel=1e-2)
    assert plain > 5 * single  # copies need a scale at which all of them are right


def test_halves_keep_groups_together_whatever_their_order():
    X, y, groups = noisy_copies(30, 3)
    one, other = split(problem_of(X, y, groups))
    assert sorted([*one, *other]) == list(range(90))
    assert not set(groups[one]) & set(groups[other])
    assert len(one) == len(other) and abs(y[one].mean() - y[other].mean()) < 0.1
    order = np.random.default_rng(0).permutation(90)
    again = split(problem_of(X[order], y[order], 29 - groups[order]))
    assert {frozenset(order[half].tolist()) for half in again} == {
        frozenset(half.tolist()) for half in (one, other)
    }


def test_first_visits_are_those_of_the_first_row_of_a_group():
    X, y, groups = noisy_copies(50, 4)
    machine = BayesPointClassifier(kernel="rbf", engine="perceptron", ridge=0.1, random_state=0)
    visits = machine.fit(X, y, groups=groups).posterior_.visits
    assert visits.counts.sum() == 10 * 25  # of ten samples, the second half of the groups
    assert machine.fit(X, y).posterior_.visits.counts.sum() == 10 * 100


def test_spreading_is_the_design_effect():
    rng = np.random.default_rng(0)
    groups, copies = np.repeat(np.arange(400), 5), np.ones(2000)
    assert spreading(rng.normal(size=2000), copies, groups) == pytest.approx((400, 1), rel=0.15)
    same = rng.normal(size=400)[groups]
    assert spreading(same, copies, groups) == pytest.approx((400, 5))
    assert spreading(np.zeros(2000), copies, groups) == pytest.approx((400, 5))


def test_the_error_of_groups_has_the_interval_of_groups():
    hits = np.zeros(2)
    for k in range(300):
        rng = np.random.default_rng(k)
        groups = np.repeat(np.arange(50), 6)
        wrong = (rng.uniform(size=50) < 0.2)[groups]
        p = np.tile([[0.2, 0.8]], (300, 1))
        for j, of_rows in enumerate((groups, None)):
            error = expected_scores(p, (~wrong).astype(int), groups=of_rows)["error"]
            hits[j] += error.low <= 0.2 <= error.high
    assert hits[0] / 300 >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 300)
    assert hits[1] / 300 < 0.85  # rows that count as independent


def test_one_random_row_of_each_group():
    groups = np.array([2, 0, 1, 0, 2, 2])
    seen = np.zeros(6)
    for k in range(300):
        some = one_of_each(groups, np.random.default_rng(k))
        assert sorted(groups[some]) == [0, 1, 2]
        seen[some] += 1
    np.testing.assert_allclose(seen / 300, [1 / 3, 1 / 2, 1, 1 / 2, 1 / 3, 1 / 3], atol=0.15)


def test_sets_compare_with_one_row_of_each_group():
    X, y, groups = noisy_copies(60, 3)
    machine = BayesPointClassifier(kernel="linear").fit(X, y, groups=groups)
    assert len(machine.model_.fact("label_scores")) == 60
    sets = label_sets(machine, X[:5], coverage=0.9)
    assert (sets.method, sets.is_exact) == ("left_out", False)
    assert "group" in sets.basis


def test_model_files_know_the_groups(tmp_path):
    X, y, groups = noisy_copies(20, 3)
    machine = BayesPointClassifier(kernel="linear").fit(X, y, groups=groups)
    save(machine, tmp_path / "one.bpm")
    assert load(tmp_path / "one.bpm").model_.fact("n_groups") == 20


def test_metadata_routing():
    X, y, groups = noisy_copies(20, 3)
    with config_context(enable_metadata_routing=True):
        machine = BayesPointClassifier(kernel="linear").set_fit_request(groups=True)
        found = cross_val_score(machine, X, y, cv=GroupKFold(4), params={"groups": groups})
    assert len(found) == 4


def test_batches_may_follow():
    X, y, groups = noisy_copies(20, 3)
    machine = BayesPointClassifier(kernel="linear").fit(X, y, groups=groups)
    temperature = machine.coding_.temperature
    assert machine.partial_fit(X[:9], y[:9]).coding_.temperature == temperature


X, Y, GROUPS = noisy_copies(10, 3)
LOST = [None, *GROUPS[1:]]


@pytest.mark.parametrize(
    ("settings", "groups", "words"),
    [
        ({}, GROUPS[:-1], "one entry for each row. Got 29 for 30"),
        ({}, LOST, "missing entries .1, the first one at row 0"),
        ({}, np.where(GROUPS == 0, np.nan, GROUPS), "missing entries .3"),
        ({}, np.zeros(30), "at least two"),
        ({"engine": "gibbs", "kernel": "linear"}, GROUPS, "GibbsSampler cannot leave groups out"),
        ({"engine": "factorised-ep", "kernel": "linear"}, GROUPS, "cannot leave groups out"),
    ],
    ids=["length", "none", "nan", "single", "gibbs", "factorised"],
)
def test_errors_in_words(settings, groups, words):
    with pytest.raises(ValueError, match=words):
        BayesPointClassifier(**settings).fit(X, Y, groups=groups)


def test_blocks_have_no_groups():
    with pytest.raises(ValueError, match="groups need all rows in memory"):
        BayesPointClassifier(kernel="linear").fit(from_arrays(X, Y), groups=GROUPS)


def test_two_groups_are_enough():
    machine = BayesPointClassifier(engine=ExpectationPropagation()).fit(X, Y, groups=GROUPS % 2)
    assert np.isfinite(machine.expected_scores_["log_loss"].high)
