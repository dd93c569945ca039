"""What compiling costs: the first fit of each engine with an empty cache, and the second.

    python benchmarks/compiling.py              # some minutes
    python benchmarks/compiling.py gibbs joint  # settings whose names contain one of these
    python benchmarks/compiling.py --functions  # and which functions take the time

Each setting has a process and an empty NUMBA_CACHE_DIR of its own. A fit is one with
``predict_proba`` of some rows; seconds are processor time, which a busy machine changes little, and
those of the clock in parentheses. ``compiling`` is the part of the first fit in Numba's compiler;
most of the rest is imports, that of Numba among them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _report import table
from numpy.typing import NDArray
from sklearn.datasets import make_classification

ROWS = 240
RIDGES = {"perceptron": {"ridge": "mean"}, "billiard": {"ridge": "mean"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, 3 classes": {"n_classes": 3},
    "default, 5 classes": {"n_classes": 5},
    "default, groups": {"groups": True},
    "default, categories": {"categories": True},
    "default, partial_fit": {"batches": True},
    **{
        f"{engine}, {kernel}{', 3 classes' * (classes > 2)}": {
            "engine": engine,
            "kernel": kernel,
            "n_classes": classes,
            "multi_class": "one_vs_rest",
            **RIDGES.get(engine, {}),
        }
        for engine in ("ep", "laplace", "gibbs", "perceptron", "billiard", "knapsack")
        for kernel in ("linear", "rbf")
        if (engine, kernel) != ("knapsack", "rbf")
        for classes in (2, 3)
    },
    **{
        f"{engine}, {kernel}, {classes} {coding}": {
            "engine": engine,
            "kernel": kernel,
            "n_classes": classes,
            "multi_class": coding,
        }
        for engine in ("ep", "laplace")
        for kernel in ("linear", "rbf")
        for classes, coding in ((3, "joint"), (5, "joint"), (5, "ordinal"))
    },
    "factorised-ep": {"engine": "factorised-ep", "kernel": "linear"},
    "factorised-ep, 3 classes": {"engine": "factorised-ep", "kernel": "linear", "n_classes": 3},
    "stream": {"stream": 1.0, "batches": True},
    "stream, decay='auto'": {"stream": "auto", "batches": True},
    "ep, linear, partial_fit": {"engine": "ep", "kernel": "linear", "batches": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of settings")
    parser.add_argument("--functions", action="store_true", help="and the slowest functions")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(**SETTINGS[options.child])))
        return
    rows = []
    for name in SETTINGS:
        if not options.names or any(part in name for part in options.names):
            found = in_fresh_process(name)
            fits = [f"{cpu:.2f} ({wall:.1f})" for cpu, wall in found["fits"]]
            rows.append([name, f"{found['compiling']:.2f}", *fits])
            if options.functions:
                table(name, ["function", "number", "seconds"], found["functions"])
    table("seconds", ["setting", "compiling", "first fit", "second"], rows)


def in_fresh_process(name: str) -> dict[str, Any]:
    """What :func:`measure` returns in a process that finds nothing compiled."""
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, __file__, "--child", name]
        printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(printed.stdout)


def measure(
    n_classes: int = 2,
    groups: bool = False,
    categories: bool = False,
    batches: bool = False,
    stream: float | str | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """Processor time and time of the two fits, the part that is compiling, and its functions."""
    X, y = make_classification(
        ROWS,
        8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=3.0,
        flip_y=0.0,
        random_state=0,
    )
    if categories:
        X[:, 0] = np.digitize(X[:, 0], [-1, 0, 1])
        parameters["categorical_features"] = [0]
    before = now()
    from bayespoint import BayesPointClassifier
    from bayespoint.engines import FactorisedPropagation

    if stream is not None:
        parameters["kernel"] = "linear"
        parameters["engine"] = FactorisedPropagation(max_iter=1, decay=stream)
    fits, compilations = [], watch()
    for _ in range(2):
        clf = BayesPointClassifier(random_state=0, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if batches:
                for begin, end in pairwise(range(0, ROWS + 1, 80)):
                    clf.partial_fit(X[begin:end], y[begin:end], classes=np.unique(y))
            else:
                clf.fit(X, y, **({"groups": np.arange(ROWS) // 2} if groups else {}))
            clf.predict_proba(X[:50])
        fits.append(list(now() - before))
        before = now()
    functions = sorted(compilations.items(), key=lambda item: -sum(item[1]))
    return {
        "fits": fits,
        "compiling": sum(sum(each) for each in compilations.values()),
        "functions": [(name, len(each), f"{sum(each):.2f}") for name, each in functions],
    }


def now() -> NDArray:
    """Processor time of this process, and time."""
    return np.array([time.process_time(), time.perf_counter()])


def watch() -> dict[str, list[float]]:
    """Processor time of each function's compilations to come, without those that it waits for."""
    from numba.core import event

    seconds: dict[str, list[float]] = {}
    waiting: list[list[float]] = []  # when a function began, and what others took meanwhile

    class Watch(event.Listener):
        def on_start(self, event: Any) -> None:
            waiting.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            began, others = waiting.pop()
            whole = time.process_time() - began
            if waiting:
                waiting[-1][1] += whole
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__name__}".removeprefix("bayespoint._core.")
            seconds.setdefault(name, []).append(whole - others)

    event.register("numba:compile", Watch())
    return seconds


if __name__ == "__main__":
    main()
