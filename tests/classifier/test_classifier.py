"""The estimator: any labels, one rule behind all answers, the posterior's answers."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers.clouds import RULES, blobs, machine

from bayespoint import BayesPointClassifier
from bayespoint.classifier.attributes import ATTRIBUTES, WHEN

CLASSES = pytest.mark.parametrize("classes", [2, 4])


def single_outputs(clf, X):
    """f_n(x) of every sample, shape (n, n_samples, n_tasks), one inner product at a time."""
    Z = np.asarray(clf.model_.space.transform(X))
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
    assert narrow.model_.space.points.rows.dtype == np.float32
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
def test_decisions_are_log_odds_of_the_mean_output_or_the_mean_vote(classes, rule):
    X, y, new = blobs(classes)
    clf = machine(7, decision=rule).fit(X, y)
    outputs = single_outputs(clf, new)
    mean = outputs.mean(axis=1)
    expected = clf.posterior_.log_odds(mean)
    if rule == "vote":
        expected = np.sign(outputs).mean(axis=1) + mean / 7
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
    monkeypatch.setattr("bayespoint.classifier.model.CHUNK", 7)
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


def test_attributes_that_a_fit_does_not_have_say_when_they_are_there():
    X, y, _ = blobs()
    clf = BayesPointClassifier(engine="perceptron", ridge="mean", kernel="rbf", random_state=0)
    with pytest.raises(AttributeError, match=r"no attribute 'coef_'$"):
        getattr(clf, "coef_")  # noqa: B009
    clf.fit(X, y)
    assert 0 <= clf.oob_score_ <= 1
    for name in ("coef_", "intercept_", "log_evidence_", "chosen_params_"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{WHEN[name][-9:]}"):
            getattr(clf, name)
    assert set(WHEN) < set(ATTRIBUTES)
    with pytest.raises(AttributeError, match=r"no attribute 'beta_'$"):
        getattr(clf, "beta_")  # noqa: B009


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
