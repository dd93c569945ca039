"""The automatic choice on many rows, and what makes it quicker."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import pose, train, with_params
from bayespoint.classifier.kernel_choice import ascent, choice, perceptrons, study
from bayespoint.classifier.kernel_choice import candidates as candidates_module
from bayespoint.classifier.kernel_choice.blending import MOST
from bayespoint.classifier.kernel_choice.candidates import candidates
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.engines import ExpectationPropagation, Request
from bayespoint.tools.monitor import Monitor


def moons(n):
    return make_moons(n, noise=0.25, random_state=0)


def test_candidates_of_many_rows_are_compared_on_some_and_trained_on_all(monkeypatch):
    monkeypatch.setattr(choice, "MANY_ROWS", 100)
    X, y = moons(400)
    seen = []
    monkeypatch.setattr(study, "most_evident", lambda candidate, *_: candidate.kernel)
    try_out = choice.try_out

    def counted(study, proposal, size):
        trial = try_out(study, proposal, size)
        seen.append(len(study.problem.codes))
        if len(proposal.kernels) > 1:  # every row is predicted by one of the models
            rows = np.concatenate([others for _, others in proposal.kernels])
            assert sorted(rows) == list(range(seen[-1]))
        return trial

    monkeypatch.setattr(choice, "try_out", counted)
    clf = BayesPointClassifier(random_state=0).fit(X, y)
    assert set(seen) == {100, 400} and seen == sorted(seen)
    assert seen.count(400) <= MOST  # candidates of the mixture
    assert clf.model_.posterior.left_out_log_probability.shape[0] == 400
    monkeypatch.undo()
    again = BayesPointClassifier(random_state=0, **clf.chosen_params_).fit(X, y)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(("most_rows", "n_rows"), [(100, 400), (20, 4000)])
def test_all_rows_have_no_much_smaller_basis_than_some(monkeypatch, most_rows, n_rows):
    """If the budget allows only a smaller one, the basis may be twice as large as it allows."""
    monkeypatch.setattr(choice, "MANY_ROWS", most_rows)
    monkeypatch.setattr(candidates_module, "FEWEST_COMPONENTS", 1)
    monkeypatch.setattr(candidates_module, "BUDGET", 30**2 * 3 * 100.0)  # 30 of 100 rows
    monkeypatch.setattr(study, "most_evident", lambda candidate, *_: candidate.kernel)
    sizes = {}
    try_out = choice.try_out

    def noted(study, proposal, size):
        sizes.setdefault(len(study.problem.codes), []).append(size)
        return try_out(study, proposal, size)

    monkeypatch.setattr(choice, "try_out", noted)
    X, y = moons(n_rows)
    BayesPointClassifier(random_state=0).fit(X, y)
    few, (on_all, *others) = sizes[most_rows][0], sizes[n_rows]
    plain = int(30 * np.sqrt(100 / n_rows * 3 / (1 + len(others))))  # by the budget
    assert plain < on_all <= min(few or most_rows, 2 * plain + 1)


def test_a_part_of_a_problem_has_its_rows():
    X, y = moons(60)
    classifier = BayesPointClassifier()
    weight, groups = np.arange(1.0, 61.0), np.repeat(np.arange(20), 3)
    problem = pose(classifier, Parameters.of(classifier), X, y, weight, groups)
    part = problem.part(np.array([3, 30, 31, 59]))
    np.testing.assert_array_equal(part.points, problem.points[[3, 30, 31, 59]])
    assert part.weight.tolist() == [4, 31, 32, 60]
    assert part.groups.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(("enough", "is_trained"), [(10.0, True), (1e-3, False)])
def test_perceptrons_that_are_behind_are_not_trained_on_all_rows(monkeypatch, enough, is_trained):
    monkeypatch.setattr(perceptrons, "FEWEST", 50)
    X, y = moons(200)
    classifier = BayesPointClassifier(random_state=0)
    parameters = Parameters.of(classifier)
    problem = pose(classifier, parameters, X, y)
    sizes = []

    def counted(params, part):
        sizes.append(len(part.codes))
        return train(*with_params(parameters, part, params), Monitor(), 0)

    found = perceptrons.best_perceptron(problem, np.arange(60), None, counted, enough)
    assert sizes == [60, 60, 30] + [200] * is_trained
    assert (found.model is not None) == found.is_better == is_trained
    assert found.loss >= enough or is_trained
    assert found.report.startswith("instead" if is_trained else "not perceptrons")


def test_trials_of_perceptrons_do_not_depend_on_the_seed(monkeypatch):
    monkeypatch.setattr(perceptrons, "FEWEST", 50)
    monkeypatch.setattr(choice, "MANY_ROWS", 60)
    X, y = moons(200)
    losses = []
    loss = perceptrons.first_visit_loss
    monkeypatch.setattr(
        perceptrons, "first_visit_loss", lambda *known: losses.append(loss(*known)) or losses[-1]
    )
    for seed in (0, 1):
        BayesPointClassifier(random_state=seed).fit(X, y)
    n_trials = 3  # two widths, and half of the rows
    first, second = losses[:n_trials], losses[len(losses) // 2 :][:n_trials]
    assert len(first) == n_trials and first == second


def test_a_search_that_begins_with_half_of_the_points_finds_as_much_evidence(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 3))
    y = np.where(np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=260) > 0, 1, -1).astype(np.int8)
    *_, candidate = candidates(X, np.arange(3), None, learns=True, constant=True)
    engine = ExpectationPropagation(prior_scale=1.0)

    def evidence(kernel):
        space = engine.space(clone(kernel).fitted(X)).fit(X)
        return engine.run(space, y[:, None], Request())[0].log_evidence.sum()

    problem = Problem.pose(X, y, None, None)
    found = ascent.most_evident(candidate, engine, problem)
    monkeypatch.setattr(ascent, "MANY", 1000)
    at_once = ascent.most_evident(candidate, engine, problem)
    assert evidence(found) > evidence(at_once) - 2
    assert evidence(candidate.kernel) < evidence(found) - 10
