"""A billiard in version space: great circles, reflected at the walls f_i = 0."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner

RENEW = 200  # events after which rounding errors are removed
SMALLEST = 1e-300  # stands for an output of 0, so that quotients stay finite


class Ball(NamedTuple):
    """A ball, which may rest after any event and then go on as if it had not."""

    w: NDArray  # (d,) where it is, a unit vector
    v: NDArray  # (d,) velocity, a unit vector at right angles to w
    f: NDArray  # (m,) Y w
    g: NDArray  # (m,) Y v
    integral: NDArray  # (d,) of w over the arc length
    clock: NDArray  # (3,) arc length so far, to the next sample, and to the next launch
    counts: NDArray  # (3,) events, samples and bounces so far


def new_ball(w: NDArray, m: int) -> Ball:
    """A ball at w among m walls, to be launched."""
    f, g = np.empty((2, m))
    v, integral = np.zeros((2, len(w)))
    return Ball(w.copy(), v, f, g, integral, np.full(3, np.inf), np.zeros(3, np.int64))


def count_anew(ball: Ball, spacing: float) -> None:
    """Begin a series of samples."""
    ball.integral[:] = 0.0
    ball.clock[:2] = 0.0, spacing
    ball.counts[:] = 0


@compiled
def launch(w: NDArray, v: NDArray, rng: np.random.Generator) -> None:
    """A velocity of unit length, isotropic among those at right angles to w."""
    for k in range(len(v)):
        v[k] = rng.standard_normal()
    straighten(w, v)


@inner
def straighten(w: NDArray, v: NDArray) -> None:
    """Make w a unit vector again, and v one at right angles to it."""
    scale = 1.0 / math.sqrt(np.dot(w, w))
    for k in range(len(w)):
        w[k] *= scale
    along = np.dot(v, w)
    for k in range(len(w)):
        v[k] -= along * w[k]
    scale = 1.0 / math.sqrt(np.dot(v, v))
    for k in range(len(w)):
        v[k] *= scale


@compiled
def play(
    Y: NDArray,
    gram: NDArray,
    ball: Ball,
    refresh: float,
    spacing: float,
    most_bounces: int,
    most_arc: float,
    most_events: int,
    rng: np.random.Generator,
    samples: NDArray,
) -> bool:
    """Move the ball until all samples are taken, or it has bounced often or come far enough.

    Returns whether that is so; if not, ``most_events`` have happened, and there is more to do.

    Rows of ``Y`` are the unit normals of the walls, ``gram`` = Y Y^T or empty. Samples are taken
    every ``spacing`` of arc length, and the velocity is drawn anew every ``refresh``: at times that
    do not depend on where w is, so that all places stay equally likely. Where calls end makes no
    difference to the way of the ball.
    """
    w, v, f, g, integral = ball.w, ball.v, ball.f, ball.g, ball.integral
    arc, until_sample, until_launch = ball.clock[0], ball.clock[1], ball.clock[2]
    event, taken, bounces = ball.counts[0], ball.counts[1], ball.counts[2]
    m, d = Y.shape
    cotangent, column = np.empty(m), np.empty(m)
    last_event = event + most_events
    while taken < len(samples) and bounces < most_bounces and arc < most_arc:
        if event == last_event:
            break
        if event % RENEW == 0:
            straighten(w, v)
            np.dot(Y, w, f)
            np.dot(Y, v, g)
        event += 1
        for i in range(m):
            f[i] = max(f[i], SMALLEST)
            cotangent[i] = g[i] / f[i]
        wall = 0
        for i in range(1, m):  # the first wall ahead has the least g / f = -cot(arc)
            if cotangent[i] < cotangent[wall]:
                wall = i
        way = math.atan2(f[wall], -g[wall])
        ahead = min(way, until_sample, until_launch)
        c, s = math.cos(ahead), math.sin(ahead)
        for k in range(d):
            integral[k] += s * w[k] + (1.0 - c) * v[k]
            w[k], v[k] = c * w[k] + s * v[k], c * v[k] - s * w[k]
        for i in range(m):
            f[i], g[i] = c * f[i] + s * g[i], c * g[i] - s * f[i]
        arc += ahead
        until_sample -= ahead
        until_launch -= ahead
        if ahead == way:
            twice = 2.0 * g[wall]
            for k in range(d):
                v[k] -= twice * Y[wall, k]
            if len(gram) > 0:
                for i in range(m):
                    g[i] -= twice * gram[wall, i]
            else:
                np.dot(Y, Y[wall], column)
                for i in range(m):
                    g[i] -= twice * column[i]
            f[wall] = 0.0
            bounces += 1
        if until_sample <= 0:
            for k in range(d):
                samples[taken, k] = w[k]
            taken += 1
            until_sample = spacing
        if until_launch <= 0:
            launch(w, v, rng)
            np.dot(Y, v, g)
            until_launch = refresh
    ball.clock[0], ball.clock[1], ball.clock[2] = arc, until_sample, until_launch
    ball.counts[0], ball.counts[1], ball.counts[2] = event, taken, bounces
    return not (taken < len(samples) and bounces < most_bounces and arc < most_arc)
