"""Streams: independent weights, visited row by row, that forget.

T. Graepel, J. Quinonero Candela, T. Borchert and R. Herbrich, Web-Scale Bayesian Click-Through Rate
Prediction for Sponsored Search Advertising in Microsoft's Bing Search Engine, ICML 2010: the
filter, forgetting towards the prior, and pruning. R. Kulhavy and M. B. Zarrop, On a General Concept
of Forgetting, International Journal of Control 58, 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint._core.calls import Slices, interrupts_later
from bayespoint.engines.base import Request, Run
from bayespoint.engines.gaussian.factorised_sites import sparse_rows
from bayespoint.engines.gaussian.prior import (
    LARGE,
    GaussianPrior,
    check_same_weights,
    known_before,
    priors,
)
from bayespoint.engines.gaussian.prior_scale import with_scale
from bayespoint.engines.gaussian.tasks import SINGLE_PASS
from bayespoint.posteriors import StreamPosterior
from bayespoint.posteriors.stream import MEAN, PRIOR, VARIANCE, VISITED
from bayespoint.spaces import BasisSpace, Coordinates

# Chosen on the first 300 000 rows of the flights (docs/how-to/streams.md): one visit forgets at
# most as much as so many rows. Common weights thus follow the clock and rare ones their visits.
LONGEST = 100
HALF_LIVES = (np.inf, 30_000, 10_000, 3_000, 1_000, 300)  # rows, of the rates of decay="auto"
CHUNK = 1_000  # rows that are predicted, and then learned from, where rates are compared
MEMORY = 10_000  # rows: half-life of the evidence of rates, and of the recalibration
CALIBRATION = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.01])  # slope 1 +- 1 and offset 0 +- 0.1 at first
NO_CALIBRATION = np.empty((0, len(CALIBRATION)))
IN_PLACE = 1_000_000  # visits of rows, some tenths of a second, during which interrupts wait


def forgets(engine: Any) -> bool:
    """Whether an engine's weights forget."""
    return isinstance(engine.decay, str) or engine.decay < 1


def safe_entry(posterior: StreamPosterior) -> float:
    """An entry of a row that is far from overflow."""
    return float(LARGE**0.5 / (1 + np.sqrt(posterior.records[..., VARIANCE].max())))


def shares_kept(decay: float | str) -> NDArray[np.float64]:
    """What a weight keeps 0, 1, 2, ... rows after its last visit, each at all rates, in a row."""
    if isinstance(decay, str):
        return _powers((0.5,) * len(HALF_LIVES), HALF_LIVES, LONGEST)
    return _powers((float(decay),), (1,), LONGEST)


@lru_cache
def _powers(bases: tuple, lives: tuple, longest: int) -> NDArray[np.float64]:
    """Powers of each base, whose exponents are numbers of rows over a life."""
    rows = np.arange(longest + 1.0)
    powers = [base ** (rows / life) for base, life in zip(bases, lives, strict=True)]
    return np.stack(powers, axis=1).ravel()


def run_filter(
    engine: Any, space: BasisSpace, targets: NDArray[np.int8], request: Request
) -> tuple[StreamPosterior, Run]:
    """Visit each row once, in the order in which they are given."""
    rows = sparse_rows(space).rows()
    posterior = begin_stream(engine, space, rows, targets.shape[1], request.start)
    with request.monitor.running(1, "sweeps"):
        posterior = learn_rows(engine, posterior, rows, 0.0, targets)
        request.monitor.update(1)
    return posterior, Run("sweeps", 1, SINGLE_PASS)


