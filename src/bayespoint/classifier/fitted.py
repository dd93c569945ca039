"""The fitted attributes of a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from bayespoint.classifier.calibration import Estimate, expected_scores, expected_scores_of_parts
from bayespoint.classifier.fitting import Trained, Training, left_out_of
from bayespoint.classifier.predictions import Predictions
from bayespoint.classifier.problem import Problem
from bayespoint.engines import Engine, Run
from bayespoint.exceptions import TaskWarning, warn_user
from bayespoint.gpu.arrays import deviations, to_numpy
from bayespoint.gpu.forecasts import oob_forecasts
from bayespoint.kernels import Kernel
from bayespoint.posteriors import MixturePosterior, Posterior
from bayespoint.spaces import DualSpace
from bayespoint.tools.arrays import is_tensor, to_host
from bayespoint.tools.deferred import Deferred
from bayespoint.tools.numbers import TINY

MOST_SLOPES = 200  # points at which slopes are computed
# Fitted attributes that not every fit sets.
OF_SOME_FITS = (
    "coef_",
    "feature_relevance_",
    "intercept_",
    "log_evidence_",
    "left_out_error_",
    "expected_scores_",
    "chosen_params_",
    "_temperature_losses",
    "oob_decision_function_",
    "oob_score_",
)
WEIGHTS = "weights of features are there with kernel='linear'; see also feature_relevance_"
LEFT_OUT = "engines with leave-one-out predictions, such as 'ep' and 'laplace', have it"
OUT_OF_BAG = "engine='perceptron' has it"
# What users look for in vain after some fits, and when it is there.
WHEN = {
    "coef_": WEIGHTS,
    "intercept_": WEIGHTS,
    "log_evidence_": "it takes a named kernel, such as 'rbf', and an engine that computes it, such "
    "as 'ep'",
    "feature_relevance_": "it is known for dense features and kernels that are linear, Gaussian or "
    "sums of these",
    "left_out_error_": LEFT_OUT,
    "expected_scores_": LEFT_OUT,
    "chosen_params_": "it takes kernel='auto', dense features, and engine='ep' or 'laplace'",
    "oob_decision_function_": OUT_OF_BAG,
    "oob_score_": OUT_OF_BAG,
}


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if the block fails or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class Fitted(Predictions, Training, Deferred):
    """Publishes what a fit has found, and knows whether the next one extends it."""

    run_: Run
    n_iter_: int
    n_features_in_: int
    log_evidence_: NDArray[np.float64]
    left_out_error_: float
    expected_scores_: dict[str, Estimate]
    coef_: NDArray
    intercept_: NDArray
    feature_relevance_: NDArray[np.float64]
    chosen_params_: dict[str, Any]
    warm_start: bool
    _fingerprint: tuple | None

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            if name in WHEN and "posterior_" in vars(self):
                raise AttributeError(f"{error}: {WHEN[name]}") from None
            raise

    @property
    def kernel_(self) -> Kernel:
        """The fitted kernel, with everything computed from the training points."""
        return self._space.kernel

    def _publish(
        self, engine: Engine, problem: Problem, trained: Trained, choice: Any, seconds: float
    ) -> None:
        """Set the fitted attributes, and warn."""
        self._space, self.posterior_, self.coding_, run, losses = trained
        self.run_ = replace(run, seconds=seconds)
        self.classes_, self._columns = problem.classes, problem.columns
        self._accepts_sparse = self._takes_sparse(engine)
        self.n_iter_ = run.n_iter
        self._drop_attributes_of_some_fits()
        if losses is not None:
            self._temperature_losses = losses
        if self.posterior_.log_evidence is not None:
            self.log_evidence_ = self.posterior_.log_evidence
        left_out = None if choice is None else choice.left_out
        if left_out is None and self.posterior_.left_out_log_probability is not None:
            left_out = left_out_of(trained, problem)
        if left_out is not None:
            self.expected_scores_ = expected_scores(left_out, problem.codes, problem.weight)
            self.left_out_error_ = self.expected_scores_["error"].value
        self._publish_oob(problem.codes, problem.weight, problem.given)
        if self.kernel_.is_linear:
            self.coef_, self.intercept_ = self._weights()
        relevance = relevance_of(trained, problem)
        if relevance is not None:
            self.feature_relevance_ = relevance
        if choice is not None:
            together = "joint" if self.coding_.name == "joint" else "one_vs_rest"
            self.chosen_params_ = {
                "standardize": self._scaling is not None,
                "multi_class": together,
                **choice.params,
            }
            self.run_ = replace(self.run_, choice=choice.reasons)
        for warning in run.warnings:
            if isinstance(warning, TaskWarning):
                names = self.coding_.task_names
                warning.name = names[warning.task] if len(names) > 1 else None
            warn_user(warning)

    def _publish_oob(
        self, codes: NDArray, weight: NDArray | None, given: NDArray[np.bool_]
    ) -> None:
        """Set the out-of-bag attributes, if the posterior has such decisions."""
        visits = vars(self.posterior_).pop("device_visits", None)
        if visits is not None and self.decision == "bayes_point":
            self._publish_device_oob(visits, codes, weight, given)
            return
        decision = self.posterior_.oob_decision(self.decision)
        if decision is None:
            return
        log_yes, log_no = self.posterior_.log_probability(decision, self.decision)
        known = np.isfinite(decision).all(axis=1)
        if known.any():
            self.expected_scores_ = expected_scores(
                self.coding_.probabilities(log_yes[known], log_no[known]),
                codes[known],
                None if weight is None else weight[known],
            )
            self.oob_score_ = 1 - self.expected_scores_["error"].value
        scores = self.coding_.scores(decision, log_yes, log_no)
        self.oob_decision_function_ = at_given_points(scores, given)

    def _publish_device_oob(
        self, visits: Any, codes: NDArray, weight: NDArray | None, given: NDArray[np.bool_]
    ) -> None:
        """The same from first visits on a device."""
        posterior: Any = self.posterior_
        log_odds = posterior.log_odds(visits.honest_outputs)
        scores, forecasts = oob_forecasts(log_odds, codes, weight, self.coding_.temperature)
        if bool(forecasts[-1].any()):
            self.expected_scores_ = expected_scores_of_parts([forecasts])
            self.oob_score_ = 1 - self.expected_scores_["error"].value
        self.defer(oob_decision_function_=lambda: at_given_points(to_host(scores), given))

    def _weights(self) -> tuple[NDArray, NDArray]:
        """Weights of the features and intercepts, if the kernel is linear."""
        weights = self._space.primal(self.posterior_.mean).T
        coef, constant = np.hsplit(weights, [self.n_features_in_])
        intercept = constant.sum(axis=1)  # one column, or none
        return (
            (coef, intercept) if self._scaling is None else self._scaling.weights(coef, intercept)
        )

    def _drop_attributes_of_some_fits(self, keep: tuple[str, ...] = ()) -> None:
        """Drop what an earlier fit has set, and this one may not set."""
        for name in ("_deferred", *OF_SOME_FITS):
            if name not in keep:
                self.__dict__.pop(name, None)

    @property
    def _extends(self) -> bool:
        """Whether ``fit`` extends the previous fit."""
        return self.warm_start and hasattr(self, "posterior_")

    def _start(self, engine: Engine, problem: Problem) -> Posterior | None:
        """The posterior to extend, or None to start again."""
        fingerprint: tuple | None = None
        if engine.can_extend:
            kernel = self._make_kernel()
            parameters = (type(kernel).__name__, repr(kernel.get_params()))
            fingerprint = (*problem.fingerprint, *parameters, self.ridge)
        if not self._extends:
            self._fingerprint = fingerprint
            self._seed = int(check_random_state(self.random_state).randint(2**31))
            return None
        if not engine.can_extend:
            raise ValueError(
                f"warm_start=True needs an engine that can extend a posterior. Got "
                f"{type(engine).__name__}, which cannot: set warm_start=False."
            )
        if fingerprint != self._fingerprint:
            raise ValueError(
                "warm_start=True needs the same data, weights, kernel and ridge as the previous "
                "fit, but some of these have changed. Set warm_start=False to start again."
            )
        return self.posterior_

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it what was chosen."""
        diagram = super()._html_repr()
        if not hasattr(self, "chosen_params_"):
            return diagram
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.run_.choice)
        return (
            f"{diagram}<details><summary>Chosen automatically</summary><ul>{lines}</ul></details>"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")


def at_given_points(known: NDArray, given: NDArray[np.bool_]) -> NDArray:
    """Scores of all points, NaN where the weight is 0; a column alone has no dimension."""
    scores = known
    if not given.all():
        scores = np.full((len(given), known.shape[1]), np.nan)
        scores[given] = known
    return scores[:, 0] if scores.shape[1] == 1 else scores


def relevance_of(trained: Trained, problem: Problem) -> NDArray[np.float64] | None:
    r"""Share of each feature in the squared slopes of the outputs; None if it is not known.

    A feature of variance :math:`s_j^2` has the relevance :math:`s_j^2\, E (\partial f / \partial
    x_j)^2`, scaled to sum 1, with the mean over training points of the Bayes point's slopes.
    """
    if isinstance(trained.posterior, MixturePosterior):
        parts = zip(trained.space.spaces, trained.posterior.members, strict=True)
        known = [relevance_in(space, member, problem) for space, member in parts]
        if any(one is None for one in known):
            return None
        return trained.posterior.weights @ np.array(known)
    return relevance_in(trained.space, trained.posterior, problem)


def relevance_in(space: Any, posterior: Posterior, problem: Problem) -> NDArray[np.float64] | None:
    """The relevance of features in one space."""
    X = problem.points
    if space.kernel.is_precomputed or issparse(X):
        return None
    if space.kernel.is_linear:
        if space.kernel.normalize:
            return None
        slopes = [w[None, : X.shape[1]] for w in space.primal(posterior.mean).T]
    elif is_tensor(X) and isinstance(space, DualSpace):  # would take longer than all the rest
        return None
    else:
        some = to_numpy(X[:: -(-len(X) // MOST_SLOPES)])
        slopes = [space.feature_slopes(some, weights) for weights in posterior.mean.T]
        if any(one is None for one in slopes):
            return None
    steepest = max(max(float(np.abs(one).max()) for one in slopes), TINY)  # squares do not overflow
    squares = np.mean([np.square(one / steepest).mean(axis=0) for one in slopes], axis=0)
    share = np.sqrt(squares) * deviations(X)
    relevance = np.square(share / max(share.max(), TINY))
    total = relevance.sum()
    return relevance / total if total > 0 else np.full(len(relevance), 1 / len(relevance))
