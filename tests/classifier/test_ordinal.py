"""Ordered classes in the classifier, and in everything that is done with it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier
from bayespoint.active import bald, entropy, learn_actively, query
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.reject import SelectiveClassifier
from bayespoint.reports import measure, write_evaluation
from bayespoint.rows import from_arrays
from bayespoint.storage import load, save

NAMES = np.array(["low", "middle", "high", "top"])
ENGINES = pytest.mark.parametrize("engine", ["ep", "laplace"])


def stars(n=120, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    f = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * rng.standard_normal(n)
    return X, np.argsort(np.argsort(f)) * n_classes // n


def ordinal(**params):
    return BayesPointClassifier(**{"kernel": "rbf", "multi_class": "ordinal"} | params)


@ENGINES
def test_predictions_belong_together(engine):
    X, y = stars()
    clf = ordinal(engine=engine).fit(X, y)
    p, scores = clf.predict_proba(X), clf.decision_function(X)
    assert scores.shape == p.shape == (120, 4)
    assert (scores.argmax(axis=1) == p.argmax(axis=1)).all()
    assert (clf.predict(X) == p.argmax(axis=1)).all()
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), p, atol=1e-12)
    assert (clf.predict(X) == y).mean() > 0.6
    mean, variance = clf.latent_mean_and_variance(X)
    assert mean.shape == variance.shape == (120,)
    assert clf.log_evidence_.shape == (1,)
    assert 0 < clf.left_out_error_ < 0.7
    for shares in (clf.class_shares(X), clf.vote_shares(X)):
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    drawn = clf.sample_proba(X[:5], 4000, random_state=0).mean(axis=0)
    plain = clf.set_params(temperature=1.0).fit(X, y).predict_proba(X[:5])
    np.testing.assert_allclose(drawn, plain, atol=0.04)


def test_ordered_classes_are_closer_than_others():
    """On ordered classes with few points the order is worth something, by log-loss and distance."""
    X, y = stars(400, 6)
    new = slice(100, None)
    losses = {}
    for kind in ("ordinal", "one_vs_rest"):
        clf = ordinal(multi_class=kind).fit(X[:100], y[:100])
        p = clf.predict_proba(X[new])
        away = np.abs(clf.predict(X[new]) - y[new]).mean()
        losses[kind] = -np.log(p[np.arange(300), y[new]]).mean(), away
    assert losses["ordinal"][0] < losses["one_vs_rest"][0]
    assert losses["ordinal"][1] < losses["one_vs_rest"][1]


def test_text_needs_an_order_and_a_list_gives_it():
    X, y = stars()
    numbers = ordinal().fit(X, y)
    with pytest.raises(ValueError, match="text has none"):
        ordinal().fit(X, NAMES[y])
    text = ordinal(multi_class=NAMES.tolist()).fit(X, NAMES[y])
    assert text.classes_.tolist() == sorted(NAMES)
    places = np.searchsorted(text.classes_, NAMES)
    np.testing.assert_allclose(text.predict_proba(X)[:, places], numbers.predict_proba(X))
    assert (text.predict(X) == NAMES[numbers.predict(X)]).all()
    assert (text.set_params(decision="median").fit(X, NAMES[y]).predict(X) == NAMES[y]).mean() > 0.6
    two = ordinal().fit(X, NAMES[np.minimum(y, 1)])  # two classes need no order
    assert two.coding_.name == "binary"


def test_ordered_categories_bring_their_order():
    pandas = pytest.importorskip("pandas")
    X, y = stars()
    labels = pandas.Series(pandas.Categorical(NAMES[y], categories=NAMES, ordered=True))
    clf = ordinal().fit(X, labels)
    assert clf.coding_.setting == NAMES.tolist()
    assert (
        clone(clf).set_params(multi_class=NAMES.tolist()).fit(X, NAMES[y]).predict(X)
        == clf.predict(X)
    ).all()


def test_the_median_is_nearer():
    X, y = stars(300, 8)
    likely = ordinal().fit(X[:150], y[:150])
    median = ordinal(decision="median").fit(X[:150], y[:150])
    np.testing.assert_allclose(likely.predict_proba(X), median.predict_proba(X))
    p = likely.predict_proba(X[150:])
    expected = [
        (p * np.abs(np.arange(8) - one.predict(X[150:])[:, None])).sum(axis=1).mean()
        for one in (likely, median)
    ]
    assert expected[1] < expected[0]
    with pytest.raises(ValueError, match=r"'decision'.*where multi_class is not 'ordinal'"):
        BayesPointClassifier(decision="median").fit(X, y)


@pytest.mark.parametrize("multi_class", [["a", "a", "b"], ["a"], "ordered"], ids=str)
def test_an_order_must_be_one(multi_class):
    with pytest.raises(ValueError, match="'multi_class' parameter"):
        ordinal(multi_class=multi_class).fit(*stars())


@pytest.fixture(scope="module")
def chosen():
    X, y = stars(100)
    return ordinal(kernel="auto", random_state=0).fit(X, y)


def test_kernels_are_chosen_and_mixed(chosen):
    X, y = stars(100)
    p = chosen.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert chosen.chosen_params_["multi_class"] == [0, 1, 2, 3]
    assert chosen.expected_scores_["log_loss"].value < np.log(4)
    again = BayesPointClassifier(**chosen.chosen_params_).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), p, atol=1e-6)
    drawn = chosen.sample_proba(X[:5], 4000, random_state=0).mean(axis=0)
    posterior, mixed = chosen.posterior_, np.zeros((5, 4))
    parts = np.split(chosen.model_.transform(X[:5]), np.cumsum(posterior.sizes)[:-1], axis=1)
    for weight, member, Z in zip(posterior.weights, posterior.members, parts, strict=True):
        answers = member.log_probability(member.decision(Z, "bayes_point"), "bayes_point")
        mixed += weight * chosen.coding_.probabilities(*answers, temperature=1.0)
    np.testing.assert_allclose(drawn, mixed, atol=0.04)


def test_a_stored_model_predicts_the_same(chosen, tmp_path):
    X, y = stars()
    for clf in (
        ordinal(multi_class=NAMES.tolist(), decision="median").fit(X, NAMES[y]),
        ordinal(engine="laplace").fit(X, y),
        chosen,
    ):
        save(clf, tmp_path / "model.bpm")
        loaded = load(tmp_path / "model.bpm")
        np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
        assert (loaded.predict(X) == clf.predict(X)).all()


@pytest.mark.parametrize("decision", ["bayes_point", "vote", "median"])
@ENGINES
def test_onnx_predicts_the_same(engine, decision):
    runtime = pytest.importorskip("onnxruntime")
    from bayespoint.storage.onnx import to_onnx

    X, y = stars()
    order = ["top", "low", "high", "middle"]
    clf = ordinal(engine=engine, decision=decision, multi_class=order).fit(X, np.array(order)[y])
    check_onnx(runtime, to_onnx(clf, dtype="float64"), clf, np.vstack([X, 30 * X]))


def test_onnx_predicts_the_same_for_a_mixture(chosen):
    runtime = pytest.importorskip("onnxruntime")
    from bayespoint.storage.onnx import to_onnx

    check_onnx(runtime, to_onnx(chosen, dtype="float64"), chosen, stars()[0])


def check_onnx(runtime, model, clf, X):
    label, p = runtime.InferenceSession(model.SerializeToString()).run(None, {"X": X})
    np.testing.assert_allclose(p, clf.predict_proba(X), atol=1e-9)
    assert (label == clf.predict(X)).mean() > 0.99  # but for ties


def test_rejection_keeps_the_certain_ones():
    X, y = stars(300)
    clf = SelectiveClassifier(ordinal(), rate=0.3, cv=3).fit(X[:150], y[:150])
    measured = measure(clf, X[150:], y[150:])
    assert measured.selective.accuracy > measured.metrics["accuracy"].value


def test_active_learning(chosen):
    X, y = stars()
    clf = ordinal().fit(X, y)
    for one in (clf, chosen):
        scores = bald(one, X, random_state=0)
        assert (scores >= 0).all() and scores.max() > 0.01
        assert entropy(one, X).max() <= np.log(4) + 1e-9
        for strategy in ("bald", "margin", "entropy"):
            picked = query(one, X, 3, strategy=strategy, random_state=0)
            assert len(set(picked.tolist())) == 3
    drawn = disagreement_of(clf.sample_proba(X[:20], 20_000, random_state=0))
    np.testing.assert_allclose(bald(clf, X[:20]), drawn, atol=0.01)


def disagreement_of(p):
    def h(p):
        return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)

    return h(p.mean(axis=0)) - h(p).mean(axis=0)


def test_an_active_loop_learns():
    X, y = stars(200)
    test = {"X_test": X[120:], "y_test": y[120:], "random_state": 0}
    curve = learn_actively(
        ordinal(kernel="linear"),
        X[:120],
        lambda i: y[i],
        n_queries=6,
        start=8,
        batch_size=3,
        **test,
    )
    assert len(curve.indices) == 14


def test_a_report_has_distances(tmp_path):
    X, y = stars(300)
    text = ordinal(multi_class=NAMES.tolist(), kernel="linear").fit(X[:150], NAMES[y[:150]])
    measured = measure(text, X[150:], NAMES[y[150:]])
    ranks = {name: rank for rank, name in enumerate(NAMES)}
    away = [
        abs(ranks[one] - ranks[other])
        for one, other in zip(text.predict(X[150:]), NAMES[y[150:]], strict=True)
    ]
    assert measured.metrics["mean_absolute_error"].value == pytest.approx(np.mean(away))
    assert measured.baseline["mean_absolute_error"] > measured.metrics["mean_absolute_error"].value
    page = write_evaluation(measured, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Confusion by distance" in page and "Mean absolute error" in page
    other = measure(BayesPointClassifier(kernel="linear").fit(X, y), X, y)
    assert "mean_absolute_error" not in other.metrics


def test_rows_come_all_at_once():
    X, y = stars()
    clf = ordinal(kernel="linear")
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(ValueError, match="multi_class='ordinal'"):
        clf.fit(from_arrays(X, y))


TEXT = "the check has classes that are text, which have no order"
CLOUDS = "the check has clouds at the corners of a triangle, and a linear output no three sides"
CHECKED = {
    "linear": BayesPointClassifier(
        kernel="linear",
        multi_class="ordinal",
        temperature=1.0,
        engine=ExpectationPropagation(prior_scale=1.0, tol=1e-10),
    ),
    "rbf": BayesPointClassifier(
        kernel="rbf",
        gamma=0.05,
        multi_class="ordinal",
        temperature=1.0,
        engine=LaplaceApproximation(prior_scale=5.0, tol=1e-10),
    ),
}


def excused(estimator):
    clouds = {"check_classifiers_train": CLOUDS} if estimator.kernel == "linear" else {}
    return {"check_classifiers_classes": TEXT} | clouds


@parametrize_with_checks(list(CHECKED.values()), expected_failed_checks=excused)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_class_weights_that_leave_no_bend_of_a_threshold():
    rng = np.random.default_rng(52)
    n = int(rng.integers(6, 40))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    weights = {k: float(10 ** rng.uniform(-3, 12)) for k in range(3)}
    clf = BayesPointClassifier(
        kernel="linear", engine="laplace", multi_class="ordinal", class_weight=weights
    ).fit(X, np.arange(n) % 3)
    assert np.isfinite(clf.predict_proba(X)).all()
