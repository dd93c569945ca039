"""Out-of-core fits beside fits in memory, and what limits them.

    python benchmarks/out_of_core.py [--rows N] [--large N] [--columns D] [--folder F] [--only ...]

``floor``: speed of the two products of a round, on one thread, and of reading a file; what a round
must take at least. ``ratio``: seconds of the same fits in memory and out of core, on N rows that
fit. ``large``: rows a second, peak memory and rounds on a file of 10^7 rows, in a process of its
own. The file is made in the folder and removed at the end. ``cost``: bytes and seconds a round for
10, 100 and 1 000 workers and 10^9 rows, from the measured speed of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _report import peak_memory, table, timed
from scipy.linalg import blas

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.rows import from_npy
from bayespoint.rows.base import rows_of_block
from bayespoint.spaces.coordinates import PART
from bayespoint.tools.threads import blas_threads

ENGINES = {
    "EP": ExpectationPropagation(),
    "Laplace": LaplaceApproximation(),
}
NETWORK = 1e9 / 8  # bytes a second: 1 Gbit/s, of the machine that adds up the sums
CHUNK = 250_000  # rows that are made at a time
REPEATS = 3
PASSES = 3  # besides the rounds that move sites: the first reading, the last check, the summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000, help="rows that fit in memory")
    parser.add_argument("--large", type=int, default=10_000_000, help="rows of the large file")
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where files are made")
    parser.add_argument("--only", nargs="+", default=["floor", "ratio", "large", "cost"])
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)  # engine and folder
    arguments = parser.parse_args()
    if arguments.fit:
        fit_large(*arguments.fit)
        return
    print(f"{os.cpu_count()} cores; seconds on a busy machine vary, ratios less so")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if "floor" in arguments.only:
            floor(Path(folder), arguments.columns)
        if "ratio" in arguments.only:
            ratio(Path(folder), arguments.rows, arguments.columns)
        if "cost" in arguments.only:
            cost(Path(folder), arguments.rows, arguments.columns)
        if "large" in arguments.only:
            large(Path(folder), arguments.large, arguments.columns)


def make(folder: Path, n: int, d: int) -> tuple[Path, Path]:
    """Files of Gaussian points and noisy labels, made a part at a time."""
    paths = folder / f"X{n}.npy", folder / f"y{n}.npy"
    rng = np.random.default_rng(0)
    weights = rng.normal(size=d) / np.sqrt(d)
    X = np.lib.format.open_memmap(paths[0], "w+", np.float64, (n, d))
    y = np.lib.format.open_memmap(paths[1], "w+", np.int8, (n,))
    for begin in range(0, n, CHUNK):
        own = slice(begin, min(begin + CHUNK, n))
        part = rng.normal(size=(own.stop - begin, d))
        X[own], y[own] = part, part @ weights + rng.normal(size=len(part)) > 0
    return paths


def floor(folder: Path, d: int) -> None:
    """Seconds a row of the products of a round on one thread, and of reading it."""
    Z = np.random.default_rng(0).normal(size=(PART, d + 1))
    F = np.triu(np.ones((d + 1, d + 1)))
    path, _ = make(folder, CHUNK, d)
    with blas_threads(1):
        syrk = min(timed(lambda: Z.T @ Z)[1] for _ in range(50)) / PART
        trmm = min(timed(lambda: blas.dtrmm(1.0, F.T, Z.T, lower=1))[1] for _ in range(50)) / PART
    read = min(timed(lambda: np.load(path, mmap_mode="r").sum())[1] for _ in range(REPEATS))
    flops = (d + 1) ** 2
    a_row = read / CHUNK
    rows = [
        ["Z^T Z, n d^2 flops", f"{1e6 * syrk:.2f}", f"{flops / syrk / 1e9:.1f} GFlop/s"],
        ["Z F, n d^2 flops", f"{1e6 * trmm:.2f}", f"{flops / trmm / 1e9:.1f} GFlop/s"],
        ["reading, 8 n d bytes", f"{1e6 * a_row:.2f}", f"{8 * d / a_row / 1e9:.1f} GB/s"],
    ]
    table(f"The floor of a round, {d} columns, one thread", ["", "µs a row", "speed"], rows)


def ratio(folder: Path, n: int, d: int) -> None:
    """The same fits in memory and out of core, in turns."""
    paths = make(folder, n, d)
    X, y = (np.load(path) for path in paths)
    rows = []
    for name, engine in ENGINES.items():
        clf = BayesPointClassifier(kernel="linear", engine=engine)
        clf.fit(X[:500], y[:500])  # compiles
        times = [
            (timed(clf.fit, X, y)[1], timed(clf.fit, from_npy(*paths))[1]) for _ in range(REPEATS)
        ]
        inside, outside = np.min(times, axis=0)
        times = [f"{one:.2f}" for one in (inside, outside, outside / inside)]
        rows.append([name, clf.run_.n_iter, *times])
    header = ["engine", "rounds", "in memory, s", "out of core, s", "ratio"]
    table(f"{n} rows x {d} columns, best of {REPEATS}", header, rows)


def large(folder: Path, n: int, d: int) -> None:
    """A file that is larger than the memory that the fit takes."""
    make(folder, n, d)
    (folder / "name").write_text(str(n))
    rows = []
    for name in ENGINES:
        command = [sys.executable, __file__, "--fit", name, str(folder)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        rounds, seconds = found["rounds"], found["seconds"]
        rows.append(
            [
                name,
                found["summary"],
                f"{seconds:.0f}",
                f"{n * (rounds + PASSES) / seconds / 1e6:.2f}",
                f"{found['peak']:.2f}",
                f"{8 * n * d / 1e9:.1f}",
            ]
        )
    header = ["engine", "run", "seconds", "million rows a second", "peak, GB", "file, GB"]
    table(f"{n} rows x {d} columns, out of core", header, rows)


def fit_large(name: str, folder: str) -> None:
    """One fit of the large file, in this process."""
    n = Path(folder, "name").read_text()
    blocks = from_npy(*(Path(folder, f"{letter}{n}.npy") for letter in "Xy"))
    clf = BayesPointClassifier(kernel="linear", engine=ENGINES[name]).fit(blocks)
    found = {"rounds": clf.run_.n_iter, "summary": clf.run_.summary, "seconds": clf.run_.seconds}
    print(json.dumps({**found, "peak": peak_of_process()}))


def peak_of_process() -> float:
    """Most memory of this process, in gigabytes; ``ru_maxrss`` would begin with the parent's."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1e6 if found else peak_memory()


