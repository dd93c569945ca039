"""Figures of max-marginals: what is drawn is what is there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.knapsack import toy

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.posteriors.display import MarginalDisplay


@pytest.fixture(scope="module")
def machine():
    X, y = toy(0)
    frame = pd.DataFrame(X, columns=["height", "width"])
    return BayesPointClassifier(engine=KnapsackPropagation(bins=32, n_iter=10)).fit(frame, y)


def test_marginal_mean_and_mode_are_drawn(machine):
    display = MarginalDisplay.from_estimator(machine, features=[1, 2])
    assert [ax.get_title() for ax in display.axes_] == ["weight of width", "weight of intercept"]
    for ax, d in zip(display.axes_, (1, 2), strict=True):
        curve, mean, mode = ax.get_lines()
        assert mean.get_xdata()[0] == machine.posterior_.mean[d, 0]
        assert mode.get_xdata() == machine.posterior_.mode[d, 0]
        np.testing.assert_allclose(curve.get_ydata().max(), 1)
        assert np.isin(curve.get_xdata(), machine.posterior_.grids[0, d]).all()
    display.figure_.canvas.draw()


def test_axes_of_the_user_and_pipelines():
    from matplotlib.figure import Figure

    X, y = toy(0)
    machine = make_pipeline(
        StandardScaler(), BayesPointClassifier(engine=KnapsackPropagation(beta=np.inf, n_iter=3))
    ).fit(X, y)
    figure = Figure()
    axes = figure.subplots(1, 3)
    display = MarginalDisplay.from_estimator(machine, axes=axes)
    assert display.figure_ is figure
    assert [ax.get_title() for ax in axes] == ["weight of x0", "weight of x1", "weight of x2"]


@pytest.mark.parametrize("features", [[], [3], [-1]])
def test_weights_that_are_not_there(machine, features):
    with pytest.raises(ValueError, match="features must be indices of weights, from 0 to 2"):
        MarginalDisplay.from_estimator(machine, features=features)


def test_bad_task_and_engine(machine):
    with pytest.raises(ValueError, match="task must be in the range 0 to 0"):
        MarginalDisplay.from_estimator(machine, task=1)
    X, y = toy(0)
    with pytest.raises(ValueError, match="with the engine KnapsackPropagation"):
        MarginalDisplay.from_estimator(
            BayesPointClassifier(kernel="linear", temperature=1.0, engine="ep").fit(X, y)
        )
