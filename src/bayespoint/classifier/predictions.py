"""The predictions of a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.inputs import device_points
from bayespoint.codings import Coding
from bayespoint.gpu.arrays import like, scaled, to_numpy
from bayespoint.gpu.devices import memory_errors_in_words, prediction_device
from bayespoint.posteriors import Posterior
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import product
from bayespoint.tools.checks import validate_data

CHUNK = 8192  # points transformed at a time


def follows_input(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method return arrays of the kind of its first argument, and where that lies."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        return like(X, method(self, X, *args, **kwargs))

    return wrapped


class Predictions:
    """All predictions from a posterior, written once for all engines.

    A subclass sets ``classes_``, ``posterior_``, ``coding_``, the ``_space`` that transforms
    points, and the ``_columns`` of a kernel matrix to use.
    """

    classes_: NDArray
    n_features_in_: int
    posterior_: Posterior
    decision: str
    device: str | None
    coding_: Coding
    _space: Any
    _columns: slice | NDArray[np.int64]
    _accepts_sparse: bool
    _scaling: Scaling | None

    @follows_input
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Confidence scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: a score that is positive for ``classes_[1]``. Several classes: the log-odds
            of each class against the rest, or log-probabilities if they have one posterior; the
            class with the largest is predicted.
        """
        scores = self._scores(X)
        return scores[:, 0] if self.coding_.n_tasks == 1 else scores

    @follows_input
    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the most probable class of each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels, from ``classes_``.
        """
        scores = self._scores(X)
        return self.classes_[self.coding_.decide(scores)]

    @follows_input
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
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        log_yes, log_no = self._log_probability(X)
        return self.coding_.probabilities(log_yes, log_no)

    @follows_input
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, finite also where these round to 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        log_yes, log_no = self._log_probability(X)
        return self.coding_.log_probabilities(log_yes, log_no)

    @follows_input
    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of the posterior's classifiers that say yes to each class against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares. With more than two classes rows need not sum to 1.
        """
        votes = self._in_chunks(X, lambda Z: self.posterior_.votes(Z))
        return self.coding_.vote_shares((1 + votes) / 2)

    @follows_input
    def class_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of the posterior's classifiers that predict each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1. Unless the posterior consists of samples, outputs are taken as Gaussian.
        """
        return self._in_chunks(X, lambda Z: self.posterior_.class_shares(Z, self.coding_))

    @follows_input
    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Posterior mean and variance of the outputs f(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For the single task of two classes, or for each class.
        """
        both = self._in_chunks(X, lambda Z: np.stack(self.posterior_.latent(Z), axis=1))
        both = both[:, :, 0] if self.coding_.n_tasks == 1 else both
        return both[:, 0], both[:, 1]

    @available_if(lambda self: self.posterior_.n_samples is not None)
    @follows_input
    def sample_outputs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs f_n(x) of every sample of the posterior, if it consists of samples.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_points, n_samples, n_tasks)
            One task for two classes, else one for each class against the rest.
        """
        posterior: Any = self.posterior_
        return self._in_chunks(X, posterior.outputs)

    @follows_input
    def draw_outputs(
        self,
        X: ArrayLike,
        n_samples: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Outputs f(x) of single classifiers drawn from the posterior; see ``sample_proba``.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            New points.
        n_samples : int, default=10
            Number of classifiers to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Returns
        -------
        ndarray of shape (n_points, n_samples, n_tasks)
            One task for two classes, else one for each class against the rest.
        """
        return self._drawn_outputs(X, n_samples, random_state)

    def _drawn_outputs(self, X: ArrayLike, n_samples: int, random_state: Any) -> NDArray:
        drawn = self._draw(n_samples, random_state)
        flat = drawn.reshape(len(drawn), -1)
        outputs = self._in_chunks(X, lambda Z: product(Z, flat))
        return outputs.reshape(-1, *drawn.shape[1:])

    def draw_weights(
        self, n_samples: int = 10, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[np.float64]:
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
        flat, is_linear = drawn.reshape(len(drawn), -1), self._space.kernel.is_linear
        weights = self._space.primal(flat) if is_linear else flat
        weights = np.moveaxis(weights.reshape(-1, *drawn.shape[1:]), 0, 2)
        if self._scaling is None or not is_linear:
            return weights
        coef, constant = np.split(weights, [len(self._scaling.scale)], axis=2)
        coef, intercept = self._scaling.weights(coef, constant.sum(axis=2))
        return np.concatenate([coef, intercept[:, :, None]], axis=2)

    def _draw(self, n_samples: int, random_state: int | np.random.RandomState | None) -> NDArray:
        """Classifiers drawn from the posterior, (n_coordinates, n_samples, n_tasks)."""
        check_is_fitted(self)
        if not n_samples >= 1 or n_samples % 1:
            raise ValueError(
                f"n_samples must be an int in the range [1, inf). Got {n_samples!r} instead."
            )
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self.posterior_.draw(int(n_samples), rng)

    @follows_input
    def sample_proba(
        self,
        X: ArrayLike,
        n_samples: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Class probabilities of single classifiers drawn from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            New points.
        n_samples : int, default=10
            Number of classifiers to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Returns
        -------
        ndarray of shape (n_samples, n_points, n_classes)
            Probabilities of each drawn classifier; 0 or 1 if the model has no label noise.
        """
        outputs = self._drawn_outputs(X, n_samples, random_state)
        log_yes, log_no = self.posterior_.likelihood.log_likelihood(outputs)
        single = self.coding_.probabilities(log_yes, log_no, temperature=1.0)
        return np.moveaxis(single, 1, 0)

    def _decisions(self, X: ArrayLike) -> NDArray:
        """Decisions of all tasks, (n, n_tasks)."""
        return self._in_chunks(X, lambda Z: self.posterior_.decision(Z, self.decision))

    def _scores(self, X: ArrayLike) -> NDArray:
        """Scores of the classes, (n, n_tasks)."""
        decisions = self._decisions(X)
        return self.posterior_.scores(decisions, self.decision, self.coding_)

    def _log_probability(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Log-probabilities of yes and no, each (n, n_tasks)."""
        decisions = self._decisions(X)
        return self.posterior_.log_probability(decisions, self.decision)

    def _in_chunks(self, X: ArrayLike, function: Callable[[NDArray], NDArray]) -> NDArray:
        """Apply a function of transformed points, chunk by chunk."""
        check_is_fitted(self)
        device = prediction_device(self.device, X)
        if device is not None and self._has_device_form:
            return self._on_device(X, device, function)
        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for infinity
            points: Any = validate_data(
                self, to_numpy(X), dtype=(np.float64, np.float32), order="C", reset=False,
                accept_sparse="csr" if self._accepts_sparse else False,
            )  # fmt: skip
        if not isinstance(self._columns, slice):
            points = points[:, self._columns]
        if self._scaling is not None:
            points = scaled(self._scaling, points)
        chunks = [points[begin : begin + CHUNK] for begin in range(0, points.shape[0], CHUNK)]
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes NaN is an error
            answers = np.concatenate(
                [function(self._space.transform(chunk)) for chunk in chunks], dtype=np.float64
            )
        lost: NDArray[np.bool_] = np.isnan(answers).reshape(len(answers), -1).max(axis=1)
        if lost.any():
            raise ValueError(
                f"Predictions for {lost.sum()} of {len(lost)} points overflow, beginning with "
                f"point {lost.argmax()}. Scale the features; new points must have about the scale "
                "of the training points."
            )
        return answers

    @property
    def _has_device_form(self) -> bool:
        """Whether predictions can be computed on a device."""
        return self._space.has_device_form and not self.posterior_.is_diagonal

    def _on_device(self, X: Any, device: Any, function: Callable[[Any], NDArray]) -> NDArray:
        """Apply a function of points that are transformed on a device, chunk by chunk."""
        results, space = [], self._space
        size = space.device_chunk(self.n_features_in_)
        for begin in range(0, max(1, len(X)), size):
            chunk = X[begin : begin + size]
            points = device_points(self, chunk, device, space.device_dtype, reset=False)
            if not isinstance(self._columns, slice):
                points = points[:, self._columns]
            if self._scaling is not None:
                points = scaled(self._scaling, points)
            with memory_errors_in_words(device):
                results.append(function(space.transform(points)))
        return np.concatenate(results, dtype=np.float64)
