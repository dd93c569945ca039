"""Fits on a Dask cluster beside the fit in memory and the fit out of core, in one run.

    python benchmarks/dask_blocks.py [--rows N] [--columns D] [--workers 1 2] [--folder F]

The rows are in .npy files, which workers read in every round ("file"), or in dask arrays, whose
blocks stay in the memory of workers ("array"). Every worker is a process with one thread; the other
fits have one thread as well, so that "in memory" is what one worker could reach. Rows a second are
rows times rounds over seconds. Peak memory is that of the process that asks and of the largest
worker; both contain 0.2 to 0.3 GB of Python and its libraries.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from _report import table, timed
from distributed import Client, LocalCluster
from out_of_core import make, peak_of_process

from bayespoint import BayesPointClassifier
from bayespoint.blocks import from_npy
from bayespoint.dask import DaskBayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.threads import blas_threads

ENGINES = {
    "EP": ExpectationPropagation(schedule="parallel"),
    "Laplace": LaplaceApproximation(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--folder", type=Path, help="where files are made")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--without-memory", action="store_true", help="rows that do not fit")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores; seconds on a busy machine vary, ratios less so")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        paths = make(Path(folder), arguments.rows, arguments.columns)
        for name in arguments.engines:
            compare(name, paths, arguments.workers, arguments.without_memory)


def compare(name: str, paths: tuple[Path, Path], workers: list[int], only_files: bool) -> None:
    """The same fit in all ways."""
    params = {"kernel": "linear", "engine": ENGINES[name]}
    X, y = (np.load(path, mmap_mode="r") for path in paths)
    n, d = X.shape
    local = BayesPointClassifier(**params)
    local.fit(np.array(X[:500]), np.array(y[:500]))  # compiles
    rows = []

    def add(what: str, clf: BayesPointClassifier, seconds: float, worker: float | None) -> None:
        speed = n * clf.n_iter_ / seconds / 1e6
        peak = "" if worker is None else f"{worker:.2f}"
        rows.append([what, clf.n_iter_, f"{seconds:.1f}", f"{speed:.2f}",
                     f"{peak_of_process():.2f}", peak])  # fmt: skip

    expected = None
    for count in workers:
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=":0", memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            clf = DaskBayesPointClassifier(client=client, **params)
            client.run(compile_here, params)
            kinds = {"file": (from_npy(*paths),)}
            if not only_files:
                block = len(from_npy(*paths).read(0).X)
                kinds["array"] = chunks(paths, block)
            for kind, data in kinds.items():
                _, seconds = timed(clf.fit, *data)
                peak = max(client.run(peak_of_process).values())
                add(f"{count} worker{'s' * (count > 1)}, {kind}", clf.to_local(), seconds, peak)
                expected = clf.coef_ if expected is None else expected
                assert np.array_equal(clf.coef_, expected), "other bits"
    with blas_threads(1):
        _, seconds = timed(local.fit, from_npy(*paths))
        add("out of core, one thread", local, seconds, None)
        assert np.array_equal(local.coef_, expected), "other bits"
        if not only_files:
            _, seconds = timed(local.fit, np.array(X), np.array(y))
            add("in memory, one thread", local, seconds, None)
    header = ["", "rounds", "seconds", "million rows/s", "peak here, GB", "worker, GB"]
    table(f"{name}: {n} rows x {d} columns; equal bits but in memory", header, rows)


def chunks(paths: tuple[Path, Path], size: int) -> tuple[da.Array, da.Array]:
    """Dask arrays that read their blocks from files."""
    return tuple(da.from_array(np.load(path, mmap_mode="r"), chunks=(size, -1)[: 2 - k])
                 for k, path in enumerate(paths))  # fmt: skip


def compile_here(params: dict) -> None:
    """Load compiled code, so that its time does not count."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    BayesPointClassifier(**params).fit(X, X[:, 0] > 0)


if __name__ == "__main__":
    main()