def cost(folder: Path, n_measured: int, d: int, n: float = 1e9) -> None:
    """Bytes and seconds a round of EP for many workers, each with one thread and its own rows."""
    paths = make(folder, n_measured, d)
    clf = BayesPointClassifier(kernel="linear", engine=ENGINES["EP"])
    clf.fit(*(np.load(path, mmap_mode="r")[:500] for path in paths))  # compiles
    _, seconds = min((timed(clf.fit, from_npy(*paths)) for _ in range(REPEATS)), key=lambda t: t[1])
    a_row = seconds / (n_measured * (clf.run_.n_iter + PASSES))
    print(f"\n{1e6 * a_row:.2f} µs a row and round, measured on one thread")
    blocks = n / rows_of_block(d, None)
    sums, sites, model = 8 * (d + 1) ** 2, 2 * 16 * n, 8 * (d + 1) ** 2
    rows = []
    for workers in (10, 100, 1000):
        moved = workers * (sums + model)
        rows.append(
            [
                workers,
                f"{blocks / workers:.0f}",
                f"{n * a_row / workers:.1f}",
                f"{moved / 1e6:.1f}",
                f"{moved / NETWORK:.3f}",
                f"{(moved + sites) / NETWORK:.0f}",
            ]
        )
    header = ["workers", "blocks each", "work, s", "moved, MB", "network, s", "with sites, s"]
    table(f"Cost of a round on paper, {n:.0e} rows x {d} columns, 1 Gbit/s", header, rows)


if __name__ == "__main__":
    main()
