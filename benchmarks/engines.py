"""All engines on the same data, in one process: what each costs, and how good its answers are.

    python benchmarks/engines.py

Prints the tables of docs/engines.md. Every engine has its defaults; those that need classes that
can be separated get a ridge where they cannot, and an engine that would take minutes is left out.
Seconds are processor time of one thread, which a busy machine changes little, after a first fit
that compiles.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from _report import table
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.engines import Engine, ExpectationPropagation
from bayespoint.reports.environment import describe_environment

ENGINES: dict[str, Engine | str] = {
    "ep": "ep",
    "ep, label_noise=0.05": ExpectationPropagation(label_noise=0.05),  # gibbs has it by default
    "laplace": "laplace",
    "perceptron": "perceptron",
    "gibbs": "gibbs",
    "billiard": "billiard",
    "knapsack": "knapsack",
}
HARD = ("perceptron", "billiard")  # need classes that can be separated, or a ridge


class Setting(NamedTuple):
    """Data, the kernel they are given to, and which engines are not asked."""

    name: str
    data: tuple[NDArray, NDArray, NDArray, NDArray]
    separable: bool
    parameters: dict[str, Any]
    too_slow: tuple[str, ...] = ()


def main() -> None:
    settings = [
        plane("300 × 10, clean", 300, 10, flipped=0.0),
        plane("300 × 10, 10 % flipped", 300, 10, flipped=0.1),
        breast(),
        plane("3000 × 30, 10 % flipped", 3000, 30, flipped=0.1, too_slow=("billiard",)),
        plane("20000 × 50, 10 % flipped", 20_000, 50, flipped=0.1, too_slow=(*HARD, "knapsack")),
        digits("3 against 8, rbf, 178", [3, 8]),
        digits("ten digits, rbf, 898", range(10), too_slow=("gibbs", "knapsack")),
    ]
    computer = describe_environment()
    print(f"{computer['processor']}, {computer['cores']} cores, one of them used")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines say when they have not come to rest
        for name in ENGINES:  # compile
            measure(name, plane("", 60, 5, flipped=0.0))
            measure(name, digits("", [0, 1]))
        for setting in settings:
            rows = [[name, *measure(name, setting)] for name in ENGINES]
            table(setting.name, ["engine", "seconds", "error %", "log-loss"], rows)


def measure(name: str, setting: Setting) -> tuple[str, str, str]:
    """Seconds to fit, test error and log-loss."""
    if name in setting.too_slow:
        return "", "", ""
    X_train, X_test, y_train, y_test = setting.data
    ridge = "mean" if name in HARD and not setting.separable else 0.0
    machine = BayesPointClassifier(
        engine=ENGINES[name], ridge=ridge, random_state=0, n_jobs=1, **setting.parameters
    )
    start = time.process_time()
    machine.fit(X_train, y_train)
    seconds = time.process_time() - start
    loss = log_loss(y_test, machine.predict_proba(X_test))
    return f"{seconds:.3g}", f"{100 * (1 - machine.score(X_test, y_test)):.1f}", f"{loss:.3f}"


def plane(
    name: str, n_points: int, n_features: int, *, flipped: float, too_slow: tuple[str, ...] = ()
) -> Setting:
    """Normal points cut by a plane; a share of the training labels is wrong, of the others none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_points + 5000, n_features))
    y = X @ rng.normal(size=n_features) > 0
    y[:n_points] ^= rng.random(n_points) < flipped
    data = X[:n_points], X[n_points:], y[:n_points], y[n_points:]
    return Setting(name, data, flipped == 0, {"kernel": "linear"}, too_slow)


def breast() -> Setting:
    X, y = load_breast_cancer(return_X_y=True)
    data = train_test_split(scale(X), y, test_size=0.5, random_state=0, stratify=y)
    return Setting(f"breast cancer, {len(data[0])} × 30", tuple(data), False, {"kernel": "linear"})


def digits(name: str, classes: Any, too_slow: tuple[str, ...] = ()) -> Setting:
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, classes)
    data = train_test_split(X[kept], y[kept], test_size=0.5, random_state=0, stratify=y[kept])
    return Setting(name, tuple(data), True, {"kernel": "rbf", "gamma": 0.001}, too_slow)


if __name__ == "__main__":
    main()
