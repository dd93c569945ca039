"""Kernels by their formulas, slow and obvious, and points to try them on."""

import numpy as np
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from bayespoint.kernels import (
    ConstantKernel,
    ExponentialKernel,
    FunctionKernel,
    MaternKernel,
    PolynomialKernel,
    RadialKernel,
    SumKernel,
)


def triangle(A, B):
    """A kernel that is in no library: products of min(x, x')."""
    return np.minimum(A[:, None], B[None]).prod(axis=2)


# Name: the parameters of make_kernel, and the slow, obvious version.
KERNELS = {
    "linear": (
        {"kernel": "linear", "fit_intercept": False},
        linear_kernel,
    ),
    "linear with intercept": (
        {"kernel": "linear"},
        lambda A, B: linear_kernel(A, B) + 1,
    ),
    "poly": (
        {"kernel": "poly", "degree": 5, "gamma": 0.3, "coef0": 0.7},
        lambda A, B: polynomial_kernel(A, B, degree=5, gamma=0.3, coef0=0.7),
    ),
    "poly homogeneous": (
        {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 0.0},
        lambda A, B: polynomial_kernel(A, B, degree=2, gamma=2.0, coef0=0.0),
    ),
    "rbf": (
        {"kernel": "rbf", "gamma": 0.3},
        lambda A, B: rbf_kernel(A, B, gamma=0.3),
    ),
    "matern32": (
        {"kernel": "matern32", "gamma": 0.3},
        Matern(length_scale=0.6**-0.5, nu=1.5),
    ),
    "matern52": (
        {"kernel": "matern52", "gamma": 0.3},
        Matern(length_scale=0.6**-0.5, nu=2.5),
    ),
    "exponential": (
        {"kernel": "exponential", "gamma": 0.3},
        lambda A, B: laplacian_kernel(A, B, gamma=0.3),
    ),
    "function": (
        {"kernel": triangle},
        lambda A, B: np.array([[np.prod(np.minimum(a, b)) for b in B] for a in A]),
    ),
    "constant": (
        {"kernel": ConstantKernel()},
        lambda A, B: np.ones((len(A), len(B))),
    ),
    "sum": (
        {"kernel": 2 * RadialKernel(gamma=0.3) + 0.5 * PolynomialKernel() + ConstantKernel()},
        lambda A, B: 2 * rbf_kernel(A, B, gamma=0.3) + 0.5 * linear_kernel(A, B) + 1,
    ),
    "linear sum": (
        {"kernel": 2 * PolynomialKernel(gamma=0.3, coef0=0.7) + 3 * ConstantKernel()},
        lambda A, B: 0.6 * linear_kernel(A, B) + 4.4,
    ),
    "sum in a sum": (
        {
            "kernel": 3 * (RadialKernel(gamma=0.3) + FunctionKernel(triangle))
            + PolynomialKernel(degree=3, coef0=1.0)
        },
        lambda A, B: (
            3 * (rbf_kernel(A, B, gamma=0.3) + triangle(A, B)) + (linear_kernel(A, B) + 1) ** 3
        ),
    ),
}


def two_sets(dtype=np.float64, seed=0, width=4):
    """Points with coordinates in (0.5, 2): no kernel value is near zero."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.5, 2, (n, width)).astype(dtype) for n in (13, 17))


def pixels(n=30):
    """Images of 784 pixels of 0..255, a fifth of them not 0."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, 784)) * (rng.random((n, 784)) < 0.2)


def normal_points(n, d=3, dtype=np.float64, seed=0):
    """Points with normal coordinates."""
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def slow_inner(A, B):
    """A linear kernel with intercept that nobody recognises as one."""
    return A @ B.T + 1


# Kernels that are ready for a space.
SPACES = {
    "linear": PolynomialKernel(coef0=1.0),
    "linear normalised": PolynomialKernel(coef0=1.0, normalize=True),
    "function": FunctionKernel(slow_inner),
    "poly": PolynomialKernel(degree=3, gamma=0.5, coef0=1.0),
    "rbf": RadialKernel(gamma=0.5),
    "rbf normalised": RadialKernel(gamma=0.5, normalize=True),
    "matern": MaternKernel(gamma=0.5),
    "exponential": ExponentialKernel(gamma=0.5),
    "sum": 2 * RadialKernel(gamma=0.5) + 0.5 * PolynomialKernel() + ConstantKernel(),
    "sum normalised": SumKernel(
        [RadialKernel(gamma=0.5), PolynomialKernel(degree=2)], weights=[3.0, 0.1], normalize=True
    ),
    "linear sum": 2 * PolynomialKernel(gamma=0.5) + 3 * ConstantKernel(),
}
