"""Sites that agree with given means of the outputs, the variances of their cavities held."""

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled
from bayespoint._core.ep import match

PRECISE, MOST = 1e-10, 50  # error of a mean in its own unit; steps, of which few are needed


@compiled
def agreeing(
    f: NDArray, alpha: NDArray, variance: NDArray, labels: tuple, law: tuple
) -> tuple[NDArray, NDArray, NDArray]:
    """Sites a, b with which the means of the outputs are f, and the pulls of all their copies.

    A cavity N(m, v) of y f with its site has the mean (m + v a) / (1 + v b), which grows with m
    and is convex: Newton's steps find the m of mean y f. The last pulls ``alpha`` tell where to
    begin. ``labels`` are y and weight.
    """
    y, weight = labels
    a, b, pull = np.empty(len(f)), np.empty(len(f)), np.empty(len(f))
    for i in range(len(f)):
        v, mean = variance[i], y[i] * f[i]
        m = mean - v * y[i] * alpha[i] / weight[i]
        for _ in range(MOST):
            a[i], b[i], _, _ = match(m, v, law)
            step = m + v * a[i] - mean * (1.0 + v * b[i])
            m -= step
            if not abs(step) > PRECISE * (1.0 + abs(mean)):
                break
        pull[i] = weight[i] * y[i] * (mean - m) / v
    return a, b, pull
