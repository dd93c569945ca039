"""Fits on a Dask cluster beside the fit in memory and the fit out of core, in one run.

    python benchmarks/dask_blocks.py [--rows N] [--columns D] [--workers 1 2] [--folder F]

The rows are in .npy files, which workers read in every round ("file"), or in dask arrays, whose
blocks stay in the memory of workers ("array"). Every worker is a process with one thread; the other
fits have one thread as well, so that "in memory" is what one worker could reach. Rows a second are
rows times rounds over seconds; the same for seconds of CPU time of all processes together, which
other work on the computer does not change. Peak memory is that of the process that asks and of the
largest worker; both contain 0.2 to 0.3 GB of Python and its libraries.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from _report import table, timed
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from out_of_core import make, peak_of_process

from bayespoint import BayesPointClassifier
from bayespoint.classifier.dask import DaskBayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.rows import from_arrays, from_npy
from bayespoint.tools.threads import blas_threads

ENGINES = {
    "EP": ExpectationPropagation(),
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
    warm_up(params)
    local.fit(np.array(X[:500]), np.array(y[:500]))
    rows = []

    def run(what: str, clf: Any, data: Sequence, client: Client | None = None) -> NDArray:
        """Fit, and add a line to the table; the coefficients."""
        peers = [] if client is None else list(client.run(time.process_time).values())
        before = time.process_time() + sum(peers)
        _, seconds = timed(clf.fit, *data)
        if client is not None:
            peers = list(client.run(time.process_time).values())
        work = time.process_time() + sum(peers) - before
        peak = "" if client is None else f"{max(client.run(peak_of_process).values()):.2f}"
        done = n * clf.n_iter_ / 1e6
        rows.append(
            [
                what,
                clf.n_iter_,
                f"{seconds:.1f}",
                f"{done / seconds:.2f}",
                f"{work:.1f}",
                f"{done / work:.2f}",
                f"{peak_of_process():.2f}",
                peak,
            ]
        )
        return clf.coef_

    expected = None
    for count in workers:
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=":0", memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            clf = DaskBayesPointClassifier(client=client, **params)
            client.run(warm_up, params)
            kinds: dict = {"file": [from_npy(*paths)]}
            if not only_files:
                block = len(from_npy(*paths).read(0).X)
                kinds["array"] = chunks(paths, block)
            for kind, data in kinds.items():
                found = run(f"{count} worker{'s' * (count > 1)}, {kind}", clf, data, client)
                expected = found if expected is None else expected
                assert np.array_equal(found, expected), "other bits"
    with blas_threads(1):
        found = run("out of core, one thread", local, [from_npy(*paths)])
        assert np.array_equal(found, expected), "other bits"
        if not only_files:
            run("in memory, one thread", local, [np.array(X), np.array(y)])
    header = [
        "",
        "rounds",
        "seconds",
        "million rows/s",
        "CPU s",
        "million rows/CPU s",
        "peak here, GB",
        "worker, GB",
    ]
    table(f"{name}: {n} rows x {d} columns; equal bits but in memory", header, rows)


def chunks(paths: tuple[Path, Path], size: int) -> list[da.Array]:
    """Dask arrays whose blocks workers read from files."""
    arrays = []
    for path in paths:
        whole = np.load(path, mmap_mode="r")
        own = da.core.normalize_chunks((size, -1)[: whole.ndim], whole.shape)
        arrays.append(da.map_blocks(read, str(path), chunks=own, dtype=whole.dtype))
    return arrays


def read(path: str, block_info: dict | None = None) -> np.ndarray:
    """The rows of one block."""
    begin, end = block_info[None]["array-location"][0]
    return np.array(np.load(path, mmap_mode="r")[begin:end])


def warm_up(params: dict) -> None:
    """Import and load compiled code, so that its time does not count."""
    import bayespoint.rows.dask.cluster  # noqa: F401

    X = np.random.default_rng(0).normal(size=(100, 2))
    BayesPointClassifier(**params).fit(from_arrays(X, X[:, 0] > 0, block_rows=50))


if __name__ == "__main__":
    main()
