"""The large-scale machine on a GPU: MNIST in milliseconds, a million points, and the floor.

    python benchmarks/gpu.py           # everything, some minutes
    python benchmarks/gpu.py --quick   # MNIST only
    python benchmarks/gpu.py --cpu     # the rivals alone, on 3 000 digits and without a GPU

One process: the first fit pays for the context of the device and for compiling the source, and is
shown apart; all others are medians. The floor of a step is the time of its bytes at the rate of a
copy on the device, or of its products at the rate of a large float16 product, both measured here.
Rivals are trained in the same process, on the same tensors. Needs a GPU and the data folder
(BAYESPOINT_DATA, or --data).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _report import table, timed
from _rivals import KernelRidge, NystroemSoftmax, chosen, packages, scores, unit_features

from bayespoint import BayesPointClassifier
from bayespoint.classifier import attributes
from bayespoint.classifier import fitting as training
from bayespoint.classifier import inputs as points
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, PermutedPerceptron
from bayespoint.engines.sampling import perceptron, waves
from bayespoint.gpu import kernels, perceptrons, rows
from bayespoint.kernels import PolynomialKernel
from bayespoint.spaces import DeviceSpace
from papers.datasets import load_mnist

# glibc gives freed memory back at once unless it is told to keep it; a virtual machine may take
# longer to hand it out again than the device takes for the whole fit.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
REPEATS = 9


def machine(n_samples: int = 10, **params: Any) -> BayesPointClassifier:
    """The paper's machine with the normalised kernel."""
    return BayesPointClassifier(
        kernel="poly",
        degree=5,
        gamma=1.0,
        coef0=1.0,
        normalize=True,
        engine=PermutedPerceptron(n_samples=n_samples),
        **{"random_state": 0, **params},
    )


