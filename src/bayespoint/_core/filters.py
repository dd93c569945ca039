"""One pass over sparse rows with independent weights: assumed-density filtering with forgetting.

What is known of a weight is one record, so that a visit touches one cache line: its mean, its
variance, the number of rows up to its last visit, and the precision of its prior. Each of these is
side by side for all rates of forgetting, (n_weights, 4, n_rates) in one row of numbers for a task.
The number of rates is the length of a tuple, which is known when loops over them are compiled: they
take half the time. Rows are four things, begin, column, x and constant: x[begin[i]:begin[i + 1]] at
the weights ``column``, each of them once. If ``constant`` is not 0, all rows have this entry, too,
at the last weight.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from bayespoint._core.compiler import compiled, inlined, inner
from bayespoint._core.ep import PROBIT, ROOT_2_PI, ROOT_HALF, tilt, truncation

# Places in a record after the mean, and their number; unsigned: not counted from the end.
VARIANCE, VISITED, PRIOR, SIZE = np.arange(1, 5, dtype=np.uint64)
SHARE, REST, FORCE = VARIANCE, VISITED, PRIOR  # places in what a label says, after s^2
STEEPEST = 30.0  # bound on scores that are recalibrated
LEAST = 0.5 * math.erfc(STEEPEST * ROOT_HALF)
TINY = 2.3e-308  # the smallest number with all its digits
SMALL = 1e-100  # a product of two such numbers does not underflow
# phi / Phi and Phi between -NEAR and NEAR, by polynomials of 8 terms, 32 in a unit.
NEAR, STEPS, PLACES = 4.0, 32, np.polynomial.chebyshev.chebpts1(8)
SCORES = (np.arange(2 * NEAR * STEPS) + 0.5 + 0.5 * PLACES[:, None]) / STEPS - NEAR
CURVES = np.stack([2 / (ROOT_2_PI * erfcx(-ROOT_HALF * SCORES)), ndtr(SCORES)], axis=-1)
CURVES = np.linalg.solve(np.vander(PLACES, increasing=True), CURVES.reshape(len(PLACES), -1))
CURVES = np.ascontiguousarray(CURVES.reshape(len(PLACES), -1, 2).transpose(1, 2, 0))


@compiled
def are_within(x: NDArray, largest: float) -> bool:
    """Whether all numbers are at most so large; NaN is not."""
    n_within = 0  # counted to the end, which is vectorised
    for one in x:
        n_within += abs(one) <= largest
    return n_within == len(x)


@inner
def near(t: float) -> tuple[float, float]:
    """The functions phi / Phi and Phi at -NEAR < t < NEAR, to 1e-14."""
    place = (t + NEAR) * STEPS
    part = np.uint64(place)
    u = 2.0 * (place - part) - 1.0
    return polynomial(CURVES[part, 0], u), polynomial(CURVES[part, 1], u)


@inner
def polynomial(c: NDArray, u: float) -> float:
    """Of 8 terms, whose steps wait for each other as little as possible."""
    low, high = (c[0] + c[1] * u, c[2] + c[3] * u), (c[4] + c[5] * u, c[6] + c[7] * u)
    return low[0] + u * u * low[1] + u * u * (u * u) * (high[0] + u * u * high[1])


@inlined
def told(m: float, variance: float, label: float, law: tuple) -> tuple:
    """What a label says of an output f ~ N(m, variance): see :func:`learn_all`.

    s^2, w / s^2, 1 - w, y (u - t w) / s, the label's probability and, where it may be very small,
    its logarithm.
    """
    s2 = variance + law[1]
    root = 1.0 / math.sqrt(max(s2, TINY))
    t = label * m * root
    if abs(t) < NEAR and law[2] == 0 and s2 > 0:
        v, p = near(t)
        w = v * (v + t)
        return s2, w * root * root, 1.0 - w, label * v * root, p, 0.0
    _, w, rest, u, log_p = tilt(label * m, variance, law)
    return s2, w * root * root, rest, label * (u - t * w) * root, math.exp(log_p), log_p


@inlined
def forget(own: NDArray, at: int, now: float, centre: float, keep: NDArray, rates: tuple) -> None:
    """At its visit a weight becomes N(mean, variance)^k times prior^(1 - k), at each rate.

    k = keep[g], and its last visit was g rows before ``now``, or longer ago than ``keep`` tells.
    """
    n_rates = np.uint64(len(rates))
    gap = n_rates * np.uint64(min(now - own[at + VISITED * n_rates], len(keep) / n_rates - 1.0))
    for k in range(n_rates):
        share, variance = keep[gap + k], own[at + n_rates + k]
        lost = (1.0 - share) * own[at + PRIOR * n_rates + k] * variance
        wider = 1.0 / (share + lost)
        own[at + k] = (share * own[at + k] + lost * centre) * wider
        own[at + n_rates + k] = variance * wider
        own[at + VISITED * n_rates + k] = now


@compiled
def forget_once(
    column: NDArray, own: NDArray, now: float, prior_mean: NDArray, keep: NDArray, rates: tuple
) -> None:
    """Let all weights of ``column`` forget, each once, before a batch that ends at ``now``."""
    for j in column:
        at = np.uint64(j) * SIZE * np.uint64(len(rates))
        if own[at + VISITED * np.uint64(len(rates))] < now:
            forget(own, at, now, prior_mean[j % len(prior_mean)], keep, rates)


@inlined
def add(own: NDArray, at: int, x: float, moments: NDArray, rates: tuple) -> None:
    """Add what a weight with the entry x gives to mean and variance of an output, at each rate."""
    n_rates = np.uint64(len(rates))
    for k in range(n_rates):
        moments[k] += x * own[at + k]
    for k in range(n_rates):
        moments[n_rates + k] += x * x * own[at + n_rates + k]


@inner
def outputs(rows: tuple, i: int, own: NDArray, moments: NDArray, rates: tuple) -> None:
    """Mean and variance of the output of row i, at each rate."""
    (begin, column, x, constant), size = rows, SIZE * np.uint64(len(rates))
    for k in range(2 * len(rates)):
        moments[k] = 0.0
    for p in range(begin[i], begin[i + 1]):
        add(own, np.uint64(column[p]) * size, x[p], moments, rates)
    if constant != 0:
        add(own, np.uint64(len(own)) - size, constant, moments, rates)


@compiled
def all_outputs(rows: tuple, records: NDArray, rates: tuple) -> NDArray:
    """The same of all rows and of each task, (n_tasks, n, 2 n_rates)."""
    moments = np.empty((len(records), len(rows[0]) - 1, 2 * len(rates)))
    for t in range(len(records)):
        for i in range(moments.shape[1]):
            outputs(rows, i, records[t], moments[t, i], rates)
    return moments


@compiled
def learn_all(
    rows: tuple, y: NDArray, records: NDArray, n_rows: int, past: tuple, law: tuple, chance: tuple
) -> NDArray:
    """Visit each row once at each rate, for each task; ``n_rows`` rows came before.

    Weights forget at each visit, unless all is kept. Then with y f ~ N(m, v), s^2 = v + noise and
    t = m / s, the moments of each weight given the label are

        mean + y x variance (u - t w) / s,  variance (1 - w x^2 variance / s^2).

    ``past`` are the means of the prior, with a row for each task or for all, of a mean for each
    weight or for all, and ``keep`` of :func:`forget`.
    ``chance`` is the probability of each rate before the rows. Returns
    log p(label | all earlier labels) of each task, mixed over the rates.
    """
    (begin, column, x, constant), (prior_mean, keep), n_rates = rows, past, len(chance)
    size, differ = SIZE * np.uint64(n_rates), np.uint64(prior_mean.shape[1] > 1)
    end = np.uint64(records.shape[1]) - size  # the last weight
    moments, said, mixed = np.empty(2 * n_rates), np.empty(6 * n_rates), np.empty(y.shape)
    forgets = keep[len(keep) - 1] < 1  # at the fastest rate, the last one
    for t in range(len(y)):
        own, centre = records[t], prior_mean[t % len(prior_mean)]
        for i in range(y.shape[1]):
            now, total = n_rows + i + 1.0, 0.0
            for k in range(2 * n_rates):
                moments[k] = 0.0
            for p in range(begin[i], begin[i + 1]):
                j = np.uint64(column[p])
                if forgets:
                    forget(own, j * size, now, centre[j * differ], keep, chance)
                add(own, j * size, x[p], moments, chance)
            if constant != 0:
                if forgets:
                    forget(own, end, now, centre[end // size * differ], keep, chance)
                add(own, end, constant, moments, chance)
            for k in range(n_rates):
                found = told(moments[k], moments[n_rates + k], y[t, i], law)
                for place in range(6):
                    said[place * n_rates + k] = found[place]
                total += chance[k] * found[4]
            for p in range(begin[i], begin[i + 1]):
                tell(own, np.uint64(column[p]) * size, x[p], said, chance)
            if constant != 0:
                tell(own, end, constant, said, chance)
            mixed[t, i] = math.log(total) if total > SMALL else log_mixture(said, chance)
    return mixed


@inner
def log_mixture(said: NDArray, chance: tuple) -> float:
    """The logarithm of a mean of probabilities that underflow, from what was said at each rate."""
    n_rates, largest, total = len(chance), -np.inf, 0.0
    for k in range(n_rates):
        if said[4 * n_rates + k] > SMALL:
            said[5 * n_rates + k] = math.log(said[4 * n_rates + k])
        largest = max(largest, said[5 * n_rates + k])
    for k in range(n_rates):
        total += chance[k] * math.exp(said[5 * n_rates + k] - largest)
    return largest + math.log(total)


def judge(
    rows: tuple, y: NDArray, records: NDArray, law: tuple, evidence: NDArray, judged: tuple
) -> tuple:
    """Predict rows before they are learned from; evidence and recalibration follow, in place.

    So both tell how good predictions of so many rows at once are, not of each next row. ``judged``
    is what is known of the recalibration of each task (no rows: there is none), its prior, and the
    share of both that is kept: see :func:`calibrate`. Returns the probability of each rate before.
    """
    raw = np.maximum(np.exp(evidence - evidence.max()), TINY)
    chance = tuple((raw / raw.sum()).tolist())
    gained = predict_all(rows, y, records, law, chance, judged)
    evidence[:] = judged[2] * evidence + gained
    evidence -= evidence.max()
    return chance


@compiled
def predict_all(
    rows: tuple, y: NDArray, records: NDArray, law: tuple, chance: tuple, judged: tuple
) -> NDArray:
    """The log-probability of all labels at each rate; recalibration as in :func:`judge`."""
    calibration, prior, share = judged
    n, n_rates = y.shape[1], len(chance)
    moments, gained = np.empty(2 * n_rates), np.zeros(n_rates)
    z, product = np.empty(n), np.ones(n_rates)  # whose logarithm is taken when it is small
    for t in range(len(y)):
        for i in range(n):
            outputs(rows, i, records[t], moments, chance)
            yes, no, middle = 0.0, 0.0, 0.0
            for k in range(n_rates):
                side = -1.0 if moments[k] > 0 else 1.0  # the less likely label
                found = told(moments[k], moments[n_rates + k], side, law)
                less = found[4]
                yes += chance[k] * (less if side > 0 else 1.0 - less)
                no += chance[k] * (1.0 - less if side > 0 else less)
                middle += chance[k] * moments[k] / math.sqrt(max(found[0], TINY))
                p = less if y[t, i] == side else 1.0 - less
                product[k] *= p if p > SMALL else 1.0
                gained[k] += 0.0 if p > SMALL else found[5]
                if product[k] < SMALL:
                    gained[k] += math.log(product[k])
                    product[k] = 1.0
            z[i] = quantile(yes, middle) if yes < no else -quantile(no, -middle)
        if len(calibration):
            calibrate(z, y[t], calibration[t], share, prior)
    for k in range(n_rates):
        gained[k] += math.log(product[k])
    return gained


@inner
def quantile(p: float, start: float) -> float:
    """The z, at least -STEEPEST, at which Phi(z) = p up to 1/2: Halley's method on log Phi."""
    if p < LEAST:
        return -STEEPEST
    z, step, log_p = min(max(start, -STEEPEST), 0.0), 1.0, math.log(p)
    while abs(step) > 1e-5:  # its third power is lost in rounding
        v, w, _, _, log_area = truncation(z)
        newton = (log_p - log_area) / v
        step = newton / max(1.0 - 0.5 * newton * w / v, 0.5)
        z += step
    return z


