"""Candidates of more rows than a small basis has: kernels by class, which are trained again."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import pose
from bayespoint.classifier.kernel_choice import candidates as of_candidates
from bayespoint.classifier.kernel_choice import choice
from bayespoint.classifier.kernel_choice.blending import Blend
from bayespoint.classifier.kernel_choice.candidates import candidates, relevance
from bayespoint.classifier.kernel_choice.choice import study_of
from bayespoint.classifier.kernel_choice.study import propose
from bayespoint.classifier.parameters import Parameters


def learned_by_class(n_classes, multi_class="one_vs_rest"):
    rng = np.random.default_rng(0)
    y = np.arange(700) % n_classes
    X = rng.normal(size=(700, n_classes)) + 2 * np.eye(n_classes)[y]
    classifier = BayesPointClassifier(multi_class=multi_class)
    parameters = Parameters.of(classifier)
    problem = pose(classifier, parameters, X, y)
    found = candidates(
        problem.points,
        problem.block,
        None,
        learns=True,
        constant=True,
        n_tasks=problem.coding.n_tasks,
        joint=multi_class == "joint",
    )
    (fixed,) = [one for one in found if one.name == "rbf by relevance, fixed width"]
    ((kernel, _),) = propose(study_of(parameters, problem, None), fixed).kernels
    return problem, kernel


def test_each_of_few_classes_has_a_kernel_of_what_tells_it_from_the_others():
    problem, kernel = learned_by_class(3)
    assert list(kernel.weights) == [10.0] * 3 + [1.0]
    assert kernel.by_class
    for k in range(3):
        gamma, is_class = kernel.terms[k].gamma, (problem.codes == k).astype(int)
        told = relevance(problem.points, is_class, None, problem.block) ** 0.75
        np.testing.assert_allclose(gamma, told / told.sum())
        assert gamma.argmax() == k  # the mean over all classes does not tell features apart
    for n_classes in (2, 5):
        problem, kernel = learned_by_class(n_classes)
        told = relevance(problem.points, problem.codes, None, problem.block) ** 0.75
        np.testing.assert_allclose(kernel.terms[0].gamma, told / told.sum())
        assert list(kernel.weights) == [10.0, 1.0]
        assert not kernel.by_class
    _, kernel = learned_by_class(3, multi_class="joint")  # no class has a machine of its own
    assert list(kernel.weights) == pytest.approx([10 / 3] * 3 + [1.0])
    assert not kernel.by_class


def by_classes(n, seed=0):
    """Two features for each of three classes, which does not see the others."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, 6)) + 0.1 * rng.normal(size=(n, 6))
    pair = X[:, ::2] * X[:, 1::2]
    return X, (pair + 0.3 * rng.normal(size=(n, 3))).argmax(axis=1)


def test_alone_they_have_a_larger_basis(monkeypatch):
    monkeypatch.setattr(of_candidates, "POINTS_OF_RELEVANCE", 150)
    monkeypatch.setattr(choice, "MANY_COMPONENTS", 50)
    monkeypatch.setattr(choice, "FEW_COMPONENTS", 60)
    monkeypatch.setattr(of_candidates, "MOST_COMPONENTS", 80)
    X, y = by_classes(240)

    def with_shares(**named):
        def weigh(study, trials, rows=None):
            share = np.array([named.get(trial.proposal.name[-19:], 0.0) for trial in trials])
            return Blend(share, 1.0)

        monkeypatch.setattr(choice, "weigh", weigh)
        return BayesPointClassifier().fit(X, y)

    name = "evance, fixed width"
    alone = with_shares(**{name: 1.0})
    assert [len(one._points) for one in alone.model_.space.spaces] == [128] * 3  # 1.6 times 80
    assert alone.chosen_params_["kernel"].by_class
    again = BayesPointClassifier(**alone.chosen_params_).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), alone.predict_proba(X))
    both = with_shares(**{name: 0.5, "linear": 0.5})
    apart = both.model_.space.spaces[1]
    assert [len(one._points) for one in apart.spaces] == [80] * 3


def test_with_a_larger_basis_scales_stay_and_little_weight_is_dropped(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=700) > 0
    weakened, enlarged = [], []

    def weaken(study, trial, size):
        weakened.append(trial.proposal.name)
        return trial

    def enlarge(whole, trials, few, rows):
        enlarged.append([trial.proposal.name for trial in trials])
        return trials

    monkeypatch.setattr(choice, "with_smaller_scale", weaken)
    monkeypatch.setattr(choice, "with_larger_basis", enlarge)
    shares, compared = np.array([0.0, 0.75, 0.25]), []

    def weigh(study, trials, rows=None):
        if len(trials) < 3:  # those that are left
            return Blend(np.full(len(trials), 1 / len(trials)), 1.0)
        compared[:] = [trial.proposal.name for trial in trials]
        return Blend(np.append(shares, np.zeros(len(trials) - 3)), 1.0)

    monkeypatch.setattr(choice, "weigh", weigh)
    BayesPointClassifier().fit(X, y)
    assert enlarged == [compared[1:2]]
    assert not weakened
    shares[:] = [0.0, 0.7, 0.3]  # more than a third of the first
    BayesPointClassifier().fit(X, y)
    assert enlarged[1] == compared[1:3]
    BayesPointClassifier().fit(X[:500], y[:500])
    assert len(enlarged) == 2
    assert weakened == compared[1:3]  # of 500 rows alone
