"""Derivatives of kernel matrices against central differences."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.kernel_formulas import triangle

from bayespoint.kernels import (
    ConstantKernel,
    ExponentialKernel,
    FunctionKernel,
    MaternKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
    in_plain_units,
)
from bayespoint.spaces import BasisSpace

STEP = 1e-5  # of a logarithm: the error of a central difference is about STEP^2
CUBIC = PolynomialKernel(degree=3, gamma=0.7, coef0=0.4)
KERNELS = {
    "rbf": RadialKernel(gamma=0.3),
    "matern32": MaternKernel(nu=1.5, gamma=0.3),
    "matern52": MaternKernel(nu=2.5, gamma=0.3),
    "exponential": ExponentialKernel(gamma=0.3),
    "poly": CUBIC,
    "poly without a constant": PolynomialKernel(degree=2, gamma=0.7),
    "linear": PolynomialKernel(gamma=0.7, coef0=0.4),
    "constant": ConstantKernel(),
    "function": FunctionKernel(triangle),
    "rbf + linear + constant": 2 * RadialKernel(gamma=0.3)
    + 0.5 * PolynomialKernel(gamma=0.7)
    + 3 * ConstantKernel(),
    "sum of powers": 2 * CUBIC + 0.1 * PolynomialKernel(degree=2, gamma=1.3, coef0=2.0),
    "sum in a sum": SumKernel(
        [SumKernel([CUBIC, RadialKernel()], weights=[0.3, 2.0], normalize=True), ConstantKernel()],
        weights=[0.7, 0.2],
    ),
    "normalised terms": clone(CUBIC).set_params(normalize=True) + 0.4 * FunctionKernel(triangle),
    "linear sum": 2 * PolynomialKernel(gamma=0.7, coef0=0.4) + 3 * ConstantKernel(),
    "one term": 0.5 * PolynomialKernel(gamma=0.7),
}


def points():
    X = np.random.default_rng(0).uniform(0, 2, (12, 3))
    X[:, 1] = 0  # left out of the columns of a power
    return X


def moved(kernel, name, sign):
    value = kernel.get_params()[name]
    return clone(kernel).set_params(**{name: value * np.exp(sign * STEP)})


def difference(kernel, name, values):
    """(values at theta e^h - values at theta e^-h) / 2h."""
    return (values(moved(kernel, name, 1)) - values(moved(kernel, name, -1))) / (2 * STEP)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_of_the_matrix(name, normalize):
    X = points()
    kernel = clone(KERNELS[name]).set_params(normalize=normalize or KERNELS[name].normalize)
    fitted = kernel.fitted(X)
    prepared = fitted.prepare(X, training=True)
    for parameter in kernel.positive_parameters:
        expected = difference(kernel, parameter, lambda k: k.fitted(X)(X, X))
        change = fitted.derivative(prepared, prepared, parameter)
        plain = in_plain_units(change, prepared.log_unit, prepared.log_unit)
        np.testing.assert_allclose(plain, expected, atol=1e-8 * np.abs(fitted(X, X)).max())


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_and_slopes_between_different_points(name, normalize, monkeypatch):
    """More points than one small part, of other units than the training points."""
    monkeypatch.setattr("bayespoint.kernels.sums.SMALL", 3)
    X, other = points(), 5 * points()[:7]
    kernel = clone(KERNELS[name]).set_params(normalize=normalize or KERNELS[name].normalize)
    fitted = kernel.fitted(X)
    left, right = fitted.prepare(other), fitted.prepare(X, training=True)
    pull = np.random.default_rng(1).normal(size=(7, 12))
    for parameter in kernel.positive_parameters:
        expected = difference(kernel, parameter, lambda k: k.fitted(X)(other, X))
        change = fitted.derivative(left, right, parameter)
        plain = in_plain_units(change, left.log_unit, right.log_unit)
        size = np.abs(fitted(other, X)).max()
        np.testing.assert_allclose(plain, expected, atol=1e-8 * size)
        slope = fitted.slope(
            left, right, parameter, in_plain_units(pull, left.log_unit, right.log_unit)
        )
        assert slope == pytest.approx(np.vdot(pull, expected), abs=1e-7 * size)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.is_linear])
def test_derivatives_of_linear_features(name, normalize):
    X = points()
    kernel = clone(KERNELS[name]).set_params(normalize=normalize)
    assert kernel.positive_parameters
    for parameter in kernel.positive_parameters:
        expected = difference(kernel, parameter, lambda k: BasisSpace(k).fit(X).Z_)
        pull = np.random.default_rng(1).normal(size=expected.shape)
        slope = BasisSpace(kernel).slope(X, parameter, pull)
        np.testing.assert_allclose(slope, np.vdot(pull, expected), atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.3, "mean"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if not kernel.is_linear])
def test_slopes_of_a_function_of_the_matrix(name, normalize, ridge):
    X = points()
    kernel = clone(KERNELS[name]).set_params(normalize=normalize or KERNELS[name].normalize)
    pull = symmetric(len(X))

    def value(k):
        K = k.fitted(X)(X, X)
        own = K.trace() / len(K) if ridge == "mean" else ridge
        return np.vdot(pull, K + own * np.eye(len(K)))

    space = BasisSpace(kernel.fitted(X), ridge)
    for parameter in kernel.positive_parameters:
        expected = difference(kernel, parameter, value)
        assert space.slope(X, parameter, pull) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
def test_slopes_of_a_gamma_for_each_feature(normalize):
    X, gamma = points(), np.array([0.5, 0.1, 2.0])
    pull = symmetric(len(X))

    def kernel(gamma):
        terms = [RadialKernel(gamma=gamma), PolynomialKernel(gamma=0.3)]
        return SumKernel(terms, weights=[2.0, 0.5], normalize=normalize)

    expected = np.zeros(3)
    for j, step in enumerate(STEP * np.eye(3)):
        ahead, behind = (np.vdot(pull, kernel(gamma * np.exp(s))(X, X)) for s in (step, -step))
        expected[j] = (ahead - behind) / (2 * STEP)
    slopes = BasisSpace(kernel(gamma).fitted(X)).slope(X, "terms__0__gamma", pull)
    np.testing.assert_allclose(slopes, expected, atol=1e-6)
    fitted, other = kernel(gamma).fitted(X), 0.5 * points()[:7]
    pull = np.random.default_rng(2).normal(size=(7, 12))  # between other points and these
    for j, step in enumerate(STEP * np.eye(3)):
        ahead, behind = (np.vdot(pull, kernel(gamma * np.exp(s))(other, X)) for s in (step, -step))
        expected[j] = (ahead - behind) / (2 * STEP)
    left, right = fitted.prepare(other), fitted.prepare(X, training=True)
    pull = in_plain_units(pull, left.log_unit, right.log_unit)
    slopes = fitted.slope(left, right, "terms__0__gamma", pull)
    np.testing.assert_allclose(slopes, expected, atol=1e-6)
    pull = symmetric(len(X))
    alone = BasisSpace(RadialKernel(gamma=gamma).fitted(X)).slope(X, "gamma", pull)
    same = BasisSpace(RadialKernel(gamma=1.0).fitted(X * np.sqrt(gamma)))
    assert alone.sum() == pytest.approx(same.slope(X * np.sqrt(gamma), "gamma", pull))


def symmetric(n):
    pull = np.random.default_rng(1).normal(size=(n, n))
    return pull + pull.T


def test_points_of_another_scale_than_the_kernels_own():
    """Terms of a normalised sum are prepared with unit lengths, whatever they would do alone."""
    X = points()
    prepared = CUBIC.prepare(X, unit=True)
    lengths = np.sqrt(np.outer(CUBIC.diag(X), CUBIC.diag(X)))
    expected = difference(CUBIC, "gamma", lambda k: k(X, X)) / lengths
    np.testing.assert_allclose(CUBIC.derivative(prepared, prepared, "gamma"), expected, atol=1e-8)


def test_kernels_without_parameters_have_no_derivatives():
    for kernel in (ConstantKernel(), FunctionKernel(triangle), PrecomputedKernel()):
        assert kernel.positive_parameters == ()
        assert kernel.derivative(*2 * [kernel.prepare(np.eye(3), training=True)], "gamma") is None


@pytest.mark.parametrize("name", ["rbf", "matern32", "exponential", "sum"])
def test_slopes_from_exponents_that_points_remember(name):
    known = {**KERNELS, "sum": RadialKernel(gamma=np.array([0.3, 0.1])) + ConstantKernel()}
    rng = np.random.default_rng(0)
    X, pull = rng.normal(size=(12, 2)), rng.normal(size=(12, 12))
    kernel = known[name].fitted(X)
    plain, space = kernel.prepare(X), BasisSpace(kernel).fit(X)
    assert plain.known is None
    assert all(part.known is None for part in space._points.parts)
    for parameter in kernel.positive_parameters:
        expected = BasisSpace(kernel).slope(X.copy(), parameter, pull)
        for _ in range(2):  # what is remembered is not written into
            np.testing.assert_allclose(space.slope(X, parameter, pull), expected, rtol=1e-12)
    again = kernel.prepare(X).remember()
    np.testing.assert_array_equal(kernel.block(again, again), kernel.block(again, again))
    part = again.parts[0] if again.parts else again
    assert part.known is not None and part.take(slice(3)).known is None
    part.known["t"] = part.known["t"] - 1.0  # it is this that slopes ask for
    assert not np.allclose(kernel.block(again, again), kernel.block(plain, plain))
