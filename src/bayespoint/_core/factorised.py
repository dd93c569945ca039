"""Expectation propagation for weights that are treated as independent.

The site of a label is a product of messages exp(shift w_j - rate w_j^2 / 2), one to each weight of
its sparse row; the other symbols are those of ``ep.py``.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.ep import INNER, NARROWEST, SMALLEST, match, tilt


@inner
def log_mass(mean: float, variance: float, shift: float, rate: float) -> float:
    """Logarithm of the expectation of exp(shift t - rate t^2 / 2) for t ~ N(mean, variance)."""
    d = 1.0 + rate * variance
    exponent = (2.0 * mean * shift + shift**2 * variance - rate * mean**2) / d
    return 0.5 * exponent - 0.5 * math.log(max(d, SMALLEST))


@compiled
def sweep_rows(
    rows: tuple, labels: tuple, messages: tuple, totals: tuple, law: tuple, damping: float
) -> float:
    """Visit all sites in turn; rows are begin, column, x: x[begin[i]:begin[i + 1]] at weights.

    ``labels`` are y, removed, weight and last. Changes the messages, shift and rate, their
    ``totals`` to each weight, pull and precision, and ``last``, a and b of the site that one
    message to the output would be. Returns the largest of
    |a' - a| s and |b' - b| s^2, infinite if a site has no cavity.
    """
    (begin, column, x), (y, removed, weight, last) = rows, labels
    (shift, rate), (pull, precision) = messages, totals
    largest, longest = 0.0, np.int64(0)
    for i in range(len(y)):
        longest = max(longest, begin[i + 1] - begin[i])
    means, variances = np.empty(longest), np.empty(longest)  # of the cavity of one row
    for i in range(len(y)):
        first = begin[i]
        step = damping / min(max(weight[i], 1.0), 2.0)  # copies move at once: half as far
        for again in range(1 if weight[i] <= 1 else INNER):
            m, v, sound = 0.0, 0.0, True
            for p in range(first, begin[i + 1]):
                j = column[p]
                left = precision[j] - removed[i] * rate[p]
                if not (left > SMALLEST * precision[j]):
                    sound = False
                    break
                variance = 1.0 / left
                mean = (pull[j] - removed[i] * shift[p]) * variance
                means[p - first], variances[p - first] = mean, variance
                m += y[i] * x[p] * mean
                v += x[p] * x[p] * variance
            if not sound:
                largest = np.inf
                break
            s2, w, rest, u, _ = tilt(m, v, law)
            if s2 <= 0:
                break
            s, scale = math.sqrt(s2), s2 * rest + w * law[1]
            a, b = s * u / scale, w / scale
            moved = max(abs(a - last[i, 0]) * s, abs(b - last[i, 1]) * s2)
            if again == 0:
                largest = moved if moved > largest or math.isnan(moved) else largest
            last[i, 0], last[i, 1] = a, b
            for p in range(first, begin[i + 1]):
                j, mean, variance = column[p], means[p - first], variances[p - first]
                others = max(s2 - variance * x[p] * x[p], 0.0)
                scale = 1.0 / (s2 * rest + w * others)  # one over s^2 - w x^2 variance
                shift_to = x[p] * (y[i] * s * u + w * (x[p] * mean - y[i] * m)) * scale
                rate_to = x[p] * x[p] * w * scale
                ds, dr = step * (shift_to - shift[p]), step * (rate_to - rate[p])
                while weight[i] * dr < (NARROWEST - 1.0) * precision[j]:
                    ds, dr = 0.5 * ds, 0.5 * dr
                shift[p] += ds
                rate[p] += dr
                pull[j] += weight[i] * ds
                precision[j] += weight[i] * dr
            if moved < 1e-14:
                break
    return largest


@compiled
def summary_rows(
    rows: tuple, labels: tuple, messages: tuple, totals: tuple, law: tuple
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """As :func:`summary`, and a, b of the site that one message to each output would be."""
    (begin, column, x), (y, removed, _, _) = rows, labels
    (shift, rate), (pull, precision) = messages, totals
    left_out, constant = np.empty(len(y)), np.empty(len(y))
    a, b = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        m, v, product = 0.0, 0.0, 0.0
        for p in range(begin[i], begin[i + 1]):
            j = column[p]
            left, lacking = precision[j] - removed[i] * rate[p], removed[i] * shift[p]
            if not (left > SMALLEST * precision[j]):  # no cavity: the posterior itself stands in
                left, lacking = precision[j], 0.0
            variance = 1.0 / left
            mean = (pull[j] - lacking) * variance
            m += y[i] * x[p] * mean
            v += x[p] * x[p] * variance
            product += log_mass(mean, variance, shift[p], rate[p])
        a[i], b[i], _, left_out[i] = match(m, v, law)
        constant[i] = left_out[i] - product
    return left_out, constant, a, b
