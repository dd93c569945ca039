"""Expectation propagation: the truncated Gaussian, one site, and the loops over sites.

Symbols are those of the slides: e = var f in the posterior of an output f = w.phi. Functions of one
label take y f, its site is exp(a y f - b f^2 / 2). Loops take f, with sites exp(a f - b f^2 / 2). A
site of weight k counts k times; its cavity lacks ``removed`` of them.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from bayespoint._core.compiler import compiled, inner

PROBIT, INTERVAL = 0.0, 1.0  # codes: y f + noise is positive, or between two bounds
SPLIT = -5.0  # below, the continued fraction: there 60 terms give 1 - w to 1e-13
LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)
ROOT_2_PI, ROOT_HALF = math.sqrt(2 * math.pi), math.sqrt(0.5)
# exp(x^2) erfc(x) in the variable 4 / (4 + x), by polynomials through Chebyshev nodes of 256 parts.
PARTS, PLACES = 256, np.polynomial.chebyshev.chebpts1(6)
SCALED = erfcx(8 * PARTS / (2 * np.arange(PARTS) + 1 + PLACES[:, None]) - 4)
SCALED = np.ascontiguousarray(np.linalg.solve(np.vander(PLACES, increasing=True), SCALED).T)
SMALLEST = 1e-10  # a cavity that has less than this share of the precision is rounding error
NARROWEST = 1e-3  # share of the precision of an output that one step must leave
INNER = 20  # steps for a site of several copies before its neighbours are told
STILL = 1e-14  # move below which they have nothing more to tell each other
PRECISE, MOST = 1e-10, 50  # error of a mean in its own unit; steps, of which few are needed
ROUNDED = 1e-14  # share of a cavity's mean that is rounding
NARROW = 0.2  # share of the tail of an interval beyond it from which tails would cancel
NODES, HEIGHTS = np.polynomial.legendre.leggauss(16)  # good to 1e-15 for such intervals


@inner
def scaled_erfc(x: float) -> float:
    """The product of exp(x^2) and erfc(x) for x >= 0, to 2e-15."""
    if x == 0.0:  # exactly, so that an output of 0 has the probability 1/2, which is a tie
        return 1.0
    place = 4.0 * PARTS / (4.0 + x)
    part = np.uint64(min(place, PARTS - 1.0))
    u, c = 2.0 * (place - part) - 1.0, SCALED[part]
    return (c[0] + c[1] * u) + u * u * ((c[2] + c[3] * u) + u * u * (c[4] + c[5] * u))


@compiled
def truncation(t: float) -> tuple[float, float, float, float, float]:
    """Return v = phi/Phi, w = v (v + t), 1 - w, v + t w and log Phi, all at t, for any t."""
    if t > SPLIT:
        tail = 0.5 * scaled_erfc(abs(t) * ROOT_HALF)  # over exp(-t^2 / 2)
        if t < 0:
            v, log_area = 1.0 / (ROOT_2_PI * tail), math.log(tail) - 0.5 * t * t
        else:
            peak = math.exp(-0.5 * t * t)
            v, log_area = peak / (ROOT_2_PI * (1.0 - peak * tail)), math.log1p(-peak * tail)
        w = v * (v + t)
        return v, w, 1.0 - w, v + t * w, log_area
    x, d = -t, 0.0
    for k in range(60, 2, -1):
        d = k / (x + d)  # ends with 3/(x + 4/(x + ...))
    c = 2.0 / (x + d)
    excess = 1.0 / (x + c)  # v - x
    rest = excess * (x + 2.0 * c - d) / ((x + d) * (x + c))  # 1 - w
    v = x + excess
    log_area = -0.5 * t * t - LOG_ROOT_2_PI - math.log(v)
    return v, 1.0 - rest, rest, excess + x * rest, log_area


@inner
def tilt(
    m: float, variance: float, law: tuple, low: float | None = None, high: float | None = None
) -> tuple[float, float, float, float, float]:
    """A label at a cavity N(m, variance) of y f: s^2, w, 1 - w, v + t w at t = m / s, log p(y).

    ``law`` are the constants of a likelihood: its code, the variance of its noise and one more
    number; ``low`` and ``high`` are what one label says of y f plus noise, None: it is positive.
    Every loop over sites asks this function what labels say: another likelihood is another branch
    of it, by the code. What needs bounds is compiled only where there are some.
    """
    code, noise, flip = law
    if low is not None and code == INTERVAL:
        return tilt_interval(m, variance, noise, low, high)
    return tilt_probit(m, variance, noise, flip)


@inner
def tilt_interval(m: float, variance: float, noise: float, low: float, high: float) -> tuple:
    """The same for a label that says low < f + noise < high; t = bound / s - x for the nearer."""
    s2 = variance + noise
    s = math.sqrt(s2)
    x, z, bound, sign = (low - m) / s, (high - m) / s, low, 1.0
    if x + z < 0:  # the mirror image, which has its nearer bound below
        x, z, bound, sign = -z, -x, high, -1.0
    u, rest, log_p = interval(x, z)
    w = 1.0 - rest
    return s2, w, rest, sign * u + bound / s * w, log_p


@inner
def interval(x: float, z: float) -> tuple[float, float, float]:
    """A standard normal variable between x and z >= -x, of mean v: v - x w, 1 - w, log p."""
    _, _, rest, u, log_p = truncation(-x)
    if z == np.inf:
        return u, rest, log_p
    _, _, rest_far, u_far, log_far = truncation(-z)
    share = math.exp(log_far - log_p)  # of the tail from x on, beyond z
    if share > NARROW:  # quadrature about the middle, which loses no digits
        middle, half = 0.5 * (x + z), 0.5 * (z - x)
        total, mean, square = 0.0, 0.0, 0.0
        for k in range(len(NODES)):
            height = HEIGHTS[k] * math.exp(-half * NODES[k] * (middle + 0.5 * half * NODES[k]))
            total += height
            mean += height * NODES[k]
            square += height * NODES[k] ** 2
        mean /= total
        rest = half * half * (square / total - mean * mean)
        log_p = math.log(max(half * total, 1e-300)) - 0.5 * middle**2 - LOG_ROOT_2_PI
        return half * (1.0 + mean) + x * rest, rest, log_p
    # The tail from x on is a mixture of the interval and the tail from z on.
    near, far = u - x * rest, z - x + u_far - z * rest_far  # means, less x
    above = (near - share * far) / (1.0 - share)
    square = (rest + near * near - share * (rest_far + far * far)) / (1.0 - share)
    rest = min(max(square - above * above, 0.0), 1.0)
    return above + x * rest, rest, log_p + math.log1p(-share)


@inner
def tilt_probit(m: float, variance: float, noise: float, flip: float) -> tuple:
    """The same for the probit likelihood.

    ``noise`` is beta^2, s^2 = variance + noise. With labels flipped at the rate ``flip`` the label
    has p = flip + (1 - 2 flip) Phi(t), and v becomes r v with r the share of p that is not flips;
    w = v (v + t) may then be negative: a surprising label is taken for a flip, and the output is
    less certain than without it.
    """
    s2 = variance + noise
    if s2 <= 0:  # no feature and no noise: the label is a coin
        return 0.0, 0.0, 1.0, 0.0, math.log(0.5)
    t = m / math.sqrt(s2)
    v, w, rest, u, log_p = truncation(t)
    if flip > 0:
        honest = (1.0 - 2.0 * flip) * math.exp(log_p)
        p = flip + honest
        r, excess = honest / p, (honest / p) * (flip / p) * v * v  # excess = r (1 - r) v^2
        u = r * u - t * excess
        rest = 1.0 - r + r * rest + excess
        w = r * w - excess
        log_p = math.log(p)
    return s2, w, rest, u, log_p


@compiled
def match(
    m: float, variance: float, law: tuple, low: float | None = None, high: float | None = None
) -> tuple[float, float, float, float]:
    """Steps 2 and 3: a, b of the site that matches moments at a cavity N(m, variance) of y f.

    Also s^2 and the logarithm of the label's probability.
    """
    s2, w, rest, u, log_p = tilt(m, variance, law, low, high)
    if s2 <= 0:
        return 0.0, 0.0, 0.0, log_p
    scale = s2 * rest + w * law[1]  # s^2 (1 - w) (1 + rho beta^2): no division by 1 - w
    return math.sqrt(s2) * u / scale, w / scale, s2, log_p


@inner
def bounds_of(bounds: NDArray | None, i: int) -> tuple:
    """What a label says of y f plus noise: that it is positive, or between its own bounds."""
    if bounds is None:
        return None, None
    return bounds[i, 0], bounds[i, 1]


@compiled
def match_all(
    mean: NDArray, variance: NDArray, law: tuple, bounds: NDArray | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """The logarithm of the label's probability, and a, b of its site, at every cavity."""
    log_p, a, b = np.empty(mean.size), np.empty(mean.size), np.empty(mean.size)
    for i in range(mean.size):
        m, v = mean.flat[i], variance.flat[i]
        a[i], b[i], _, log_p[i] = match(m, v, law, *bounds_of(bounds, i))
    return log_p.reshape(mean.shape), a.reshape(mean.shape), b.reshape(mean.shape)


