"""The estimator among scikit-learn's tools: storage, searches, pipelines, weights, callbacks."""

import io
import pickle
import re

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.clouds import RULES, blobs, machine

from bayespoint.exceptions import StoppedEarlyWarning

# scikit-learn's tools --------------------------------------------------------------------------


def pickled(clf):
    return pickle.loads(pickle.dumps(clf))


def dumped(clf):
    buffer = io.BytesIO()
    joblib.dump(clf, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


@pytest.mark.parametrize("through", [pickled, dumped])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed", linear_kernel])
def test_a_machine_survives_storage(kernel, through):
    X, y, new = blobs(4)
    if kernel == "precomputed":
        X, new = X @ X.T, new @ X.T
    clf = machine(kernel=kernel, warm_start=True).fit(X, y)
    again = through(clf)
    for method in ("predict", "predict_proba", "decision_function", "vote_shares"):
        assert np.array_equal(getattr(again, method)(new), getattr(clf, method)(new))
    more = {"engine__n_samples": 8}
    grown = [each.set_params(**more).fit(X, y).decision_function(new) for each in (clf, again)]
    assert np.array_equal(*grown)


def test_parameters_of_the_engine_are_parameters_of_the_machine():
    clf = machine(5)
    assert clf.get_params()["engine__n_samples"] == 5
    copy = clone(clf).set_params(engine__n_samples=2, degree=4)
    assert (copy.engine.n_samples, copy.degree) == (2, 4)
    assert clf.engine.n_samples == 5
    X, y, _ = blobs()
    assert copy.fit(X, y).posterior_.n_samples == 2


def test_fit_changes_no_parameter():
    X, y, _ = blobs(4)
    clf = machine(kernel="poly", class_weight="balanced")
    before = repr(clf.get_params())
    clf.fit(X, y)
    assert repr(clf.get_params()) == before
    assert not any(name.endswith("_") for name in vars(clf.engine))


def test_grid_search_over_engine_and_kernel():
    X, y, _ = blobs(4)
    grid = {"engine__n_samples": [1, 3], "degree": [1, 2]}
    search = GridSearchCV(machine(kernel="poly", gamma="scale"), grid, cv=3).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    best = search.best_estimator_
    assert best.posterior_.n_samples == search.best_params_["engine__n_samples"]


def test_cross_validation_cuts_rows_and_columns_of_a_matrix():
    X, y, _ = blobs(4)
    by_kernel, by_matrix = (
        cross_val_predict(machine(kernel=kernel), data, y, cv=4, method="decision_function")
        for kernel, data in (("rbf", X), ("precomputed", rbf_kernel(X, gamma=0.1)))
    )
    np.testing.assert_allclose(by_matrix, by_kernel, atol=1e-12)


@RULES
def test_the_scale_of_a_matrix_changes_nothing(rule):
    X, y, new = blobs(4)
    plain, large = (
        machine(kernel="precomputed", ridge="mean", decision=rule).fit(size * X @ X.T, y)
        for size in (1, 4**10)
    )
    probabilities = plain.predict_proba(new @ X.T)
    np.testing.assert_allclose(large.predict_proba(4**10 * new @ X.T), probabilities, rtol=1e-9)
    assert np.ptp(probabilities[:, 0]) > 0.1


def test_votes_decide_for_a_matrix_with_long_points():
    """New points may be longer than the training points; outputs above 1 must not outvote."""
    X, y, new = blobs(spread=4.0)
    clf = machine(7, kernel="precomputed", decision="vote").fit(linear_kernel(X), y)
    far = 1000 * new @ X.T
    share = clf.vote_shares(far)[:, 1]
    assert ((share > 0) & (share < 1)).any()
    assert np.array_equal(clf.predict(far), (share > 0.5).astype(int))


def test_matrix_with_points_of_weight_zero():
    X, y, new = blobs()
    weight = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)
    kept = weight > 0
    clf = machine(kernel="precomputed").fit(X @ X.T, y, sample_weight=weight)
    without = machine(kernel="precomputed").fit(X[kept] @ X[kept].T, y[kept])
    np.testing.assert_allclose(
        clf.decision_function(new @ X.T), without.decision_function(new @ X[kept].T), atol=1e-12
    )


