"""What posteriors remember of the run that found them, and weights that are drawn from them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    ExpectationPropagation,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.exceptions import NotConvergedWarning, NotSeparableWarning

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("engine", [ExpectationPropagation(), LaplaceApproximation()])
def test_changes_of_a_run_that_comes_to_rest(engine):
    machine = BayesPointClassifier(engine=engine).fit(X, y)
    posterior = machine.posterior_
    assert posterior.endings == ["", "", ""]
    assert max(map(len, posterior.changes)) == machine.n_iter_
    for changes in posterior.changes:
        assert changes[-1] < 10 * engine.tol < changes[0]  # rest is judged afresh, after a sweep


@pytest.mark.parametrize(
    "engine", [ExpectationPropagation(max_iter=2), LaplaceApproximation(max_iter=2)]
)
def test_changes_of_a_run_that_does_not(engine):
    with pytest.warns(NotConvergedWarning) as caught:
        posterior = BayesPointClassifier(engine=engine).fit(X, y).posterior_
    assert posterior.endings == ["max_iter was reached"] * 3
    assert [one.message.changes for one in caught] == [tuple(c) for c in posterior.changes]


def test_changes_after_a_batch_are_those_of_the_batch():
    machine = BayesPointClassifier()
    for batch in (slice(0, None, 2), slice(1, None, 2)):
        machine.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        assert max(map(len, machine.posterior_.changes)) == machine.n_iter_


def test_perceptrons_that_failed_are_counted_over_all_fits():
    engine = PermutedPerceptron(n_samples=2, max_epochs=5)
    machine = BayesPointClassifier(engine=engine, warm_start=True, random_state=0)
    with pytest.warns(NotSeparableWarning) as caught:
        machine.fit(X, y)
        machine.set_params(engine__n_samples=5).fit(X, y)
    failed = sum(one.message.n_failed for one in caught)
    assert machine.posterior_.n_failed == failed > 0
    separable = BayesPointClassifier(engine="perceptron").fit(X, y == 0)
    assert separable.posterior_.n_failed == 0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "engine", [ExpectationPropagation(), KnapsackPropagation(n_iter=3), PermutedPerceptron()]
)
def test_drawn_weights_give_the_drawn_outputs(engine, intercept):
    machine = BayesPointClassifier(engine=engine, fit_intercept=intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        machine.fit(X, y)
    weights = machine.draw_weights(4, random_state=3)
    assert weights.shape == (4, 3, 4 + intercept)
    points = np.column_stack([X, np.ones(len(X))]) if intercept else X
    outputs = np.einsum("xf,nkf->xnk", points, weights)
    drawn = machine.draw_outputs(X, 4, random_state=3)
    if isinstance(engine, PermutedPerceptron):  # its outputs are cosines
        outputs /= np.linalg.norm(points, axis=1)[:, None, None]
    np.testing.assert_allclose(outputs, drawn, rtol=1e-8, atol=1e-10)


def test_drawn_weights_of_other_kernels_are_coordinates():
    machine = BayesPointClassifier(kernel="rbf").fit(X, y)
    weights = machine.draw_weights(2, random_state=0)
    assert weights.shape == (2, 3, len(machine.posterior_.mean))
    with pytest.raises(ValueError, match="n_samples must be an int"):
        machine.draw_weights(0)
