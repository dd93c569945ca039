"""Priors that are wide beside the noise: runs converge, or say what makes them."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian import gaussians
from bayespoint.exceptions import NotConvergedWarning

SCALES = [1, 10, 100, 195, 300, 1e3, 1e4]
KERNELS = {
    "linear": {"kernel": "linear"},
    **{f"rbf {gamma:g}": {"kernel": "rbf", "gamma": gamma} for gamma in (1e-3, 0.01, 0.1, 1, 10)},
    **{f"poly {degree}": {"kernel": "poly", "degree": degree} for degree in (2, 3, 5)},
}


def iris():
    """One point less than all: three tasks, the first of which can be separated."""
    X, y = load_iris(return_X_y=True)
    return X[1:], y[1:]


def random_labels(n=149, d=6):
    """No kernel that is not very narrow separates these."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def separable(n=120, d=6):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) > 0).astype(int)


def moons():
    """As many as it takes for float32 to be used at first."""
    return make_moons(250, noise=0.3, random_state=0)


def wide():
    rng = np.random.default_rng(2)
    return rng.normal(size=(30, 60)), rng.integers(0, 2, 30)


DATA = pytest.mark.parametrize("data", [iris, random_labels, separable, moons, wide])
OVER_KERNELS = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def fit(data, kernel, **parameters):
    """A fitted classifier and its warnings; those of NumPy are errors."""
    X, y = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        engine = ExpectationPropagation(**parameters)
        clf = BayesPointClassifier(
            temperature=1.0, engine=engine, multi_class="one_vs_rest", **kernel
        ).fit(X, y)
    return clf, [warning.message for warning in caught]


@DATA
@OVER_KERNELS
def test_any_prior_scale_converges(data, kernel):
    """Means of outputs that are refined from the prior alone overflow on the random labels."""
    X, y = data()
    for scale in SCALES:
        clf, caught = fit(data, kernel, prior_scale=scale)
        assert clf.run_.converged
        assert not caught
        assert clf.n_iter_ < 50
        loss = log_loss(y, clf.predict_proba(X))
        assert loss <= np.log(len(clf.classes_))
        if data is separable and scale >= 100 and kernel["kernel"] == "linear":
            assert loss < 0.05


@DATA
@OVER_KERNELS
def test_weights_and_outputs_tell_the_same(data, kernel, monkeypatch):
    """Which of them sweeps change is a matter of speed alone."""
    X, _ = data()
    for scale in (1, 195, 1e4):
        fits = []
        for share in (0.0, np.inf):
            monkeypatch.setattr(gaussians, "MOSTLY", share)
            fits.append(fit(data, kernel, prior_scale=scale, tol=1e-8)[0])
        outputs, weights = fits
        assert outputs.run_.converged
        assert weights.run_.converged
        np.testing.assert_allclose(outputs.predict_proba(X), weights.predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(outputs.log_evidence_, weights.log_evidence_, rtol=1e-7)


@pytest.mark.parametrize("schedule", ["sequential", "rounds"])
@pytest.mark.parametrize(
    ("data", "kernel", "parameters"),
    [
        (random_labels, {"kernel": "linear"}, {"noise": 0}),
        (moons, {"kernel": "poly", "degree": 2}, {"noise": 0}),
        (random_labels, {"kernel": "poly", "degree": 2}, {"label_noise": 0.05}),
        (moons, {"kernel": "rbf", "gamma": 1}, {"label_noise": 0.05}),
        (moons, {"kernel": "rbf", "gamma": 10}, {"label_noise": 0.01}),
        (moons, {"kernel": "poly", "degree": 3}, {"label_noise": 0.05}),
    ],
)
def test_the_remedy_helps(data, kernel, parameters, schedule):
    """Where labels cannot be had, or have several explanations, sites may never agree."""
    parameters = {"prior_scale": 1e3, "schedule": schedule} | parameters
    clf, caught = fit(data, kernel, **parameters)
    if schedule == "rounds" and data is random_labels and "label_noise" in parameters:
        assert clf.run_.converged  # shorter steps find a fixed point that sweeps do not
        assert not caught
        return
    assert not clf.run_.converged
    assert [type(warning) for warning in caught] == [NotConvergedWarning]
    noise = float(re.search(r"set noise to (\S+) or more", caught[0].remedy)[1])
    clf, caught = fit(data, kernel, **parameters | {"noise": noise})
    assert clf.run_.converged
    assert not caught
