"""Leave-group-out against refits, dense formulas and leave-one-out."""

import numpy as np
import pytest
from tests.helpers.noisy_copies import noisy_copies

from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import make_space
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.engines.gaussian import groups as module
from bayespoint.engines.gaussian.groups import alike, in_turn, leave_groups_out, without

ENGINES = {
    "ep": ExpectationPropagation(prior_scale=1.0),
    "laplace": LaplaceApproximation(prior_scale=1.0),
}


def classifier(engine, **settings):
    return BayesPointClassifier(engine=ENGINES[engine], gamma=0.3, temperature=1.0, **settings)


def test_without_is_the_formula_of_dense_inverses():
    rng = np.random.default_rng(0)
    for size, c, k in ((3, 1, 7), (5, 1, 3), (2, 2, 9)):
        A = rng.normal(size=(4, size, c, k))
        root = 0.2 * rng.normal(size=(4, size, c, c))
        rate = root @ root.mT / k
        mean, shift = rng.normal(size=(2, 4, size, c))
        found = without(A, mean, shift, rate)
        for g in range(4):
            flat = A[g].reshape(size * c, k)
            V = flat @ flat.T + (1e-9 * np.eye(size * c) if size * c > k else 0)
            T = np.zeros_like(V)
            for i in range(size):
                T[i * c : (i + 1) * c, i * c : (i + 1) * c] = rate[g, i]
            precision = np.linalg.inv(V) - T
            cavity = np.linalg.inv(precision)
            m = cavity @ (np.linalg.solve(V, mean[g].ravel()) - shift[g].ravel())
            if size * c <= k:  # otherwise V has no inverse, but for what was added
                np.testing.assert_allclose(found[0][g].ravel(), m, rtol=1e-9)
            own = np.stack([cavity[i * c : (i + 1) * c, i * c : (i + 1) * c] for i in range(size)])
            np.testing.assert_allclose(found[1][g], own, rtol=1e-5)


def test_all_rows_come_once_with_their_groups():
    groups = np.array([3, 0, 1, 0, 2, 3, 3, 1])
    seen = [rows for part in alike(groups, 10**8) for rows in part]  # one group at a time
    assert sorted(np.concatenate(seen).tolist()) == list(range(8))
    assert all(
        len(set(groups[rows])) == 1 and len(rows) == (groups == groups[rows[0]]).sum()
        for rows in seen
    )


def test_the_first_rows_of_all_groups_come_before_the_second():
    assert in_turn(np.array([3, 0, 1, 0, 2, 3, 3, 1])).tolist() == [1, 2, 4, 0, 3, 7, 5, 6]


@pytest.mark.parametrize("engine", ["ep", "laplace"])
@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "multi_class": "joint"},
        {"kernel": "linear", "multi_class": "joint"},
        {"kernel": "rbf", "multi_class": "one_vs_rest"},
        {"kernel": "linear", "multi_class": "ordinal"},
    ],
    ids=lambda one: "-".join(one.values()),
)
def test_single_rows_are_leave_one_out(engine, settings):
    X, y, _ = noisy_copies(20, 3, n_classes=3 if "multi_class" in settings else 2)
    machine = classifier(engine, **settings).fit(X, y)
    problem, posterior = machine.model_.training[1], machine.posterior_
    before = posterior.left_out_log_probability.copy()
    vars(posterior).pop("left_out_log_probability", None)
    leave_groups_out(
        posterior, make_space(Parameters.of(machine), problem), problem.targets, np.arange(len(y))
    )
    np.testing.assert_allclose(posterior.left_out_log_probability, before, atol=1e-12)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_groups_are_left_out_as_if_refitted(engine, kernel):
    X, y, groups = noisy_copies(100, 3, spread=0.5)
    machine = classifier(engine, kernel=kernel)
    found = np.exp(machine.fit(X, y, groups=groups).posterior_.left_out_log_probability[:, 0])
    alone = np.exp(machine.fit(X, y).posterior_.left_out_log_probability[:, 0])
    some = np.isin(groups, np.arange(0, 100, 5))
    refitted = np.empty(len(y))
    for group in np.unique(groups[some]):
        own = groups == group
        p = machine.fit(X[~own], y[~own]).predict_proba(X[own])
        refitted[own] = p[np.arange(own.sum()), y[own]]
    away = np.abs(found - refitted)[some]
    assert away.mean() < 1e-3 and away.max() < 1e-2
    assert np.abs(alone - refitted)[some].mean() > 5 * away.mean()  # leave-one-out is not that


def tight(n_groups, size, spread):
    """Groups of nearly equal rows, of a function that is not linear."""
    rng = np.random.default_rng(4)
    centre, groups = rng.normal(size=(n_groups, 3)), np.repeat(np.arange(n_groups), size)
    f = 2 * np.sin(1.5 * centre[:, 0]) + centre[:, 1] * centre[:, 2] + rng.normal(size=n_groups)
    return centre[groups] + spread * rng.normal(size=(len(groups), 3)), (f > 0)[groups], groups


