"""One pass over sparse rows with independent weights: assumed-density filtering with forgetting.

What is known of a weight is one record, so that a visit touches one cache line: its mean, its
variance, the number of rows up to its last visit, and the precision of its prior. Those of all
rates of forgetting are side by side: (n_weights, n_rates, 4) for one task. Rows are four things,
begin, column, x and constant: x[begin[i]:begin[i + 1]] at the weights ``column``, each of them
once. If ``constant`` is not 0, all rows have this entry, too, at the last weight.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.ep import PROBIT, ROOT_HALF, scaled_erfc, tilt, truncation

MEAN, VARIANCE, VISITED, PRIOR = 0, 1, 2, 3  # places in a record
STEEPEST = 30.0  # bound on scores that are recalibrated
LEAST = 0.5 * math.erfc(STEEPEST * ROOT_HALF)
TINY = 2.3e-308  # the smallest number with all its digits
SMALL = 1e-100  # a product of two such numbers does not underflow


@compiled
def are_within(x: NDArray, largest: float) -> bool:
    """Whether all numbers are at most so large; NaN is not."""
    n_within = 0  # counted to the end, which is vectorised
    for one in x:
        n_within += abs(one) <= largest
    return n_within == len(x)


@inner
def forget(record: NDArray, now: float, prior_mean: float, keep: NDArray) -> None:
    """At its visit a weight becomes N(mean, variance)^k times prior^(1 - k).

    k = keep[g], and its last visit was g rows before ``now``, or longer ago than ``keep`` tells.
    """
    share = keep[np.uint64(min(now - record[VISITED], len(keep) - 1.0))]
    lost = (1.0 - share) * record[PRIOR] * record[VARIANCE]
    wider = 1.0 / (share + lost)
    record[MEAN] = (share * record[MEAN] + lost * prior_mean) * wider
    record[VARIANCE] *= wider
    record[VISITED] = now


@compiled
def forget_once(
    column: NDArray, records: NDArray, now: float, prior_mean: NDArray, keep: NDArray
) -> None:
    """Let all weights of ``column`` forget, each once, before a batch that ends at ``now``."""
    for j in column:
        for k in range(len(keep)):
            if records[j, k, VISITED] < now:
                forget(records[j, k], now, prior_mean[j % len(prior_mean)], keep[k])


@inner
def outputs(rows: tuple, i: int, records: NDArray, means: NDArray, variances: NDArray) -> None:
    """Mean and variance of the output of row i, at each rate."""
    begin, column, x, constant = rows
    for k in range(len(means)):
        last = records[len(records) - 1, k]
        m, v = constant * last[MEAN], constant * constant * last[VARIANCE]
        for p in range(begin[i], begin[i + 1]):
            record = records[np.uint64(column[p]), k]
            m += x[p] * record[MEAN]
            v += x[p] * x[p] * record[VARIANCE]
        means[k], variances[k] = m, v


@compiled
def all_outputs(rows: tuple, records: NDArray) -> tuple[NDArray, NDArray]:
    """The same of all rows and of each task, (n_tasks, n, n_rates)."""
    shape = (records.shape[0], len(rows[0]) - 1, records.shape[2])
    means, variances = np.empty(shape), np.empty(shape)
    for t in range(shape[0]):
        for i in range(shape[1]):
            outputs(rows, i, records[t], means[t, i], variances[t, i])
    return means, variances


@compiled
def learn_all(
    rows: tuple,
    y: NDArray,
    records: NDArray,
    n_rows: int,
    prior_mean: NDArray,
    keep: NDArray,
    law: tuple,
    chance: NDArray,
) -> NDArray:
    """Visit each row once at each rate, for each task; ``n_rows`` rows came before.

    Weights forget at each visit, unless all is kept. Then with y f ~ N(m, v), s^2 = v + noise and
    t = m / s, the moments of each weight given the label are

        mean + y x variance (u - t w) / s,  variance (1 - w x^2 variance / s^2).

    ``prior_mean`` has a row for each task or for all, of a mean for each weight or for all.
    ``chance`` is the probability of each rate before the rows. Returns
    log p(label | all earlier labels) of each task, mixed over the rates.
    """
    begin, column, x, constant = rows
    n_tasks, n = y.shape
    last, differ = np.uint64(records.shape[1] - 1), np.uint64(prior_mean.shape[1] > 1)
    log_p, mixed = np.empty(len(keep)), np.empty((n_tasks, n))
    for t in range(n_tasks):
        own, centre, label = records[t], prior_mean[t % len(prior_mean)], y[t]
        for i in range(n):
            now = n_rows + i + 1.0
            for k in range(len(keep)):  # rates are inside: their steps do not wait for each other
                forgets, m, v = keep[k, -1] < 1, 0.0, 0.0
                if constant != 0:
                    if forgets:
                        forget(own[last, k], now, centre[last * differ], keep[k])
                    m += constant * own[last, k, MEAN]
                    v += constant * constant * own[last, k, VARIANCE]
                for p in range(begin[i], begin[i + 1]):
                    j = np.uint64(column[p])  # unsigned: not counted from the end, a tenth faster
                    if forgets:
                        forget(own[j, k], now, centre[j * differ], keep[k])
                    m += x[p] * own[j, k, MEAN]
                    v += x[p] * x[p] * own[j, k, VARIANCE]
                s2, w, rest, u, log_p[k] = tilt(label[i] * m, v, law)
                if s2 <= 0:
                    continue
                s = math.sqrt(s2)
                force, share = label[i] * (u - label[i] * m / s * w) / s, w / s2
                for p in range(begin[i], begin[i + 1]):
                    tell(own[np.uint64(column[p]), k], x[p], force, s2, rest, share)
                if constant != 0:
                    tell(own[last, k], constant, force, s2, rest, share)
            mixed[t, i] = log_p[0]
            if len(keep) > 1:
                largest, total = -np.inf, 0.0
                for k in range(len(keep)):
                    largest = max(largest, log_p[k])
                for k in range(len(keep)):
                    total += chance[k] * math.exp(log_p[k] - largest)
                mixed[t, i] = largest + math.log(total)
    return mixed


def judge(
    rows: tuple, y: NDArray, records: NDArray, law: tuple, evidence: NDArray, judged: tuple
) -> NDArray:
    """Predict rows before they are learned from; evidence and recalibration follow, in place.

    So both tell how good predictions of so many rows at once are, not of each next row. ``judged``
    is what is known of the recalibration of each task (no rows: there is none), its prior, and the
    share of both that is kept: see :func:`calibrate`. Returns the probability of each rate before.
    """
    chance = np.maximum(np.exp(evidence - evidence.max()), TINY)
    chance /= chance.sum()
    gained = predict_all(rows, y, records, law, chance, judged)
    evidence[:] = judged[2] * evidence + gained
    evidence -= evidence.max()
    return chance


@compiled
def predict_all(
    rows: tuple, y: NDArray, records: NDArray, law: tuple, chance: NDArray, judged: tuple
) -> NDArray:
    """The log-probability of all labels at each rate; recalibration as in :func:`judge`."""
    (calibration, prior, share), (_, noise, flip) = judged, law
    n, n_rates = y.shape[1], len(chance)
    means, variances, gained = np.empty(n_rates), np.empty(n_rates), np.zeros(n_rates)
    product, z = np.empty(n_rates), np.empty(n)
    for k in range(n_rates):
        product[k] = 1.0  # of probabilities, whose logarithm is taken when it is small
    for t in range(len(y)):
        for i in range(n):
            outputs(rows, i, records[t], means, variances)
            yes, no, middle = 0.0, 0.0, 0.0
            for k in range(n_rates):
                score = means[k] / math.sqrt(max(variances[k] + noise, TINY))
                tail = 0.5 * scaled_erfc(abs(score) * ROOT_HALF) * math.exp(-0.5 * score * score)
                less = flip + (1.0 - 2.0 * flip) * tail
                yes += chance[k] * (1.0 - less if score > 0 else less)
                no += chance[k] * (less if score > 0 else 1.0 - less)
                middle += chance[k] * score
                if y[t, i] * score > 0:
                    product[k] *= 1.0 - less
                elif less > SMALL:
                    product[k] *= less
                else:
                    gained[k] += math.log(less) if less > TINY else truncation(-abs(score))[4]
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


@inner
def tell(record: NDArray, x: float, force: float, s2: float, rest: float, share: float) -> None:
    """Moments of a weight after the label of a row with the entry x."""
    variance = record[VARIANCE]
    record[MEAN] += force * x * variance
    others = max(s2 - x * x * variance, 0.0)
    record[VARIANCE] = variance * (rest + share * others)  # no cancellation where w is near 1


@inner
def calibrate(z: NDArray, y: NDArray, known: NDArray, keep: float, prior: NDArray) -> None:
    """Learn slope a and offset b of p(label) = Phi(y (a z + b)) from scores z, in place.

    ``known`` and ``prior`` are the means of a and b and their covariance, row by row. What was
    known keeps the share ``keep`` of its weight before the first row, as in :func:`forget`.
    """
    old = solved(known[0], known[1], known[2], known[3], known[5])
    new = solved(prior[0], prior[1], prior[2], prior[3], prior[5])
    a, b, aa, ab, bb = solved(
        keep * old[0] + (1.0 - keep) * new[0],
        keep * old[1] + (1.0 - keep) * new[1],
        keep * old[2] + (1.0 - keep) * new[2],
        keep * old[3] + (1.0 - keep) * new[3],
        keep * old[4] + (1.0 - keep) * new[4],
    )
    for i in range(len(z)):
        ha, hb = aa * z[i] + ab, ab * z[i] + bb  # covariance times (z, 1)
        s2, w, _, u, _ = tilt(y[i] * (a * z[i] + b), ha * z[i] + hb, (PROBIT, 1.0, 0.0))
        s = math.sqrt(s2)
        force, share = y[i] * (u - y[i] * (a * z[i] + b) / s * w) / s, w / s2
        a, b = a + force * ha, b + force * hb
        aa, ab, bb = aa - share * ha * ha, ab - share * ha * hb, bb - share * hb * hb
    known[0], known[1], known[2], known[3], known[4], known[5] = a, b, aa, ab, ab, bb


@inner
def solved(a: float, b: float, p: float, q: float, r: float) -> tuple:
    """From mean and covariance of two numbers to precision times mean and precision, and back."""
    scale = 1.0 / (p * r - q * q)
    return (r * a - q * b) * scale, (p * b - q * a) * scale, r * scale, -q * scale, p * scale
