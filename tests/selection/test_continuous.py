"""Searches that end at a bound."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.helpers.probit import problem, separable

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.exceptions import BoundReachedWarning
from bayespoint.kernels import ConstantKernel, Kernel, RadialKernel
from bayespoint.selection import EvidenceSearch, objective

SCALE, NOISE = "engine__prior_scale", "engine__noise"


@pytest.mark.parametrize("pair", [(1e-3, 1e-2), (9.7, 100.0), (0.0011, 0.011), (3.3, 97.1)])
def test_a_bound_is_returned_as_it_was_given_and_told(pair):
    X, y = problem()  # the best scale is 0.8
    search = EvidenceSearch(
        BayesPointClassifier(kernel="linear", temperature=1.0), param_bounds={SCALE: pair}
    )
    with pytest.warns(BoundReachedWarning, match="prior_scale=.*Remedy: wider bounds") as caught:
        search.fit(X, y)
    end = pair[pair[0] < 0.8]
    assert search.best_params_ == {SCALE: end}  # not 100.00000000000004
    (warning,) = (each for each in caught if each.category is BoundReachedWarning)
    assert warning.filename == __file__
    assert warning.message.names == (SCALE,)
    assert warning.message.bounds == (pair,)
    assert warning.message.values == (end,)
    assert all(pair[0] <= p[SCALE] <= pair[1] for p in search.cv_results_["params"])


def test_of_two_parameters_the_one_at_its_bound_is_named():
    X, y = separable()  # the less noise the better
    bounds = {"gamma": (1e-3, 10.0), NOISE: (0.1, 10.0)}
    with pytest.warns(BoundReachedWarning) as caught:
        search = EvidenceSearch(
            BayesPointClassifier(kernel="rbf", engine=ExpectationPropagation(prior_scale=1.0)),
            param_bounds=bounds,
        ).fit(X, y)
    (warning,) = (each.message for each in caught)
    assert warning.names == (NOISE,)
    assert search.best_params_[NOISE] == 0.1 < 1 < search.best_params_["gamma"] * 1e3


@pytest.mark.parametrize(
    ("bounds", "grid"),
    [
        ({SCALE: (0.01, 100.0)}, None),  # a maximum between the bounds
        # The linear kernel is the best, and has no use for gamma.
        ({SCALE: (0.01, 100.0), "gamma": (20.0, 30.0)}, {"kernel": ["linear", "rbf"]}),
    ],
)
def test_no_warning_without_a_reason(bounds, grid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = EvidenceSearch(
            BayesPointClassifier(kernel="linear", temperature=1.0, gamma=1.0),
            grid,
            param_bounds=bounds,
        )
        search.fit(*problem())
    assert 0.01 < search.best_params_[SCALE] < 100


def test_differences_stay_within_the_bounds(monkeypatch):
    monkeypatch.setattr(objective, "is_differentiable", lambda kernel, engine, name: False)
    seen, plain = [], objective.EvidenceFunction.evaluate

    def evaluate(self, values, params):
        seen.append(values[SCALE])
        return plain(self, values, params)

    monkeypatch.setattr(objective.EvidenceFunction, "evaluate", evaluate)
    with pytest.warns(BoundReachedWarning):
        EvidenceSearch(
            BayesPointClassifier(kernel="linear", temperature=1.0),
            param_bounds={SCALE: (9.7, 100.0)},
        ).fit(*problem())
    assert min(seen) == 9.7
    assert max(np.diff(seen, prepend=9.7)) > 0


class WithoutDerivative(RadialKernel):
    """A user's kernel, whose gamma may be any positive number."""

    derivative, slope = Kernel.derivative, Kernel.slope


def best_gamma(kernel, name):
    clf = BayesPointClassifier(kernel=kernel, engine=ExpectationPropagation(prior_scale=1.0))
    search = EvidenceSearch(clf, param_bounds={name: (1e-2, 10.0)}).fit(*problem())
    return search.best_params_[name]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda kernel: kernel, "kernel__gamma"),
        (lambda kernel: kernel + ConstantKernel(), "kernel__terms__0__gamma"),
    ],
)
def test_parameters_without_a_derivative_are_moved_by_differences(make, name, monkeypatch):
    expected = best_gamma(make(RadialKernel(gamma=3.0)), name)
    assert expected < 1.0
    kernel = make(WithoutDerivative(gamma=3.0))
    assert best_gamma(kernel, name) == pytest.approx(expected, rel=0.02)
    monkeypatch.setattr(objective, "SLIGHT", np.inf)  # wrong: it stays where it began
    assert best_gamma(kernel, name) == pytest.approx(3.0)


def test_an_array_without_a_derivative_is_moved_by_differences():
    known, unknown = (
        EvidenceSearch(
            BayesPointClassifier(kernel=kind(gamma=[0.5] * 4), engine="laplace"),
            param_bounds={"kernel__gamma": (1e-2, 10.0)},
            max_iter=2,
        )
        for kind in (RadialKernel, WithoutDerivative)
    )
    with pytest.warns(ConvergenceWarning):
        known.fit(*problem())
    with pytest.warns(ConvergenceWarning):
        unknown.fit(*problem())
    gamma = unknown.best_params_["kernel__gamma"]
    np.testing.assert_allclose(gamma, known.best_params_["kernel__gamma"], rtol=0.1)
    assert np.ptp(gamma) > 0.1


@pytest.mark.parametrize("fails", ["above", "on both sides"])
def test_differences_where_fits_fail(monkeypatch, fails):
    """Of the other side, if there is one; the search never stays without saying so."""
    monkeypatch.setattr(objective, "is_differentiable", lambda kernel, engine, name: False)
    plain, start = objective.EvidenceFunction.evaluate, 5.0

    def evaluate(self, values, params):
        away = np.log(values[SCALE] / start)
        if 1e-9 < away < 0.01 or (fails != "above" and -0.01 < away < -1e-9):
            return objective.failed(params, ValueError("made up"), 0.0)
        return plain(self, values, params)

    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=ExpectationPropagation(prior_scale=start)
    )
    search = EvidenceSearch(clf, param_bounds={SCALE: (0.01, 100.0)})
    expected = clone(search).fit(*problem()).best_params_[SCALE]
    assert expected < start / 2
    monkeypatch.setattr(objective.EvidenceFunction, "evaluate", evaluate)
    if fails == "above":
        search.fit(*problem())
        assert search.best_params_[SCALE] == pytest.approx(expected, rel=0.05)
    else:
        with pytest.warns(ConvergenceWarning, match="slightly different parameters succeeded"):
            search.fit(*problem())
