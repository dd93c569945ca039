"""One more row: leave-one-out predictions are those of a fit to n + 1 rows."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian import one_more
from bayespoint.engines.gaussian.one_more import OneMore


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + rng.standard_normal(n) > 0).astype(int)


def fitted(X, y, kernel, scale):
    engine = ExpectationPropagation(prior_scale=scale)
    return BayesPointClassifier(kernel=kernel, gamma=0.3, engine=engine).fit(X, y)


def refits(X, y, new, kernel, scale):
    """The slow, obvious version: a fit for each new row and label."""
    return np.array(
        [
            [
                fitted(
                    np.vstack([X, row]), np.append(y, label), kernel, scale
                ).posterior_.left_out_log_probability[:, 0]
                for label in (0, 1)
            ]
            for row in new
        ]
    )


CASES = [("linear", 1.0, 3), ("rbf", 2.0, 2), ("rbf", 5.0, 4)]


@pytest.mark.parametrize(("kernel", "scale", "d"), CASES)
def test_answers_are_those_of_a_fit_to_one_more_row(kernel, scale, d):
    X, y = problem(60, d)
    new = np.vstack([problem(2, d, seed=1)[0], np.full((1, d), 8.0)])  # the last is far away
    model = fitted(X, y, kernel, scale).model_
    task = OneMore(model.posterior, 0, model.transform(X), 2 * y - 1)
    answers = np.exp(task.answers(model.transform(new)))
    slow = np.exp(refits(X, y, new, kernel, scale))
    assert np.abs(answers - slow).max() < 1e-3
    before = np.exp(model.posterior.left_out_log_probability[:, 0])
    assert np.abs(before - slow[0, 1, :-1]).max() > 1e-2  # the new row matters


def test_first_order_is_enough_where_rows_are_many(monkeypatch):
    X, y = problem(250, 5)
    new = problem(3, 5, seed=1)[0]
    model = fitted(X, y, "rbf", 2.0).model_
    Z = model.transform(X)
    exact = OneMore(model.posterior, 0, Z, 2 * y - 1)
    monkeypatch.setattr(one_more, "WORK", 0)
    answers, failed = exact.perturbed(model.transform(new))
    assert not failed.any()
    assert np.abs(np.exp(answers) - np.exp(refits(X, y, new, "rbf", 2.0))).max() < 2e-2
    np.testing.assert_array_equal(exact.answers(model.transform(new)), answers)


def test_rows_on_which_iterations_fail_are_done_exactly(monkeypatch):
    X, y = problem(60, 2)
    model = fitted(X, y, "rbf", 5.0).model_
    task = OneMore(model.posterior, 0, model.transform(X), 2 * y - 1)
    new = model.transform(problem(2, 2, seed=1)[0])
    exact = task.answers(new)
    monkeypatch.setattr(one_more, "WORK", 0)
    monkeypatch.setattr(one_more, "FAILED", 0.0)  # all of them
    np.testing.assert_allclose(task.answers(new), exact, atol=1e-12)


def test_a_prior_that_rounding_hides_is_named():
    X, y = problem(20, 2)
    model = fitted(X, y, "linear", 1.0).model_
    task = OneMore(model.posterior, 0, model.transform(X), 2 * y - 1)
    task.rate = (
        1.0 / np.square(model.transform(X)).sum(axis=1) * 1e20
    )  # more than the posterior has
    with pytest.raises(np.linalg.LinAlgError, match="rounding hides the prior"):
        task.answers(model.transform(X[:1]))
