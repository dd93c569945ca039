"""Random halves and folds of the training rows, and what is learned in them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import pose
from bayespoint.classifier.kernel_choice.candidates import candidates, relevance
from bayespoint.classifier.kernel_choice.choice import study_of
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.kernel_choice.study import propose
from bayespoint.classifier.parameters import Parameters


def untrained(X, y):
    """A study in which nothing is trained."""
    classifier = BayesPointClassifier()
    parameters = Parameters.of(classifier)
    return study_of(parameters, pose(classifier, parameters, X, y), None)


def candidates_of(problem):
    found = candidates(problem.points, problem.block, None, learns=True, constant=True)
    return {one.name: one for one in found}


@pytest.mark.parametrize("n_parts", [2, 5])
def test_parts_keep_copies_together_and_classes_apart(n_parts):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), np.repeat([0, 1], [10, 30])
    X, codes = np.vstack([X, X[:5]]), np.append(codes, codes[:5])
    parts = split(X, codes, n_parts=n_parts)
    assert len(parts) == n_parts
    assert sorted(np.concatenate(parts)) == list(range(45))
    assert all((i in part) == (40 + i in part) for i in range(5) for part in parts)
    for label in (0, 1):
        sizes = [len(np.unique(X[part][codes[part] == label], axis=0)) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    order = rng.permutation(45)
    again = split(X[order], codes[order], n_parts=n_parts)
    assert [set(order[part]) for part in again] == [set(part) for part in parts]


@pytest.mark.parametrize(("n", "n_folds"), [(40, 8), (100, 5), (300, 2)])
def test_relevance_does_not_know_the_labels_that_it_predicts(n, n_folds):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6))
    X[:, 0] += y
    study = untrained(X, y)
    problem = study.problem
    learned = propose(study, candidates_of(problem)["rbf by relevance"])
    assert len(learned.kernels) == n_folds and learned.in_common
    assert sorted(np.concatenate([others for _, others in learned.kernels])) == list(range(n))
    of_all = relevance(problem.points, problem.codes, None, problem.block)
    for kernel, others in learned.kernels:
        own = np.setdiff1d(np.arange(n), others)
        told = relevance(problem.points[own], problem.codes[own], None, problem.block)
        gamma = kernel.get_params()["terms__0__gamma"]
        np.testing.assert_allclose(gamma / gamma.sum(), told, rtol=1e-9)
        assert np.abs(told - of_all).max() > 1e-4  # which would know them
    sums = [kernel.get_params()["terms__0__gamma"].sum() for kernel, _ in learned.kernels]
    np.testing.assert_allclose(sums, sums[0])
    assert all(kernel.weights == learned.kernels[0][0].weights for kernel, _ in learned.kernels)


def test_halves_find_their_widths_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    study = untrained(X, y)
    candidate = candidates_of(study.problem)["a width for each feature"]
    (first, _), (second, others) = propose(study, candidate).kernels
    study = replace(study, halves=study.halves[::-1])
    (again, same), (former, _) = propose(study, candidate).kernels
    assert np.array_equal(others, same)
    for one, other in ((first, former), (second, again)):
        np.testing.assert_array_equal(one.terms[0].gamma, other.terms[0].gamma)
        assert one.weights == other.weights


def test_nearly_linear_functions_of_many_features():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 500))
    name = "nearly linear, by relevance"
    problem = untrained(X, y).problem
    assert name in candidates_of(problem)
    assert name not in candidates_of(untrained(X[:, :400], y).problem)
    # Centred values are products, as those of linear functions; those of other kernels are not.
    line = np.linspace(-1, 1, 9)[:, None] * np.ones(500)
    products = line @ line.T
    for one, low, high in ((name, 0.0, 0.1), ("rbf by relevance", 0.3, 2.0)):
        values = candidates_of(problem)[one].kernel.terms[0].fitted(line)(line, line)
        values -= values.mean(axis=0)
        values -= values.mean(axis=1)[:, None]
        rest = values - products * np.vdot(values, products) / np.vdot(products, products)
        assert low < np.abs(rest).max() / np.abs(values).max() < high


def test_nearly_linear_functions_of_few_rows_with_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{j}": rng.choice([*"abcd"], 60) for j in range(31)})
    y = np.arange(60) % 2
    name = "nearly linear, by relevance"
    assert name in candidates_of(untrained(frame, y).problem)
    assert name not in candidates_of(untrained(frame.iloc[:, :30], y).problem)
    numbers = frame.apply(lambda column: column.map(ord).astype(float))
    assert name not in candidates_of(untrained(numbers, y).problem)