def milliseconds(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the function returns, and the milliseconds until the device has done it."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else int
    wait()
    begin = time.perf_counter()
    result = function(*arguments)
    wait()
    return result, 1e3 * (time.perf_counter() - begin)


def error(clf: BayesPointClassifier, X: Any, y: np.ndarray) -> str:
    """Test error in %."""
    answers = clf.predict(X)
    answers = answers.cpu().numpy() if torch.is_tensor(answers) else answers
    return f"{100 * np.mean(answers != y):.2f}"


class Mnist:
    """The digits, as arrays and on the device."""

    def __init__(self, folder: str | None) -> None:
        self.split = load_mnist(folder)
        X, y, X_test, self.y_test = self.split
        self.on_device = [torch.tensor(one, device="cuda") for one in (X, y, X_test)]
        pixels = [np.round(255 * one).astype(np.uint8) for one in (X, X_test)]
        self.kinds = {
            "tensors on the device": (self.on_device[0], self.on_device[1], self.on_device[2], {}),
            "NumPy, float32": (X, y, X_test, {"device": "cuda"}),
            "NumPy, uint8": (pixels[0], y, pixels[1], {"device": "cuda"}),
        }


def cold_and_warm(mnist: Mnist) -> None:
    """The first fit of the process, and medians of later ones."""
    found = []
    for name, (X, y, X_test, params) in mnist.kinds.items():
        clf, first = milliseconds(machine(**params).fit, X, y)
        _, first_predict = milliseconds(clf.predict, X_test)
        fits, predictions = [], []
        for seed in range(1, REPEATS + 1):
            clf, spent = milliseconds(machine(**params, random_state=seed).fit, X, y)
            fits.append(spent)
            predictions.append(milliseconds(clf.predict, X_test)[1])
        both = [a + b for a, b in zip(fits, predictions, strict=True)]
        numbers = [statistics.median(one) for one in (fits, predictions, both)]
        cells = [first + first_predict, *numbers, min(both), max(both)]
        found.append((name, *(f"{one:.1f}" for one in cells), error(clf, X_test, mnist.y_test)))
    table(
        f"MNIST, 60 000 digits, N = 10: fit and predict 10 000, ms (medians of {REPEATS} seeds)",
        ("data", "first of all", "fit", "predict", "both", "least", "most", "error %"),
        found,
    )


def ceilings() -> tuple[float, float]:
    """Bytes a second of a copy, and operations a second of a float16 product."""
    source = torch.randn(1 << 29, device="cuda")
    goal = torch.empty_like(source)
    spent = statistics.median(milliseconds(goal.copy_, source)[1] for _ in range(5))
    bandwidth = 8 * len(source) / spent * 1e3
    del source, goal
    A = torch.randn((8192, 8192), device="cuda", dtype=torch.float16)
    spent = statistics.median(milliseconds(torch.mm, A, A)[1] for _ in range(5))
    return bandwidth, 2 * 8192**3 / spent * 1e3


def steps(mnist: Mnist) -> None:
    """Each step of a fit, with a wait for the device after it, beside its floor."""
    bandwidth, rate = ceilings()
    X, y, X_test = mnist.on_device
    spent: dict[str, list[float]] = {}
    parts = {
        "points: type, NaN": (points, "device_points"),
        "kernel and points prepared": (DeviceSpace, "fit"),
        "all kernel rows": (rows.DeviceRows, "_all"),
        "permutations (beside the rows)": (waves, "permutations"),
        "perceptrons": (perceptrons.DeviceRounds, "_advance"),
        "coefficients": (waves.DeviceTrainer, "_unit_weights"),
        "first visits": (waves.DeviceTrainer, "_first_visits"),
        "probabilities learned": (perceptron, "learn_log_odds"),
        "out-of-bag scores": (attributes, "out_of_bag"),
        "fit, all of it": (training, "train"),
    }
    before = {name: getattr(owner, call) for name, (owner, call) in parts.items()}
    for name, (owner, call) in parts.items():

        def wrapped(*args: Any, name: str = name, **kwargs: Any) -> Any:
            result, ms = milliseconds(lambda: before[name](*args, **kwargs))
            spent.setdefault(name, []).append(ms)
            return result

        setattr(owner, call, wrapped)
    for _ in range(5):
        clf = machine().fit(X, y)
    for name, (owner, call) in parts.items():
        setattr(owner, call, before[name])
    m, k = len(X), 720
    n_mistakes = mistakes(X, y)
    predictions = [milliseconds(clf.predict, X_test)[1] for _ in range(5)]
    n_support = len(clf.posterior_.support)
    floors = {
        "points: type, NaN": 4 * X.numel() / bandwidth,
        "kernel and points prepared": (4 * X.numel() + 2 * m * k) / bandwidth,
        "all kernel rows": m * m * k / rate + 4 * m * m / bandwidth,  # half, and its mirror image
        "perceptrons": 4 * m * n_mistakes / bandwidth,
        "predict 10 000": 2 * 10_000 * n_support * k / rate,
    }
    spent["predict 10 000"] = predictions
    table(
        f"The steps of a fit, ms, with {bandwidth / 1e12:.2f} TB/s and {rate / 1e12:.0f} TFLOP/s",
        ("step", "ms", "floor"),
        [
            (
                name,
                f"{statistics.median(ms):.2f}",
                f"{1e3 * floors[name]:.2f}" if name in floors else "",
            )
            for name, ms in spent.items()
        ],
    )
    print(f"{n_mistakes} mistakes are corrected, {n_support} points carry weight")


def mistakes(X: Any, y: Any) -> int:
    """Mistakes that all machines of a fit correct."""
    seen = []
    before = perceptrons.DeviceRounds.run

    def run(self: Any, *args: Any) -> None:
        before(self, *args)
        seen.append(int(self.progress[:, 3].sum()))

    perceptrons.DeviceRounds.run = run  # type: ignore[method-assign]
    machine().fit(X, y)
    perceptrons.DeviceRounds.run = before  # type: ignore[method-assign]
    return sum(seen)


def accuracy(mnist: Mnist) -> None:
    """Kernel values beside float64, and predictions beside those of the CPU."""
    X = mnist.on_device[0]
    noisy = X + 1e-3 * torch.rand_like(X)  # on no grid
    kernel = PolynomialKernel(degree=5, gamma=1.0, coef0=1.0, normalize=True)
    found = []
    for name, some in (("pixels (one product)", X), ("any floats (three products)", noisy)):
        ready = kernels.on_grid(kernel.fitted(some), some)
        prepared = kernels.prepare(ready, some)
        values = kernels.block(ready, prepared.take(slice(0, 1000)), prepared)
        exact = some.double()
        length = ((exact**2).sum(dim=1) + 1).sqrt()
        exact = ((exact[:1000] @ exact.T + 1) / length[:1000, None] / length) ** 5
        rows_of = rows.DeviceRows(ready, prepared, "auto")
        ms = statistics.median(milliseconds(rows_of._all)[1] for _ in range(3))
        found.append((name, f"{float((values - exact).abs().max()):.1e}", f"{ms:.1f}"))
        del rows_of, exact, values
    table("Kernel values: largest error, and ms of all 3.6e9", ("points", "error", "ms"), found)
    X, y, X_test, y_test = mnist.split
    on_gpu = machine(device="cuda").fit(X, y)
    on_cpu, spent = timed(machine(n_jobs=-1).fit, X, y)
    answers, predicting = timed(on_cpu.predict, X_test)
    same = np.mean(answers == on_gpu.predict(X_test))
    table(
        "The CPU of the same machine",
        ("", "fit, s", "predict, s", "error %", "same predictions %"),
        [
            (
                f"{os.cpu_count()} cores",
                f"{spent:.2f}",
                f"{predicting:.2f}",
                f"{100 * np.mean(answers != y_test):.2f}",
                f"{100 * same:.2f}",
            )
        ],
    )


def more_samples(mnist: Mnist) -> None:
    """N = 100 and 1 000."""
    X, y, X_test = mnist.on_device
    found = []
    for n in (10, 100, 1000):
        clf, spent = milliseconds(machine(n).fit, X, y)
        _, predicting = milliseconds(clf.predict, X_test)
        wrong = error(clf, X_test, mnist.y_test)
        found.append((n, 10 * n, f"{spent / 1e3:.3f}", f"{predicting:.1f}", wrong))
        del clf
    table("More samples", ("N", "machines", "fit, s", "predict, ms", "error %"), found)


def rivals(X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Other classifiers of tensors on the same device, with the same kernel."""
    found, n_seeds = [], 3 if X.device.type == "cuda" else 1

    def add(name: str, fit: Callable, log_probabilities: Callable, note: str = "") -> None:
        fits, predictions = [], []
        for _ in range(n_seeds):
            fitted, spent = milliseconds(fit)
            log_p, predicting = milliseconds(log_probabilities, fitted)
            fits.append(spent)
            predictions.append(predicting)
        both = (f"{statistics.median(one):.0f}" for one in (fits, predictions))
        found.append((name, *both, *scores(log_p, y_test), note))
        del fitted, log_p
        torch.cuda.empty_cache()

    for n in (10, 100):
        add(
            f"Bayes point machine, N = {n}",
            lambda n=n: machine(n).fit(X, y),
            lambda clf: torch.as_tensor(clf.predict_log_proba(X_test)),
        )
    for kind in (KernelRidge, NystroemSoftmax):
        rival = chosen(kind, X, y)
        torch.cuda.empty_cache()
        add(
            kind.name,
            lambda rival=rival: rival.fit(X, y),
            lambda rival: rival.log_probabilities(X_test),
            f"{rival.parameter:g}",
        )
    for name, make in packages().items():
        Z, Z_test, labels = unit_features(X), unit_features(X_test), y.cpu().numpy()
        clf, spent = milliseconds(make().fit, Z, labels)
        answers, predicting = milliseconds(clf.predict, Z_test)
        wrong = 100 * np.mean(np.asarray(answers) != y_test.cpu().numpy())
        found.append((name, f"{spent:.0f}", f"{predicting:.0f}", f"{wrong:.2f}", "", "C = 10"))
    table(
        f"Rivals: the same kernel, {len(X)} digits, tensors on {X.device}",
        ("classifier", "fit, ms", "predict, ms", "error %", "log-loss", "chosen"),
        found,
    )


def shifted(X: Any, y: Any, n: int) -> tuple[Any, Any]:
    """The digits, and copies of them that are moved by up to two pixels, n in all."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    parts, labels, missing = [X], [y], n - len(X)
    while missing > 0:
        rows, columns = torch.randint(-2, 3, (2, 1), device="cuda", generator=generator).tolist()
        if rows == columns == [0]:
            continue
        images = torch.roll(X.view(-1, 28, 28), (rows[0], columns[0]), dims=(1, 2))
        parts.append(images.reshape(len(X), -1)[:missing])
        labels.append(y[:missing])
        missing -= len(X)
    return torch.cat(parts), torch.cat(labels)


def more_points(mnist: Mnist) -> None:
    """Up to a million points, and the growth of the time."""
    X, y, X_test = mnist.on_device
    found, sizes, seconds = [], [], []
    for n in (15_000, 60_000, 240_000, 1_000_000):
        many, labels = (X[:n], y[:n]) if n <= len(X) else shifted(X, y, n)
        clf, spent = milliseconds(machine().fit, many, labels)
        again = milliseconds(machine().fit, many, labels)[1] if n < 1e6 else spent
        sizes.append(n)
        seconds.append(again / 1e3)
        support = len(clf.posterior_.support)
        wrong = error(clf, X_test, mnist.y_test)
        found.append((n, f"{spent / 1e3:.3f}", f"{again / 1e3:.3f}", support, wrong))
        print(f"{n} points: {spent / 1e3:.2f} s", flush=True)
        if n == 1_000_000:
            _, predicting = milliseconds(clf.predict, many)
            print(f"predict 1 000 000 points with {support} support points: {predicting:.0f} ms")
        del many, labels, clf
        torch.cuda.empty_cache()
    table("More points", ("m", "first fit, s", "fit, s", "support", "error %"), found)
    growth = np.diff(np.log(seconds)) / np.diff(np.log(sizes))
    print("growth exponents:", ", ".join(f"{one:.2f}" for one in growth))
    clf = machine().fit(X, y)
    many, _ = shifted(X, y, 1_000_000)
    spent = statistics.median(milliseconds(clf.predict, many)[1] for _ in range(3))
    print(f"predict 1 000 000 points, machine of 60 000: {spent:.0f} ms")


def gaussian(mnist: Mnist) -> None:
    """EP and Laplace, 0 against the rest, of pixels and of a basis of 1 000 points."""
    X, y, X_test, _ = mnist.split
    basis = {"kernel": "poly", "degree": 5, "gamma": 1.0, "normalize": True, "n_components": 1000}
    found = []
    for params in ({"kernel": "linear"}, basis):
        for engine in (ExpectationPropagation(tol=1e-4), LaplaceApproximation(tol=1e-4)):
            seconds, answers = [], []
            for device in ("cuda", "cuda", None):
                clf = BayesPointClassifier(
                    engine=engine, temperature=1.0, device=device, n_jobs=-1, **params
                )
                _, fitting = timed(clf.fit, X, y == 0)
                clf.predict_proba(X_test)  # copies the posterior to the device
                p, predicting = timed(clf.predict_proba, X_test)
                answers.append(p)
                seconds += [f"{fitting:.2f}", f"{predicting:.3f}"]
            difference = np.abs(answers[1] - answers[2]).max()
            name = f"{type(engine).__name__}, {params['kernel']}"
            found.append((name, *seconds[2:], f"{difference:.0e}"))
    table(
        "Full covariance of 785 weights and of 1 000, 60 000 digits, NumPy to NumPy",
        ("engine", "fit, s", "predict, s", "CPU: fit, s", "predict, s", "largest difference"),
        found,
    )


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--quick", action="store_true", help="MNIST only")
    parser.add_argument("--cpu", action="store_true", help="rivals alone, on a few digits")
    given = parser.parse_args()
    if given.cpu:
        X, y, X_test, y_test = (torch.as_tensor(one[:3000]) for one in load_mnist(given.data))
        rivals(X, y, X_test, y_test)
        return
    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a GPU: torch finds none")
    if any(os.environ.get(name) != value for name, value in KEEP_MEMORY.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {os.cpu_count()} CPU cores")
    mnist = Mnist(given.data)
    for part in (cold_and_warm, steps, accuracy):
        part(mnist)
    rivals(*mnist.on_device, torch.tensor(mnist.y_test, device="cuda"))
    if not given.quick:
        gaussian(mnist)
        more_samples(mnist)
        more_points(mnist)


if __name__ == "__main__":
    main()
