"""The samplers: cost of a step, effective samples a second, two cores, and 2000 points.

    python benchmarks/samplers.py             # everything; the digits need the data folder
    python benchmarks/samplers.py steps rivals    # or some parts

The floor of a step on a circle is the one product of a matrix with a vector that it needs, measured
in turn with the steps. Rivals are the samplers of ``hopsy`` (on PyPI), which know polytopes: there
version space is a cone in a cube. They are left out where it is not installed. Times of a single
thread are those of the processor, which others on the machine disturb least.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from _report import table, timed
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.engines.base import StepProgress
from bayespoint.engines.sampling.billiard import Billiard
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Circles, Record
from bayespoint.posteriors.diagnostics import effective_sample_size, r_hat
from bayespoint.tools.monitor import Monitor
from papers.datasets import load_mnist

try:
    import hopsy
except ImportError:
    hopsy = None

SIZES = (76, 200, 500, 1000, 2000)
ROUNDS = 5  # measurements in turn; the fastest counts
THIN = 10  # steps between samples
BUDGET = 1.0  # seconds for each sampler
SHOWN = 25  # outputs whose effective samples are counted


@numba.njit(nogil=True)
def products(Y: np.ndarray, v: np.ndarray, g: np.ndarray, n: int) -> None:
    """The floor: n products."""
    for _ in range(n):
        np.dot(Y, v, g)


def spent(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds of processor time."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def separable(m: int, d: int, seed: int = 0, spread: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels that a plane separates; features of scales 1 to 10^spread."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    return X * np.logspace(0, spread, d), y


def steps() -> None:
    """Microseconds a step, beside the floor."""
    rows = []
    for m in SIZES:
        X, y = separable(m, m)
        halfspaces = Halfspaces.of(X, y, None)
        Y, w = halfspaces.normals, halfspaces.inside()
        rng = np.random.default_rng(0)
        circles = Circles(halfspaces)
        n = max(50, int(2e8 / m**2))
        room = np.empty((1, m)), np.zeros(m), np.empty(0)
        start, n_burn = circles.state(w, rng), 2000 if m < 2000 else 200
        circles.sample(math.log(19), (0, n_burn), start, rng, Record(n_burn, *room))
        floor, noisy, hard = [], [], []
        for _ in range(ROUNDS):
            floor.append(spent(products, Y, w, np.empty(m), n))
            for times, moves, direction, theta in (
                (noisy, circles, start.w, math.log(19)),
                (hard, circles, w, math.inf),
            ):
                state = moves.state(direction, rng)
                arguments = (theta, (0, n), state, rng, Record(n, *room))
                times.append(spent(moves.sample, *arguments))
        best = [min(times) / n * 1e6 for times in (floor, noisy, hard)]
        rows.append(
            [m, *(f"{t:.1f}" for t in best), f"{best[1] / best[0]:.2f}", f"{best[2] / best[0]:.2f}"]
        )
    header = ["m = d", "floor", "q = 0.05", "q = 0", "0.05 / floor", "0 / floor"]
    table("microseconds a step, one thread", header, rows)


def per_second(draws: np.ndarray, outputs: np.ndarray, seconds: float) -> list[str]:
    """Smallest and median effective samples a second of outputs, and R-hat."""
    f = draws @ outputs[:: -(-len(outputs) // SHOWN)].T
    size = effective_sample_size(f)
    return [
        f"{size.min() / seconds:.0f}",
        f"{np.median(size) / seconds:.0f}",
        f"{r_hat(f).max():.3f}",
    ]


def rivals() -> None:
    """Effective samples a second in version space, one thread for all."""
    if hopsy is None:
        print("\nhopsy is not installed: no rivals (pip install hopsy).")
    rows = []
    for m, d in ((50, 5), (100, 10), (200, 30), (188, 188)):
        halfspaces = Halfspaces.of(*separable(m, d), None)
        samplers = {
            "circles": ours(Circles(halfspaces), halfspaces),
            "billiard": ours(Billiard(halfspaces, 1000, 10.0, StepProgress(Monitor())), halfspaces),
        }
        if hopsy is not None:
            samplers["hopsy hit-and-run"] = theirs(hopsy.UniformHitAndRunProposal, halfspaces)
            samplers["hopsy billiard"] = theirs(hopsy.BilliardWalkProposal, halfspaces)
        for name, draw in samplers.items():
            draw(20)
            start, parts = time.perf_counter(), []
            while time.perf_counter() - start < BUDGET:
                parts.append(draw(20))
            seconds = time.perf_counter() - start
            draws = np.concatenate(parts)
            draws /= np.linalg.norm(draws, axis=1, keepdims=True)
            values = per_second(draws[None], halfspaces.normals, seconds)
            rows.append([f"{m} x {d}", name, *values])
    header = ["m x d", "sampler", "least", "median", "R-hat"]
    table("effective samples a second, q = 0", header, rows)


def ours(moves: Circles | Billiard, halfspaces: Halfspaces) -> Callable[[int], np.ndarray]:
    """A function that draws so many samples."""
    rng, d = np.random.default_rng(0), halfspaces.normals.shape[1]
    state: Any = moves.state(halfspaces.inside(), rng)

    def draw(n: int) -> np.ndarray:
        samples = np.empty((n, d))
        record = Record(THIN, samples, np.zeros(d), np.empty(0))
        moves.sample(math.inf, (0, n * THIN), state, rng, record)
        return samples

    return draw


def theirs(proposal: Any, halfspaces: Halfspaces) -> Callable[[int], np.ndarray]:
    """As :func:`ours`, from the cone of version space in a cube."""
    Y = halfspaces.normals
    m, d = Y.shape
    A, b = np.vstack([-Y, np.eye(d), -np.eye(d)]), np.append(np.zeros(m), np.ones(2 * d))
    chain = hopsy.MarkovChain(hopsy.Problem(A, b), proposal, starting_point=halfspaces.inside() / 2)
    rng = hopsy.RandomNumberGenerator(0)
    return lambda n: hopsy.sample(chain, rng, n, thinning=THIN)[1][0]


def cores() -> None:
    """Steps a second of two chains on two threads, beside one."""
    rows = []
    for m in (76, 200, 500, 1000):
        X, y = separable(m, m)
        seconds = []
        for n_chains in (1, 2):
            engine = GibbsSampler(
                n_samples=100 * n_chains,
                thin=max(20, int(4e7 / m**2)),
                n_chains=n_chains,
                directions="isotropic",
            )
            clf = BayesPointClassifier(
                engine=engine, fit_intercept=False, random_state=0, n_jobs=n_chains
            )
            clf.fit(X, y)
            with threadpool_limits(1):
                seconds.append(min(timed(clf.fit, X, y)[1] for _ in range(3)))
        rows.append([m, *(f"{t:.2f}" for t in seconds), f"{2 * seconds[0] / seconds[1]:.2f}"])
    table("two chains on two cores", ["m = d", "one, s", "two, s", "gain"], rows)


def outputs() -> None:
    """Effective samples a second with kernels: circles, and outputs one after the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    problems = {}
    for words, gram in (
        ("rbf", K),
        ("100 rbf + ridge 1", 100 * K + np.eye(100)),
        ("rbf^40", K**40),
    ):
        f = np.linalg.cholesky(gram + 1e-9 * np.eye(100)) @ rng.standard_normal(100)
        problems[f"{words}, 100 points in a plane"] = gram, np.where(f > 0, 1, -1)
    digits = two_digits((1, 2), 188)
    problems["degree 5, 188 digits"] = digits.K, digits.labels
    rows = []
    for name, (gram, y) in problems.items():
        for q in (0.0, 0.05):
            row = [name, q]
            for directions, thin in (("isotropic", 100), ("auto", 10)):
                engine = GibbsSampler(
                    label_noise=q,
                    n_samples=4000,
                    thin=thin,
                    burn_in=50 * thin,
                    directions=directions,
                )
                clf = BayesPointClassifier(kernel="precomputed", engine=engine, random_state=0)
                clf.fit(gram, y)
                seconds = spent(clf.fit, gram, y)
                draws = clf.sample_outputs(gram)[:, :, 0].T.reshape(4, 1000, -1)
                row += per_second(draws, np.eye(len(y)), seconds)
            rows.append([*row, f"{float(row[-3]) / float(row[-6]):.1f}"])
    header = ["kernel", "q", "least", "median", "R-hat", "least", "median", "R-hat", "gain, least"]
    table("effective samples a second: isotropic, auto", header, rows)


