"""Kernel parameters of the largest evidence."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.base import clone

from bayespoint.classifier.kernel_choice.candidates import OF_SCALE, OF_WIDTH, Candidate
from bayespoint.engines import Request
from bayespoint.engines.gaussian.evidence_gradient import (
    ProcessEvidence,
    evidence_gradient,
    has_process_evidence,
)
from bayespoint.engines.gaussian.prior_scale import ROUGH
from bayespoint.kernels import Kernel
from bayespoint.likelihoods.base import Kind
from bayespoint.tools.maximize import climb

FURTHEST = 7.0  # largest move of a logarithm
MOST_TASKS = 4  # that speak for all
MOST_FITS = 20
# Gain of log evidence of the last step. On the tables that defaults are tuned on, 0.2 was then left
# to gain, after 5 fits; with 0.1 instead it took a quarter more fits.
SMALL_GAIN = 0.3
TOLERANCE = 1e-2  # of sites, whose errors change the evidence by their squares only
MANY = 200  # points from which half of them say where to begin


def most_evident(
    candidate: Candidate,
    engine: Any,
    points: NDArray,
    targets: NDArray[np.int8],
    weight: NDArray[np.float64] | None,
    n_jobs: int | None,
    until: float = np.inf,
    kind: Kind = "sign",
) -> Kernel:
    """The candidate's kernel with the free parameters that maximise the evidence.

    Parameters
    ----------
    candidate : Candidate
        The kernel and its free parameters.
    engine : ExpectationPropagation or LaplaceApproximation
        Computes the evidence.
    points, targets, weight
        Training rows, labels of all tasks, weights or None.
    n_jobs : int or None
        Threads.
    until : float, default=inf
        When the search ends, on the monotonic clock of ``time``; the best parameters until then
        are taken.
    kind : {"sign", "class", "interval"}, default="sign"
        What the labels of single tasks are.

    Returns
    -------
    Kernel
        With the parameters found.
    """
    some = np.unique(np.linspace(0, targets.shape[1] - 1, MOST_TASKS).round().astype(int))
    targets = targets[:, some]
    engine = clone(engine).set_params(**ROUGH | {"tol": TOLERANCE})
    known = candidate.kernel.get_params()
    begin = [np.log(np.atleast_1d(known[name])) for name in candidate.free]
    owned = [movers(candidate, len(z)) for z in begin]
    follow = block_diag(*owned)  # how logarithms of parameters follow from those that move
    is_scale = [name.startswith("weights") for name in candidate.free]
    spread = np.repeat(np.where(is_scale, OF_SCALE, OF_WIDTH), [part.shape[1] for part in owned])

    ends = np.cumsum([len(z) for z in begin])[:-1]
    fitted = clone(candidate.kernel).fitted(points)  # what depends on the points stays the same

    def set_to(kernel: Kernel, move: NDArray) -> Kernel:
        values = np.split(np.exp(np.concatenate(begin) + follow @ move), ends)
        named = zip(candidate.free, values, strict=True)
        return kernel.set_params(**{n: v if np.ndim(known[n]) else float(v[0]) for n, v in named})

    is_process = not fitted.is_linear and has_process_evidence(engine, kind)

    def evidence(size: int, process: Any, move: NDArray) -> tuple[float, NDArray]:
        set_to(fitted, move)
        X, y, copies = points[:size], targets[:size], None if weight is None else weight[:size]
        space = engine.space(fitted)
        found = process(space.kernel_matrix(X)) if is_process else None
        if found is None:
            request = Request(sample_weight=copies, n_jobs=n_jobs, kind=kind)
            posterior, _ = engine.run(space.fit(X), y, request)
            slopes = evidence_gradient(engine, space, X, y, posterior, candidate.free, copies)
            value = posterior.log_evidence.sum()
        else:
            value, pull = found
            slopes = {name: space.slope(X, name, pull) for name in candidate.free}
        slope = np.concatenate([np.atleast_1d(slopes[name]) for name in candidate.free])
        away = move / spread
        return value - 0.5 * away @ away, slope @ follow - away / spread

    most = np.full(len(spread), FURTHEST)
    move, n = 0 * most, len(points)
    for size, enough in ((n // 2, 1.0), (n, SMALL_GAIN)) if n > MANY else ((n, SMALL_GAIN),):
        process = ProcessEvidence(engine, targets[:size], None if weight is None else weight[:size])
        move = climb(
            partial(evidence, size, process),
            move,
            -most,
            most,
            enough=enough,
            max_calls=MOST_FITS,
            until=until,
        ).x
    # Rounded, so that it does not matter in which digit a search ended.
    return set_to(clone(candidate.kernel), move.round(1))


def movers(candidate: Candidate, size: int) -> NDArray[np.float64]:
    """Which number moves each entry of a parameter: its own, that of its block, or one for all."""
    if candidate.tied or size == 1:
        return np.ones((size, 1))
    block = candidate.block
    return np.eye(size) if block is None else np.eye(block.max() + 1)[block]
