"""What an engine is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.tools.monitor import Monitor


@dataclass(frozen=True)
class Request:
    """What an engine gets for a run besides points and labels.

    Attributes
    ----------
    rng : numpy.random.Generator
        The only source of randomness. One child is spawned for each independent part, so the
        result does not depend on ``n_jobs``.
    monitor : Monitor
        Told about progress; may end the run.
    sample_weight : ndarray of shape (n_points,) or None
        Positive weights. An engine that cannot use them raises an error that says so.
    start : Posterior or None
        An earlier result to extend, or to update, if the engine can.
    n_jobs : int or None
        Threads, as in joblib.
    coding : str
        Name of the coding of the labels, one of the engine's ``codings``.
    device : torch.device or None
        The GPU to work on, where the points are already.
    trainer : callable or None
        What trains perceptrons elsewhere, such as on a cluster, with the parameters and methods of
        ``HostTrainer``; None is this process.

    Examples
    --------
    >>> from bayespoint.engines import Request
    >>> Request(n_jobs=2).weights(3)
    array([1., 1., 1.])
    """

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    monitor: Monitor = field(default_factory=Monitor)
    sample_weight: NDArray[np.float64] | None = None
    start: Any = None
    n_jobs: int | None = None
    coding: str = "one_vs_rest"
    device: Any = None
    trainer: Any = None

    def weights(self, n_points: int) -> NDArray[np.float64]:
        """The weights of all points, 1 where none are given."""
        if self.sample_weight is None:
            return np.ones(n_points)
        return self.sample_weight.astype(np.float64)