@inlined
def tell(own: NDArray, at: int, x: float, said: NDArray, rates: tuple) -> None:
    """Moments of a weight after the label of a row with the entry x, at each rate."""
    n_rates = np.uint64(len(rates))
    for k in range(n_rates):
        variance, share = own[at + n_rates + k], said[SHARE * n_rates + k]
        own[at + k] += said[FORCE * n_rates + k] * x * variance
        others = max(said[k] - x * x * variance, 0.0)
        rest = said[REST * n_rates + k] + share * others  # no cancellation where w is near 1
        own[at + n_rates + k] = variance * rest


@inner
def calibrate(z: NDArray, y: NDArray, known: NDArray, keep: float, prior: NDArray) -> None:
    """Learn slope a and offset b of p(label) = Phi(y (a z + b)) from scores z, in place.

    ``known`` and ``prior`` are the means of a and b and their covariance, row by row. What was
    known keeps the share ``keep`` of its weight before the first row, as in :func:`forget`.
    """
    old = solved(known[0], known[1], known[2], known[3], known[5])
    new = solved(prior[0], prior[1], prior[2], prior[3], prior[5])
    kept = keep * np.array(old) + (1.0 - keep) * np.array(new)
    a, b, aa, ab, bb = solved(kept[0], kept[1], kept[2], kept[3], kept[4])
    for i in range(len(z)):
        ha, hb = aa * z[i] + ab, ab * z[i] + bb  # covariance times (z, 1)
        _, share, _, force, _, _ = told(a * z[i] + b, ha * z[i] + hb, y[i], (PROBIT, 1.0, 0.0))
        a, b = a + force * ha, b + force * hb
        aa, ab, bb = aa - share * ha * ha, ab - share * ha * hb, bb - share * hb * hb
    known[0], known[1], known[2], known[3], known[4], known[5] = a, b, aa, ab, ab, bb


@inner
def solved(a: float, b: float, p: float, q: float, r: float) -> tuple:
    """From mean and covariance of two numbers to precision times mean and precision, and back."""
    scale = 1.0 / (p * r - q * q)
    return (r * a - q * b) * scale, (p * b - q * a) * scale, r * scale, -q * scale, p * scale