@compiled
def sweep(
    rows: NDArray,
    Sigma: NDArray,
    mu: NDArray,
    sites: tuple,
    law: tuple,
    share: float,
    bounds: NDArray | None = None,
) -> NDArray:
    """Visit the sites of some rows phi in turn: the algorithm of the slides, step by step.

    ``sites`` are y, a, b, removed, weight and floor of each row, with exp(a f - b f^2 / 2). Changes
    a, b, the covariance ``Sigma`` and the mean ``mu``. Returns the larger of |a' - a| s and
    |b' - b| s^2 of each row: infinite where it has no cavity, and NaN from the row on at which the
    variance of an output fell below its floor, which is not visited.
    """
    y, a, b, removed, weight, floor = sites
    moved = np.full(len(y), np.nan)
    for i in range(len(y)):
        z = np.dot(Sigma, rows[i])
        f, e = np.dot(mu, rows[i]), np.dot(z, rows[i])
        if not (e >= floor[i]):
            return moved
        before_a, before_b, now, spread = a[i], b[i], f, e
        step = share / min(max(weight[i], 1.0), 2.0)  # copies move at once: half as far
        for again in range(1 if weight[i] <= 1 else INNER):
            # Step 1: the cavity, without one copy of the site.
            c = 1.0 - removed[i] * b[i] * spread
            if not (c > SMALLEST):
                moved[i] = np.inf
                break
            m = (now - removed[i] * a[i] * spread) / c
            # Steps 2 and 3: the site that has the moments of the label.
            new_a, new_b, s2, _ = match(y[i] * m, spread / c, law, *bounds_of(bounds, i))
            new_a *= y[i]
            size = max(abs(new_a - a[i]) * math.sqrt(s2), abs(new_b - b[i]) * s2)
            if not math.isfinite(size):
                return moved
            if again == 0:
                moved[i] = size
            da, db = step * (new_a - a[i]), step * (new_b - b[i])
            d = 1.0 + weight[i] * db * spread
            while d < NARROWEST:  # a site of negative precision must leave some variance
                da, db = 0.5 * da, 0.5 * db
                d = 1.0 + weight[i] * db * spread
            a[i] += da
            b[i] += db
            now += weight[i] * (da - now * db) * spread / d
            spread /= d
            if size < STILL:
                break
        # Step 4, for all copies at once.
        rate, shift = weight[i] * (b[i] - before_b), weight[i] * (a[i] - before_a)
        d = 1.0 + rate * e
        down, along = rate / d, (shift - f * rate) / d
        for j in range(len(z)):
            mu[j] += along * z[j]
            drop = down * z[j]
            for k in range(len(z)):
                Sigma[j, k] -= drop * z[k]
    return moved


@compiled
def agreeing(
    f: NDArray,
    variance: NDArray,
    m: NDArray,
    removed: NDArray,
    y: NDArray,
    law: tuple,
    bounds: NDArray | None = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """Sites a, b with which outputs have the means f, and the means m of their cavities.

    With its site a cavity N(m, v) has the mean (m + v a) / (1 + v b), which grows with m, and is
    convex for y = 1: Newton's steps from ``m`` find the one of mean f.
    """
    a, b, found = np.empty(len(f)), np.empty(len(f)), m.copy()
    for i in range(len(f)):
        v = removed[i] * variance[i]
        for _ in range(MOST):
            a[i], b[i], _, _ = match(y[i] * found[i], variance[i], law, *bounds_of(bounds, i))
            a[i] *= y[i]
            step = found[i] + v * a[i] - f[i] * (1.0 + v * b[i])
            found[i] -= step
            if not abs(step) > PRECISE * (1.0 + abs(f[i])) + ROUNDED * abs(found[i]):
                break
    return a, b, found
