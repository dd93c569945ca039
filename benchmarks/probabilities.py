"""How to make probabilities of sampled outputs: rules compared on held-out training data.

    python benchmarks/probabilities.py

Every rule turns the outputs f_n(x) of N samples into a probability of "yes" for each class, and
these into class probabilities, p_y ~ q_y / (1 - q_y) unless said otherwise. Judged by log-loss and
by the expected calibration error (15 bins), on training digits of MNIST that were held out, and on
half of each UCI set. The test digits of MNIST are not touched. Needs the data folder.
"""

from __future__ import annotations

import argparse

import numpy as np
from _report import table
from scipy.special import log_ndtr, logsumexp
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.datasets import load_mnist, load_uci
from bayespoint.engines import PermutedPerceptron

UCI = ("australian", "breast", "heart", "liver", "pima", "sonar")


def log_odds(z: np.ndarray) -> np.ndarray:
    """Class scores of the rule p_y ~ q_y / (1 - q_y) with q = Phi(z); one column: two classes."""
    if z.shape[1] == 1:
        return np.hstack([log_ndtr(-z), log_ndtr(z)])
    return log_ndtr(z) - log_ndtr(-z)


def plain(z: np.ndarray) -> np.ndarray:
    """Class scores of the rule p_y ~ q_y."""
    return log_odds(z) if z.shape[1] == 1 else log_ndtr(z)


def votes(outputs: np.ndarray) -> np.ndarray:
    """Class scores from the shares of the votes, (n_+ + 1/2) / (N + 1)."""
    n = outputs.shape[1]
    share = ((outputs > 0).sum(axis=1) + 0.5) / (n + 1)
    log_yes, log_no = np.log(share), np.log(1 - share)
    return np.hstack([log_no, log_yes]) if share.shape[1] == 1 else log_yes - log_no


def judge(scores: np.ndarray, codes: np.ndarray) -> str:
    """Log-loss and calibration error of softmax(scores)."""
    log_p = scores - logsumexp(scores, axis=1, keepdims=True)
    loss = -log_p[np.arange(len(codes)), codes].mean()
    confidence, right = np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == codes
    bins = np.minimum((15 * confidence).astype(int), 14)
    gaps = np.bincount(bins, weights=right - confidence, minlength=15)
    return f"{loss:.3f} {np.abs(gaps).sum() / len(codes):.3f}"


def rules(clf: BayesPointClassifier, outputs: np.ndarray, codes: np.ndarray) -> list[str]:
    """Every rule's judgement on one problem; the last picks sigma with the labels' help."""
    moments = clf.posterior_.moments
    mean, spread = outputs.mean(axis=1), outputs.std(axis=1, ddof=1)
    sigma, both = clf.posterior_.scale, np.sqrt(moments.model_variance + moments.noise_variance)
    scales = np.geomspace(0.1, 10, 81)
    losses = [float(judge(log_odds(mean / (sigma * s)), codes).split()[0]) for s in scales]
    best = sigma * scales[int(np.argmin(losses))]
    return [
        judge(log_odds(mean / sigma), codes),
        judge(plain(mean / sigma), codes),
        judge(log_odds(mean / both), codes),
        judge(log_odds(mean / moments.margin_scale), codes),
        judge(log_odds(mean / np.maximum(spread, 1e-12)), codes),
        judge(votes(outputs), codes),
        judge(log_odds(mean / best), codes),
    ]


def problems(folder: str | None):
    """Name, classifier, training and held-out data of each problem."""
    mnist = load_mnist(folder)
    X, y = mnist.X_train, mnist.y_train
    held = slice(50_000, 60_000)
    for m in (500, 2000, 10_000):
        for ridge in (0.0, 1.0):
            clf = BayesPointClassifier(
                kernel="poly", degree=5, gamma=1.0, normalize=True, ridge=ridge,
                engine=PermutedPerceptron(), random_state=0,
            )  # fmt: skip
            yield f"MNIST {m}, ridge {ridge:g}", clf, X[:m], y[:m], X[held], y[held]
    for name in UCI:
        data = load_uci(name, folder)
        order = np.random.default_rng(0).permutation(len(data.X))
        half = len(order) // 2
        scaler = StandardScaler().fit(data.X[order[:half]])
        Z, y = scaler.transform(data.X[order]), data.y[order]
        for kernel in ("linear", "rbf"):
            clf = BayesPointClassifier(
                kernel=kernel, ridge="mean", engine="perceptron", random_state=0
            )
            yield f"{name}, {kernel}", clf, Z[:half], y[:half], Z[half:], y[half:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with mnist.npz and uci/")
    rows = []
    for name, clf, X, y, X_held, y_held in problems(parser.parse_args().data):
        clf.fit(X, y)
        outputs = clf.sample_outputs(X_held)
        codes = np.searchsorted(clf.classes_, y_held)
        rows.append([name, *rules(clf, outputs, codes)])
    header = ["log-loss, calibration error", "ours", "p ~ q", "model + noise", "margins",
              "own spread", "votes", "best sigma"]  # fmt: skip
    table("Probabilities of sampled posteriors on held-out data", header, rows)


if __name__ == "__main__":
    main()
