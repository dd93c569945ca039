"""Where a sequence of moves leads, from the last few of them."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

DEPTH = 5  # differences of moves that are combined
PRECISE = 1e-3  # singular value of the differences, as a share of the largest, that still counts


class Extrapolation:
    """Anderson's extrapolation of a fixed-point iteration x <- x + move(x).

    Near the fixed point moves are linear in x. The combination of the last points whose move would
    be the shortest is where the next one starts from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.engines.gaussian.joint.extrapolation import Extrapolation
    >>> matrix, x = np.array([[-0.9, 0.3], [0.0, 0.8]]), np.ones(2)
    >>> extrapolation = Extrapolation()
    >>> for _ in range(5):
    ...     x = extrapolation.after(x, matrix @ x - x, scale=1.0)
    >>> bool(np.abs(x).max() < 1e-9)
    True
    """

    def __init__(self) -> None:
        self._points: deque[NDArray] = deque(maxlen=DEPTH + 1)
        self._moves: deque[NDArray] = deque(maxlen=DEPTH + 1)

    def forget(self) -> None:
        """Begin anew."""
        self._points.clear()
        self._moves.clear()

    def after(self, point: NDArray, move: NDArray, scale: NDArray | float) -> NDArray[np.float64]:
        """The next point; ``scale`` times a move is how long it is, entry by entry."""
        self._points.append(point)
        self._moves.append(move)
        ahead = point + move
        if len(self._moves) == 1:
            return ahead
        along = np.diff(self._points, axis=0)
        turns = np.diff(self._moves, axis=0)
        columns = (scale * turns).reshape(len(turns), -1).T
        share = np.linalg.lstsq(columns, (scale * move).ravel(), rcond=PRECISE)[0]
        return np.asarray(ahead - np.tensordot(share, along + turns, axes=1))
