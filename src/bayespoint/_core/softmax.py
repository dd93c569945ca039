"""The mean of the softmax of several correlated Gaussian outputs."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner

ROOT_2_PI = math.sqrt(2 * math.pi)
END = 7.5  # 6e-14 of the standard normal distribution lies outside
SLOPE = 4.0  # of differences of outputs, up to which a step of 1 / 4 is good to 1e-8
FINEST = 256  # parts of a step
DOMINANT = 40.0  # lead of an output beyond which the others have no share: exp(-40) = 4e-18


@compiled
def mean_softmax(mean: NDArray, roots: NDArray, points: NDArray) -> NDArray:
    """The mean of softmax(mean + root e) over points e, (n, C)."""
    n, n_classes = mean.shape
    shares, f = np.zeros((n, n_classes)), np.empty(n_classes)
    for i in range(n):
        for q in range(len(points)):
            top = -np.inf
            for c in range(n_classes):
                f[c] = mean[i, c]
                for k in range(points.shape[1]):
                    f[c] += roots[i, c, k] * points[q, k]
                top = max(top, f[c])
            total = 0.0
            for c in range(n_classes):
                f[c] = math.exp(f[c] - top)
                total += f[c]
            for c in range(n_classes):
                shares[i, c] += f[c] / total
    return shares / len(points)


@inner
def nodes_of(slope: NDArray) -> tuple[NDArray, NDArray]:
    """Nodes of the trapezoidal rule that suit the slopes of outputs, and their weights."""
    low = high = slope[0]
    for c in range(1, len(slope)):
        low, high = min(low, slope[c]), max(high, slope[c])
    steepest = high - low
    parts = int(max(1.0, min(math.ceil(steepest / SLOPE), FINEST)))
    step, size = 1.0 / (SLOPE * parts), int(2 * END * SLOPE) * parts + 1
    nodes, weights = np.empty(size), np.empty(size)
    for k in range(size):
        nodes[k] = step * k - END
        weights[k] = step / ROOT_2_PI * math.exp(-0.5 * nodes[k] * nodes[k])
    return nodes, weights


@inner
def add_softmax(
    f: NDArray,
    slope: NDArray,
    nodes: NDArray,
    weights: NDArray,
    begin: int,
    end: int,
    total: NDArray,
) -> None:
    """Add the softmax of f + slope t at some of the nodes t; most exponentials are products."""
    n_classes, step = len(f), nodes[1] - nodes[0]
    e, factor = np.empty(n_classes), np.empty(n_classes)
    low = high = slope[0]
    for c in range(1, n_classes):
        low, high = min(low, slope[c]), max(high, slope[c])
    part = int(DOMINANT / max(step * (high - low), 1.0)) + 1
    for start in range(begin, end, part):
        top = 0
        for c in range(1, n_classes):
            if f[c] - f[top] > (slope[top] - slope[c]) * nodes[start]:
                top = c
        for c in range(n_classes):
            e[c] = math.exp(f[c] - f[top] + (slope[c] - slope[top]) * nodes[start])
            factor[c] = math.exp((slope[c] - slope[top]) * step)
        for k in range(start, min(start + part, end)):
            scale = 0.0
            for c in range(n_classes):
                scale += e[c]
            scale = weights[k] / scale
            for c in range(n_classes):
                total[c] += scale * e[c]
                e[c] *= factor[c]


@inner
def find_dominant(
    f: NDArray, slope: NDArray, step: float, size: int, first: NDArray, last: NDArray
) -> None:
    """The first and last node at which each output f + slope t dominates all others, in place."""
    for c in range(len(f)):
        low, high = 0.0, size - 1.0
        for j in range(len(f)):
            lead, gain = f[c] - f[j] - DOMINANT, slope[c] - slope[j]
            if gain > 0.0:
                low = max(low, math.ceil((END - lead / gain) / step))
            elif gain < 0.0:
                high = min(high, math.floor((END - lead / gain) / step))
            elif lead < 0.0 and j != c:
                high = -1.0
        first[c], last[c] = int(min(low, size)), int(max(high, -1.0))


@compiled
def softmax_in_plane(mean: NDArray, roots: NDArray) -> NDArray:
    """The mean of softmax(mean + root e) for e ~ N(0, I) in two dimensions, (n, C).

    By the trapezoidal rule, with nodes as fine as the slopes of the outputs ask for. Of a row of
    nodes, in the direction of the larger slopes, only those are visited where no output dominates.
    """
    n, n_classes = mean.shape
    shares, row, f = np.zeros((n, n_classes)), np.empty(n_classes), np.empty(n_classes)
    first, last = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for i in range(n):
        slope, rise = roots[i, :, 0].copy(), roots[i, :, 1].copy()
        nodes, weights = nodes_of(slope)
        heights, height_weights = nodes_of(rise)
        size = len(nodes)
        sums = np.zeros(size + 1)
        for j in range(size):
            sums[j + 1] = sums[j] + weights[j]
        for h in range(len(heights)):
            for c in range(n_classes):
                f[c], row[c] = mean[i, c] + rise[c] * heights[h], 0.0
            find_dominant(f, slope, nodes[1] - nodes[0], size, first, last)
            k: Any = np.int64(0)  # not a literal: one type, one compilation
            while k < size:
                end = size
                for c in range(n_classes):
                    if first[c] <= k <= last[c]:
                        row[c] += sums[last[c] + 1] - sums[k]
                        k = end = last[c] + 1
                    elif k < first[c] <= last[c]:
                        end = min(end, first[c])
                if k < end:
                    add_softmax(f, slope, nodes, weights, k, end, row)
                    k = end
            for c in range(n_classes):
                shares[i, c] += height_weights[h] * row[c]
    return shares
