"""Temperature and expected scores from the left-out probabilities of all blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.calibration import (
    MOST_TEMPERATURE_POINTS,
    Estimate,
    best_temperature,
    expected_scores_of_parts,
)
from bayespoint.codings import Coding
from bayespoint.rows.sweeps import LeftOut

CHUNK = 65_536  # rows of which probabilities are computed at a time


def temperature_of(left_out: Sequence[LeftOut], coding: Coding, thinned: int = 1) -> float:
    """The temperature of the best left-out predictions, from as many rows as in memory.

    Only every ``thinned``-th row is given.
    """
    n = sum(len(one.codes) for one in left_out)
    step, before, some = -(-n // MOST_TEMPERATURE_POINTS), 0, []
    for one in left_out:  # every step-th row of all, whatever the blocks
        own = slice(-before % step, None, step)
        some.append(LeftOut(one.log_probability[own], one.codes[own], one.weight[own]))
        before += len(one.codes)
    log_probability, codes, weight = (np.concatenate(parts) for parts in zip(*some, strict=True))
    log_odds = coding.log_odds(*coding.left_out(log_probability, codes))
    copies = thinned * float(sum(one.weight.sum() for one in left_out))
    return best_temperature(log_odds, codes, weight, copies)


def expected(left_out: Sequence[LeftOut], coding: Coding) -> dict[str, Estimate]:
    """Error and log-loss that new data should bring."""
    heaviest = max(one.weight.max(initial=0.0) for one in left_out)
    return expected_scores_of_parts(chunks(left_out, coding, heaviest))


def chunks(
    left_out: Sequence[LeftOut], coding: Coding, heaviest: float
) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Left-out probabilities of the classes, codes and copies, some rows at a time."""
    for one in left_out:
        for begin in range(0, len(one.codes), CHUNK):
            own = slice(begin, begin + CHUNK)
            codes = one.codes[own].astype(np.intp)
            answers = coding.left_out(one.log_probability[own], codes)
            yield coding.probabilities(*answers), codes, one.weight[own] / heaviest