def run_passes(
    engine: Any, space: BasisSpace, targets: NDArray, request: Request, run_tasks: Callable
) -> tuple[StreamPosterior, Run]:
    """Several passes over a batch, before which its weights forget once, at each rate."""
    rows = sparse_rows(space).rows()
    posterior = copied(begin_stream(engine, space, rows, targets.shape[1], request.start))
    now = posterior.n_rows + len(targets)
    if len(posterior.records) > 1:
        part = rows.indptr, rows.indices, rows.data, 0.0
        y = np.ascontiguousarray(targets.T, dtype=np.float64)
        law, known = posterior.likelihood.constants, judged(posterior, len(targets))
        _core.filters.judge(part, y, posterior.by_weight(), law, posterior.evidence, known)
    for t, records in enumerate(posterior.by_weight()):
        mean = posterior.prior_mean[t % len(posterior.prior_mean)]
        past = mean, shares_kept(engine.decay), (1.0,) * len(posterior.records)
        _core.filters.forget_once(rows.indices, records, float(now), *past)
    found = []
    for records in posterior.records:
        before = [GaussianPrior(one[:, MEAN].copy(), np.sqrt(one[:, VARIANCE])) for one in records]
        found.append(run_tasks(before))
        gaussian, _ = found[-1]
        records[:, rows.indices, VISITED] = now
        records[..., MEAN], records[..., VARIANCE] = gaussian.mean.T, gaussian.factor**2
    gaussian, run = found[int(posterior.evidence.argmax())]
    posterior.n_rows = now
    posterior.log_evidence = posterior.log_evidence + gaussian.log_evidence
    posterior.left_out_log_probability = gaussian.left_out_log_probability
    return posterior, run


def begin_stream(
    engine: Any, space: BasisSpace, rows: Any, n_tasks: int, start: Any
) -> StreamPosterior:
    """The posterior before a batch, at each rate of the engine."""
    likelihood, n_rates = engine.law, len(HALF_LIVES) if engine.decay == "auto" else 1
    if isinstance(start, StreamPosterior):
        check_same_weights(start, space)
        posterior = with_rates(start, n_rates)
        check_numbers(engine, space, posterior)
        posterior.likelihood = likelihood
        return posterior
    if isinstance(engine.prior_scale, str):
        engine = with_scale(engine, unit_scale(engine, rows))
    prior = priors(engine, space, n_tasks)
    before = prior if start is None else independent_before(engine, space, n_tasks, start)
    records = np.zeros((n_tasks, space.n_coordinates, 4, n_rates)).transpose(3, 0, 1, 2)
    for t, (first, now) in enumerate(zip(prior, before, strict=True)):
        records[:, t, :, PRIOR], records[:, t, :, VARIANCE] = first.root**-2.0, now.root**2
        records[:, t, :, MEAN] = now.mean
    is_centred = not any(one.mean.any() for one in prior)
    means = np.zeros((1, 1)) if is_centred else np.stack([one.mean for one in prior])
    given = np.tile(CALIBRATION, (n_tasks, 1)) if n_rates > 1 else None
    known = 0.0 if start is None or start.log_evidence is None else start.log_evidence
    posterior = StreamPosterior(records, means, likelihood, calibration=given, log_evidence=known)
    check_numbers(engine, space, posterior)
    return posterior


def independent_before(
    engine: Any, space: BasisSpace, n_tasks: int, start: Any
) -> list[GaussianPrior]:
    """What is known of independent weights of each task before a batch."""
    before = known_before(engine, space, n_tasks, start)
    if any(prior.root.ndim == 2 for prior in before):
        raise ValueError(
            f"{type(engine).__name__} treats weights as independent, and cannot go on from a "
            "posterior with a full covariance: fit anew."
        )
    return before


def unit_scale(engine: Any, rows: Any) -> float:
    """The scale at which outputs of these rows have the variance 1; 1 if nothing is forgotten."""
    largest = float(np.abs(rows.data).max(initial=0.0))
    if not forgets(engine) or largest == 0:
        return 1.0
    square = np.square(rows.data / largest).sum() / rows.shape[0]  # neither 0 nor infinite
    return float(1 / max(largest * np.sqrt(square), 1 / LARGE))


