"""Directions in which the posterior is long, from expectation propagation."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.ep import ExpectationPropagation
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.monitor import Monitor
from bayespoint.spaces import BasisSpace

SWEEPS = 10  # a rough covariance is enough: any will do for exact samples


def covariance_factor(
    space: BasisSpace, target: NDArray[np.int8], weight: NDArray | None, q: float
) -> NDArray[np.float64]:
    r"""F with :math:`F F^T` near the covariance of w given the labels of one task.

    Flipped labels are replaced by Gaussian noise that turns as many labels around: a point at
    distance :math:`\sigma` from the boundary, on average, and noise :math:`\beta` disagree with
    probability :math:`\arctan(\beta / \sigma) / \pi = q`.
    """
    size = np.sqrt(np.mean(np.square(space.Z_).sum(axis=1)))
    noise = size * np.tan(np.pi * min(q, 0.4))  # beyond, labels hardly count
    engine = ExpectationPropagation(noise=float(noise), tol=1e-2, max_iter=SWEEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        posterior = engine.run(
            space, target, rng=np.random.default_rng(0), monitor=Monitor(), sample_weight=weight
        )
    return posterior.factor[0]
