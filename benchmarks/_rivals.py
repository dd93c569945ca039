"""Rivals of the large-scale machine, written with torch: the same kernel, on the same device.

Kernel ridge regression (the least-squares support vector machine) solves (K + ridge I) a = y by
conjugate gradients with K in float32, preconditioned by some thousand columns of K (Z. Frangella,
J. A. Tropp and M. Udell, Randomized Nystroem preconditioning, 2023). Softmax regression has the
projections on some thousand points as features, and is trained by L-BFGS.

Their parameters are chosen by the log-loss on the last sixth of the training points, and the ridge
regression learns probabilities from its outputs there, as the perceptrons do from outputs at points
that they have not seen. None of this is timed: rivals are then fitted to all training points.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, one_hot

N_CLASSES = 10
DEGREE = 5
ROWS = 8192  # of a kernel block at a time
JITTER = 1e-6  # of the kernel matrix of landmarks, in float64


class Gram:
    """The normalised kernel (x.x' + 1)^5 of pixels, in float32.

    Pixels as whole numbers have eight binary digits, so their products on tensor cores (of ten) are
    exact, and take a seventh of the time of other float32 products.
    """

    def __init__(self, X: Any) -> None:
        self.pixels = (255 * X).round()
        self.scale = 1 / (X.double().square().sum(dim=1) + 1).sqrt().float()

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, which: Any) -> Gram:
        """Some of the points."""
        part = object.__new__(Gram)
        part.pixels, part.scale = self.pixels[which], self.scale[which]
        return part

    def block(self, other: Gram, out: Any = None) -> Any:
        """Kernel values, computed in place and some rows at a time."""
        out = self.pixels.new_empty((len(self), len(other))) if out is None else out
        torch.backends.cuda.matmul.allow_tf32 = True
        for begin in range(0, len(self), ROWS):
            own = slice(begin, begin + ROWS)
            part = torch.mm(self.pixels[own], other.pixels.T, out=out[own])
            part.mul_(255.0**-2).add_(1).mul_(self.scale[own, None]).mul_(other.scale)
            part.pow_(DEGREE)
        torch.backends.cuda.matmul.allow_tf32 = False
        return out


def landmarks(points: Gram, n: int) -> tuple[Gram, Any]:
    """Some points at random, and the inverse L^-T of their kernel matrix's factor."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(points), generator=generator)[:n].to(points.scale.device)
    some = points.take(chosen)
    K = some.block(some).double()
    K.diagonal().add_(JITTER)
    one = torch.eye(len(K), dtype=K.dtype, device=K.device)
    root = torch.linalg.solve_triangular(torch.linalg.cholesky(K), one, upper=False).T
    return some, root.float()


class KernelRidge:
    """One against the rest by kernel ridge regression, all classes at once."""

    name = "kernel ridge regression, conjugate gradients"
    grid = (0.001, 0.003, 0.01, 0.03, 0.1)

    def __init__(self, ridge: float, n_landmarks: int = 2000, tol: float = 1e-3) -> None:
        self.parameter, self.n_landmarks, self.tol = ridge, n_landmarks, tol
        self.n_iter = 0
        self.scale: Any = None  # of log-odds, learned at points that were held out

    def fit(self, X: Any, y: Any) -> KernelRidge:
        """Solve for the coefficients, until residuals are a thousandth of the labels."""
        self.points = Gram(X)
        K = self.points.block(self.points)
        target = 2 * one_hot(y.long(), N_CLASSES).float() - 1
        some, root = landmarks(self.points, min(self.n_landmarks, len(X)))
        Z = self.points.block(some) @ root  # Z Z^T is close to K
        inner = (Z.T @ Z).double()
        inner.diagonal().add_(self.parameter)
        factor = torch.linalg.cholesky(inner).float()

        def precondition(r: Any) -> Any:
            return (r - Z @ torch.cholesky_solve(Z.T @ r, factor)) / self.parameter

        alpha, r = torch.zeros_like(target), target.clone()
        z = precondition(r)
        p, rho = z, (r * z).sum(dim=0)
        for self.n_iter in range(1, 201):
            Kp = torch.addmm(self.parameter * p, K, p)
            step = rho / (p * Kp).sum(dim=0)
            alpha += step * p
            r -= step * Kp
            if float((r.norm(dim=0) / target.norm(dim=0)).max()) < self.tol:
                break
            z = precondition(r)
            rho, before = (r * z).sum(dim=0), rho
            p = z + rho / before * p
        self.alpha = alpha
        return self

    def outputs(self, X: Any) -> Any:
        """Outputs of all classes."""
        new, parts = Gram(X), []
        for begin in range(0, len(new), ROWS):
            parts.append(new.take(slice(begin, begin + ROWS)).block(self.points) @ self.alpha)
        return torch.cat(parts)

    def calibrate(self, X: Any, y: Any) -> None:
        """Learn probabilities from points that were held out."""
        f, y = self.outputs(X), y.long()
        self.scale = f.new_full((1,), 5.0)
        minimise(lambda: cross_entropy(self.scale * f, y), [self.scale])

    def log_probabilities(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return (self.scale * self.outputs(X)).log_softmax(dim=1)


class NystroemSoftmax:
    """Softmax regression of projections on some points, by L-BFGS."""

    name = "softmax regression on 5 000 landmarks, L-BFGS"
    grid = (1e-9, 1e-8, 1e-7, 1e-6)

    def __init__(self, penalty: float, n_landmarks: int = 5000) -> None:
        self.parameter, self.n_landmarks = penalty, n_landmarks

    def fit(self, X: Any, y: Any) -> NystroemSoftmax:
        """Minimise the penalised mean log-loss."""
        points = Gram(X)
        self.some, self.root = landmarks(points, min(self.n_landmarks, len(X)))
        self.weights = softmax_regression(points.block(self.some) @ self.root, y, self.parameter)
        return self

    def calibrate(self, X: Any, y: Any) -> None:
        """Nothing: probabilities are those of the model."""

    def log_probabilities(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        matrix, offset = self.weights
        return (Gram(X).block(self.some) @ self.root @ matrix + offset).log_softmax(dim=1)


def softmax_regression(Z: Any, y: Any, penalty: float) -> tuple[Any, Any]:
    """Weights and offsets of least penalised log-loss."""
    W, b, y = Z.new_zeros((Z.shape[1], N_CLASSES)), Z.new_zeros(N_CLASSES), y.long()
    minimise(lambda: cross_entropy(Z @ W + b, y) + penalty / 2 * W.square().sum(), [W, b])
    return W, b


def minimise(loss: Callable[[], Any], parameters: list[Any]) -> None:
    """Change the parameters until the loss is least."""
    for one in parameters:
        one.requires_grad_()
    search = torch.optim.LBFGS(
        parameters,
        max_iter=200,
        tolerance_grad=1e-6,
        tolerance_change=1e-8,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Any:
        search.zero_grad()
        value = loss()
        value.backward()
        return value

    search.step(closure)
    for one in parameters:
        one.requires_grad_(False)


def chosen(kind: Any, X: Any, y: Any) -> Any:
    """A rival with the parameter of least log-loss on the last sixth of the training points."""
    n = len(X) * 5 // 6
    losses = {}
    for parameter in kind.grid:
        rival = kind(parameter).fit(X[:n], y[:n])
        rival.calibrate(X[n:], y[n:])
        losses[log_loss(rival.log_probabilities(X[n:]), y[n:])] = rival
        del rival
    best = losses[min(losses)]
    new = kind(best.parameter)
    new.scale = getattr(best, "scale", None)
    return new


def log_loss(log_p: Any, y: Any) -> float:
    """Mean log-loss."""
    return float(-log_p[torch.arange(len(y), device=log_p.device), y.long()].mean())


def scores(log_p: Any, y: Any) -> tuple[str, str]:
    """Error in % and log-loss, as text."""
    wrong = float((log_p.argmax(dim=1) != y).double().mean())
    return f"{100 * wrong:.2f}", f"{log_loss(log_p, y):.4f}"


def unit_features(X: Any) -> np.ndarray:
    """(x, 1) of length 1: the power of their products is the normalised kernel."""
    z = torch.cat([X, torch.ones_like(X[:, :1])], dim=1)
    return (z / z.norm(dim=1, keepdim=True)).cpu().numpy()


def packages() -> dict[str, Callable[[], Any]]:
    """Support vector machines for GPUs that are installed, each of scikit-learn's interface."""
    power = {"kernel": "poly", "degree": DEGREE, "gamma": 1.0, "coef0": 0.0, "C": 10.0}
    found = {}
    for name, module in (("cuML", "cuml.svm"), ("ThunderSVM", "thundersvm")):
        try:
            SVC = import_module(module).SVC
        except (ImportError, OSError):  # not installed, or its library does not load
            continue
        found[f"{name} SVC"] = lambda SVC=SVC: SVC(**power)
    return found
