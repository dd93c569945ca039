"""Directions in which the posterior is long, from expectation propagation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.gaussian.ep import ExpectationPropagation
from bayespoint.engines.request import Request
from bayespoint.spaces import BasisSpace

SWEEPS = 10  # a rough covariance is enough: any will do for exact samples
SMOOTH = 0.1  # noise of the outputs, as a share of their size


def covariance_factor(
    space: BasisSpace, target: NDArray[np.int8], weight: NDArray | None, q: float
) -> NDArray[np.float64]:
    r"""F with :math:`F F^T` near the covariance of w given the labels of one task.

    Sites of flipped labels converge slowly with a step likelihood; a little noise of
    the outputs, a share of their size before any label, makes them smooth.
    """
    size = np.sqrt(np.mean(np.square(space.rows()).sum(axis=1)))
    engine = ExpectationPropagation(
        noise=float(SMOOTH * size) if q > 0 else 0.0,
        label_noise=min(q, 0.45),  # beyond, labels hardly count
        tol=1e-2,
        max_iter=SWEEPS,
    )
    posterior: Any = engine.run(space, target, Request(sample_weight=weight))[0]
    return posterior.factor[0]
