"""What posteriors remember of the run that found them, and weights that are drawn from them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import bayespoint
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
    machine = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(X, y)
    run = machine.run_
    assert (run.converged, run.remedy, list(run.warnings)) == (True, "", [])
    assert run.summary == f"converged after {machine.n_iter_} {run.unit}"
    assert run.seconds > 0
    assert max(map(len, run.history)) == machine.n_iter_
    for changes in run.history:
        assert changes[-1] < 10 * engine.tol < changes[0]  # rest is judged afresh, after a sweep


@pytest.mark.parametrize(
    "engine", [ExpectationPropagation(max_iter=2), LaplaceApproximation(max_iter=2)]
)
def test_changes_of_a_run_that_does_not(engine):
    with pytest.warns(NotConvergedWarning) as caught:
        clf = BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=engine, multi_class="one_vs_rest"
        )
        run = clf.fit(X, y).run_
    assert not run.converged
    assert run.summary.startswith("not converged, max_iter was reached after 2 ")
    (warning,) = [one.message for one in caught]  # one for all tasks
    assert (warning.n_others, warning.remedy) == (2, run.remedy)
    assert list(warning.changes) == list(run.history[warning.task])
    assert f"of {warning.task} against the rest (and 2 others)" in str(warning)


@pytest.mark.parametrize(
    "engine", [ExpectationPropagation(max_iter=2), PermutedPerceptron(max_epochs=2)]
)
@pytest.mark.parametrize(
    "wrap", [lambda clf: clf, make_pipeline, lambda clf: GridSearchCV(clf, {})]
)
def test_warnings_point_at_the_line_of_the_user(engine, wrap):
    with pytest.warns(ConvergenceWarning) as caught:
        wrap(BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine)).fit(X, y)
    assert {one.filename for one in caught} == {__file__}


def test_a_run_is_kept_in_model_files(tmp_path):
    with pytest.warns(NotConvergedWarning):
        machine = BayesPointClassifier(
            kernel="linear", temperature=1.0, engine=ExpectationPropagation(max_iter=2)
        ).fit(X, y)
    bayespoint.save(machine, tmp_path / "m.bpm")
    again = bayespoint.load(tmp_path / "m.bpm").run_
    assert again.warnings == ()
    for name in ("unit", "n_iter", "summary", "converged", "remedy", "history", "seconds"):
        assert getattr(again, name) == getattr(machine.run_, name)


def test_changes_after_a_batch_are_those_of_the_batch():
    machine = BayesPointClassifier(kernel="linear", temperature=1.0)
    for batch in (slice(0, None, 2), slice(1, None, 2)):
        machine.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        assert max(map(len, machine.run_.history)) == machine.n_iter_


def test_perceptrons_that_failed_are_counted():
    engine = PermutedPerceptron(n_samples=2, max_epochs=5)
    machine = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine, random_state=0)
    with pytest.warns(NotSeparableWarning) as caught:
        machine.fit(X, y)
    assert machine.run_.measures["n_failed"].sum() == caught[0].message.n_failed > 0
    separable = BayesPointClassifier(engine="perceptron").fit(X, y == 0)
    assert separable.run_.measures["n_failed"].tolist() == [0]
    assert separable.run_.summary.startswith("10 of 10 perceptrons separate the classes")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "engine", [ExpectationPropagation(), KnapsackPropagation(n_iter=3), PermutedPerceptron()]
)
def test_drawn_weights_give_the_drawn_outputs(engine, intercept):
    machine = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=intercept
    )
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
    machine = BayesPointClassifier(temperature=1.0, kernel="rbf").fit(X, y)
    weights = machine.draw_weights(2, random_state=0)
    assert weights.shape == (2, 3, len(machine.posterior_.mean))
    with pytest.raises(ValueError, match="n_samples must be an int"):
        machine.draw_weights(0)
