"""One rule drives ``predict``, ``decision_function`` and ``predict_proba``, for every engine.

A model does so without its classifier.
"""

import pickle
import warnings
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)

ENGINES = [
    ExpectationPropagation(),
    FactorisedPropagation(label_noise=0.05),
    LaplaceApproximation(prior_scale=10.0),
    PermutedPerceptron(n_samples=5, max_epochs=20),
    GibbsSampler(label_noise="auto", n_samples=40, burn_in=20, thin=2),
    KnapsackPropagation(n_iter=3, bins=16, C=100.0, beta=np.inf),
    BilliardSampler(n_samples=20, burn_in=20),
]


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesPointClassifier(random_state=0, **parameters).fit(X, y)


def assert_one_rule(clf, X):
    labels, p, scores = clf.predict(X), clf.predict_proba(X), clf.decision_function(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    chosen = p[np.arange(len(X)), np.searchsorted(clf.classes_, labels)]
    assert (chosen == p.max(axis=1)).all()
    if scores.ndim == 1:
        assert np.array_equal(labels, clf.classes_[(scores > 0).astype(int)])
        order = np.argsort(scores)
        assert (np.diff(p[order, 1]) >= 0).all()
    else:
        assert np.array_equal(labels, clf.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.alias)
def test_the_label_is_the_most_probable_class(engine, n_classes, kernel):
    """A fit for either decision; predictions of both from each of them."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], np.minimum(y[::2], n_classes - 1)
    ridge = 1.0 if isinstance(engine, BilliardSampler) else 0.0
    first = ("bayes_point", "vote")[n_classes % 2]
    clf = fitted(X, y, engine=engine, kernel=kernel, decision=first, ridge=ridge)
    for decision in ("bayes_point", "vote"):
        assert_one_rule(clf.set_params(decision=decision), load_iris().data[1::2])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), decision=st.sampled_from(["bayes_point", "vote"]))
def test_classes_of_very_different_scales(seed, decision):
    """Tasks whose outputs differ by orders of magnitude, where the largest output misleads."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * 10 ** rng.uniform(-3, 3, 3)
    y = rng.integers(4, size=40)
    clf = fitted(X, y, engine=PermutedPerceptron(n_samples=3, max_epochs=5), decision=decision)
    assert_one_rule(clf, 10 ** rng.uniform(-2, 2) * X)


def test_the_largest_output_of_perceptrons_is_another_rule():
    """The negative control: on iris six of 75 points would contradict the probabilities."""
    X, y = load_iris(return_X_y=True)
    clf = fitted(X[::2], y[::2], engine="perceptron")
    mean, _ = clf.latent_mean_and_variance(X[1::2])
    assert (mean.argmax(axis=1) != clf.predict(X[1::2])).sum() > 3


def test_a_model_predicts_without_its_classifier():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="rbf", standardize=True).fit(X, y)
    model = pickle.loads(pickle.dumps(clf.model_))
    for name in ("predict", "predict_proba", "decision_function", "vote_shares", "class_shares"):
        assert np.array_equal(getattr(model, name)(X), getattr(clf, name)(X)), name
    with pytest.raises(FrozenInstanceError):
        model.coding = None


def arrays_of(value, place):
    """All arrays of an object, with their places."""
    if isinstance(value, np.ndarray):
        yield place, value
    elif isinstance(value, dict | list | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from arrays_of(part, f"{place}[{key}]")
    elif type(value).__module__.startswith("bayespoint"):
        yield from arrays_of(value.__getstate__(), f"{place}, {type(value).__name__}")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("multi_class", ["auto", "joint"])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.alias)
def test_a_copy_has_arrays_of_the_same_layout(engine, kernel, multi_class):
    """A pickle has no other than C and Fortran order, and sums of another order differ."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    if multi_class == "auto" or "class" not in engine.kinds:
        y, multi_class = np.minimum(y, 1), "auto"
    ridge = 1.0 if isinstance(engine, BilliardSampler) else 0.0
    settings = {"engine": engine, "kernel": kernel, "multi_class": multi_class, "ridge": ridge}
    clf = fitted(X, y, **settings)
    found = list(arrays_of(clf.model_, "model"))
    assert len(found) > 3
    assert not [place for place, one in found if not (one.flags.forc)]
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), clf.predict_proba(X))


def test_a_decision_that_is_set_after_the_fit():
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="linear").fit(X, y)
    votes = clone(clf).set_params(decision="vote", temperature=1.0).fit(X, y)
    clf.set_params(decision="vote", temperature=1.0)
    assert np.array_equal(clf.predict(X), votes.predict(X))
    assert clf.model_.decision == "bayes_point"


def test_facts_are_computed_when_they_are_read():
    model, calls = BayesPointClassifier(kernel="rbf").fit(*load_iris(return_X_y=True)).model_, []
    late = replace(model, facts={"oob_score": lambda: calls.append(1) or 0.5})
    assert not calls and late.fact("expected_scores") is None
    assert [late.fact("oob_score"), late.fact("oob_score")] == [0.5, 0.5] and calls == [1]
    assert pickle.loads(pickle.dumps(late)).facts == {"oob_score": 0.5}
