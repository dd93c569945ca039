"""The kernel Gibbs sampler: moves on circles, with exact bookkeeping of errors.

A row of ``Y`` is y_i x_i / |x_i|, so that point i is an error of w where f_i = (Y w)_i <= 0. Along
a circle through w every point changes its side at one known place; sorted, the places cut
the path into pieces of constant likelihood exp(-theta e), e being the weight of the errors. Steps
are numbered as in the paper.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.normals import normal_above, normal_area

BLOCK = 32  # circles whose products with Y are computed at once, several times as fast as singly
RENEW = 100  # moves after which rounding errors are removed from w and f = Y w
RENEW_OUTPUTS = 10  # the same where a move changes every output one by one
NEGLIGIBLE = 45.0  # exp(-45) = 3e-20: pieces that much less likely than another are never drawn
SHIFTS = 16  # moves of the insertion sort for each place, after which a comparison sort takes over
SMALLEST = 1e-300  # stands for an output of 0, so that quotients stay finite


class Problem(NamedTuple):
    """What is sampled: the posterior of one task."""

    Y: NDArray  # (m, d) normals
    weight: NDArray  # (m,) of the points
    theta: float  # log((1 - q) / q), what an error costs; infinite without label noise


class Outputs(NamedTuple):
    """Lines, one for each point, along which its output alone changes."""

    directions: NDArray  # (m, d) unit vectors, at right angles to all points but one
    begin: NDArray  # (m,) coordinates before this one are 0
    point: NDArray  # (m,) whose output changes
    reach: NDArray  # (m,) by how much it grows for a step of 1, > 0


class Chain(NamedTuple):
    """Where a chain is, which steps it makes, and what it writes."""

    w: NDArray  # (d,)
    f: NDArray  # (m,) Y w
    first: int  # of the n * thin steps that fill ``samples``: a call makes those from here ...
    last: int  # ... up to here
    thin: int
    samples: NDArray  # (n, d) every ``thin``-th w / |w|
    total: NDArray  # (d,) sum of all w / |w|
    histogram: NDArray  # (errors,) time at each number of errors; or empty


class Path(NamedTuple):
    """A circle or a line through w: what is known of it, and room to work in."""

    normal: NDArray  # (BLOCK, d) Gaussian vectors for the circles to come
    product: NDArray  # (BLOCK, m) their products with Y
    g: NDArray  # (m,) Y v for the direction v
    place: NDArray  # (m,) where each point is crossed
    change: NDArray  # (m,) what the crossing adds to the errors
    order: NDArray  # (m,) points in the order of their crossings
    edge: NDArray  # (m + 2,) ends of the pieces: sorted places, with 0 before and the span beyond
    bucket: NDArray  # (m,)
    first: NDArray  # (m + 1,)
    errors: NDArray  # (m + 1,) weight of the errors on each piece
    piece: NDArray  # (2 m + 2,) pieces that may be drawn, those from m + 1 on are mirror images
    mass: NDArray  # (2 m + 2,) their probabilities, up to a constant


def new_path(m: int, d: int) -> Path:
    """A path for m points and d coordinates."""
    order, bucket, first = (np.empty(n, np.uint32) for n in (m, m, m + 1))
    place, change, g = np.empty((3, m))
    return Path(
        np.empty((BLOCK, d)),
        np.empty((BLOCK, m)),
        g,
        place,
        change,
        order,
        np.empty(m + 2),
        bucket,
        first,
        np.empty(m + 1),
        np.empty(2 * m + 2, np.int64),
        np.empty(2 * m + 2),
    )


@inner
def crossings(f: NDArray, weight: NDArray, path: Path) -> None:
    """Steps 3 and 4: angles in [0, pi] at which cos(z) f + sin(z) g = 0, z = pi/2 + atan(g / f).

    The arc tangent is that of the Cephes library, exact to the last digit or two, without branches,
    so that several points are computed at once. Nothing is divided by zero.
    """
    g, place, change = path.g, path.place, path.change
    for i in range(len(f)):
        a, b = abs(f[i]), abs(g[i])
        low, high = min(a, b), max(max(a, b), SMALLEST)
        # Above tan(pi/8), atan x = pi/4 + atan((x - 1) / (x + 1)).
        upper = low > 0.41421356237309503 * high
        x = (low - high if upper else low) / (low + high if upper else high)
        s = x * x
        p = -8.750608600031904e-1 * s - 1.615753718733365e1
        p = (p * s - 7.500855792314705e1) * s - 1.2288666844901361e2
        p = p * s - 6.485021904942025e1
        q = (s + 2.485846490142306e1) * s + 1.650270098316989e2
        q = ((q * s + 4.328810604912903e2) * s + 4.853903996359137e2) * s + 1.945506571482614e2
        angle = x + x * (s * p / q) + (0.7853981633974483 if upper else 0.0)
        angle = 1.5707963267948966 - angle if b > a else angle
        angle = -angle if (f[i] < 0) != (g[i] < 0) else angle
        place[i] = 1.5707963267948966 + angle
        change[i] = -weight[i] if f[i] <= 0 else weight[i]


@inner
def sort_places(path: Path, span: float) -> None:
    """Step 5: order and sorted values of places in [0, span]: in buckets, then by insertion."""
    place, order, edge, bucket, first = path.place, path.order, path.edge, path.bucket, path.first
    m = len(place)
    scale = (m - 0.5) / span
    edge[0], edge[m + 1] = 0.0, span
    for b in range(m + 1):
        first[b] = 0
    for i in range(m):
        b = place[i] * scale
        bucket[i] = np.uint32(b) if b < m else np.uint32(m - 1)  # NaN, too, is an index then
    for i in range(m):
        first[bucket[i] + np.uint32(1)] += np.uint32(1)
    for b in range(1, m + 1):
        first[b] += first[b - 1]
    for i in range(m):
        slot = first[bucket[i]]
        first[bucket[i]] = slot + np.uint32(1)
        order[slot], edge[slot + 1] = i, place[i]
    gap, most = min(m, 1), SHIFTS * m
    while gap > 0:
        if insert(path, gap, most):
            gap //= 3
        else:  # many places in few buckets: Shell's sort, with Knuth's gaps
            most = m * m
            while gap < m // 3:
                gap = 3 * gap + 1


@inner
def insert(path: Path, gap: int, most: int) -> bool:
    """Sort places that are ``gap`` apart by insertion; False if ``most`` moves do not do."""
    order, edge = path.order, path.edge
    moves = 0
    for j in range(gap, len(order)):
        key, i, k = edge[j + 1], order[j], j
        while k >= gap and edge[k + 1 - gap] > key:
            edge[k + 1], order[k] = edge[k + 1 - gap], order[k - gap]
            k -= gap
            moves += 1
        edge[k + 1], order[k] = key, i
        if moves > most:
            return False
    return True


@inner
def draw_place(
    path: Path, theta: float, span: float, end: float, histogram: NDArray, rng: Generator
) -> tuple[float, int]:
    """Steps 6 and 7: a place in [0, span], or with ``end`` = 2 span also in the mirrored half.

    Crossing i adds ``change[i]`` to the errors: what is taken away was there at place 0. On the
    other half of a circle every point is on its other side: there e becomes total - e.
    Rao and Blackwell's share of the move for every number of errors is added to ``histogram``,
    unless it is empty. Returns also the number of pieces that the place was drawn from.
    """
    change, order, edge, errors = path.change, path.order, path.edge, path.errors
    piece, mass = path.piece, path.mass
    m = len(order)
    total, e = 0.0, 0.0
    for i in range(m):
        total += abs(change[i])
        e -= min(change[i], 0.0)
    low, high, low_length, high_length = np.inf, -np.inf, 0.0, 0.0  # fewest and most errors, where
    for j in range(m + 1):
        errors[j], length = e, edge[j + 1] - edge[j]
        if (e <= low or e >= high) and length > 0:
            if e < low or (e == low and length > low_length):
                low, low_length = e, length
            if e > high or (e == high and length > high_length):
                high, high_length = e, length
        e += change[order[j]] if j < m else 0.0
    best, longest = low, low_length
    halves = 2 if end > span else 1
    if halves == 2 and total - high < low:
        best, longest = total - high, high_length
    # Errors beyond which a piece, however long, cannot be drawn beside the longest of the best.
    most = best + (NEGLIGIBLE - math.log(longest / span)) / theta if theta > 0 else np.inf
    n, sum_of_mass = 0, 0.0
    for half in range(halves):
        for j in range(m + 1):
            e = total - errors[j] if half else errors[j]
            if e <= most:
                piece[n] = j + half * (m + 1)
                mass[n] = (edge[j + 1] - edge[j]) * math.exp(-theta * (e - best))
                sum_of_mass += mass[n]
                n += 1
    if len(histogram) > 0:
        for k in range(n):
            e = errors[piece[k] % (m + 1)]
            histogram[int((total - e if piece[k] > m else e) + 0.5)] += mass[k] / sum_of_mass
    rest, chosen = rng.random() * sum_of_mass, 0
    while chosen < n - 1 and rest >= mass[chosen]:
        rest -= mass[chosen]
        chosen += 1
    half, j = piece[chosen] // (m + 1), piece[chosen] % (m + 1)
    return half * span + edge[j] + rng.random() * (edge[j + 1] - edge[j]), n


@inner
def draw_normals(Y: NDArray, n: int, path: Path, rng: Generator) -> None:
    """Gaussian vectors for n circles, and their products with Y, all in one product."""
    for i in range(n):
        for k in range(Y.shape[1]):
            path.normal[i, k] = rng.standard_normal()
    np.dot(path.normal[:n], Y.T, path.product[:n])


@inner
def tangent(w: NDArray, f: NDArray, v: NDArray, product: NDArray, g: NDArray) -> None:
    """Step 2: from a Gaussian v, a direction as long as w, isotropic at right angles to it.

    What is taken from v is linear in w, and so its part of the product Y v is one of f = Y w.
    """
    square = np.dot(w, w)
    along = np.dot(v, w) / square
    for k in range(len(v)):
        v[k] -= along * w[k]
    scale = math.sqrt(square / np.dot(v, v))
    for k in range(len(v)):
        v[k] *= scale
    for i in range(len(g)):
        g[i] = scale * (product[i] - along * f[i])


@inner
def arc_inside(f: NDArray, g: NDArray, rng: Generator) -> float:
    """An angle uniform in the one arc without errors, from the g_i / f_i of all points.

    Point i is met ahead at the angle with the cotangent -g_i / f_i: no sort is needed.
    """
    low, high = np.inf, -np.inf
    for i in range(len(f)):
        slope = g[i] / f[i]
        low, high = min(low, slope), max(high, slope)
    end = math.atan2(1.0, -low)  # first crossing ahead
    begin = math.atan2(1.0, -high) - math.pi  # first crossing behind
    return begin + rng.random() * (end - begin)


@inner
def move_on_circle(problem: Problem, chain: Chain, n: int, path: Path, rng: Generator) -> None:
    """Steps 2 to 8: the next w on the great circle along Gaussian vector n, and its f = Y w."""
    w, f, v = chain.w, chain.f, path.normal[n]
    tangent(w, f, v, path.product[n], path.g)
    if math.isinf(problem.theta):
        z = arc_inside(f, path.g, rng)
    else:
        crossings(f, problem.weight, path)
        sort_places(path, math.pi)
        z, _ = draw_place(path, problem.theta, math.pi, 2 * math.pi, chain.histogram, rng)
    c, s = math.cos(z), math.sin(z)
    for k in range(len(w)):
        w[k] = c * w[k] + s * v[k]
    for i in range(len(f)):
        f[i] = c * f[i] + s * path.g[i]


@compiled
def move_each_output(problem: Problem, chain: Chain, outputs: Outputs, rng: Generator) -> None:
    """The next w after a line for each point.

    Along a line s = u.w is standard normal before any label, and there are two pieces: the label is
    right above a border and wrong below it. Their shares go to the histogram, as for circles.
    """
    w, f, weight, theta = chain.w, chain.f, problem.weight, problem.theta
    errors, n_lines, inside = 0.0, len(outputs.directions), math.isinf(theta)
    for i in range(len(f)):
        errors += weight[i] if f[i] <= 0 else 0.0
    for n in range(n_lines):
        i, begin, reach = outputs.point[n], outputs.begin[n], outputs.reach[n]
        u, own = outputs.directions[n, begin:], w[begin:]
        here = np.dot(u, own)
        border = here - f[i] / reach
        right = normal_area(-border)
        wrong = 0.0 if inside else normal_area(border) * math.exp(-theta * weight[i])
        errors -= weight[i] if f[i] <= 0 else 0.0
        if len(chain.histogram) > 0:
            share = 1.0 / (n_lines * (right + wrong))
            chain.histogram[int(errors + 0.5)] += right * share
            chain.histogram[int(errors + weight[i] + 0.5)] += wrong * share
        if rng.random() * (right + wrong) < right or inside:
            s = normal_above(border, rng)
        else:
            s = -normal_above(-border, rng)
            errors += weight[i]
        f[i] = (s - border) * reach
        for k in range(len(u)):
            own[k] += (s - here) * u[k]


@compiled
def sample(
    problem: Problem,
    chain: Chain,
    outputs: Outputs | None,
    path: Path,
    rng: Generator,
) -> None:
    """Move a chain; w, f and ``path`` keep from call to call what the next step needs.

    After each circle come ``outputs``, if there are any; None is not compiled. They need
    w ~ N(0, I) before any label; circles do not depend on the length of w: the law of w / |w| is
    the same. Without label noise w starts, and stays, inside version space.
    """
    Y, w, f, thin = problem.Y, chain.w, chain.f, chain.thin
    n_steps = len(chain.samples) * thin
    for step in range(chain.first, chain.last):
        if step % (RENEW if outputs is None else RENEW_OUTPUTS) == 0:
            if outputs is None:
                length = math.sqrt(np.dot(w, w))
                for k in range(len(w)):
                    w[k] /= length
            np.dot(Y, w, f)
        if math.isinf(problem.theta):
            for i in range(len(f)):  # rounding must not take w out of version space
                f[i] = max(f[i], SMALLEST)
        if step % BLOCK == 0:
            draw_normals(Y, min(BLOCK, n_steps - step), path, rng)
        move_on_circle(problem, chain, step % BLOCK, path, rng)
        if outputs is not None:
            move_each_output(problem, chain, outputs, rng)
        scale = 1.0 / math.sqrt(np.dot(w, w))
        for k in range(len(w)):
            chain.total[k] += scale * w[k]
            if (step + 1) % thin == 0:
                chain.samples[step // thin, k] = scale * w[k]
