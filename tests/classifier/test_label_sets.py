"""Sets of labels: coverage, symmetry, classes, groups and what they rest on."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.classifier import label_sets as module
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.reject import label_sets
from bayespoint.tools.monitor import Monitor, watch

KERNEL = {"kernel": "rbf", "gamma": 0.5, "engine": ExpectationPropagation(prior_scale=2.0)}
LINEAR = {"kernel": "linear", "standardize": True}


def draw(rng, n, d=2):
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(n) > 0).astype(int)


def unscaled(rng, n, d=2):
    """Features whose scale is decided by single rows."""
    X, y = draw(rng, n, d)
    return X * np.exp(2 * np.abs(rng.standard_normal((n, d)))), y


def covered(parameters, draw_rows, n, coverage, n_draws, seed=0, **options):
    """Whether the set of one more row contains its label, for drawn data sets."""
    rng, hits = np.random.default_rng(seed), []
    while len(hits) < n_draws:
        X, y = draw_rows(rng, n + 1)
        if len(np.unique(y[:-1])) < 2:
            continue
        clf = BayesPointClassifier(**parameters).fit(X[:-1], y[:-1])
        hits.append(clf.predict_set(X[-1:], coverage, **options)[0, y[-1]])
    return np.mean(hits)


@pytest.mark.parametrize(
    ("parameters", "draw_rows"),
    [(LINEAR, draw), (LINEAR, unscaled), (KERNEL, draw)],
    ids=["linear", "scales", "kernel"],
)
def test_coverage_from_both_sides(parameters, draw_rows):
    n, coverage, n_draws = 19, 0.8, 150
    share = covered(parameters, draw_rows, n, coverage, n_draws)
    error = np.sqrt(coverage * (1 - coverage) / n_draws)
    # Without ties exactly 1 - 4/20 of the data sets: exchangeable rows have any rank alike.
    assert coverage - 3 * error < share < coverage + 3 * error


def test_coverage_in_many_drawn_data_sets():
    coverage, n_draws = 0.8, 700
    share = covered(LINEAR, draw, 9, coverage, n_draws, seed=1)
    error = np.sqrt(coverage * (1 - coverage) / n_draws)
    assert abs(share - coverage) < 3 * error


def test_scaling_must_see_the_new_row(monkeypatch):
    """Each row has a feature that no other has: rows are alike, if all are scaled alike."""
    rng, hits = np.random.default_rng(0), {True: [], False: []}
    for symmetric in hits:
        if not symmetric:
            monkeypatch.setattr(module, "scaling_is_symmetric", lambda model, training: False)
        for _ in range(10):
            y = rng.permutation(np.arange(10) % 2)
            clf = BayesPointClassifier(**LINEAR).fit(np.eye(10)[:-1], y[:-1])
            hits[symmetric].append(clf.predict_set(np.eye(10)[-1:], 0.9)[0, y[-1]])
    assert all(hits[True])  # ties of all ten rows count for the label
    assert not any(hits[False])  # the wrong variant rules it out always: 0 of at least 90 %


def test_ties_are_conservative():
    """Rows of which many are equal: their scores tie, and sets only become larger."""
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([0, 1], 10)
    clf = BayesPointClassifier(kernel="linear").fit(X, y)
    assert clf.predict_set([[0.0], [1.0]], 0.9).all()


def test_full_sets_are_those_of_fits_with_one_more_row():
    rng = np.random.default_rng(3)
    X, y = draw(rng, 40)
    new = rng.standard_normal((4, 2))
    sets = label_sets(BayesPointClassifier(**KERNEL).fit(X, y), new, coverage=0.8)
    assert (sets.method, sets.is_exact) == ("full", True)
    for row, found in zip(new, sets.p_values, strict=True):
        for label in (0, 1):
            clf = BayesPointClassifier(**KERNEL).fit(np.vstack([X, row]), np.append(y, label))
            p = np.exp(clf.posterior_.left_out_log_probability[:, 0])
            assert found[label] == np.mean(p <= p[-1] + 1e-5)
    np.testing.assert_array_equal(sets.contains, sets.p_values > 0.2 * (1 + 1e-9))
    assert [len(labels) for labels in sets.labels] == sets.sizes.tolist()


def test_several_classes_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(**KERNEL).fit(X[::3], y[::3])
    sets = label_sets(clf, X[[70, 106]], coverage=0.9)
    assert sets.method == "full"
    for row, found in zip(X[[70, 106]], sets.p_values, strict=True):
        for label in range(3):
            more = BayesPointClassifier(**KERNEL, temperature=1.0)
            more.fit(np.vstack([X[::3], row]), np.append(y[::3], label))
            codes = np.append(y[::3], label)
            told = more.coding_.left_out(more.posterior_.left_out_log_probability, codes)
            p = more.coding_.probabilities(*told)[np.arange(51), codes]
            assert abs(found[label] - np.mean(p <= p[-1] + 1e-5)) <= 1 / 51


def test_per_class_covers_the_rare_class():
    def rare(rng, n):
        y = np.append(rng.permutation(np.arange(n - 1) < 12), True).astype(int)
        return rng.standard_normal((n, 1)) + y[:, None], y

    n_draws, error = 100, np.sqrt(0.8 * 0.2 / 100)
    alike = covered(LINEAR, rare, 60, 0.8, n_draws)
    apart = covered(LINEAR, rare, 60, 0.8, n_draws, per_class=True)
    assert apart > 0.8 - 3 * error
    assert alike < 0.8 - 5 * error  # all rows together cover, rows of the rare class do not


def test_groups():
    rng = np.random.default_rng(0)
    group = np.arange(80) % 2
    X = rng.standard_normal((80, 1))
    y = (X[:, 0] > 0).astype(int)
    y[group == 1] = rng.integers(0, 2, 40)  # nothing can be learned of these
    clf = BayesPointClassifier(kernel="linear").fit(X, y)
    new = np.array([[0.9], [0.9]])
    sets = label_sets(clf, new, coverage=0.8, groups=(group, [0, 1]))
    assert sets.p_values[0, 0] < 0.5 * sets.p_values[1, 0]  # equal rows of two groups
    with pytest.raises(ValueError, match="at least 4 rows in group 7 to compare with"):
        label_sets(clf, new, coverage=0.8, groups=(group, [0, 7]))
    with pytest.raises(ValueError, match="X has 2 rows, and groups has 1"):
        label_sets(clf, new, coverage=0.8, groups=(group, [0]))
    with pytest.raises(ValueError, match="80 rows to compare with, and 3 groups"):
        label_sets(clf, new, coverage=0.8, groups=([1, 2, 3], [0, 1]))


def test_held_out_rows_for_any_engine():
    rng = np.random.default_rng(0)
    X, y = draw(rng, 400)
    clf = BayesPointClassifier(kernel="linear", engine="perceptron", ridge="mean", random_state=0)
    clf.fit(X[:100], y[:100])
    held_out = (X[100:200], y[100:200])
    sets = label_sets(clf, X[200:], coverage=0.8, calibration=held_out)
    assert (sets.method, sets.is_exact) == ("held_out", True)
    p = clf.predict_proba(X)
    own = p[np.arange(100, 200), y[100:200]]
    slow = [[(1 + np.sum(own <= one + 1e-5)) / 101 for one in row] for row in p[200:]]
    np.testing.assert_allclose(sets.p_values, slow)
    assert abs(sets.contains[np.arange(200), y[200:]].mean() - 0.8) < 5 * np.sqrt(0.16 / 100)
    with pytest.raises(ValueError, match="unknown labels: \\[7\\]"):
        clf.predict_set(X, calibration=(X[:20], np.full(20, 7)))


@pytest.mark.parametrize("engine", ["laplace", "perceptron", "ep"])
def test_leave_one_out_sets_where_rows_are_not_kept(engine):
    rng = np.random.default_rng(0)
    X, y = draw(rng, 500)
    clf = BayesPointClassifier(kernel="linear", engine=engine, random_state=0)
    clf.set_params(ridge="mean" if engine == "perceptron" else 0.0)
    clf = pickle.loads(pickle.dumps(clf.fit(X[:200], y[:200])))
    sets = label_sets(clf, X[200:], coverage=0.8)
    assert (sets.method, sets.is_exact) == ("left_out", False)
    assert abs(sets.contains[np.arange(300), y[200:]].mean() - 0.8) < 5 * np.sqrt(0.16 / 200)


def test_what_sets_rest_on():
    X, y = draw(np.random.default_rng(0), 30)
    about = {
        "the kernel": {"kernel": "rbf", "engine": ExpectationPropagation(prior_scale=1.0)},
        "the scaling": KERNEL | {"standardize": True},
        "the basis": KERNEL | {"n_components": 5},
    }
    for words, parameters in about.items():
        sets = label_sets(BayesPointClassifier(**parameters).fit(X, y), X[:1])
        assert (sets.method, sets.is_exact) == ("full", False)
        assert words in sets.basis
    learned = BayesPointClassifier(kernel="rbf", gamma=1.0).fit(X, y)  # its prior, from the labels
    sets = label_sets(learned, X[:1])
    assert (sets.method, sets.is_exact) == ("left_out", False)
    assert "leave-one-out" in sets.basis
    weighted = BayesPointClassifier(**KERNEL).fit(X, y, sample_weight=1.0 + y)
    assert label_sets(weighted, X[:1]).method == "left_out"


def by_adding(clf, new, coverage):
    """The wrong variant: kernels that the labels of the training rows have chosen."""
    training = module.training_rows(clf.model_)
    assert training.from_labels
    cells = module.Cells(training.codes, clf.classes_, coverage, per_class=False)
    p_values = module.full_p_values(module.adding(clf.model_, training), new, cells)
    return p_values > (1 - coverage) * (1 + 1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 300), (60, 60)])
def test_coverage_of_the_default_classifier_on_wide_tables(n, d):
    """Kernels were chosen by the labels: leave-one-out sets cover, full sets do not."""
    coverage, hits, wrong = 0.9, [], []
    for seed in range(30):
        X, y = draw(np.random.default_rng(seed), n + 200, d)
        clf = BayesPointClassifier(random_state=0).fit(X[:n], y[:n])
        sets = label_sets(clf, X[n:], coverage=coverage)
        assert (sets.method, sets.is_exact) == ("left_out", False)
        hits.append(sets.contains[np.arange(200), y[n:]].mean())
        if d == 300:
            few = slice(n, n + 3)
            wrong.append(by_adding(clf, X[few], coverage)[np.arange(3), y[few]].mean())
    assert np.mean(hits) > coverage - 3 * np.std(hits) / np.sqrt(30)
    assert np.mean(hits) < coverage + 0.05
    if wrong:
        assert np.mean(wrong) < coverage - 3 * np.std(wrong) / np.sqrt(30)


def test_full_sets_learn_everything_again():
    """Kernels, weights and temperature are chosen with the new row, with each label."""
    n, coverage, n_draws = 29, 0.9, 60
    rng, hits, wrong = np.random.default_rng(0), [], []
    while len(hits) < n_draws:
        X, y = draw(rng, n + 1, 300)
        if np.bincount(y[:-1], minlength=2).min() < 2:
            continue
        clf = BayesPointClassifier(random_state=0).fit(X[:-1], y[:-1])
        sets = label_sets(clf, X[-1:], coverage=coverage, method="full")
        assert (sets.method, sets.is_exact) == ("full", True)
        hits.append(sets.contains[0, y[-1]])
        wrong.append(by_adding(clf, X[-1:], coverage)[0, y[-1]])
    error = np.sqrt(coverage * (1 - coverage) / n_draws)
    assert abs(np.mean(hits) - coverage) < 3 * error
    assert np.mean(wrong) < coverage - 3 * error


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf", "ridge": 0.1, "engine": "laplace"}])
def test_full_sets_of_chosen_kernels_are_those_of_fits_to_all_rows(parameters):
    X, y = draw(np.random.default_rng(3), 25)
    X = X * [1.0, 30.0] + [0.0, 500.0]
    clf = BayesPointClassifier(**parameters).fit(X[:24], y[:24])
    sets = label_sets(clf, X[24:], coverage=0.8, method="full")
    assert (sets.method, sets.is_exact) == ("full", True)
    for label in (0, 1):
        labels = np.append(y[:24], label)
        p = BayesPointClassifier(**parameters).fit(X, labels).model_.fact("label_scores")[:, 0]
        assert sets.p_values[0, label] == np.mean(p <= p[-1] + 1e-5)


class Stop(Monitor):
    """Stops after so many rows, and remembers what it has seen."""

    def __init__(self, most):
        self.most, self.seen = most, []

    def begin(self, total, unit):
        self.seen += [total, unit]

    def update(self, done):
        self.seen.append(done)

    def should_stop(self):
        return self.seen[-1] >= self.most


def test_full_sets_have_progress_and_an_end():
    X, y = draw(np.random.default_rng(0), 30)
    clf = BayesPointClassifier(kernel="rbf", engine="laplace").fit(X[:20], y[:20])
    whole = label_sets(clf, X[20:24], coverage=0.8, method="full")
    rest = label_sets(clf, X[20:24], coverage=0.8, method="left_out")
    assert (whole.method, rest.method) == ("full", "left_out")
    with watch(Stop(2)) as monitor:
        stopped = label_sets(clf, X[20:24], coverage=0.8, method="full")
    assert monitor.seen == [4, "rows", 1, 2]
    assert (stopped.method, stopped.is_exact) == ("full and left_out", False)
    assert "the first 2 of 4 rows" in stopped.basis
    np.testing.assert_array_equal(stopped.p_values[:2], whole.p_values[:2])
    np.testing.assert_array_equal(stopped.p_values[2:], rest.p_values[2:])
    late = label_sets(clf, X[20:24], coverage=0.8, method="full", max_time=1e-9)
    np.testing.assert_array_equal(late.p_values[:1], whole.p_values[:1])
    np.testing.assert_array_equal(late.p_values[1:], rest.p_values[1:])
    np.testing.assert_array_equal(
        clf.predict_set(X[20:24], 0.8, method="full", max_time=1000.0), whole.contains
    )


def test_verbose_shows_progress(capsys):
    X, y = draw(np.random.default_rng(0), 30)
    clf = BayesPointClassifier(kernel="linear").fit(X, y)
    clf.predict_set(X[:3])
    assert not capsys.readouterr().err
    clf.set_params(verbose=1).predict_set(X[:3])
    label_sets(clf, X[:3])
    assert capsys.readouterr().err.count("3 rows") == 2


def test_sets_where_rounding_hides_the_prior():
    X, y = draw(np.random.default_rng(0), 40)
    engine = ExpectationPropagation(prior_scale=1e9)
    clf = BayesPointClassifier(kernel="linear", engine=engine).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.raises(np.linalg.LinAlgError, match="rounding hides the prior"):
        way = module.adding(clf.model_, module.training_rows(clf.model_))
        way.probabilities(X[:1])
    assert label_sets(clf, X[:1]).method == "left_out"
    assert label_sets(clf, X[:1], method="full").method == "full"  # by fits


def test_errors_say_what_to_do():
    X, y = draw(np.random.default_rng(0), 15)
    clf = BayesPointClassifier(kernel="linear").fit(X, y)
    for coverage in (0.0, 1.0, -1, 90, None, "all"):
        with pytest.raises(ValueError, match="coverage must be a float in the range"):
            clf.predict_set(X, coverage)
    with pytest.raises(ValueError, match="The 'method' parameter must be a str among"):
        clf.predict_set(X, method="split")
    for seconds in (0, -1.0, "1", True, np.nan):
        with pytest.raises(ValueError, match="The 'max_time' parameter must be a positive number"):
            clf.predict_set(X, max_time=seconds)
    with pytest.raises(ValueError, match="Leave one of them away"):
        clf.predict_set(X, method="full", calibration=(X, y))
    loaded = pickle.loads(pickle.dumps(clf))
    with pytest.raises(ValueError, match="neither pickled nor loaded"):
        loaded.predict_set(X, method="full")
    with pytest.raises(ValueError, match=r"needs at least 99 rows to compare with.*Got 15"):
        clf.predict_set(X, 0.99)
    with pytest.raises(ValueError, match="needs at least 9 rows of class"):
        clf.predict_set(X, per_class=True)
    clf.model_ = replace(clf.model_, training=None, facts={})
    with pytest.raises(ValueError, match="calibration="):
        clf.predict_set(X)


def test_first_visits_of_a_stream():
    rng = np.random.default_rng(0)
    X, y = draw(rng, 600)
    engine = FactorisedPropagation(max_iter=1)
    stream = BayesPointClassifier(kernel="linear", engine=engine)
    for part in (slice(100), slice(100, 300)):
        stream.partial_fit(csr_array(X[part]), y[part], classes=[0, 1])
    sets = label_sets(stream, csr_array(X[300:]), coverage=0.8)
    assert sets.method == "left_out"
    assert len(stream.model_.fact("label_scores")) == 200  # each row as its first visit saw it
    assert abs(sets.contains[np.arange(300), y[300:]].mean() - 0.8) < 5 * np.sqrt(0.16 / 200)
