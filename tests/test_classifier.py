"""The estimator: one rule behind all answers, any labels, scikit-learn's tools, invariances."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import special_ortho_group
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import StoppedEarlyWarning

SEEDS = st.integers(0, 2**32 - 1)
RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])
CLASSES = pytest.mark.parametrize("classes", [2, 4])


def blobs(classes=2, n=80, seed=0, spread=1.5):
    """Overlapping clouds: training points, their labels, and points to predict."""
    X, y = make_blobs(2 * n, 3, centers=classes, cluster_std=spread, random_state=seed)
    return X[:n], y[:n], X[n:]


def machine(n_samples=5, **parameters):
    parameters = {"kernel": "rbf", "gamma": 0.1, "ridge": "mean", "random_state": 3} | parameters
    return BayesPointClassifier(**parameters, engine=PermutedPerceptron(n_samples=n_samples))


def single_outputs(clf, X):
    """f_n(x) of every sample, shape (n, n_samples, n_tasks), one inner product at a time."""
    Z = np.asarray(clf._space.transform(X))
    weights = clf.posterior_.weights
    return np.array([[z @ weights[:, n] for n in range(weights.shape[1])] for z in Z])


# Labels and tables -----------------------------------------------------------------------------

LABELS = {
    "int": np.array([-7, 0, 3, 40]),
    "bool": np.array([False, True]),
    "str": np.array(["ant", "bee", "cat", "dog"]),
    "float": np.array([-1.0, 0.0, 2.0, 9.0]),
    "object": np.array(["ant", "bee", "cat", "dog"], dtype=object),
    "uint8": np.array([0, 1, 2, 255], dtype=np.uint8),
}


@pytest.mark.parametrize(
    ("kind", "classes"), [(kind, n) for kind in LABELS for n in (2, 4) if n <= len(LABELS[kind])]
)
def test_labels_of_any_type(kind, classes):
    X, y, new = blobs(classes)
    labels = LABELS[kind][:classes]
    reference = machine().fit(X, y)
    clf = machine().fit(X, labels[y])
    assert clf.classes_.tolist() == labels.tolist()
    assert clf.classes_.dtype == labels.dtype
    assert np.array_equal(clf.decision_function(new), reference.decision_function(new))
    assert np.array_equal(clf.predict(new), labels[reference.predict(new)])
    assert np.array_equal(machine().fit(X, list(labels[y])).predict(new), clf.predict(new))


def test_series_of_labels():
    X, y, new = blobs()
    clf = machine().fit(X, pd.Series(np.array(["no", "yes"])[y], dtype="category"))
    assert clf.classes_.tolist() == ["no", "yes"]
    assert set(clf.predict(new)) == {"no", "yes"}


def test_frames_bring_names_and_their_order():
    X, y, new = blobs()
    names = ["height", "width", "depth"]
    clf = machine().fit(pd.DataFrame(X, columns=names), y)
    assert clf.feature_names_in_.tolist() == names
    assert clf.n_features_in_ == 3
    frame = pd.DataFrame(new, columns=names)
    assert np.array_equal(clf.predict(frame), machine().fit(X, y).predict(new))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["width", "height", "depth"]])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame.rename(columns={"depth": "weight"}))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_float32_computes_in_float32_and_agrees(kernel):
    X, y, new = blobs(4, spread=1.0)
    wide = machine(kernel=kernel).fit(X, y)
    X32, new32 = X.astype(np.float32), new.astype(np.float32)
    narrow = machine(kernel=kernel).fit(X32, y)
    assert narrow._space.points.rows.dtype == np.float32
    scores = narrow.decision_function(new32)
    assert scores.dtype == np.float64
    assert np.abs(scores - wide.decision_function(new)).max() < 1e-3
    assert np.abs(scores - narrow.decision_function(new32.astype(float))).max() < 1e-3


# One rule --------------------------------------------------------------------------------------


@RULES
@CLASSES
def test_predict_decision_and_probabilities_agree(classes, rule):
    X, y, new = blobs(classes)
    clf = machine(decision=rule).fit(X, y)
    scores, shares = clf.decision_function(new), clf.predict_proba(new)
    assert shares.shape == (len(new), classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    codes = np.searchsorted(clf.classes_, clf.predict(new))
    if classes == 2:
        assert scores.shape == (len(new),)
        assert np.array_equal(codes, scores > 0)
        assert (np.diff(shares[np.argsort(scores), 1]) >= 0).all()
    else:
        assert scores.shape == (len(new), classes)
        assert np.array_equal(codes, scores.argmax(axis=1))
    assert np.array_equal(codes, shares.argmax(axis=1))


@RULES
@CLASSES
def test_decisions_are_the_mean_output_or_the_mean_vote(classes, rule):
    X, y, new = blobs(classes)
    clf = machine(7, decision=rule).fit(X, y)
    outputs = single_outputs(clf, new)
    expected = outputs.mean(axis=1)
    if rule == "vote":
        expected = np.sign(outputs).mean(axis=1) + expected / 7
    scores = clf.decision_function(new).reshape(expected.shape)
    if classes > 2:
        log_yes, log_no = clf.posterior_.log_probability(expected, rule)
        expected = log_yes - log_no  # tasks have scales of their own; log-odds compare them
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-11)


def test_the_rules_disagree_somewhere():
    """Else the tests above could not tell them apart."""
    X, y, new = blobs(4, spread=3.0)
    by_mean, by_vote = (machine(3, decision=rule).fit(X, y) for rule in ("bayes_point", "vote"))
    assert 0 < (by_mean.predict(new) != by_vote.predict(new)).mean() < 0.2


@CLASSES
def test_many_points_are_predicted_as_few(classes, monkeypatch):
    X, y, new = blobs(classes)
    clf = machine().fit(X, y)
    scores = clf.decision_function(new)
    monkeypatch.setattr("bayespoint.predictions.CHUNK", 7)
    np.testing.assert_allclose(clf.decision_function(new), scores, atol=1e-13)
    np.testing.assert_allclose([clf.decision_function(x[None])[0] for x in new], scores, atol=1e-13)


# The linear machine ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
@CLASSES
def test_coef_and_intercept_are_the_bayes_point(classes, normalize, fit_intercept, dtype):
    X, y, new = (part.astype(dtype) for part in blobs(classes))
    clf = machine(kernel="linear", normalize=normalize, fit_intercept=fit_intercept).fit(X, y)
    n_tasks = 1 if classes == 2 else classes
    assert clf.coef_.shape == (n_tasks, 3)
    assert clf.intercept_.shape == (n_tasks,)
    assert np.any(clf.intercept_) == fit_intercept
    # The output is measured along phi(x) / |phi(x)|, phi(x) = (x, 1) or x.
    length = np.sqrt((new.astype(float) ** 2).sum(axis=1) + fit_intercept)
    expected = (new @ clf.coef_.T + clf.intercept_) / length[:, None]
    mean = clf.latent_mean_and_variance(new)[0].reshape(expected.shape)
    np.testing.assert_allclose(mean, expected, atol=1e-5 if dtype == np.float32 else 1e-12)


def test_attributes_of_an_earlier_fit_do_not_stay():
    X, y, _ = blobs()
    clf = machine(kernel="linear").fit(X, y)
    assert hasattr(clf, "coef_")
    clf.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(clf, "coef_")
    assert not hasattr(clf, "intercept_")


# The posterior's answers -----------------------------------------------------------------------


@CLASSES
def test_vote_shares_count_the_samples(classes):
    X, y, new = blobs(classes)
    clf = machine(7).fit(X, y)
    yes = np.array([[(f > 0).mean() for f in outputs.T] for outputs in single_outputs(clf, new)])
    expected = np.hstack([1 - yes, yes]) if classes == 2 else yes
    np.testing.assert_allclose(clf.vote_shares(new), expected, atol=1e-12)
    assert 0 < (expected % 1 > 0).mean() < 1  # some votes are split


@CLASSES
def test_latent_mean_and_variance(classes):
    X, y, new = blobs(classes)
    clf = machine(7).fit(X, y)
    mean, variance = clf.latent_mean_and_variance(new)
    outputs = single_outputs(clf, new)
    shape = clf.decision_function(new).shape
    np.testing.assert_allclose(mean, outputs.mean(axis=1).reshape(shape), atol=1e-12)
    np.testing.assert_allclose(variance, outputs.var(axis=1).reshape(shape), atol=1e-12)


def arbitrary(classes=2, n=40):
    """Labels without sense, in so many dimensions that any can be learned: votes are split."""
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(n, 20)),
        rng.permutation(np.arange(n) % classes),
        rng.normal(size=(9, 20)),
    )


@pytest.mark.parametrize("ridge", [0.0, "mean"])
@CLASSES
def test_sampled_probabilities(classes, ridge):
    X, y, new = arbitrary(classes)
    clf = machine(7, kernel="poly", ridge=ridge).fit(X, y)
    drawn = clf.sample_proba(new, n_samples=12, random_state=5)
    assert drawn.shape == (12, len(new), classes)
    np.testing.assert_allclose(drawn.sum(axis=2), 1, atol=1e-12)
    assert np.array_equal(drawn, clf.sample_proba(new, n_samples=12, random_state=5))
    assert not np.array_equal(drawn, clf.sample_proba(new, n_samples=12, random_state=6))
    certain = np.minimum(drawn, 1 - drawn) < 1e-12
    assert certain.all() == (ridge == 0)  # slack is noise; without it a classifier is certain


def test_mean_of_drawn_classifiers_is_the_vote():
    X, y, new = arbitrary()
    clf = machine(9, kernel="poly", ridge=0.0).fit(X, y)
    drawn = clf.sample_proba(new, n_samples=2000, random_state=0)
    share = clf.vote_shares(new)
    error = np.sqrt(share * (1 - share) / 2000)
    assert (np.abs(drawn.mean(axis=0) - share) <= 5 * error + 1e-12).all()
    assert ((share > 0.2) & (share < 0.8)).any()
    # The control: another machine's votes are further away.
    other = machine(9, kernel="poly", ridge=0.0, random_state=4).fit(X, y)
    assert (np.abs(drawn.mean(axis=0) - other.vote_shares(new)) > 5 * error + 1e-12).any()


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
    machine(3, verbose=verbose).fit(X, y).predict(new)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("bayespoint: 3.0 of 3 samples" in err) == bool(verbose)
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


# Randomness and invariances --------------------------------------------------------------------


def test_seeds():
    X, y, _ = blobs()

    def scores(random_state):
        return machine(random_state=random_state).fit(X, y).decision_function(X)

    assert np.array_equal(scores(1), scores(1))
    assert not np.array_equal(scores(1), scores(2))
    assert not np.array_equal(scores(None), scores(None))
    state, again = np.random.RandomState(1), np.random.RandomState(1)
    first, second = scores(state), scores(state)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, scores(again))
    assert np.array_equal(second, scores(again))


def random_problem(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = rng.permutation(np.arange(n) % 2)  # noise: many mistakes, and both classes
    return X, y, rng.normal(size=(10, d)), rng


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, rule=st.sampled_from(["bayes_point", "vote"]))
def test_flipping_labels_negates_decisions_exactly(seed, rule):
    X, y, new, _ = random_problem(seed)
    scores = machine(decision=rule).fit(X, y).decision_function(new)
    assert np.array_equal(machine(decision=rule).fit(X, 1 - y).decision_function(new), -scores)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_renaming_classes_permutes_columns_exactly(seed):
    X, _, new, rng = random_problem(seed)
    y, names = rng.permutation(np.arange(30) % 3), rng.permutation(3)
    scores = machine().fit(X, y).decision_function(new)
    assert np.array_equal(machine().fit(X, names[y]).decision_function(new)[:, names], scores)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, kernel=st.sampled_from(["linear", "poly", "rbf"]))
def test_rotations_change_nothing_but_rounding(seed, kernel):
    X, y, new, rng = random_problem(seed)
    rotation = special_ortho_group.rvs(3, random_state=rng)
    scores = machine(kernel=kernel).fit(X, y).decision_function(new)
    rotated = machine(kernel=kernel).fit(X @ rotation, y).decision_function(new @ rotation)
    np.testing.assert_allclose(rotated, scores, atol=1e-9)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, exponent=st.integers(-60, 60), ridge=st.sampled_from([0.0, "mean"]))
def test_units_change_nothing_to_the_bit(seed, exponent, ridge):
    """Scaling all features, by a power of two since others round."""
    X, _, new, rng = random_problem(seed)
    y = (X @ rng.normal(size=3) > 0).astype(int)

    def scores(scale):
        clf = machine(kernel="linear", fit_intercept=False, ridge=ridge)
        return (
            clf.set_params(engine__max_epochs=20).fit(scale * X, y).decision_function(scale * new)
        )

    if min(y.sum(), (1 - y).sum()) > 0:
        assert np.array_equal(scores(2.0**exponent), scores(1.0))


def test_the_order_of_samples_matters_only_through_permutations():
    """Another order gives other samples of the same distribution: means agree in 5 errors."""
    X, y, new = blobs(spread=4.0, n=40)
    new = new[:20]

    def mean_and_error(X, y):
        mean, variance = machine(300, ridge=0.1).fit(X, y).latent_mean_and_variance(new)
        return mean, variance / 300

    def distance(first, second):
        return np.abs(first[0] - second[0]) / np.sqrt(first[1] + second[1])

    order = np.random.default_rng(0).permutation(len(y))
    here, there = mean_and_error(X, y), mean_and_error(X[order], y[order])
    assert 0 < distance(here, there).max() < 5
    # The control: one label changed is another distribution.
    changed = np.where(np.arange(len(y)) == 0, 1 - y, y)
    assert distance(here, mean_and_error(X, changed)).max() > 5