class Digits(NamedTuple):
    """Two digits of MNIST: normalised kernels of degree 5, and labels."""

    K: np.ndarray
    labels: np.ndarray
    K_test: np.ndarray
    y_test: np.ndarray


def two_digits(pair: tuple[int, int], n: int, flipped: float = 0.0) -> Digits:
    """The first n images of a pair, some labels flipped, and all test images."""
    data = load_mnist()
    train = np.flatnonzero(np.isin(data.y_train, pair))[:n]
    test = np.isin(data.y_test, pair)
    y, y_test = (
        np.where(values == pair[1], 1, -1) for values in (data.y_train[train], data.y_test)
    )
    labels = np.where(np.random.default_rng(0).random(n) < flipped, -y, y)
    z, z_test = unit_features(data.X_train[train]), unit_features(data.X_test[test])
    return Digits((z @ z.T) ** 5, labels, (z_test @ z.T) ** 5, y_test[test])


def thousands() -> None:
    """2000 points, 5 % of the labels flipped, beside the SVM at the C that is best on test data."""
    rows = []
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 30))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X @ rng.normal(size=30) > 0, 1, -1)
    labels = np.where(rng.random(2000) < 0.05, -y[:2000], y[:2000])
    plane = Digits(X[:2000] @ X[:2000].T, labels, X[2000:] @ X[:2000].T, y[2000:])
    engine = GibbsSampler(n_samples=800, burn_in=10_000, thin=500)  # 110 000 circles
    rows += beside_svm("a plane in 30 dimensions", plane, engine, X[:2000], X[2000:], "linear")
    for pair in ((3, 8), (4, 9)):
        digits = two_digits(pair, 2000, 0.05)
        engine = GibbsSampler(n_samples=800, burn_in=500, thin=10)
        name = "{} against {}".format(*pair)
        rows += beside_svm(name, digits, engine, digits.K, digits.K_test, "precomputed")
    header = ["data", "machine", "test error", "seconds", "R-hat: median", "largest"]
    table("2000 points, 5 % flipped", header, rows)


