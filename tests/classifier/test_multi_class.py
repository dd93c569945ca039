"""Several classes together, from the classifier's side."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy, query
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.exceptions import ManyClassesWarning, NotEnoughMemoryError
from bayespoint.reject import SelectiveClassifier
from bayespoint.tools.monitor import Monitor, watch

X, Y = load_iris(return_X_y=True)
X = scale(X)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
EVERY = slice(None, None, 3)


def joint(engine="ep", kernel="rbf", **params):
    """A classifier of all classes together."""
    params.setdefault("engine__prior_scale", 2.0)
    clf = BayesPointClassifier(kernel=kernel, engine=engine, multi_class="joint")
    return clf.set_params(**params)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_everything_that_follows_works(engine, kernel, tmp_path):
    clf = joint(engine, kernel).fit(X[EVERY], NAMES[EVERY])
    p = clf.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(np.ones(150))
    assert (clf.predict(X) == clf.classes_[p.argmax(axis=1)]).all()
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), p, atol=1e-12)
    order = np.argsort(clf.decision_function(X), axis=1)
    np.testing.assert_array_equal(order[:, -1], p.argmax(axis=1))
    assert clf.score(X, NAMES) > 0.9
    assert clf.log_evidence_.shape == (1,)
    assert clf.run_.converged
    assert 0 < clf.left_out_error_ < 0.2
    assert clf.latent_mean_and_variance(X)[1].shape == (150, 3)
    assert clf.class_shares(X).sum(axis=1) == pytest.approx(np.ones(150))
    assert clf.draw_outputs(X, 7, random_state=0).shape == (150, 7, 3)
    single = clf.sample_proba(X, 400, random_state=0)
    assert single.sum(axis=2) == pytest.approx(np.ones((400, 150)))
    plain = clone(clf).set_params(temperature=1.0).fit(X[EVERY], NAMES[EVERY]).predict_proba(X)
    assert np.abs(single.mean(axis=0) - plain).max() < 5 * 0.5 / np.sqrt(400)
    assert entropy(clf, X).max() <= np.log(3) + 1e-9
    assert (bald(clf, X, random_state=0) >= 0).all()
    assert len(query(clf, X, 4, random_state=0)) == 4
    rejecting = SelectiveClassifier(joint(engine, kernel), rate=0.1).fit(X, NAMES)
    assert (rejecting.predict(X) == "rejected").mean() < 0.2 or rejecting.threshold_ > 0
    if kernel == "linear":
        assert clf.coef_.shape == (3, 4)
        np.testing.assert_allclose(
            X @ clf.coef_.T + clf.intercept_, clf.latent_mean_and_variance(X)[0], atol=1e-9
        )
    bayespoint.save(clf, tmp_path / "model.bpm")
    loaded = bayespoint.load(tmp_path / "model.bpm")
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    votes = clone(clf).set_params(decision="vote").fit(X[EVERY], NAMES[EVERY])
    np.testing.assert_allclose(votes.predict_proba(X), votes.class_shares(X), atol=1e-9)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_two_classes_are_as_ever(engine):
    two = Y < 2
    one, other = (
        BayesPointClassifier(kernel="rbf", engine=engine, multi_class=how).fit(X[two], Y[two])
        for how in ("joint", "one_vs_rest")
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_the_order_of_classes_does_not_matter(engine):
    renamed = np.array(["c", "a", "b"])[Y]
    one, other = joint(engine).fit(X, Y), joint(engine).fit(X, renamed)
    np.testing.assert_allclose(
        one.predict_proba(X), other.predict_proba(X)[:, [2, 0, 1]], atol=1e-10
    )
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-8)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), engine=st.sampled_from(["ep", "laplace"]))
def test_order_copies_and_rotations(seed, engine):
    rng = np.random.default_rng(seed)
    some = rng.choice(150, 30, replace=False)
    some = np.append(some, [0, 60, 120])  # all classes
    points, labels = X[some], Y[some]
    clf = joint(engine, "linear", temperature=1.0, fit_intercept=False).fit(points, labels)
    p = clf.predict_proba(X)
    order = rng.permutation(33)
    mixed = clone(clf).fit(points[order], labels[order]).predict_proba(X)
    np.testing.assert_allclose(mixed, p, atol=1e-6)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    turned = clone(clf).fit(points @ Q, labels).predict_proba(X @ Q)
    np.testing.assert_allclose(turned, p, atol=1e-6)
    weight = rng.integers(1, 4, size=33)
    copies = np.repeat(np.arange(33), weight)
    weighted = clone(clf).fit(points, labels, weight.astype(float)).predict_proba(X)
    copied = clone(clf).fit(points[copies], labels[copies]).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-6)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_kernels_and_features_are_two_ways_to_the_same(engine):
    params = {"temperature": 1.0, "fit_intercept": False}
    linear = joint(engine, "linear", **params).fit(X[EVERY], Y[EVERY])
    K = X[EVERY] @ X[EVERY].T
    matrix = joint(engine, "precomputed", **params).fit(K, Y[EVERY])
    np.testing.assert_allclose(
        matrix.predict_proba(X @ X[EVERY].T), linear.predict_proba(X), atol=1e-6
    )
    assert matrix.log_evidence_ == pytest.approx(linear.log_evidence_, abs=1e-6)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_more_features_than_points(engine):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(12, 40))
    labels = np.arange(12) % 3
    params = {"temperature": 1.0, "fit_intercept": False}
    linear = joint(engine, "linear", **params).fit(wide, labels)
    matrix = joint(engine, "precomputed", **params).fit(wide @ wide.T, labels)
    np.testing.assert_allclose(
        linear.predict_proba(wide), matrix.predict_proba(wide @ wide.T), atol=1e-6
    )
    new = rng.normal(size=(1, 40))  # mostly outside the span: the prior remains there
    assert linear.latent_mean_and_variance(new)[1].min() > 0.5 * 2.0**2 * (new**2).sum()


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_batches(engine):
    order = np.random.default_rng(0).permutation(150)
    whole = joint(engine, "linear", temperature=1.0).fit(X, Y)
    once = joint(engine, "linear", temperature=1.0).partial_fit(X, Y, classes=[0, 1, 2])
    np.testing.assert_allclose(once.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    parts = joint(engine, "linear", temperature=1.0)
    for batch in np.array_split(order, 3):
        parts.partial_fit(X[batch], Y[batch], classes=[0, 1, 2])
    assert np.abs(parts.predict_proba(X) - whole.predict_proba(X)).max() < 0.1
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=0.1)
    missing = Y < 2
    parts.partial_fit(X[missing], Y[missing])  # no point of the third class
    assert parts.predict_proba(X).shape == (150, 3)
    other = clone(parts).set_params(multi_class="one_vs_rest").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="fit anew, or keep multi_class"):
        other.set_params(multi_class="joint").partial_fit(X, Y)


def test_a_class_with_one_point_and_points_of_weight_0():
    weight = np.ones(150)
    weight[Y == 2] = 0
    weight[149] = 1
    clf = joint().fit(X, Y, weight)
    assert clf.predict_proba(X)[:, 2].max() < 0.9
    weight[149] = 0
    assert joint().fit(X, Y, weight).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_point_without_features(kernel):
    points = X.copy()
    points[7] = 0.0
    clf = joint("ep", kernel, fit_intercept=False).fit(points, Y)
    assert clf.run_.converged
    assert np.isfinite(clf.predict_proba(points)).all()


@pytest.mark.parametrize("weight", [0.01, 0.5])
def test_points_of_little_weight(weight):
    clf = joint().fit(X, Y, np.full(150, weight))
    assert clf.run_.converged
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("perceptron", "PermutedPerceptron learns one class after another"),
        ("gibbs", "GibbsSampler learns one class after another"),
        (ExpectationPropagation(label_noise=0.1), "label_noise=0.1 mixes"),
        (ExpectationPropagation(noise=0.0), "noise=0 leaves"),
        (ExpectationPropagation(noise=1e-200), "the square of noise=1e-200 vanishes"),
        (ExpectationPropagation(noise=1e300), r"the square of noise=1e\+300 overflows"),
    ],
)
def test_what_cannot_be_joined_says_so(engine, words):
    clf = BayesPointClassifier(kernel="rbf", engine=engine, multi_class="joint")
    with pytest.raises(ValueError, match=words) as caught:
        clf.fit(X, Y)
    assert "multi_class='one_vs_rest'" in str(caught.value)


@pytest.mark.parametrize("engine", ["ep", "laplace"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_prior_too_wide(engine, kernel):
    """One against the rest bears it, and is what "auto" takes."""
    wide = {"engine__prior_scale": 1e9}
    clf = joint(engine, kernel, **wide)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf.fit(X, Y)
    except ValueError as error:
        assert "Set a smaller prior_scale" in str(error)
    else:
        assert np.isfinite(clf.predict_proba(X)).all()
    clf = BayesPointClassifier(kernel="linear", engine=engine).set_params(**wide)
    assert clf.fit(X, Y).coding_.name != "joint"


@pytest.mark.parametrize(("n_classes", "name"), [(30, "joint"), (31, "one_vs_rest")])
def test_many_classes_are_learned_one_against_the_rest(n_classes, name):
    """Joint predictions of many classes take tens of milliseconds a row."""
    X = np.random.default_rng(0).normal(size=(2 * n_classes, 1))
    clf = BayesPointClassifier(kernel="linear", engine="laplace")
    assert clf.fit(X, np.arange(len(X)) % n_classes).model_.coding.name == name


def test_a_name_that_is_none():
    with pytest.raises(ValueError, match="multi_class"):
        BayesPointClassifier(multi_class="ovr").fit(X, Y)


def test_too_many_classes_for_the_memory(monkeypatch):
    monkeypatch.setattr("bayespoint.tools.memory.available_memory", lambda: 2e9)
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(2000, 2)), np.arange(2000) % 100
    clf = joint(n_components=None)
    with pytest.raises(NotEnoughMemoryError, match="multi_class='one_vs_rest', or a smaller"):
        clf.fit(points, labels)


def test_sums_of_several_classes_hold_more_than_pairs():
    """A prior scale by the evidence of all classes, and its temperature."""
    wine, labels = load_wine(return_X_y=True)
    wine = scale(wine)
    for engine in (ExpectationPropagation(), LaplaceApproximation()):
        clf = BayesPointClassifier(kernel="rbf", engine=engine, multi_class="joint")
        clf.fit(wine[::2], labels[::2])
        assert clf.run_.measures["prior_scale"][0] != 1
        assert clf.score(wine[1::2], labels[1::2]) > 0.95
        assert clf.expected_scores_["log_loss"].value < 0.3


def test_sparse_rows_stay_sparse_or_say_why():
    sparse = csr_array(np.abs(X))
    clf = BayesPointClassifier(kernel="linear", multi_class="one_vs_rest")
    assert clf.fit(sparse, Y).score(sparse, Y) > 0.6
    with pytest.raises(ValueError, match="FactorisedPropagation learns one class after another"):
        clf.set_params(multi_class="joint").fit(sparse, Y)


class Begun(Exception):
    """Raised where the fit would begin."""


class FirstWords(Monitor):
    """Keeps the first message, and ends the fit there."""

    def tell(self, message):
        raise Begun(message)


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "words"),
    [(500, 1000, "63 minutes"), (100, 500, "1 minute"), (300, 20_000, "8 hours")],
)
def test_many_classes_together_are_announced_before_the_fit(n_classes, n_rows, words):
    y = np.arange(n_rows) % n_classes
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    clf = BayesPointClassifier(kernel="linear", multi_class="joint")
    with (
        pytest.warns(ManyClassesWarning, match=f"{n_classes} classes together.*about {words}"),
        pytest.raises(Begun, match=f"{n_classes} classes together take about {words}"),
        watch(FirstWords()),
    ):
        clf.fit(X, y)


@pytest.mark.parametrize("multi_class", ["joint", "auto", "one_vs_rest", "ordinal"])
def test_few_classes_or_separate_ones_are_not_announced(multi_class):
    """Neither a few together, nor many one after another (or in an order)."""
    n_classes = 5 if multi_class == "joint" else 120
    y = np.arange(720) % n_classes
    X = (y + np.random.default_rng(0).normal(size=720))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ManyClassesWarning)
        BayesPointClassifier(kernel="linear", engine="laplace", multi_class=multi_class).fit(X, y)
