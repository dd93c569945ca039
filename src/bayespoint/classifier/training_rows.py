"""The training rows of a model, as sets of labels and explanations ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.engines.gaussian.one_more import WORK
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import GaussianPosterior, MixturePosterior, SeparatePosterior
from bayespoint.tools.pipelines import Parts, split_pipeline

KERNELS, PRIOR = "the kernels", "the prior"
FROM_LABELS = {KERNELS, PRIOR}


@dataclass(frozen=True)
class TrainingRows:
    """Rows that a model was trained on, for full conformal sets; model files do not have them.

    Attributes
    ----------
    points : ndarray of shape (n, n_features)
        As the model's space takes them, that is, scaled.
    codes : ndarray of shape (n,)
        Index of the class of each row.
    learned : tuple of str
        What of the model, besides the posterior, depends on these rows.
    from_labels : bool
        Whether any of it depends on their labels.
    """

    points: NDArray
    codes: NDArray[np.intp]
    learned: tuple[str, ...] = ()
    from_labels: bool = False


def training_rows(model: Model) -> TrainingRows | None:
    """The training rows, if they are there and one more can be added to them."""
    if model.training is None or model.coding.kind == "class" or not model.run.converged:
        return None
    parameters, problem = model.training
    tasks = [task for _, _, tasks in members(model) for task in tasks]
    if not is_plain(parameters, problem) or parameters.ridge != 0:
        return None
    if not all(suits(posterior) for _, posterior, _ in tasks):
        return None
    training = TrainingRows(problem.points, problem.codes)
    found = tuple(learned(model, parameters, problem, training))
    return replace(training, learned=found, from_labels=not FROM_LABELS.isdisjoint(found))


def is_plain(parameters: Parameters, problem: Problem) -> bool:
    """Whether one more row can be like the training rows: dense, in memory, of equal weight."""
    is_dense = problem.device is None and not issparse(problem.points)
    is_matrix = parameters.make_kernel().is_precomputed
    is_alike = problem.weight is None and problem.groups is None
    return is_alike and is_dense and not is_matrix


def suits(posterior: Any) -> bool:
    """Whether it is one of expectation propagation with noise, a full covariance and messages."""
    if not isinstance(posterior, GaussianPosterior) or posterior.is_diagonal:
        return False
    law = posterior.likelihood
    is_soft = isinstance(law, ProbitLikelihood) and law.noise > 0 and law.label_noise == 0
    return posterior.messages is not None and bool(is_soft)


def learned(
    model: Model, parameters: Parameters, problem: Problem, training: TrainingRows
) -> Sequence[str]:
    """What of a model, besides its posterior, was learned from its training rows."""
    if parameters.chooses(problem.engine) or parameters.mixture is not None:
        return [KERNELS]
    found, is_linear = [], model.kernel.is_linear
    if model.table is not None and not model.table.is_plain:
        found.append("the columns")
    if model.scaling is not None and not scaling_is_symmetric(model, training):
        found.append("the scaling")
    params = parameters.make_kernel().get_params().values()
    if any(isinstance(value, str) and value != "features" for value in params):
        found.append("the kernel")
    if isinstance(problem.engine.prior_scale, str) and not is_linear:
        found.append(PRIOR)
    n_components = parameters.n_components
    if not is_linear and isinstance(n_components, int) and n_components < len(problem.codes):
        found.append("the basis")
    return found


def scaling_is_symmetric(model: Model, training: TrainingRows) -> bool:
    """Whether the scaling is computed again with each new row: where it takes little time."""
    n, d = training.points.shape
    is_linear = getattr(model.space, "is_linear", False)  # several kernels are not
    return model.scaling is not None and is_linear and n * (d + 1) ** 2 <= WORK


def members(model: Model) -> list[tuple[float, Any, list[tuple[Any, Any, int]]]]:
    """Weight, coding and tasks of each machine of a mixture, or of the only one.

    A task is a space, a posterior in it, and the number of the task there.
    """
    known: Any = model.posterior
    parts: Any = [(1.0, model.coding.at(1.0), model.space, known)]
    if isinstance(known, MixturePosterior):
        parts = zip(known.weights, known.codings, model.space.spaces, known.members, strict=True)
    return [(w, coding, tasks_of(one, own, coding.n_tasks)) for w, coding, one, own in parts]


def tasks_of(space: Any, posterior: Any, n_tasks: int) -> list[tuple[Any, Any, int]]:
    """Space, posterior and number of each task."""
    if isinstance(posterior, SeparatePosterior):
        return [(*pair, 0) for pair in zip(space.spaces, posterior.members, strict=True)]
    return [(space, posterior, task) for task in range(n_tasks)]


def machine_of(clf: Any) -> Parts:
    """The steps of a fitted pipeline, or of a classifier alone, which must be one of ours."""
    parts = split_pipeline(clf)
    if not hasattr(parts.last, "sample_proba"):
        raise TypeError(
            "This needs a BayesPointClassifier, alone or as the last step of a pipeline. "
            f"Got {parts.last!r} instead."
        )
    check_is_fitted(clf)
    return parts
