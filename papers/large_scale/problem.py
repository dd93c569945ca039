"""The data of the large-scale experiment, and the printed errors that apply to them."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.datasets import load_digits

from papers.base import Context
from papers.datasets import Split, load_mnist

PRINTED = (1.46, 1.10, 0.87, 0.67, 0.49, 0.37, 0.32, 0.26, 0.21, 0.14, 0.11)  # Figure 2, in %
PAPER_SIZES = (60_000, 10_000)


class Problem(NamedTuple):
    """Data, the kernel's gamma on them, and the printed errors that apply to them, if any do."""

    words: str
    split: Split
    gamma: float
    printed: tuple[float, ...] | None


def pose(context: Context) -> Problem:
    """The data of the paper, or small data to see the same on."""
    if context.full:
        split = load_mnist(context.data)
        sizes = (len(split.X_train), len(split.X_test))
        words = f"MNIST, {sizes[0]} training and {sizes[1]} test images, pixels from 0 to 1"
        return Problem(words, split, 1.0, PRINTED if sizes == PAPER_SIZES else None)
    X, y = load_digits(return_X_y=True)
    split = Split(X[:1000], y[:1000], X[1000:], y[1000:])
    words = (
        f"scikit-learn's digits, the first {len(split.X_train)} to train and the other "
        f"{len(split.X_test)} to test; not the paper's data, so its numbers do not apply"
    )
    return Problem(words, split, 1 / 16**2, None)  # pixels go up to 16
