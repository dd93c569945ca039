"""Images of digits: deskewed, shifted, deformed at random, and described by their gradients.

Images are rows of a matrix, with grey values from 0 to 1. All functions take NumPy arrays and
tensors, and return the same kind: what they do to a hundred thousand images takes a GPU tenths of a
second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import ceil, isqrt, pi, radians
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.tools.arrays import like

TINY = 1e-12  # instead of 0, in quotients
LEVELS = 255  # of grey: values are rounded to these, and kernels of such points are cheap on a GPU
CHUNK = 10_000  # images at a time

# Chosen on held-out training digits of MNIST, as docs/results/gpu.md says. Lengths are in pixels
# of images of 28 by 28.
SIDE = 28
SHIFT, ROTATION, STRETCH, SLANT = 1.0, radians(8), 0.08, 0.16  # the most of each
WAVES, WIDTH = 0.8, 6.0  # smooth displacements: standard deviation, and distance of their changes
FINE = 0.45  # width in pixels of the Gaussian whose derivatives are the gradients
N_DIRECTIONS, N_PLACES = 12, 12  # of gradients, and along each axis
POWER = 0.35  # of their sizes


def chunked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, applied to some images at a time, for its large temporary arrays."""

    @wraps(function)
    def whole(X: Any, *args: Any) -> Any:
        parts = [function(X[i : i + CHUNK], *args) for i in range(0, len(X), CHUNK)]
        return library(X).concatenate(parts)

    return whole


def library(X: Any) -> Any:
    """NumPy or torch, whose functions have the same names here."""
    if isinstance(X, np.ndarray):
        return np
    import torch

    return torch


def rounded(X: Any) -> Any:
    """The nearest grey levels."""
    return library(X).round(X * LEVELS) / LEVELS


@chunked
def deskewed(X: Any) -> Any:
    """Images sheared so that their lines stand upright.

    Moments of the grey values give the slant of each image, as in LeCun et al. (1998). A row is
    moved by the slant times its distance from the centre of mass.
    """
    xp, images = library(X), in_two_dimensions(X)
    places = constant(X, np.arange(images.shape[1]))
    mass = xp.clip(X.sum(1), TINY, None)
    down = places - (images.sum(2) @ places / mass)[:, None]  # of each row from the centre
    across = places - (images.sum(1) @ places / mass)[:, None]
    joint = ((images @ across[:, :, None])[:, :, 0] * down).sum(1)
    spread = (images.sum(2) * down**2).sum(1)
    slant = joint / xp.clip(spread, TINY, None)
    return sampled(images, places[:, None], places + (slant[:, None] * down)[:, :, None])


def shifted(X: Any, pixels: int) -> Any:
    """Images and their shifts by up to so many pixels, along both axes; what comes in is empty."""
    places = constant(X, np.arange(isqrt(X.shape[1])))
    steps = range(-pixels, pixels + 1)
    move = chunked(lambda X, i, j: sampled(in_two_dimensions(X), places[:, None] + i, places + j))
    return library(X).concatenate([move(X, i, j) for i in steps for j in steps])


