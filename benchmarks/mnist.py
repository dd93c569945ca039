"""The large-scale machine on MNIST: error, time, memory, beside its floor and the SVM.

    python benchmarks/mnist.py            # everything; the SVM on 60 000 digits takes 15 minutes
    python benchmarks/mnist.py --no-svm   # without its rival

The floor is the time that BLAS takes for the kernel rows that the machine needed, as plain float32
products of 1024 rows, measured right before and right after what it is the floor of. Needs the data
folder (BAYESPOINT_DATA, or --data).

Memory is touched once before it is timed, and kept: a virtual machine may take longer to hand out
a fresh gigabyte than BLAS takes to fill it. The first fit, which pays for that and for compiling,
is shown too.
"""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np
from _report import peak_memory, table, timed
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.reject import rejection_curve
from papers.datasets import load_mnist

RATES = np.arange(11) / 100
PAPER = (1.46, 1.10, 0.87, 0.67, 0.49, 0.37, 0.32, 0.26, 0.21, 0.14, 0.11)  # Figure 2
# glibc gives freed memory back at once unless it is told to keep it.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}


def machine(cache_size: float, normalize: bool = True, n_samples: int = 10) -> BayesPointClassifier:
    """The paper's machine: degree 5, ten permutations a class."""
    engine = PermutedPerceptron(n_samples=n_samples, cache_size=cache_size)
    return BayesPointClassifier(
        kernel="poly",
        degree=5,
        gamma=1.0,
        coef0=1.0,
        normalize=normalize,
        engine=engine,
        random_state=0,
        n_jobs=2,
    )


def features(X: np.ndarray) -> np.ndarray:
    """(x, 1) / |(x, 1)|: the normalised kernel is the fifth power of its inner products."""
    z = np.hstack([X, np.ones((len(X), 1), dtype=X.dtype)])
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def products(left: np.ndarray, right: np.ndarray, block: int = 1024) -> None:
    """All inner products in blocks, thrown away: the floor under whatever needs them."""
    out = np.empty((block, len(right)), dtype=left.dtype)
    for start in range(0, len(left), block):
        part = left[start : start + block]
        np.matmul(part, right.T, out=out[: len(part)])


def beside_floor(function, left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Seconds of the function, and of its floor as the mean of one run before and one after."""
    _, before = timed(products, left, right)
    _, seconds = timed(function)
    _, after = timed(products, left, right)
    return seconds, (before + after) / 2


def error_table(curves: dict[str, np.ndarray]) -> None:
    """The paper's table with ours below."""
    header = ["error in % at rejection rate", *(f"{100 * rate:.0f} %" for rate in RATES)]
    rows = [["paper", *(f"{value:.2f}" for value in PAPER)]]
    rows += [[name, *(f"{100 * e:.2f}" for e in errors)] for name, errors in curves.items()]
    table("Figure 2: rejection by the largest output", header, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", help="folder with mnist.npz")
    parser.add_argument("--no-svm", action="store_true", help="leave out the SVM")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in KEEP_MEMORY.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | KEEP_MEMORY)

    data = load_mnist(arguments.data)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    base = peak_memory()
    print(f"MNIST: {len(X)} training and {len(X_test)} test digits, {X.dtype}")

    z, z_test = features(X), features(X_test)
    rows, weights, times = [], {}, {}
    # The smallest cache first, since a peak never falls.
    for cache_size in (2000, 6000, 16000):
        clf = machine(cache_size)
        _, first = timed(clf.fit, X, y)
        support = z[clf.posterior_.support]
        fit, floor = beside_floor(lambda clf=clf: clf.fit(X, y), support, z)
        memory = peak_memory() - base
        weights[cache_size] = clf.posterior_.weights
        times[cache_size] = fit
        rows.append(
            [
                f"cache_size={cache_size}",
                f"{first:.1f}",
                f"{fit:.1f}",
                f"{floor:.1f}",
                f"{fit / floor:.2f}",
                f"{memory:.1f}",
                "yes" if np.array_equal(weights[cache_size], weights[2000]) else "NO",
            ]
        )
    predicting, floor = beside_floor(lambda: clf.decision_function(X_test), z_test, support)
    table(
        f"Fit: {len(support)} kernel rows x {len(z)} points x {z.shape[1]} numbers were needed",
        [
            "normalised kernel, N = 10",
            "first fit s",
            "fit s",
            "floor s",
            "ratio",
            "memory GB",
            "same bits",
        ],
        rows,
    )
    print(f"cache_size=2000 takes {times[2000] / times[16000]:.2f} times as long as 16000")
    table(
        f"Predict {len(X_test)} digits",
        ["", "predict s", "floor s", "ratio"],
        [["", f"{predicting:.2f}", f"{floor:.2f}", f"{predicting / floor:.2f}"]],
    )
    curves = {}
    plain = machine(6000, normalize=False).fit(X, y)
    for name, fitted in (("normalised kernel", clf), ("plain kernel", plain)):
        curves[name] = rejection_curve(y_test, fitted.decision_function(X_test)).error_at(RATES)
    error_table(curves)
    if not arguments.no_svm:
        compare_with_svm(z, y, z_test, y_test, X, X_test)


def compare_with_svm(z, y, z_test, y_test, X, X_test) -> None:
    """Both machines on growing training sets."""
    rows, sizes, ours, theirs = [], (5000, 10000, 20000, len(X)), [], []
    for m in sizes:
        clf, seconds = timed(machine(6000).fit, X[:m], y[:m])
        # On unit vectors the normalised kernel is a plain power, which libsvm computes fastest.
        svm, svm_seconds = timed(
            SVC(kernel="poly", degree=5, gamma=1.0, coef0=0.0, C=100, cache_size=6000).fit,
            z[:m],
            y[:m],
        )
        ours.append(seconds)
        theirs.append(svm_seconds)
        rows.append(
            [
                f"m = {m}",
                f"{seconds:.1f}",
                f"{svm_seconds:.1f}",
                f"{svm_seconds / seconds:.1f}",
                f"{100 * (1 - clf.score(X_test, y_test)):.2f}",
                f"{100 * (1 - svm.score(z_test, y_test)):.2f}",
            ]
        )
        table(
            "Beside SVC (C = 100), the same kernel",
            ["", "ours s", "SVC s", "times faster", "error %", "SVC error %"],
            rows,
        )
    exponent = [np.polyfit(np.log(sizes), np.log(seconds), 1)[0] for seconds in (ours, theirs)]
    print(f"\ntime grows as m^{exponent[0]:.2f} (ours) and m^{exponent[1]:.2f} (SVC)")


if __name__ == "__main__":
    main()
