"""Rows that belong together: noisy copies of a few points, with the label of their point."""

import numpy as np


def noisy_copies(n_groups, size, *, spread=0.1, n_classes=2, d=3, seed=0):
    """Points, labels and groups, shuffled."""
    rng = np.random.default_rng(seed)
    centre, direction = rng.normal(size=(n_groups, d)), rng.normal(size=(d, n_classes))
    f = 1.5 * centre @ direction + rng.normal(size=(n_groups, n_classes))
    groups = rng.permutation(np.repeat(np.arange(n_groups), size))
    X = centre[groups] + spread * rng.normal(size=(len(groups), d))
    return X, f.argmax(axis=1)[groups], groups