@chunked
def deformed(X: Any, rng: np.random.Generator) -> Any:
    """Each image shifted, rotated, stretched, slanted, and bent by a smooth random displacement.

    The displacements are those of P. Simard, D. Steinkraus and J. Platt, Best practices for
    convolutional neural networks, 2003: Gaussian noise, smoothed by a Gaussian.
    """
    xp, images = library(X), in_two_dimensions(X)
    n, side = images.shape[:2]
    pixel = side / SIDE
    uniform = rng.uniform(-1, 1, (6, n)).astype(np.float32)
    angle, wide, high, slant, right, low = (constant(X, one)[:, None, None] for one in uniform)
    centred = constant(X, np.arange(side) - (side - 1) / 2)
    across = xp.exp(STRETCH * wide) * centred + SLANT * slant * centred[:, None]
    down = xp.exp(STRETCH * high) * centred[:, None]
    cosine, sine = xp.cos(ROTATION * angle), xp.sin(ROTATION * angle)
    nodes = np.linspace(0, side - 1, ceil(SIDE / WIDTH) + 1)
    bells = gaussians(np.arange(side), nodes, WIDTH * pixel)
    bells = constant(X, bells / np.sqrt((bells**2).sum(axis=1, keepdims=True)))  # variance 1
    noise = rng.standard_normal((2, n, len(nodes), len(nodes)), dtype=np.float32)
    dy, dx = WAVES * pixel * (bells @ constant(X, noise) @ bells.T)
    middle = (side - 1) / 2
    y = sine * across + cosine * down + SHIFT * pixel * low + dy + middle
    x = cosine * across - sine * down + SHIFT * pixel * right + dx + middle
    return sampled(images, y, x)


@chunked
def gradients(X: Any) -> Any:
    """How much each image changes, in which direction, about where; rounded.

    The size of the gradient at a pixel is shared by the two nearest of twelve directions, and each
    direction is smoothed and read at twelve by twelve places, as in C.-L. Liu, K. Nakashima, H.
    Sako and H. Fujisawa, Handwritten digit recognition: benchmarking of state-of-the-art
    techniques, Pattern Recognition 36, 2003.
    """
    xp, images = library(X), in_two_dimensions(X)
    side = images.shape[1]
    places = np.arange(-1, side + 1)  # ink ends beyond the border
    smooth = gaussians(places, np.arange(side), FINE)
    smooth /= gaussians([0], np.arange(-side, side + 1), FINE).sum()
    slope = smooth * (np.arange(side) - places[:, None]) / FINE**2
    smooth, slope = constant(X, smooth), constant(X, slope)
    right, down = smooth @ images @ slope.T, slope @ images @ smooth.T
    size = xp.sqrt(right**2 + down**2)
    direction = xp.arctan2(down, right) * (N_DIRECTIONS / (2 * pi))
    spacing = side / (N_PLACES - 1)
    pool = gaussians(np.linspace(-0.5, side - 0.5, N_PLACES), places, spacing / 2)
    pool = constant(X, pool / pool.sum(axis=1).max())
    half = N_DIRECTIONS / 2
    parts = []
    for number in range(N_DIRECTIONS):
        apart = xp.abs(xp.remainder(direction - number + half, N_DIRECTIONS) - half)
        there = pool @ (size * xp.clip(1 - apart, 0, None)) @ pool.T
        parts.append(there.reshape(len(X), -1) ** POWER)
    return rounded(xp.concatenate(parts, 1))


def sampled(images: Any, y: Any, x: Any) -> Any:
    """Values of images at row y and column x, linear between pixels, as rows of a matrix."""
    xp, (n, side, _) = library(images), images.shape
    values = images.reshape(-1)
    start = like(images, np.arange(n) * side * side)[:, None, None]
    top, left = xp.floor(y), xp.floor(x)
    total: Any = 0.0
    for row, above in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, before in ((left, 1 - (x - left)), (left + 1, x - left)):
            inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)
            place = xp.clip(row, 0, side - 1) * side + xp.clip(column, 0, side - 1)
            weight = above * before * inside
            total = total + weight * values[start + xp.asarray(place, dtype=xp.int64)]
    return total.reshape(n, -1)


def in_two_dimensions(X: Any) -> Any:
    """Rows of a matrix as square images."""
    side = isqrt(X.shape[1])
    return X.reshape(-1, side, side)


def constant(X: Any, values: NDArray) -> Any:
    """Numbers as an array of the kind of X."""
    return like(X, values.astype(np.float32))


def gaussians(places: ArrayLike, centres: NDArray, width: float) -> NDArray[np.float64]:
    """Gaussian bells around some centres, at some places."""
    return np.exp(-((np.asarray(places)[:, None] - centres) ** 2) / (2 * width**2))
