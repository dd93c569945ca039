"""A fitted model: everything that predicts, without scikit-learn's machinery."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from bayespoint.codings import Coding
from bayespoint.engines import Run
from bayespoint.gpu.devices import memory_errors_in_words
from bayespoint.kernels import Kernel
from bayespoint.posteriors import Posterior
from bayespoint.posteriors.gaussian import by_values
from bayespoint.posteriors.stacked import StackedPosterior
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import is_tensor, product
from bayespoint.tools.threads import blas_threads, in_parts

CHUNK = 8192  # rows transformed at a time
FEW, CACHED = 256, 100_000  # rows of a mixture at a time; kernel values in the processor's cache

Seed = int | np.random.RandomState | None


@dataclass(frozen=True)
class Model:
    """What a fit has learned; all predictions, written once for all engines.

    Storage writes it, ONNX exports it, workers of a cluster get it, and
    :class:`~bayespoint.BayesPointClassifier` shows it as attributes. Rows are arrays or tensors
    that the classifier has checked; it also passes an iterable of parts of them.

    Attributes
    ----------
    space : BasisSpace, DualSpace or StackedSpace
        Where the weights live; transforms rows.
    posterior, run : Posterior, Run
        The distribution of the weights of each task, and how the fit went.
    coding : Coding
        How the classes are reduced to tasks, and the temperature.
    n_features : int
        Number of features; each level of a category is one.
    scaling, columns : Scaling or None, ndarray of int or None
        Of the features, before they are transformed; columns of a kernel matrix to use, or all.
    accepts_sparse, decision, seed : bool, str, int
        Whether rows may be sparse, what predictions follow, and the seed of the engine.
    fingerprint : tuple or None
        Identifies data and kernel of a fit that can be extended.
    losses : ndarray or None
        Losses at several temperatures, of all batches so far.
    facts : dict of str
        What else the fit has found, by the name of the classifier's attribute without the
        underscore. A function stands for a value that is computed when it is first read.
    table : Columns or None
        How rows of a table become features, before they are scaled. The classifier applies it.
    stream, training : object
        What the next batch of a stream need not compute again, and parameters and problem of a fit
        to few rows, which sets of labels add new rows to. They are not stored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier(kernel="rbf").fit(X, y).model_
    >>> model.predict(X[:2])
    array([0, 0])
    """

    not_stored: ClassVar = ("stream", "training", "quick")

    space: Any
    posterior: Posterior
    coding: Coding
    run: Run
    n_features: int
    scaling: Scaling | None = None
    columns: NDArray[np.int64] | None = None
    accepts_sparse: bool = False
    decision: str = "bayes_point"
    seed: int = 0
    fingerprint: tuple | None = None
    losses: NDArray[np.float64] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    table: Columns | None = None
    stream: Any = None
    training: Any = None

    @property
    def classes(self) -> NDArray:
        """The labels, sorted."""
        return self.coding.classes

    @property
    def kernel(self) -> Kernel:
        """The fitted kernel, with everything computed from the training rows."""
        return self.space.kernel

    @property
    def has_device_form(self) -> bool:
        """Whether predictions can be computed on a device."""
        return self.space.has_device_form and not self.posterior.is_diagonal

    @cached_property
    def weights(self) -> tuple[NDArray, NDArray] | None:
        """Weights of the features and intercepts, if the kernel is linear."""
        if not self.kernel.is_linear:
            return None
        weights = self.space.primal(self.posterior.mean).T
        coef, constant = np.hsplit(weights, [self.n_features])
        intercept = constant.sum(axis=1)  # one column, or none
        if self.scaling is None:
            return coef, intercept
        return self.scaling.weights(coef, intercept)

    @cached_property
    def quick(self) -> tuple[Any, Any]:
        """How machines side by side see points, and their posterior, in the quickest form."""
        if not isinstance(self.posterior, StackedPosterior):
            return None, self.posterior
        return by_values(self.space, self.posterior)

    def fact(self, name: str) -> Any:
        """What the fit has found, computed if it is not there yet; None if it is not known."""
        value = self.facts.get(name)
        if callable(value):
            value = self.facts[name] = value()
        return value

    def fetch(self) -> None:
        """Compute all facts that are not there yet."""
        for name in self.facts:
            self.fact(name)

    def __getstate__(self) -> dict[str, Any]:
        self.fetch()
        return {name: value for name, value in vars(self).items() if name not in self.not_stored}

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Confidence scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: a score that is positive for ``classes_[1]``. Several classes: the log-odds
            of each class against the rest, or log-probabilities if they have one posterior; the
            class with the largest is predicted.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels, from ``classes_``.
        """
        return self.classes[self.coding.decide(self._scores(X), self.decision)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        r"""Probabilities of the classes, in the order of ``classes_``.

        The posterior gives the probability :math:`q_y` of "yes" for each class against the rest
        (two classes: for the second). Exactly one of several answers can be "yes", so
        :math:`p_y \propto q_y \prod_{z \ne y} (1 - q_z) \propto q_y / (1 - q_y)`. This is the
        softmax of ``decision_function``, so ``predict`` returns the most probable class. A
        posterior of all classes together gives their probabilities directly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return self.coding.probabilities(*self._log_probability(X))

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, finite also where these round to 0.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self.coding.log_probabilities(*self._log_probability(X))

    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of the posterior's classifiers that say yes to each class against the rest.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares. With more than two classes rows need not sum to 1.
        """
        votes = self._apply(X, lambda posterior, Z: posterior.votes(Z))
        return self.coding.vote_shares((1 + votes) / 2)

    def class_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of the posterior's classifiers that predict each class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1. Unless the posterior consists of samples, outputs are taken as Gaussian.
        """
        return self._apply(X, lambda posterior, Z: posterior.class_shares(Z, self.coding))

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Posterior mean and variance of the outputs f(x).

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For the single task of two classes, or for each class.
        """
        both = self._apply(X, lambda posterior, Z: np.stack(posterior.latent(Z), axis=1))
        both = both[:, :, 0] if self.coding.n_tasks == 1 else both
        return both[:, 0], both[:, 1]

    def sample_outputs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs f_n(x) of every sample of the posterior, if it consists of samples.

        Returns
        -------
        ndarray of shape (n_points, n_samples, n_tasks)
            One task for two classes, else one for each class against the rest.
        """
        return self._apply(X, lambda posterior, Z: posterior.outputs(Z))

    def draw_outputs(
        self, X: ArrayLike, n_samples: int = 10, random_state: Seed = None
    ) -> NDArray[np.float64]:
        """Outputs f(x) of single classifiers drawn from the posterior; see ``sample_proba``.

        Returns
        -------
        ndarray of shape (n_points, n_samples, n_tasks)
            One task for two classes, else one for each class against the rest.
        """
        drawn = self._draw(n_samples, random_state)
        flat = drawn.reshape(len(drawn), -1)
        outputs = self._apply(X, lambda _, Z: product(Z, flat), quick=False)
        return self.posterior.margins(outputs.reshape(-1, *drawn.shape[1:]), drawn)

    def draw_weights(self, n_samples: int = 10, random_state: Seed = None) -> NDArray[np.float64]:
        """Weights of single classifiers drawn from the posterior; see ``draw_outputs``.

        Returns
        -------
        ndarray of shape (n_samples, n_tasks, n_weights)
            With a linear kernel, one weight for each feature (as in ``coef_``, of features before
            they are standardized), followed by the intercept, if there is one. With other kernels,
            coordinates in the engine's basis, which do not correspond to features.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BayesPointClassifier(kernel="linear").fit(X, y)
        >>> clf.draw_weights(1000, random_state=0).shape
        (1000, 3, 5)
        """
        drawn = self._draw(n_samples, random_state)
        flat, is_linear = drawn.reshape(len(drawn), -1), self.space.kernel.is_linear
        weights = self.space.primal(flat) if is_linear else flat
        weights = np.moveaxis(weights.reshape(-1, *drawn.shape[1:]), 0, 2)
        if self.scaling is None or not is_linear:
            return weights
        coef, constant = np.split(weights, [len(self.scaling.scale)], axis=2)
        coef, intercept = self.scaling.weights(coef, constant.sum(axis=2))
        return np.concatenate([coef, intercept[:, :, None]], axis=2)

    def sample_proba(
        self, X: ArrayLike, n_samples: int = 10, random_state: Seed = None
    ) -> NDArray[np.float64]:
        """Class probabilities of single classifiers drawn from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            New rows.
        n_samples : int, default=10
            Number of classifiers to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Returns
        -------
        ndarray of shape (n_samples, n_points, n_classes)
            Probabilities of each drawn classifier; 0 or 1 if the model has no label noise.
        """
        outputs = self.draw_outputs(X, n_samples, random_state)
        log_yes, log_no = self.posterior.likelihood.log_likelihood(outputs)
        single = self.coding.probabilities(log_yes, log_no, temperature=1.0)
        return np.moveaxis(single, 1, 0)

    def transform(self, points: Any) -> Any:
        """Coordinates of rows."""
        return self.space.transform(self._scaled(points))

    def _scaled(self, points: Any) -> Any:
        """Features as the space takes them."""
        points = points if self.columns is None else points[:, self.columns]
        if self.scaling is None:
            return points
        return self.scaling.transform(points.toarray() if issparse(points) else points)

    def _answers(self, points: Any, function: Callable[[Any, Any], NDArray], quick: bool) -> list:
        """A function of a posterior and coordinates of points, in its quickest form if asked for.

        Threads share parts of the points: products of a part are too small to be shared.
        """
        view, posterior = self.quick
        if view is None or not quick or is_tensor(points):
            return [function(self.posterior, self.transform(points))]
        scaled, size = self._scaled(points), max(FEW, CACHED // max(posterior.sizes))

        def answer(own: slice) -> NDArray:
            return function(posterior, view(scaled[own]))

        with nullcontext() if len(scaled) > size else blas_threads(1):
            return in_parts(answer, len(scaled), size)

    def _apply(
        self, X: Any, function: Callable[[Any, Any], NDArray], quick: bool = True
    ) -> NDArray:
        """Apply a function of a posterior and coordinates to rows, part by part."""
        found: list[NDArray] = []
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes NaN is an error
            for points in chunks(X) if hasattr(X, "shape") else X:
                try:
                    found += self._answers(points, function, quick)
                except RuntimeError:
                    with memory_errors_in_words(getattr(points, "device", None)):
                        raise
        return numbers(np.concatenate(found, dtype=np.float64))

    def _decisions(self, X: ArrayLike) -> NDArray:
        """Decisions of all tasks, (n, n_tasks)."""
        return self._apply(X, lambda posterior, Z: posterior.decision(Z, self.decision))

    def _scores(self, X: ArrayLike) -> NDArray:
        """Scores of the classes, (n, n_tasks)."""
        decisions = self._decisions(X)
        with np.errstate(over="ignore", invalid="ignore"):
            return numbers(self.posterior.scores(decisions, self.decision, self.coding))

    def _log_probability(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Log-probabilities of yes and no, each (n, n_tasks)."""
        decisions = self._decisions(X)
        with np.errstate(over="ignore", invalid="ignore"):
            log_yes, log_no = self.posterior.log_probability(decisions, self.decision)
        return numbers(log_yes), numbers(log_no)

    def _draw(self, n_samples: int, random_state: Seed) -> NDArray:
        """Classifiers drawn from the posterior, (n_coordinates, n_samples, n_tasks)."""
        if not n_samples >= 1 or n_samples % 1:
            raise ValueError(
                f"n_samples must be an int in the range [1, inf). Got {n_samples!r} instead."
            )
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self.posterior.draw(int(n_samples), rng)


def numbers(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers for rows; raise an error if some of them are NaN."""
    lost: NDArray[np.bool_] = np.isnan(answers).reshape(len(answers), -1).max(axis=1)
    if lost.any():
        raise ValueError(
            f"Predictions for {lost.sum()} of {len(lost)} rows overflow, beginning with row "
            f"{lost.argmax()}. Scale the features; new rows must have about the scale of the "
            "training rows."
        )
    return answers


def chunks(X: Any, size: int = CHUNK) -> list[Any]:
    """Some rows at a time."""
    return [X[begin : begin + size] for begin in range(0, X.shape[0], size)]
