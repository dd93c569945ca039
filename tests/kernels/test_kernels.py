"""Kernels by their names, as instances and as functions."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.kernel_formulas import triangle

from bayespoint.kernels import (
    NAMES,
    STORED,
    ConstantKernel,
    FunctionKernel,
    Kernel,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    make_kernel,
    positive_parameters,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", PolynomialKernel(coef0=1.0)),
        ("poly", PolynomialKernel(degree=5, gamma=0.2, coef0=0.7)),
        ("rbf", RadialKernel(gamma=0.2)),
        ("precomputed", PrecomputedKernel()),
    ],
)
def test_names(name, expected):
    made = make_kernel(name, degree=5, gamma=0.2, coef0=0.7)
    assert type(made) is type(expected)
    assert made.get_params() == expected.get_params()


def test_the_linear_kernel_has_an_intercept_or_not():
    assert (
        make_kernel("linear", fit_intercept=False).get_params() == PolynomialKernel().get_params()
    )


def test_a_function_becomes_a_kernel():
    made = make_kernel(triangle, normalize=True)
    assert isinstance(made, FunctionKernel)
    assert made.function is triangle and made.normalize


@pytest.mark.parametrize("kernel", [RadialKernel(gamma=2.0), RadialKernel() + ConstantKernel()])
def test_an_instance_keeps_its_parameters(kernel):
    before = repr(kernel.get_params())
    made = make_kernel(kernel, degree=7, gamma=9.0, coef0=3.0, fit_intercept=False)
    assert made is not kernel
    assert repr(made.get_params()) == before
    assert make_kernel(kernel, normalize=True).normalize
    assert make_kernel(clone(kernel).set_params(normalize=True)).normalize
    assert repr(kernel.get_params()) == before


@pytest.mark.parametrize("kernel", ["gauss", None, 3, RadialKernel, ["rbf"]])
def test_what_is_not_a_kernel(kernel):
    expected = r"'kernel' parameter of .* among \{'auto', .*\}, a kernel such as RadialKernel\(\)"
    with pytest.raises(ValueError, match=expected):
        make_kernel(kernel)


def test_an_instance_is_checked():
    with pytest.raises(ValueError, match="'gamma' parameter of RadialKernel"):
        make_kernel(RadialKernel(gamma=-1.0))


def test_names_that_a_classifier_has_for_parameters():
    assert positive_parameters("linear") == positive_parameters("precomputed") == {}
    assert positive_parameters("rbf") == {"gamma": "gamma"}
    assert positive_parameters("poly") == {"gamma": "gamma", "coef0": "coef0"}
    assert positive_parameters(triangle) == positive_parameters("gauss") == {}
    assert positive_parameters(RadialKernel()) == {"kernel__gamma": "gamma"}


# A kernel of somebody else ---------------------------------------------------------------------


class Cosine(Kernel):
    """A kernel of one class and nothing more: cos(width (x - x')) of one feature."""

    def __init__(self, *, width=1.0, normalize=False):
        super().__init__(normalize=normalize)
        self.width = width

    def prepare(self, X, *, unit=False, training=False):
        turned = self.width * X[:, :1]
        return PolynomialKernel().prepare(np.hstack([np.cos(turned), np.sin(turned)]), unit=unit)

    def block(self, left, right):
        return left.rows @ right.rows.T


def test_a_new_kernel_is_one_class():
    X = np.random.default_rng(0).normal(size=(7, 2))
    kernel = make_kernel(0.5 * Cosine(width=3.0) + ConstantKernel()).fitted(X)
    expected = 0.5 * np.cos(3.0 * (X[:, 0, None] - X[:, 0])) + 1
    np.testing.assert_allclose(kernel(X, X), expected, rtol=1e-12)
    assert clone(kernel).get_params()["terms__0__width"] == 3.0
    assert kernel.positive_parameters == ("weights__0", "weights__1")


def test_every_named_kernel_can_be_stored():
    assert {type(make()) for make in NAMES.values()} <= set(STORED)
    assert FunctionKernel not in STORED
