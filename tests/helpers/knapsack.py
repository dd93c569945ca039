"""Factors, problems and slow answers for the tests of knapsack propagation."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtr

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import KnapsackPropagation
from bayespoint.engines.knapsack.beliefs import Beliefs
from bayespoint.engines.knapsack.priors import PRIORS

PAPER = {"C": 1.0, "beta": 1.0, "bins": 128, "schedule": "heskes"}


def machine(**parameters):
    """A linear machine without an intercept, with the paper's schedule unless another is named."""
    engine = KnapsackPropagation(**PAPER | parameters)
    return BayesPointClassifier(fit_intercept=False, engine=engine)


def beliefs_of(x, C, *, gamma=1.0, damping=1.0, low=-5.0, high=5.0, bins=129):
    """Beliefs on a uniform grid that stays, before any pass."""
    grid = np.tile(np.linspace(low, high, bins), (x.shape[1], 1))
    return Beliefs(
        x,
        np.full(len(x), float(C)),
        np.ones(len(x)),
        PRIORS["l2"],
        gamma=gamma,
        damping=damping,
        bins=bins,
        grid=grid,
    )


def envelope_messages(x, C, grid, incoming, prune=True):
    """The compiled messages of one factor."""
    messages = np.zeros((1, *grid.shape))
    graph = _core.knapsack.Graph(
        x[None], np.array([float(C)]), np.ones(1), grid, incoming, messages
    )
    total = np.zeros(grid.shape)
    room = _core.knapsack.room_for(incoming)
    _core.knapsack.pass_messages(graph, 1.0, _core.grids.stay(grid.shape), total, room, prune)
    return messages[0]


def concave_factor(rng, D, bins):
    """A factor with concave incoming messages on random grids."""
    grid = np.sort(rng.uniform(-3, 3, (D, bins)), axis=1)
    centre, width = rng.normal(size=(D, 1)), rng.uniform(0.3, 2, (D, 1))
    return (
        rng.normal(size=D),
        grid,
        -(np.abs((grid - centre) / width) ** rng.uniform(1, 2.5, (D, 1))),
    )


def wild_factor(rng, D, bins):
    """A factor with two bumps and waves in its incoming messages."""
    grid = np.sort(rng.uniform(-3, 3, (D, bins)), axis=1)
    bumps = [-a * (grid - s * rng.normal(size=(D, 1))) ** 2 for a, s in ((3, 1), (2, 2))]
    waves = 0.3 * np.sin(5 * grid + rng.uniform(0, 6, (D, 1)))
    return rng.normal(size=D), grid, np.maximum(bumps[0], bumps[1] - 0.3) + waves


def by_linear_programme(x, C, grid, incoming, i, w):
    """One entry of a message: Eq. 18 and 19, items divisible (Eq. 20 relaxed)."""
    others = [j for j in range(len(x)) if j != i]
    bins = grid.shape[1]
    profit = np.concatenate([incoming[j] for j in others])
    gain = np.concatenate([x[j] * grid[j] for j in others])
    one_each = np.kron(np.eye(len(others)), np.ones(bins))
    solution = linprog(
        -profit,
        A_ub=-gain[None],
        b_ub=[x[i] * w - 1],
        A_eq=one_each,
        b_eq=np.ones(len(others)),
        method="highs",
    )
    if solution.status == 2:  # no choice is enough
        return -C
    return max(-solution.fun - sum(incoming[j].max() for j in others), -C)


def by_search(x, C, grid, incoming, n=3001):
    """All messages of a factor of three, by search over fine grids: never above the truth."""
    messages = np.zeros(grid.shape)
    for i in range(3):
        j, k = (v for v in range(3) if v != i)
        fine = [np.union1d(np.linspace(grid[v, 0], grid[v, -1], n), grid[v]) for v in (j, k)]
        values = [np.interp(w, grid[v], incoming[v]) for v, w in zip((j, k), fine, strict=True)]
        order = np.argsort(x[k] * fine[1])
        reached = np.maximum.accumulate(values[1][order][::-1])[::-1]
        reached = np.append(reached, -np.inf)
        for b, w in enumerate(grid[i]):
            place = np.searchsorted(x[k] * fine[1][order], 1 - x[i] * w - x[j] * fine[0] - 1e-12)
            best = (values[0] + reached[place]).max()
            messages[i, b] = max(best - incoming[j].max() - incoming[k].max(), -C)
    return messages


def toy(seed, n=100, outlier=False):
    """Figure 1c: two unit Gaussians at (1, 1) and (-1, -1); perhaps with the point (10, 0)."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, -1], n // 2)
    X = rng.normal(size=(n, 2)) + y[:, None]
    return (np.vstack([X, [10.0, 0.0]]), np.append(y, -1)) if outlier else (X, y)


def toy_error(w):
    """True error rate on the toy problem of the classifier sign(w1 x1 + w2 x2 + w3)."""
    along, length = w[0] + w[1], np.hypot(w[0], w[1])
    return 0.5 * (ndtr(-(along + w[2]) / length) + ndtr(-(along - w[2]) / length))


def exact_max_marginals(x, C, points=53, reach=4.0):
    """Max-marginals of three weights on a grid over all of them."""
    line = np.linspace(-reach, reach, points)
    w = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    log_p = -0.5 * np.square(w).sum(axis=1)
    for point in x:
        log_p -= C * (w @ point < 1)
    log_p = log_p.reshape(points, points, points)
    return line, [log_p.max(axis=tuple(a for a in range(3) if a != d)) for d in range(3)]
