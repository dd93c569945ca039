"""The standard normal law on a line: areas, and numbers above a border."""

import math

from numpy.random import Generator

from bayespoint._core.compiler import compiled, inner


@inner
def normal_area(s: float) -> float:
    """Phi(s), with all digits where it is small."""
    return 0.5 * math.erfc(-s * math.sqrt(0.5))


@compiled
def normal_above(low: float, rng: Generator) -> float:
    """A standard normal number given that it is above ``low``; no tail is too far."""
    if low < 0.5:
        s = rng.standard_normal()
        while s <= low:
            s = rng.standard_normal()
        return s
    # Robert's rejection from an exponential law of the best rate.
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        s = low + rng.standard_exponential() / rate
        if rng.random() < math.exp(-0.5 * (s - rate) ** 2):
            return s
