"""How long an automatic choice may take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bayespoint.classifier.kernel_choice.candidates import Candidate


class Clock:
    """Divides the time of an automatic choice between learning kernels and training with them.

    The time that the last machine took to train is kept for each one that is still to be trained,
    so that a choice ends near its limit.

    Parameters
    ----------
    max_time : float or None
        Seconds from now on; None: no limit.

    Examples
    --------
    >>> from bayespoint.classifier.kernel_choice.clock import Clock
    >>> Clock(None).left
    inf
    """

    def __init__(self, max_time: float | None) -> None:
        self._end = np.inf if max_time is None else time.monotonic() + max_time
        self._last = 0.0  # seconds that the last machine took to train

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._end - time.monotonic()

    def has_time_for(self, candidate: Candidate) -> bool:
        """Whether the machines of a candidate can be trained."""
        return self.left > self._last * (2 if candidate.free else 1)

    def end_of_search(self, n_searches: int) -> float:
        """When the first of so many searches is to end, on the monotonic clock of ``time``.

        Each gets the same part of the time that two trainings leave.
        """
        return time.monotonic() + (self.left - 2 * self._last) / n_searches

    @contextmanager
    def training(self) -> Iterator[None]:
        """Measure how long a machine takes to train."""
        began = time.monotonic()
        yield
        self._last = time.monotonic() - began