@pytest.mark.parametrize("kind", [ExpectationPropagation, LaplaceApproximation])
@pytest.mark.parametrize(
    ("kernel", "spread", "scale"), [("rbf", 0.05, 3.0), ("rbf", 0.5, 10.0), ("linear", 0.05, 3.0)]
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_messages_of_other_rows_follow(kind, kernel, spread, scale, is_weighted, monkeypatch):
    X, y, groups = tight(30, 6, spread)
    weight = np.random.default_rng(0).choice([1.0, 2.0, 3.0], len(y)) if is_weighted else 1 + 0 * y
    machine = BayesPointClassifier(
        kernel=kernel, gamma=0.3, standardize=False, temperature=1.0, engine=kind(prior_scale=scale)
    )
    found = machine.fit(X, y, weight, groups).posterior_.left_out_log_probability[:, 0]
    monkeypatch.setattr(module, "WORK", 0.0)  # the wrong variant: others stay as they are
    wrong = machine.fit(X, y, weight, groups).posterior_.left_out_log_probability[:, 0]
    refitted = np.full(len(y), np.nan)
    for group in range(0, 30, 3):
        own = groups == group
        p = machine.fit(X[~own], y[~own], weight[~own]).predict_proba(X[own])
        refitted[own] = p[np.arange(own.sum()), y[own].astype(int)]
    away, far = (np.nanmean(np.abs(np.exp(one) - refitted)) for one in (found, wrong))
    assert away < 5e-4  # half of what is asked for
    assert far > 1e-3 or (kernel == "linear" and far > 5 * away)


def test_groups_of_most_influence_come_first(monkeypatch):
    X, y, groups = tight(30, 6, 0.05)
    machine = classifier("ep", kernel="rbf")
    answers = []
    for work in (0.0, 1e6, 1e9):
        monkeypatch.setattr(module, "WORK", work)
        answers.append(machine.fit(X, y, groups=groups).posterior_.left_out_log_probability[:, 0])
    none, some, whole = answers
    changed = np.unique(groups[some != none])
    assert 1 <= len(changed) < 15
    np.testing.assert_array_equal(some[some != none], whole[some != none])
    change = np.array([np.abs(np.exp(whole) - np.exp(none))[groups == k].max() for k in range(30)])
    assert change[changed].mean() > 2 * np.delete(change, changed).mean()


def test_messages_that_find_no_rest_leave_the_answer(monkeypatch):
    X, y, groups = tight(20, 4, 0.05)
    monkeypatch.setattr(module, "STEPS", 1)
    machine = classifier("ep", kernel="rbf")
    few = machine.fit(X, y, groups=groups).posterior_.left_out_log_probability
    monkeypatch.setattr(module, "WORK", 0.0)
    none = machine.fit(X, y, groups=groups).posterior_.left_out_log_probability
    np.testing.assert_array_equal(few, none)


def test_joint_groups_are_left_out_as_if_refitted():
    X, y, groups = noisy_copies(100, 2, spread=0.5, n_classes=3)
    machine = classifier("ep", kernel="linear", multi_class="joint")
    found = np.exp(machine.fit(X, y, groups=groups).posterior_.left_out_log_probability)
    away = []
    for group in range(0, 100, 10):
        own = groups == group
        p = machine.fit(X[~own], y[~own]).predict_proba(X[own])
        away.append(np.abs(p - found[own]))
    assert np.mean(away) < 1e-3 and np.max(away) < 1e-2


def test_copies_leave_a_singular_covariance():
    X, y, groups = noisy_copies(30, 4, spread=0.0)  # rows of a group are the same
    machine = classifier("ep", kernel="rbf").fit(X, y, groups=groups)
    found = machine.posterior_.left_out_log_probability
    assert np.isfinite(found).all()
    own = groups == 0
    assert np.ptp(found[own]) < 1e-9
    refitted = machine.fit(X[~own], y[~own]).predict_proba(X[own][:1])[0, y[own][0]]
    assert abs(np.exp(found[own][0, 0]) - refitted) < 0.02


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_groups_that_leave_nothing_but_rounding_errors(noise, seed):
    """Without a group of copies the rest of a precision may be singular, or below 0 by rounding."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(8, 2)), 4, axis=0)
    y = (
        rng.permutation(np.arange(32) % 2)
        if seed % 2
        else (X[:, 0] > np.median(X[:, 0])).astype(int)
    )
    flips = 0.1 if seed % 3 == 0 else 0.0
    engine = ExpectationPropagation(
        noise=noise, prior_scale=3.0 * 10 ** (seed % 4), label_noise=flips
    )
    clf = BayesPointClassifier(kernel="rbf", engine=engine)
    clf.fit(X, y, groups=np.arange(32) // 4)
    assert np.isfinite(clf.posterior_.left_out_log_probability).all()