def beside_svm(
    name: str, data: Digits, engine: GibbsSampler, X: np.ndarray, X_test: np.ndarray, kernel: str
) -> list[list[str]]:
    """Rows of the SVM and of the Bayes point; R-hat is that of 100 test outputs."""
    errors, spent_on_all = {}, 0.0
    for C in (0.1, 0.3, 1.0, 2.0, 3.0, 10.0, 100.0, 1e3, 1e4):
        svm, seconds = timed(SVC(kernel="precomputed", C=C).fit, data.K, data.labels)
        errors[C] = 1 - svm.score(data.K_test, data.y_test)
        spent_on_all += seconds
    best = min(errors, key=lambda C: errors[C])
    clf = BayesPointClassifier(
        kernel=kernel, fit_intercept=False, engine=engine, random_state=0, n_jobs=2
    )
    _, seconds = timed(clf.fit, X, data.labels)
    shown = X_test[:: len(X_test) // 100]
    outputs = clf.sample_outputs(shown)[:, :, 0].T.reshape(engine.n_chains, -1, len(shown))
    spread, error = r_hat(outputs), 1 - clf.score(X_test, data.y_test)
    return [
        [name, f"SVC, C = {best:g}", f"{errors[best]:.2%}", f"{spent_on_all:.0f}", "", ""],
        [
            "",
            "GibbsSampler",
            f"{error:.2%}",
            f"{seconds:.0f}",
            f"{np.median(spread):.3f}",
            f"{spread.max():.3f}",
        ],
    ]


def unit_features(X: np.ndarray) -> np.ndarray:
    """(x, 1) / |(x, 1)|: powers of their inner products are the normalised kernel."""
    z = np.hstack([X.astype(np.float64), np.ones((len(X), 1))])
    return z / np.linalg.norm(z, axis=1, keepdims=True)


PARTS = {
    "steps": steps,
    "rivals": rivals,
    "cores": cores,
    "outputs": outputs,
    "thousands": thousands,
}


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if none is named")
    warnings.simplefilter("ignore")  # short chains
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
