"""How the time of a fit on a GPU grows with the number of points: measured, and drawn.

    python benchmarks/growth.py          # measure (a GPU, the data folder): docs/results/growth.csv
    python tools/draw_pictures.py        # draw what was measured: docs/images/growth.png

Two kinds of data. Shifted digits: MNIST and copies of it that are moved by up to two pixels; few
points carry weight. Noisy points: 100 Gaussian features, and ten classes that are the largest of
ten linear functions with noise, a third of them wrong; with a ridge nearly all points carry weight.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

FILE = Path(__file__).resolve().parents[1] / "docs" / "results" / "growth.csv"
NOISY = (15_000, 30_000, 60_000, 110_000, 160_000, 175_000, 215_000, 240_000, 400_000)
DIGITS = (*NOISY[:-1], 300_000, 400_000, 1_000_000)
FIT_IN_SINGLE = 162_000  # points whose kernel rows fit into three quarters of 150 GB
FIT_IN_HALF = 220_000


def noisy_points(n: int) -> tuple[Any, Any]:
    """Gaussian points on the device, and labels of which a third cannot be known."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(0)
    directions = torch.randn((100, 10), device="cuda", generator=generator)
    X = torch.randn((n, 100), device="cuda", generator=generator)
    scores = X @ directions
    scores += 3 * torch.randn(scores.shape, device="cuda", generator=generator)
    return X, scores.argmax(dim=1)


def measure() -> None:
    """Fit machines of growing size, and write their times."""
    import torch

    from gpu import machine, milliseconds, shifted
    from papers.datasets import load_mnist

    digits = [torch.tensor(one, device="cuda") for one in load_mnist(None)[:2]]
    rows = []
    for kind, sizes in (("shifted digits", DIGITS), ("noisy points", NOISY)):
        params = {"gamma": 0.01, "ridge": 0.1} if kind == "noisy points" else {}
        for n in sizes:
            X, y = noisy_points(n) if params else shifted(*digits, n)
            X, y = X[:n], y[:n]
            seconds = []
            for _ in range(3):  # the first one may wait for memory
                clf, spent = milliseconds(machine().set_params(**params).fit, X, y)
                seconds.append(spent / 1e3)
            rows.append((kind, n, f"{np.median(seconds):.3f}", len(clf.posterior_.support)))
            print(*rows[-1], flush=True)
            del X, y, clf
            torch.cuda.empty_cache()
    with FILE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("data", "points", "seconds", "support"), *rows]
        )


def draw() -> Any:
    """Seconds over points, both in logarithms, beside growth with the square."""
    with FILE.open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(6, 4))
    for kind, marker in (("shifted digits", "o"), ("noisy points", "s")):
        points, seconds = (
            [float(row[name]) for row in rows if row["data"] == kind]
            for name in ("points", "seconds")
        )
        axes.loglog(points, seconds, marker=marker, label=kind)
    ends = np.array([6e4, 1e6])
    axes.loglog(ends, 0.04 * (ends / 6e4) ** 2, "k:", label="square of the points")
    low = axes.get_ylim()[0]
    for place, height, text in (
        (FIT_IN_SINGLE, 1.6, "float32 rows fit "),
        (FIT_IN_HALF, 1.2, "float16 rows fit "),
    ):
        axes.axvline(place, color="gray", linewidth=0.8)
        axes.text(place, low * height, text, color="gray", ha="right")
    axes.set_xlabel("training points")
    axes.set_ylabel("seconds of a fit")
    axes.legend()
    return figure


if __name__ == "__main__":
    measure()
else:
    fig = draw()
