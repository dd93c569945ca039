"""Hostile fits: engines x kernels x dtypes x data, and random parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from tests.attack.judge import Outcome, check_predictions, judged

from bayespoint import BayesPointClassifier
from bayespoint.engines import (
    BilliardSampler,
    ExpectationPropagation,
    FactorisedPropagation,
    GibbsSampler,
    KnapsackPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
)
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel

SHORT = {"n_samples": 40, "burn_in": 20, "thin": 2}
ENGINES: dict[str, Any] = {
    "auto": "auto",
    "ep": ExpectationPropagation(),
    "ep parallel": ExpectationPropagation(schedule="rounds", max_iter=50),
    "ep diagonal": FactorisedPropagation(),
    "ep stream": FactorisedPropagation(max_iter=1, decay="auto"),
    "ep flips": ExpectationPropagation(label_noise=0.1, noise=0.5),
    "ep hard": ExpectationPropagation(noise=0.0),
    "laplace": LaplaceApproximation(),
    "perceptron": PermutedPerceptron(n_samples=4, max_epochs=20),
    "gibbs": GibbsSampler(**SHORT),
    "gibbs hard": GibbsSampler(**SHORT, label_noise=0),
    "gibbs rate": GibbsSampler(**SHORT, label_noise="auto"),
    "billiard": BilliardSampler(**SHORT),
    "knapsack": KnapsackPropagation(bins=33, n_iter=5),
    "knapsack mode": KnapsackPropagation(bins=16, n_iter=5, beta=np.inf, C=100.0),
}


def laplacian(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A kernel that is a function."""
    with np.errstate(over="ignore"):
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))


KERNELS: dict[str, Any] = {
    "auto": "auto",
    "linear": "linear",
    "poly": "poly",
    "rbf": "rbf",
    "precomputed": "precomputed",
    "function": laplacian,
    "sum": RadialKernel() + 2 * PolynomialKernel(degree=2) + ConstantKernel(),
    "constant": ConstantKernel(),
}
DTYPES = ["f8", "f4", "f2", ">f8", "i8", "i1", "u1", "?", "O", "sparse", "list", "fortran"]


def blobs(rng: np.random.Generator, n: int = 24, d: int = 3, k: int = 2) -> tuple:
    """Points of k classes that overlap a little."""
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + 1.5 * y[:, None] * np.eye(d)[0], y


def changed(change: Callable) -> Callable:
    """Data from blobs whose points are changed."""

    def make(rng: np.random.Generator) -> tuple:
        X, y = blobs(rng)
        return change(X, rng), y

    return make


def relabelled(change: Callable) -> Callable:
    """Data from blobs whose labels are changed."""

    def make(rng: np.random.Generator) -> tuple:
        X, y = blobs(rng)
        return X, change(y, rng)

    return make


