"""Random halves and folds of the training rows, and what is learned in them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)

from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import pose
from bayespoint.classifier.kernel_choice import halves
from bayespoint.classifier.kernel_choice.candidates import candidates, relevance
from bayespoint.classifier.kernel_choice.choice import study_of
from bayespoint.classifier.kernel_choice.halves import split
from bayespoint.classifier.kernel_choice.study import propose
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem


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
    parts = split(Problem.pose(X, codes, None, None), n_parts)
    assert len(parts) == n_parts
    assert sorted(np.concatenate(parts)) == list(range(45))
    assert all((i in part) == (40 + i in part) for i in range(5) for part in parts)
    for label in (0, 1):
        sizes = [len(np.unique(X[part][codes[part] == label], axis=0)) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    order = rng.permutation(45)
    again = split(Problem.pose(X[order], codes[order], None, None), n_parts)
    assert [set(order[part]) for part in again] == [set(part) for part in parts]


def keys_of(X, y, weight=None):
    return halves.row_keys(Problem.pose(X, y, weight, None))


def test_keys_of_rows_do_not_depend_on_the_order_of_columns_or_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    tables = {
        "numbers": rng.normal(size=(60, 5)),
        "few levels": rng.integers(0, 3, (60, 8)) - 1.0,
        # Each of eight rows is there several times: only their frequencies break the symmetry.
        "all combinations": rng.integers(0, 2, (60, 3)) * 2 - 1.0,
    }
    for name, X in tables.items():
        keys = keys_of(X, y)
        assert len(np.unique(keys)) == len(np.unique(X, axis=0)), name
        for seed in range(3):
            columns = np.random.default_rng(seed).permutation(X.shape[1])
            rows = np.random.default_rng(seed).permutation(60)
            np.testing.assert_array_equal(keys_of(X[:, columns], y), keys, err_msg=name)
            np.testing.assert_array_equal(keys_of(X[rows], y[rows]), keys[rows], err_msg=name)
        weight = rng.integers(1, 4, 60)
        copies = np.repeat(np.arange(60), weight)
        by_weight, by_copies = keys_of(X, y, weight), keys_of(X[copies], y[copies])
        np.testing.assert_array_equal(by_weight[copies], by_copies, err_msg=name)


def test_columns_that_are_copies_of_each_other_do_not_make_rows_equal():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 1)), np.arange(100) % 2
    for X in (x, np.hstack([x, x]), np.hstack([x, 3 * x, x + 7, -x])):
        points = (X - X.mean(axis=0)) / X.std(axis=0)
        keys = keys_of(points, y)
        assert len(np.unique(keys)) == 100
        np.testing.assert_array_equal(keys_of(points[:, ::-1], y), keys)
        noise = 1 + 1e-15 * rng.normal(size=points.shape)
        np.testing.assert_array_equal(keys_of(points * noise, y), keys)
    # In a table that is symmetric the order of columns decides, rather than that rows are equal.
    corners = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)
    assert len(np.unique(keys_of(corners, corners.sum(axis=1) > 2))) == 16


def some_tables():
    """Ten small tables: numbers, categories, missing cells, many columns, few levels."""
    rng = np.random.default_rng(0)
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        some = rng.permutation(len(y))[:150]
        yield load.__name__, X[some], y[some]
    X, y = make_moons(100, noise=0.3, random_state=0)
    yield "moons", X, y
    X, y = make_classification(120, 20, n_informative=5, random_state=0)
    yield "classification", X, y
    yield "float32", X.astype(np.float32), y
    yield "missing", np.where(rng.random(X.shape) < 0.1, np.nan, X), y
    X = rng.normal(size=(40, 300))
    yield "wide", X, (X[:, 0] + X[:, 1] + rng.normal(size=40) > 0).astype(int)
    X = rng.integers(0, 2, (150, 6))
    frame = pd.DataFrame({f"c{j}": X[:, j].astype(str) for j in range(6)})
    yield "categories", frame, (X[:, :3].sum(axis=1) + rng.normal(size=150) > 1.5).astype(int)


def moved_by_columns(X, y):
    """Largest change of a probability where columns are permuted."""
    columns = np.random.default_rng(1).permutation(X.shape[1])
    other = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    p, q = (BayesPointClassifier().fit(table, y).predict_proba(table) for table in (X, other))
    return np.abs(p - q).max()


TABLES = list(some_tables())


@pytest.mark.parametrize(("X", "y"), [table[1:] for table in TABLES], ids=[t[0] for t in TABLES])
def test_the_order_of_columns_does_not_matter(X, y):
    assert moved_by_columns(X, y) < 1e-3


def test_the_order_of_columns_would_matter_with_a_projection_of_rows(monkeypatch):
    def projected(problem):  # wrong
        direction = np.random.default_rng(0).normal(size=problem.points.shape[1])
        place = np.round(1e6 * (problem.points @ direction)).astype(np.int64)
        return halves.scrambled(place.view(np.uint64))

    monkeypatch.setattr(halves, "row_keys", projected)
    assert np.median([moved_by_columns(X, y) for _, X, y in TABLES]) > 1e-3


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
