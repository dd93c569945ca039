"""The permuted perceptron against the paper's steps, done slowly."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification
from sklearn.svm import SVC
from tests.helpers.slow import lockstep_perceptron, perceptron, unit_weights

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.engines.sampling.rounds import Clock, Rounds, Setting
from bayespoint.exceptions import CacheTooSmallError, NotSeparableWarning, StoppedEarlyWarning
from bayespoint.kernels import PolynomialKernel, RadialKernel
from bayespoint.spaces import DualSpace
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import thread_pool


def digits(n=400, dtype=np.float64):
    X, y = load_digits(return_X_y=True)
    return X[:n].astype(dtype) / 16, y[:n]


def machine(n_samples=4, **parameters):
    engine = {
        name: parameters.pop(name)
        for name in ("max_epochs", "max_time", "cache_size")
        if name in parameters
    }
    parameters = {"kernel": "poly", "degree": 5, "normalize": True} | parameters
    parameters = {"gamma": 1.0, "random_state": 3} | parameters
    return BayesPointClassifier(
        **parameters, engine=PermutedPerceptron(n_samples=n_samples, **engine)
    )


def full_weights(clf, m):
    """Weights of every sample over all training points, (m, n_samples, n_tasks)."""
    weights = np.zeros((m, *clf.posterior_.weights.shape[1:]))
    weights[clf.posterior_.support] = clf.posterior_.weights
    return weights


def permutations(clf, m):
    seeds = np.random.default_rng(clf.model_.seed).spawn(clf.posterior_.n_samples)
    return [seed.permutation(m) for seed in seeds]


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "poly", "degree": 5, "gamma": 1.0, "normalize": True},
        {"kernel": "poly", "degree": 3, "gamma": 0.5, "normalize": False},
        {"kernel": "rbf", "gamma": 0.2},
        {"kernel": "linear"},
    ],
    ids=lambda kernel: kernel["kernel"] + str(kernel.get("normalize", "")),
)
def test_steps_1_to_3_coefficient_by_coefficient(kernel, classes, ridge):
    X, y = digits()
    if classes == 2:
        X, y = X[np.isin(y, [1, 8])], y[np.isin(y, [1, 8])]
    clf = machine(**({"normalize": False} | kernel), ridge=ridge).fit(X, y)
    K = clf.kernel_(X, X)
    weights = full_weights(clf, len(X))
    tasks = [1] if classes == 2 else range(classes)
    for n, order in enumerate(permutations(clf, len(X))):
        for task, label in enumerate(tasks):
            target = np.where(y == clf.classes_[label], 1, -1)
            alpha, _ = perceptron(K, target, order, ridge)
            # The library measures phi in a unit of its own, which scales the coefficients.
            expected = unit_weights(K, alpha, ridge) * np.exp2(clf.model_.space.points.log_unit / 2)
            np.testing.assert_allclose(weights[:, n, task], expected, rtol=1e-9, atol=1e-12)


def test_output_is_the_papers():
    """f_n(x) = sum_i alpha_i k(x_i, x) / (|w_n| |x|), mean over n.

    The paper takes the class of the largest mean; here tasks are compared by their log-odds.
    """
    X, y = digits(600)
    train, test = slice(0, 400), slice(400, 600)
    clf = machine(normalize=False, degree=3).fit(X[train], y[train])
    kernel = clf.kernel_
    K, K_test = kernel(X[train], X[train]), kernel(X[test], X[train])
    f = np.zeros((200, 10))
    for order in permutations(clf, 400):
        for label in range(10):
            alpha, _ = perceptron(K, np.where(y[train] == label, 1, -1), order)
            length = np.sqrt(alpha @ K @ alpha)
            f[:, label] += K_test @ alpha / (length * np.sqrt(kernel.diag(X[test]))) / 4
    np.testing.assert_allclose(clf.latent_mean_and_variance(X[test])[0], f, atol=1e-10)
    assert (clf.predict(X[test]) == f.argmax(axis=1)).mean() > 0.97


def test_novikoff_bounds_the_mistakes():
    X, y = digits()
    keep = np.isin(y, [3, 5])
    X, target = X[keep], np.where(y[keep] == 5, 1, -1).astype(np.int8)
    space = DualSpace(PolynomialKernel(degree=3, coef0=1.0)).fit(X)
    K = space.kernel.block(space.points, space.points)
    svm = SVC(kernel="precomputed", C=1e9, tol=1e-8).fit(K, target)
    # Without an intercept the margin can only be smaller; a hyperplane through the origin of the
    # SVM's weights, intercept dropped, is a legal reference vector if it still separates.
    w = np.zeros(len(K))
    w[svm.support_] = svm.dual_coef_[0]
    margin = (target * (K @ w)).min() / np.sqrt(w @ K @ w)
    assert margin > 0
    bound = K.diagonal().max() / margin**2
    trained = run(space, target[:, None], n_samples=50)
    assert trained.separated.all()
    assert trained.mistakes.max() <= bound
    assert trained.mistakes.max() > 0.01 * bound  # the bound is of the right order, not trivial


def run(space, targets, n_samples=5, ridge=0.0, cache_size=100.0, max_epochs=100):
    m = len(targets)
    orders = np.stack([np.random.default_rng(n).permutation(m) for n in range(n_samples)])
    with thread_pool() as pool:
        cache = space.rows(cache_size, pool)
        setting = Setting(targets, np.ones(m), np.full(m, ridge), max_epochs)
        return Rounds(orders, setting).run(cache, pool, Clock(None, Monitor()), n_before=0)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(2, 60),
    d=st.integers(1, 8),
    ridge=st.sampled_from([0.1, 1.0]),
    rows=st.integers(1, 70),
)
def test_random_problems_with_any_cache_agree_with_the_slow_version(seed, m, d, ridge, rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    target = rng.choice(np.array([-1, 1], dtype=np.int8), size=m)
    space = DualSpace(RadialKernel(gamma=0.5)).fit(X)
    megabytes = rows * m * 8 / 1e6 * 1.0001
    trained = run(space, target[:, None], n_samples=3, ridge=ridge, cache_size=megabytes)
    K = space.kernel(X, X)
    for n in range(3):
        alpha, mistakes = perceptron(K, target, np.random.default_rng(n).permutation(m), ridge)
        assert (trained.alphas[n, 0] == alpha).all()
        assert trained.mistakes[n, 0] == mistakes
        square = alpha @ K @ alpha + ridge * alpha @ alpha
        assert trained.lengths[n, 0] == pytest.approx(np.sqrt(square), rel=1e-10)


@pytest.mark.parametrize("rows", [1, 30, 200])
def test_points_with_zeros_agree_with_the_slow_version(rows):
    """Their kernel rows are computed in another order of the points, which results do not show."""
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(200, 12)) * (rng.random((200, 12)) < rng.random(12))
    target = rng.choice(np.array([-1, 1], dtype=np.int8), size=(200, 2))
    space = DualSpace(PolynomialKernel(degree=2, coef0=1.0)).fit(X)
    assert not np.array_equal(space.rows(1.0, None).order, np.arange(200))
    trained = run(space, target, n_samples=2, ridge=0.5, cache_size=rows * 200 * 8 / 1e6 * 1.0001)
    K = space.kernel.block(space.points, space.points)
    for n in range(2):
        order = np.random.default_rng(n).permutation(200)
        for task in range(2):
            alpha, mistakes = perceptron(K, target[:, task], order, 0.5)
            assert np.array_equal(trained.alphas[n, task], alpha)
            np.testing.assert_allclose(trained.outputs[n, task], K @ alpha, atol=1e-10)
            assert trained.mistakes[n, task] == mistakes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cache_size_changes_nothing_to_the_bit(dtype):
    X, y = digits(1500, dtype)
    row = len(X) * np.dtype(dtype).itemsize / 1e6
    reference = machine(cache_size=2000).fit(X, y)
    for rows in (1.1, 40, 150, 700):
        other = machine(cache_size=rows * row).fit(X, y)
        assert np.array_equal(reference.posterior_.weights, other.posterior_.weights)
        assert np.array_equal(reference.posterior_.support, other.posterior_.support)
        assert np.array_equal(reference.predict(X), other.predict(X))


@pytest.mark.parametrize("rows", [40, 700])
def test_number_of_jobs_changes_nothing_to_the_bit(rows):
    """Wherever this runs: the places of values are the same."""
    X, y = digits(700, np.float32)
    cache_size = rows * len(X) * 4 / 1e6
    reference = machine(n_jobs=1, cache_size=cache_size).fit(X, y).posterior_
    for n_jobs in (2, 3):
        other = machine(n_jobs=n_jobs, cache_size=cache_size).fit(X, y).posterior_
        assert np.array_equal(reference.weights, other.weights)


def test_ten_at_once_equal_four_and_then_six_to_the_bit():
    X, y = digits()
    at_once = machine(10).fit(X, y)
    grown = machine(4, warm_start=True).fit(X, y)
    assert grown.posterior_.n_samples == 4
    grown.set_params(engine__n_samples=10).fit(X, y)
    assert np.array_equal(at_once.posterior_.weights, grown.posterior_.weights)
    assert np.array_equal(at_once.predict_proba(X), grown.predict_proba(X))


def test_warm_start_without_a_seed_continues_the_same_machine():
    X, y = digits()
    clf = machine(3, warm_start=True, random_state=None).fit(X, y)
    first = clf.decision_function(X)
    before = full_weights(clf, len(X))
    clf.set_params(engine__n_samples=5).fit(X, y)
    assert np.array_equal(full_weights(clf, len(X))[:, :3], before)
    assert not np.array_equal(clf.decision_function(X), first)


@pytest.mark.parametrize("change", ["data", "labels", "kernel", "ridge"])
def test_warm_start_refuses_another_problem(change):
    X, y = digits()
    clf = machine(2, warm_start=True).fit(X, y)
    clf.set_params(engine__n_samples=4)
    if change == "data":
        X = X + 1e-9
    if change == "labels":
        y = np.roll(y, 1)
    if change == "kernel":
        clf.set_params(degree=4)
    if change == "ridge":
        clf.set_params(ridge=1.0)
    with pytest.raises(ValueError, match="some of these have changed"):
        clf.fit(X, y)


def test_fewer_samples_than_a_warm_machine_has_is_an_error():
    X, y = digits()
    clf = machine(4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"n_samples=2 .* has 4"):
        clf.set_params(engine__n_samples=2).fit(X, y)


def test_max_time_keeps_the_samples_that_are_finished():
    X, y = digits(1000)
    with pytest.warns(StoppedEarlyWarning, match="Stopped by max_time with 1 of 500") as caught:
        clf = machine(500, max_time=1e-9).fit(X, y)
    assert caught[0].message.n_finished == clf.posterior_.n_samples == 1
    assert np.array_equal(clf.posterior_.weights, machine(1).fit(X, y).posterior_.weights)
    # It can be completed later, and is then the machine it would have been.
    clf.set_params(warm_start=True, engine__max_time=None, engine__n_samples=6).fit(X, y)
    assert np.array_equal(clf.posterior_.weights, machine(6).fit(X, y).posterior_.weights)


def test_not_separable_data_end_with_a_warning_that_carries_the_numbers():
    X, y = make_classification(200, flip_y=0.3, random_state=0)
    with pytest.warns(NotSeparableWarning, match="20 of 20 .* Remedy: set a ridge") as caught:
        clf = machine(20, kernel="linear", normalize=False, max_epochs=7).fit(X, y)
    message = caught[0].message
    assert (message.n_failed, message.n_runs, message.max_epochs) == (20, 20, 7)
    assert message.training_error == pytest.approx(1 - clf.score(X, y), abs=1e-12)
    assert clf.n_iter_ == 7


def test_a_ridge_bears_the_same_data():
    X, y = make_classification(200, flip_y=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = machine(20, kernel="linear", normalize=False, ridge="mean").fit(X, y)
    assert clf.score(X, y) > 0.75


def test_the_ridge_never_acts_on_a_new_point():
    """k_lambda(x, x_i) = k(x, x_i) even where a new point equals a training point."""
    X, y = digits()
    clf = machine(ridge=0.7).fit(X, y)
    again = X[:5].copy()
    K = clf.kernel_(again, X)
    outputs, _ = clf.latent_mean_and_variance(again)
    np.testing.assert_allclose(outputs, K @ full_weights(clf, len(X)).mean(axis=1), atol=1e-12)


def test_duplicates_with_opposite_labels_need_a_ridge():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = np.array([0, 1, 1])
    with pytest.warns(NotSeparableWarning):
        machine(3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine(3, ridge=0.5).fit(X, y)


def test_a_weight_is_worth_copies_that_err_together():
    X, y = make_classification(120, flip_y=0.2, random_state=1)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    clf = machine(3, kernel="linear", normalize=False, ridge=5.0).fit(X, y, sample_weight=weight)
    K = clf.kernel_(X, X)
    copies = np.repeat(np.arange(len(X)), weight)
    for n, order in enumerate(permutations(clf, len(X))):
        alpha = lockstep_perceptron(K, np.where(y == 1, 1, -1), order, copies, ridge=5.0)
        expected = np.bincount(copies, unit_weights(K[np.ix_(copies, copies)], alpha, 5.0))
        expected *= np.exp2(clf.model_.space.points.log_unit / 2)
        np.testing.assert_allclose(full_weights(clf, len(X))[:, n, 0], expected, atol=1e-10)


def test_zero_feature_vectors_are_named():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.5]])
    with pytest.raises(ValueError, match=r"Training row 1 \(1 in all\) is zero.*fit_intercept"):
        machine(2, kernel="linear", fit_intercept=False).fit(X, [0, 1, 1])
    machine(2, kernel="linear", fit_intercept=True).fit(X, [0, 1, 1])
    clf = machine(2, kernel="linear", fit_intercept=False, ridge=1.0).fit(X, [0, 1, 1])
    assert np.isfinite(clf.predict_proba(X)).all()


def test_cache_smaller_than_a_row_is_an_error():
    X, y = digits()
    with pytest.raises(CacheTooSmallError, match="cannot hold one kernel row") as caught:
        machine(2, cache_size=1e-6).fit(X, y)
    assert caught.value.row_size == pytest.approx(len(X) * 8 / 1e6)


def test_many_samples_go_in_waves(monkeypatch):
    X, y = digits()
    reference = machine(6).fit(X, y).posterior_
    monkeypatch.setattr("bayespoint.engines.sampling.waves.STATE_SIZE", 1.0)  # one sample a wave
    assert np.array_equal(reference.weights, machine(6).fit(X, y).posterior_.weights)
