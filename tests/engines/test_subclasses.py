"""Subclasses of an engine, with an alias of their own or without, work as their parent."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.cli.commands.train import note_rare_classes
from bayespoint.cli.output.printing import Notes
from bayespoint.engines import (
    ExpectationPropagation,
    FactorisedPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.engines.base import ENGINES
from bayespoint.engines.gaussian.evidence_gradient import has_gradient, has_process_evidence
from bayespoint.exceptions import ModelFileError
from bayespoint.selection import EvidenceSearch

X, Y = load_iris(return_X_y=True)
X, Y = X[1::4], Y[1::4].copy()
Y[::8] = (Y[::8] + 1) % 3  # classes overlap, so that all searches end
BEFORE = dict(ENGINES)


class Nameless(ExpectationPropagation):
    """Without an alias."""


class Renamed(ExpectationPropagation):
    """With an alias."""

    alias = "renamed-ep"


class Mode(LaplaceApproximation):
    """With an alias."""

    alias = "renamed-laplace"


class Factors(FactorisedPropagation):
    """With an alias."""

    alias = "renamed-factors"


ENGINES.clear()  # other tests count the engines
ENGINES.update(BEFORE)
PAIRS = [
    (Nameless, ExpectationPropagation),
    (Renamed, ExpectationPropagation),
    (Mode, LaplaceApproximation),
]
BOTH = pytest.mark.parametrize(("engine", "parent"), PAIRS, ids=lambda kind: kind.__name__)


def same(one, other):
    """Whether two classifiers predict the same."""
    return np.array_equal(one.predict_proba(X), other.predict_proba(X))


@BOTH
@pytest.mark.parametrize("multi_class", ["joint", "one_vs_rest", "ordinal"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit(engine, parent, kernel, multi_class):
    """With the scale that maximises the evidence, which needs its gradient."""
    settings = {"kernel": kernel, "multi_class": multi_class}
    ours = BayesPointClassifier(engine=engine(), **settings).fit(X, Y)
    theirs = BayesPointClassifier(engine=parent(), **settings).fit(X, Y)
    assert same(ours, theirs)
    assert ours.log_evidence_ == pytest.approx(theirs.log_evidence_, rel=1e-12)
    if kernel == "rbf":  # the search goes on from 1
        assert (ours.run_.measures["prior_scale"] != 1).all()


@pytest.mark.parametrize("engine", [Nameless, Renamed])
def test_the_automatic_choice(engine):
    """An engine with another alias got a linear kernel of unscaled features, without a warning."""
    ours = BayesPointClassifier(engine=engine()).fit(X, Y)
    theirs = BayesPointClassifier(engine=ExpectationPropagation()).fit(X, Y)
    assert ours.chosen_params_["standardize"] is True and "mixture" in ours.chosen_params_
    assert ours.run_.choice == theirs.run_.choice
    assert same(ours, theirs)


@BOTH
def test_a_search_by_the_evidence(engine, parent):
    bounds = {"gamma": (0.01, 10.0), "engine__prior_scale": (0.1, 100.0)}
    found = [
        EvidenceSearch(
            BayesPointClassifier(kernel="rbf", engine=one(prior_scale=1.0)), param_bounds=bounds
        ).fit(X, Y)
        for one in (engine, parent)
    ]
    assert found[0].best_params_ == found[1].best_params_
    # Derivatives are known, not taken from differences: those of equal evidences are equal.
    assert found[0].best_score_ == found[1].best_score_


@BOTH
def test_what_a_subclass_can_do(engine, parent):
    assert has_gradient(engine()) and has_gradient(engine(), "prior_scale")
    assert has_gradient(engine(), "noise") == has_gradient(parent(), "noise")
    if parent is ExpectationPropagation:
        for kind in engine.kinds:
            found = has_process_evidence(engine(), kind)
            assert found == has_process_evidence(parent(), kind) == (kind == "sign")
    assert not has_gradient(Factors())


@BOTH
def test_files(engine, parent, tmp_path):
    """Model files contain no code: what a subclass has learned is saved with its parent's name."""
    clf = BayesPointClassifier(kernel="rbf", engine=engine()).fit(X, Y)
    assert same(pickle.loads(pickle.dumps(clf)), clf)
    with pytest.raises(
        ModelFileError, match=r"model\.engine is .*, which cannot be saved.* joblib"
    ):
        bayespoint.save(clf, tmp_path / "model")
    clf.set_params(engine=parent(**clf.engine.get_params()))
    bayespoint.save(clf, tmp_path / "model")
    assert same(bayespoint.load(tmp_path / "model"), clf)


class Fragile(PermutedPerceptron):
    """Does not take class weights, as its parent."""


@pytest.mark.parametrize(("engine", "warned"), [(Fragile, False), (Renamed, True)])
def test_the_hint_at_class_weights(engine, warned):
    found = {"rows": 100, "classes": {"a": 95, "b": 5}, "training_recall": {"a": 1.0, "b": 0.0}}
    notes = Notes()
    note_rare_classes(found, BayesPointClassifier(engine=engine()), notes)
    assert bool(list(notes)) == warned