def test_pipeline():
    X, y, new = blobs(4)
    clf = make_pipeline(StandardScaler(), machine()).fit(1e6 * X, y)
    scaled = StandardScaler().fit(X)
    expected = machine().fit(scaled.transform(X), y).predict_proba(scaled.transform(new))
    np.testing.assert_allclose(clf.predict_proba(1e6 * new), expected, atol=1e-8)


# Weights ---------------------------------------------------------------------------------------


def imbalanced():
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 10 == 0).astype(int)
    return rng.normal(size=(200, 2)) + y[:, None], y


def test_balanced_weights_help_the_rare_class():
    X, y = imbalanced()
    plain, balanced = (
        machine(20, kernel="linear", ridge="mean", class_weight=weight).fit(X, y)
        for weight in (None, "balanced")
    )
    assert (balanced.decision_function(X) > plain.decision_function(X)).mean() > 0.95
    rare = y == 1
    assert balanced.predict(X)[rare].mean() > plain.predict(X)[rare].mean() + 0.3


def test_class_weights_are_sample_weights():
    X, y = imbalanced()
    weights = {0: 1.0, 1: 6.0}
    by_class = machine(kernel="linear", class_weight=weights).fit(X, y)
    by_sample = machine(kernel="linear").fit(X, y, sample_weight=np.where(y, 6.0, 1.0))
    both = machine(kernel="linear", class_weight={0: 1.0, 1: 2.0})
    both.fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    for other in (by_sample, both):
        assert np.array_equal(by_class.decision_function(X), other.decision_function(X))


def test_heavy_points_pull():
    X, y, _ = blobs(spread=6.0)
    plain = machine(20, kernel="linear", ridge="mean").fit(X, y)
    for label, sign in ((0, -1), (1, 1)):
        heavy = machine(20, kernel="linear", ridge="mean")
        heavy.fit(X, y, sample_weight=np.where(y == label, 10.0, 1.0))
        shift = heavy.decision_function(X) - plain.decision_function(X)
        assert (sign * shift > 0).mean() > 0.9


# Being watched ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose_writes_to_standard_error_only(verbose, capfd):
    X, y, new = blobs()
    machine(3).fit(X, y)  # compiles, which takes long enough for another line
    machine(3, verbose=verbose).fit(X, y).predict(new)
    out, err = capfd.readouterr()
    assert out == ""
    assert bool(re.fullmatch(r"bayespoint: 3 samples, \d+\.\d s\n", err)) == bool(verbose)
    assert bool(err) == bool(verbose)


class Recorder:
    """A callback as scikit-learn 1.9 defines them."""

    def __init__(self, stop_at=None):
        self.calls, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, **information):
        self.calls.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, **information):
        self.calls.append(("end", context.task_name))
        return context.task_name == "samples" and context.task_id == self.stop_at


def test_callbacks_are_told():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, y, _ = blobs()
    recorder = Recorder()
    clf = machine(3)
    clf.set_callbacks(recorder).fit(X, y)
    one = [("begin", "samples", 0), ("end", "samples")]
    whole = ["setup", ("begin", "fit", 3), *(3 * one), ("end", "fit"), "teardown"]
    assert recorder.calls == whole
    assert np.array_equal(clf.decision_function(X), machine(3).fit(X, y).decision_function(X))


def test_callbacks_can_stop():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, y, _ = blobs()
    clf = machine(50).set_params(engine__max_time=1e6)  # a clock makes waves of 1, 2, 4 ... samples
    clf.set_callbacks(Recorder(stop_at=0))
    with pytest.warns(StoppedEarlyWarning, match="Stopped by the monitor with 1 of 50"):
        clf.fit(X, y)
    assert np.array_equal(clf.decision_function(X), machine(1).fit(X, y).decision_function(X))
