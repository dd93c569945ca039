"""Kernels in a basis of M points, on digits, beside what matrix products alone would take.

    python benchmarks/basis.py [--data FOLDER] [--cases 10000x300 60000x1000]

Expectation propagation for ten classes, rbf kernel with gamma 0.02 on pixels in [0, 1], noise 1 and
prior variance 100. Seconds of the clock and of all processors, memory beyond the data, and quality
on the 10 000 test digits. The floor has 3 n M^2 operations in float32 for the first sweep and
2 n M^2 in float64 for one exact posterior of each class, and those of the basis, at the speed that
this machine's BLAS has for large matrices.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _report import peak_memory, table
from scipy.linalg import blas
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.kernels import RadialKernel
from bayespoint.spaces import ProcessSpace
from bayespoint.tools.threads import blas_threads
from papers.datasets import load_mnist

GAMMA, SCALE, N_CLASSES = 0.02, 10.0, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--cases", nargs="+", default=["10000x300", "60000x1000"])
    arguments = parser.parse_args()
    split = load_mnist(arguments.data)
    X, X_test = split.X_train.astype(np.float64), split.X_test.astype(np.float64)
    machine().fit(X[:600], split.y_train[:600] % 2)  # compiles
    single, double = (speed(gemm, dtype) for gemm, dtype in GEMMS)
    print(f"{os.cpu_count()} cores; one does {single:.0f} (float32) and {double:.0f} GFLOP/s")
    rows = []
    for case in arguments.cases:
        n, n_components = map(int, case.split("x"))
        before = peak_memory()
        space, basis = clocked(
            ProcessSpace(RadialKernel(gamma=GAMMA).fitted(X[:n]), 0.0, n_components).fit, X[:n]
        )
        del space
        model, fit = clocked(machine(n_components).fit, X[:n], split.y_train[:n])
        memory = peak_memory() - before
        probability, predict = clocked(model.predict_proba, X_test)
        work = n * n_components * (2 * X.shape[1] + n_components) / double
        work += N_CLASSES * n * n_components**2 * (3 / single + 2 / double)
        error = np.mean(model.classes_[probability.argmax(axis=1)] != split.y_test)
        rows.append(
            [
                case,
                f"{basis[0]:.1f} / {basis[1]:.1f}",
                f"{fit[0]:.0f} / {fit[1]:.0f}",
                f"{work / 1e9:.0f}",
                model.n_iter_,
                f"{memory:.2f}",
                f"{16 * n * n_components / 1e9:.2f}",
                f"{predict[1]:.1f}",
                f"{100 * error:.2f}",
                f"{log_loss(split.y_test, probability):.4f}",
                f"{100 * model.left_out_error_:.2f}",
            ]
        )
    table(
        "MNIST, ten classes; seconds of the clock / of the processors; memory in GB",
        [
            "n x M",
            "basis",
            "fit",
            "floor",
            "sweeps",
            "memory",
            "2 n M",
            "10 000 predictions",
            "error %",
            "log-loss",
            "left-out error %",
        ],
        rows,
    )


def machine(n_components: int = 200) -> BayesPointClassifier:
    """The classifier; probabilities as the posterior gives them."""
    return BayesPointClassifier(
        kernel="rbf",
        gamma=GAMMA,
        n_components=n_components,
        temperature=1.0,
        engine=ExpectationPropagation(prior_scale=SCALE),
    )


def clocked(function, *arguments) -> tuple:
    """What the function returns, and its seconds: of the clock, and of all processors."""
    start, used = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, (time.perf_counter() - start, time.process_time() - used)


GEMMS = (blas.sgemm, np.float32), (blas.dgemm, np.float64)


def speed(gemm, dtype: type, size: int = 1500) -> float:
    """GFLOP/s of one core, the best of five."""
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(size, size)).astype(dtype))
    with blas_threads(1):
        seconds = min(clocked(gemm, 1.0, A, A)[1][1] for _ in range(5))
    return 2 * size**3 / seconds / 1e9


if __name__ == "__main__":
    main()