def put(value: float) -> Callable:
    """Data with one odd value."""

    def change(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X[rng.integers(len(X)), 0] = value
        return X

    return changed(change)


DATA: dict[str, Callable] = {
    "plain": blobs,
    "three classes": lambda rng: blobs(rng, 30, 3, 3),
    "ten classes": lambda rng: blobs(rng, 40, 2, 10),
    "every point a class": lambda rng: blobs(rng, 12, 2, 12),
    "two points": lambda rng: blobs(rng, 2, 3),
    "three points": lambda rng: blobs(rng, 3, 1),
    "one feature": lambda rng: blobs(rng, 20, 1),
    "more features than points": lambda rng: blobs(rng, 8, 60),
    "one point of a class": lambda rng: (blobs(rng)[0], np.arange(24) == 0),
    "one class": relabelled(lambda y, rng: y * 0),
    "words": relabelled(lambda y, rng: np.array(["a", "ß\x1b[31m"])[y]),
    "objects": relabelled(lambda y, rng: np.array(["", "b"], dtype=object)[y]),
    "floats as labels": relabelled(lambda y, rng: y - 0.0),
    "odd floats as labels": relabelled(lambda y, rng: y + 0.5),
    "large labels": relabelled(lambda y, rng: y * 10**17 - 1),
    "truth": relabelled(lambda y, rng: y == 1),
    "NaN label": relabelled(lambda y, rng: np.where(y, 1.0, np.nan)),
    "wrong length": relabelled(lambda y, rng: y[:-1]),
    "random labels": relabelled(lambda y, rng: rng.permutation(y)),
    "zeros": changed(lambda X, rng: 0 * X),
    "constant": changed(lambda X, rng: 0 * X + 0.1),
    "one constant feature": changed(lambda X, rng: X * [1, 0, 1]),
    "some zero rows": changed(lambda X, rng: X * (rng.random((24, 1)) < 0.7)),
    "opposite copies": lambda rng: (np.repeat(blobs(rng)[0][:12], 2, axis=0), np.arange(24) % 2),
    "copies": changed(lambda X, rng: X[np.arange(24) // 8 * 8 + np.arange(24) % 2]),
    "collinear": changed(lambda X, rng: X[:, [0, 0, 0]] * [1, 2, 3]),
    "nearly collinear": changed(lambda X, rng: X[:, [0, 0, 0]] + 1e-12 * X),
    "shifted": changed(lambda X, rng: X + 1e4),
    "shifted far": changed(lambda X, rng: X + 1e9),
    "scales": changed(lambda X, rng: X * [1, 1e12, 1e-12]),
    "random scales": changed(lambda X, rng: X * 10 ** rng.uniform(-30, 30, 3)),
    "large": changed(lambda X, rng: X * 1e20),
    "huge": changed(lambda X, rng: X * 1e160),
    "limit": changed(lambda X, rng: X * 5e307),
    "small": changed(lambda X, rng: X * 1e-20),
    "tiny": changed(lambda X, rng: X * 1e-160),
    "denormal": changed(lambda X, rng: X * 1e-310),
    "integers": changed(lambda X, rng: (20 * X).round()),
    "outlier": put(1e15),
    "far outlier": put(1e100),
    "NaN": put(np.nan),
    "infinity": put(np.inf),
    "heavy tails": changed(lambda X, rng: rng.standard_cauchy(X.shape) ** 3),
    "no points": lambda rng: (np.empty((0, 3)), np.empty(0, int)),
    "no features": lambda rng: (np.empty((24, 0)), np.arange(24) % 2),
    "1-D": changed(lambda X, rng: X[:, 0]),
    "3-D": changed(lambda X, rng: X[:, :, None]),
}
WEIGHTS: dict[str, Callable] = {
    "none": lambda n, rng: None,
    "ones": lambda n, rng: np.ones(n),
    "some zero": lambda n, rng: (rng.random(n) < 0.7) * 1.0,
    "all zero": lambda n, rng: np.zeros(n),
    "whole": lambda n, rng: rng.integers(1, 5, n),
    "mixed": lambda n, rng: 10 ** rng.uniform(-9, 9, n),
    "tiny": lambda n, rng: np.full(n, 1e-300),
    "huge": lambda n, rng: np.full(n, 1e100),
    "large": lambda n, rng: np.full(n, 1e6),
    "negative": lambda n, rng: -np.ones(n),
    "NaN": lambda n, rng: np.full(n, np.nan),
    "words": lambda n, rng: ["a"] * n,
}


def converted(X: np.ndarray, kind: str) -> Any:
    """The points as another type."""
    with np.errstate(all="ignore"):
        if kind == "sparse":
            return sparse.csr_array(X) if X.ndim == 2 else X
        if kind == "list":
            return X.tolist()
        if kind == "fortran":
            return np.asfortranarray(X)
        if kind == "?":
            return X.mean() < X if X.size else X.astype(bool)
        if np.dtype(kind).kind in "iu":
            X = np.nan_to_num(X, posinf=100, neginf=-100).clip(-100, 100)
        return X.astype(kind)


def kernel_matrix(X: Any, rng: np.random.Generator) -> Any:
    """A kernel matrix, if there can be one; sometimes a wrong one."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype == object:
        return X
    with np.errstate(all="ignore"):
        K = X @ X.T
        odd = rng.integers(8)
        if odd == 0 and len(K):
            K = K - 5 * np.eye(len(K), dtype=K.dtype)
        if odd == 1:
            K = K[:, : len(K) // 2]
    return K


def fit_case(rng: np.random.Generator) -> tuple[str, Callable[[], str]]:
    """A random place of the grid: its name, and what to run."""
    names = [str(rng.choice(list(table))) for table in (ENGINES, KERNELS, DTYPES, DATA, WEIGHTS)]
    engine, kernel, dtype, data, weight = names
    weight = weight if rng.random() < 0.4 else "none"
    dtype = dtype if rng.random() < 0.6 else "f8"
    more = {
        "decision": str(rng.choice(["bayes_point", "vote"])),
        "normalize": bool(rng.random() < 0.2),
        "ridge": [0.0, 0.0, 1.0, "mean"][rng.integers(4)],
        "n_components": [None, "auto", 5][rng.integers(3)],
        "class_weight": [None, None, "balanced"][rng.integers(3)],
        "standardize": ["auto", "auto", True][rng.integers(3)],
    }
    with np.errstate(all="ignore"):
        X, y = DATA[data](rng)
        X = converted(X, dtype)
        if kernel == "precomputed":
            X = kernel_matrix(X, rng)
    sample_weight = WEIGHTS[weight](len(y), rng)
    clf = BayesPointClassifier(
        engine=ENGINES[engine], kernel=KERNELS[kernel], random_state=0, **more
    )
    told = {name: value for name, value in more.items() if value not in (None, 0.0, "auto", False)}
    name = f"{engine}, {kernel}, {dtype}, {data}, weight {weight}, {told}"
    return name, lambda: fitted(clf, X, y, sample_weight)


def fitted(clf: BayesPointClassifier, X: Any, y: Any, weight: Any) -> str:
    """Fit and predict; what is wrong with it."""
    before = X.copy() if hasattr(X, "copy") else None
    try:
        clf.fit(X, y, sample_weight=weight)
    finally:
        kept = before is None or same_cells(dense(X), dense(before))
    if not kept:
        return "fit changed X"
    return check_predictions(clf, X)


def dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def same_cells(one: Any, other: Any) -> bool:
    """Whether cells are equal, missing ones included; among objects NaN is not equal to itself."""
    kind = getattr(one, "dtype", np.dtype(bool)).kind
    if kind == "O":
        return all(a is b for a, b in zip(one.flat, other.flat, strict=True))
    return np.array_equal(one, other, equal_nan=kind == "f")


# Random parameters -------------------------------------------------------------------------------

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    7,
    50,
    -1,
    10**6,
    10**12,
    2**70,
    0.0,
    0.5,
    1.0,
    1e-300,
    1e-6,
    1e6,
    1e300,
    -0.5,
    np.nan,
    np.inf,
    -np.inf,
    "auto",
    "",
    "x",
    "mean",
    "rbf",
    "linear",
    "vote",
    "parallel",
    "outputs",
    "isotropic",
    "l1",
    "l2",
    "exact",
    "envelope",
    "plain",
    [],
    [1.0],
    [1.0, 2.0, 3.0],
    np.ones(3),
    np.eye(3),
    np.full(3, np.nan),
    {},
    (1, 2),
    np.float32(2.0),
    np.int64(3),
    object(),
    len,
    b"a",
    1j,
]
WIDE = [5e-324, 1e-300, 1e-100, 1e-9, 0.01, 1.0, 30.0, 1e9, 1e100, 1e300]
FEW = [1, 2, 3, 4, 5, 6, 7, 20]
# Values that are allowed, and extreme.
ALLOWED: dict[str, list[Any]] = {
    **dict.fromkeys(["prior_scale", "intercept_scale", "C", "tol"], WIDE),
    **{name: [0, *WIDE] for name in ("noise", "ridge", "coef0")},
    **dict.fromkeys(["burn_in", "thin", "n_chains", "max_epochs", "n_iter", "max_iter"], FEW),
    "n_components": [None, "auto", 10**9, *FEW],
    "refresh": [None, 0.01, 0.1, 1e9, 1e300],
    "temperature": [1e-6, 0.1, 1.0, 1e6],
    "max_rank": FEW,
    "max_steps": [1, 10, 100],
    "n_samples": [8, 20, 33],
    "bins": [9, 16, 33],
    "beta": [np.inf, *WIDE],
    "gamma": ["scale", "features", [1e-300, 1.0, 1e300], *WIDE],
    "degree": [1, 2, 3, 17, 100, 10**6],
    "label_noise": [0, 5e-324, 1e-9, 0.1, 0.49, 0.5 - 1e-16, "auto"],
    "damping": [None, 1e-300, 1e-9, 0.5, 1.0],
    "target_ess": [None, 5e-324, 1.0, 8.0],
    "max_time": [None, 1e-300, 0.01, 1.0],
    "prior_mean": [np.zeros(3), np.full(3, 1e9), [1e-300, 1e100, -1e100]],
    "prior_covariance": [np.eye(3), 1e-300 * np.eye(3), 1e100 * np.eye(3), np.ones((3, 3))],
    "decay": [5e-324, 1e-9, 0.5, 1 - 1e-16, 1.0, "auto"],
    "schedule": ["sequential", "rounds", "plain", "averaged"],
    "directions": ["auto", "isotropic", "outputs"],
    "prior": ["l1", "l2"],
    "decision": ["vote", "bayes_point"],
    "class_weight": ["balanced", {0: 1e-300, 1: 1e12, 2: 1.0}],
    "cache_size": ["auto", 0.001, 1.0],
    **{name: [True, False] for name in ("evidence", "normalize", "fit_intercept", "standardize")},
}
# Large numbers of these only take long; huge ones of the second kind need too much memory.
STEPS = {"burn_in", "thin", "max_steps", "max_epochs", "n_iter", "max_iter"}
SIZES = {"n_samples", "bins", "n_chains", "cache_size"}


def parameter_case(rng: np.random.Generator) -> tuple[str, Callable[[], str]]:
    """An engine, a kernel and a classifier with one to four odd parameters."""
    engine = ENGINES[str(rng.choice([name for name in ENGINES if name != "auto"]))]
    engine = type(engine)(**engine.get_params(deep=False))
    clf = BayesPointClassifier(engine=engine, kernel=str(rng.choice(["linear", "rbf", "poly"])))
    names = [f"engine__{name}" for name in engine.get_params(deep=False)]
    names += [name for name in clf.get_params(deep=False) if name in ALLOWED or rng.random() < 0.2]
    names = [name for name in names if name not in ("engine", "verbose")]
    chosen = {}
    for name in rng.choice(names, rng.integers(1, 5), replace=False):
        short = str(name).removeprefix("engine__")
        pool = ALLOWED.get(short, ODD) if rng.random() < 0.85 else ODD
        value = pool[rng.integers(len(pool))]
        if isinstance(value, int) and value > 50 and short in STEPS | SIZES:
            value = value if short in SIZES and value > 10**9 else 50
        if short == "n_jobs" and isinstance(value, int):
            value = min(int(value), 2)
        chosen[str(name)] = value
    X, y = blobs(rng, k=int(rng.integers(2, 4)))
    clf.set_params(**chosen)
    name = f"{type(engine).__name__}, {clf.kernel!r:.20}, {chosen}"
    return name, lambda: fitted(clf, X, y, None)


def attack(kind: str, seed: int) -> tuple[str, Outcome]:
    """One case, by its number."""
    rng = np.random.default_rng([seed, len(kind)])
    name, case = fit_case(rng) if kind == "fits" else parameter_case(rng)
    return name, judged(case)