def with_rates(posterior: StreamPosterior, n_rates: int) -> StreamPosterior:
    """The posterior with so many rates, which begin alike."""
    known = len(posterior.records)
    if known == n_rates:
        return posterior
    if known > 1:
        raise ValueError(
            f"The batches so far were learned with decay='auto', at {known} rates of forgetting. "
            f"They cannot go on with one rate: set decay='auto' again, or fit anew."
        )
    more = copy(posterior)
    more.records = np.repeat(posterior.records, n_rates, axis=0)
    more.evidence = np.zeros(n_rates)
    more.calibration = np.tile(CALIBRATION, (posterior.records.shape[1], 1))
    return more


def copied(posterior: StreamPosterior) -> StreamPosterior:
    """The same in arrays of its own."""
    other = copy(posterior)
    other.records, other.evidence = posterior.records.copy("K"), posterior.evidence.copy()
    if posterior.calibration is not None:
        other.calibration = posterior.calibration.copy()
    return other


def check_numbers(engine: Any, space: Coordinates, posterior: StreamPosterior) -> None:
    """Refuse numbers whose squares overflow."""
    known = [GaussianPrior(one[:, MEAN], np.sqrt(one[:, VARIANCE])) for one in posterior.records[0]]
    engine.check_range(space.largest, known)


def learn_rows(
    engine: Any, posterior: StreamPosterior, rows: Any, constant: float, targets: NDArray
) -> StreamPosterior:
    """Visit each row once; the posterior is changed in place, unless there is much to learn.

    Then a copy is, since an interrupt may come in between, and is returned.

    Parameters
    ----------
    engine : FactorisedPropagation
        Its forgetting; the noise is that of the posterior.
    posterior : StreamPosterior
        What is known.
    rows : CSR array of shape (n, n_coordinates), or one column less
        Each weight at most once in a row.
    constant : float
        Entry of all rows at the last weight; 0 if it is in ``rows``.
    targets : ndarray of shape (n, n_tasks)
        Labels -1 and +1.
    """
    y = np.ascontiguousarray(targets.T, dtype=np.float64)
    n, n_rates = len(targets), len(posterior.records)
    if y.size * n_rates <= IN_PLACE:
        with interrupts_later():
            visit(engine, posterior, rows, constant, y, [(0, n)] if n_rates == 1 else chunks(n))
        return posterior
    posterior = copied(posterior)
    visit(engine, posterior, rows, constant, y, Slices().of(n) if n_rates == 1 else chunks(n))
    return posterior


def chunks(n: int) -> Iterable[tuple[int, int]]:
    """Begin and end of the rows that are predicted before they are learned from."""
    return ((begin, min(begin + CHUNK, n)) for begin in range(0, n, CHUNK))


def visit(
    engine: Any,
    posterior: StreamPosterior,
    rows: Any,
    constant: float,
    y: NDArray,
    slices: Iterable,
) -> None:
    """Learn from all rows, a slice (begin, end) after the other; y has shape (n_tasks, n)."""
    records, constants = posterior.by_weight(), posterior.likelihood.constants
    past = posterior.prior_mean, shares_kept(engine.decay)
    learned = np.empty_like(y)  # log p(label | all earlier labels)
    for begin, end in slices:
        part = rows.indptr[begin : end + 1], rows.indices, rows.data, constant
        own, chance = np.ascontiguousarray(y[:, begin:end]), (1.0,)
        if len(posterior.records) > 1:
            known = judged(posterior, end - begin)
            chance = _core.filters.judge(part, own, records, constants, posterior.evidence, known)
        learned[:, begin:end] = _core.filters.learn_all(
            part, own, records, posterior.n_rows, past, constants, chance
        )
        posterior.n_rows += end - begin
    posterior.log_evidence = posterior.log_evidence + learned.sum(axis=1)
    posterior.left_out_log_probability = learned.T


def judged(posterior: StreamPosterior, n: int) -> tuple[NDArray, NDArray, float]:
    """The recalibration, its prior, and what is kept of it and of the evidence after n rows."""
    known = posterior.calibration
    return NO_CALIBRATION if known is None else known, CALIBRATION, 0.5 ** (n / MEMORY)
