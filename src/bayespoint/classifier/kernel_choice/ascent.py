"""Kernel parameters of the largest evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.classifier.kernel_choice.candidates import Candidate
from bayespoint.engines import Request
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient
from bayespoint.engines.gaussian.prior_scale import ROUGH
from bayespoint.kernels import Kernel
from bayespoint.tools.maximize import climb

FURTHEST = 7.0  # largest move of a logarithm
MOST_TASKS = 4  # that speak for all
MOST_FITS = 20
# Gain of log evidence of the last step. On the tables that defaults are tuned on, 0.2 was then left
# to gain, after 5 fits; with 0.1 instead it took a quarter more fits.
SMALL_GAIN = 0.3


def most_evident(
    candidate: Candidate,
    engine: Any,
    points: NDArray,
    targets: NDArray[np.int8],
    weight: NDArray[np.float64] | None,
    n_jobs: int | None,
    until: float = np.inf,
) -> Kernel:
    """The candidate's kernel with the free parameters that maximise the evidence.

    Parameters
    ----------
    candidate : Candidate
        The kernel and its free parameters.
    engine : ExpectationPropagation or LaplaceApproximation
        Computes the evidence.
    points, targets, weight
        Training points, labels of all tasks, weights or None.
    n_jobs : int or None
        Threads.
    until : float, default=inf
        When the search ends, on the monotonic clock of ``time``; the best parameters until then
        are taken.

    Returns
    -------
    Kernel
        With the parameters found.
    """
    some = np.unique(np.linspace(0, targets.shape[1] - 1, MOST_TASKS).round().astype(int))
    targets = targets[:, some]
    engine = clone(engine).set_params(**ROUGH)
    kernel = clone(candidate.kernel)
    full = np.log(np.concatenate([np.atleast_1d(read(kernel, name)) for name in candidate.free]))
    place = places(kernel, candidate)
    start = full[np.unique(place, return_index=True)[1]]

    def evidence(z: NDArray) -> tuple[float, NDArray]:
        write(kernel, candidate.free, np.exp(z[place]))
        fitted = kernel.fitted(points)
        space = engine.space(fitted).fit(points)
        posterior, _ = engine.run(space, targets, Request(sample_weight=weight, n_jobs=n_jobs))
        slopes = evidence_gradient(
            engine, space, points, targets, posterior, candidate.free, weight
        )
        away = (z - start) / candidate.spread
        value = posterior.log_evidence.sum() - 0.5 * away @ away
        slope = np.concatenate([np.atleast_1d(slopes[name]) for name in candidate.free])
        return value, np.bincount(place, slope) - away / candidate.spread

    bounds = start - FURTHEST, start + FURTHEST
    found = climb(evidence, start, *bounds, enough=SMALL_GAIN, max_calls=MOST_FITS, until=until)
    write(kernel, candidate.free, np.exp(found.x[place]))
    return kernel


def places(kernel: Kernel, candidate: Candidate) -> NDArray[np.intp]:
    """Which free number each entry of the parameters is: one for all features of a block."""
    found, n = [], 0
    for name in candidate.free:
        size = np.size(read(kernel, name))
        is_shared = candidate.block is not None and size == len(candidate.block) > 1
        found.append(n + (candidate.block if is_shared else np.arange(size)))
        n = int(found[-1].max()) + 1
    return np.concatenate(found)


def read(kernel: Kernel, name: str) -> Any:
    """The value of a parameter."""
    return kernel.get_params()[name]


def write(kernel: Kernel, names: tuple[str, ...], values: NDArray) -> None:
    """Set parameters to consecutive entries of an array."""
    begin = 0
    for name in names:
        size = np.size(read(kernel, name))
        own = values[begin : begin + size]
        kernel.set_params(**{name: own.copy() if np.ndim(read(kernel, name)) else float(own[0])})
        begin += size
