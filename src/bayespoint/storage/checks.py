"""Consistency checks of objects, before saving and after loading.

Checksums detect damage. These checks are for files with correct checksums and invalid content:
inconsistent shapes would cause an error elsewhere or, where compiled code of SciPy trusts its
indices, a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint.classifier.attributes import FACTS
from bayespoint.classifier.calibration import LOG_TEMPERATURES
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import DECISIONS
from bayespoint.codings import Coding
from bayespoint.engines import Engine, Run
from bayespoint.exceptions import held_warnings, one_line
from bayespoint.posteriors import Posterior
from bayespoint.spaces import BasisSpace, DualSpace, StackedSpace
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling
from bayespoint.storage.checks_sklearn import TRANSFORMERS
from bayespoint.tools.attributes import ContentError, finite, integer, need, shaped

TRIAL = 10_000_000  # most features for a trial prediction, whose point then takes 80 MB


def check(value: Any, place: str) -> None:
    """Raise a ContentError if the attributes of an object of a known class are invalid.

    Classes of this library have a method ``check_state``.
    """
    try:
        if type(value) in CHECKS:
            CHECKS[type(value)](value)
        elif hasattr(type(value), "check_state"):
            value.check_state()
    except ContentError as error:
        raise ContentError(f"{place} is invalid: {error}") from error
    except Exception as error:
        raise ContentError(f"{place} is invalid: {one_line(error):.200}") from error


def classifier(value: BayesPointClassifier) -> None:
    """Check a classifier, and that it can predict."""
    need(isinstance(value.engine, (str, Engine)), "its engine is not an Engine")
    need(value.decision in DECISIONS, "its decision is unknown")
    if "model_" not in vars(value):
        return
    model = value.model_
    need(isinstance(model, Model), "its model is not a Model")
    n_columns = model.n_features if model.table is None else len(model.table.fill)
    need(value.n_features_in_ == n_columns, "its model has another number of features")
    names = vars(value).get("feature_names_in_")
    fits = names is None or names.shape == (n_columns,)
    need(fits, "its feature names have the wrong shape")


def model(value: Model) -> None:
    """Check a model, and that it can predict."""
    space, coding, n_features = value.space, value.coding, value.n_features
    need(isinstance(value.posterior, Posterior), "its posterior is not a Posterior")
    need(isinstance(space, SPACES), "its space is not a space")
    need(value.decision in DECISIONS, "its decision is unknown")
    need(type(value.accepts_sparse) is bool, "accepts_sparse is not a bool")
    integer(n_features, 1)
    integer(value.seed, 0)
    need(isinstance(value.run, Run), "its run is not a Run")
    need(isinstance(coding, Coding), "its coding is not a Coding")
    known = {*FACTS, "label_scores", "n_groups"}
    need(isinstance(value.facts, dict) and value.facts.keys() <= known, "its facts are unknown")
    if (scores := value.facts.get("label_scores")) is not None:
        finite(scores, "nk", k=2)
        is_class = (scores[:, 1] >= 0) & (scores[:, 1] < len(coding.classes))
        need(is_class.all(), "it has scores of unknown classes")
    integer(value.facts.get("n_groups", 2), 2)
    if value.columns is not None:
        shaped(value.columns, "iu", "m")
        within = value.columns.min() >= 0 and value.columns.max() < n_features
        need(within, "its columns are out of range")
    if value.scaling is not None:
        need(isinstance(value.scaling, Scaling), "its scaling is not a Scaling")
        finite(value.scaling.mean, "d", d=n_features)
    if value.table is not None:
        need(isinstance(value.table, Columns), "its table has no columns")
        need(value.table.n_features == n_features, "its table has other features")
    if value.losses is not None:
        finite(value.losses, "k", k=len(LOG_TEMPERATURES) + 1)
    if value.weights is not None:  # they confirm the number of features
        shaped(value.weights[0], "f", "td", t=coding.n_tasks, d=n_features)
    need(n_features <= TRIAL or space.kernel.is_linear, f"it claims {n_features} features")
    trial(value, np.zeros((1, n_features)))


def trial(value: Model, X: np.ndarray) -> None:
    """Predict one point, and check the number of answers.

    Nothing here may change the warnings of the process: other threads may load models as well.
    """
    posterior, n_tasks = value.posterior, value.coding.n_tasks
    with held_warnings(), np.errstate(all="ignore"):
        Z = value.transform(X)
        answers = [posterior.decision(Z, value.decision), *posterior.latent(Z)]
        shares = value.coding.probabilities(*posterior.log_probability(answers[0], value.decision))
    fits = shares.shape == (1, len(value.classes))
    fits = fits and all(one.shape == (1, n_tasks) for one in answers[1:])
    need(fits, "it does not predict its classes")
    need(not any(np.isnan(one).any() for one in answers), "it predicts NaN")


SPACES = (BasisSpace, DualSpace, StackedSpace)
CHECKS: dict[type, Callable[[Any], object]] = {
    **TRANSFORMERS,
    BayesPointClassifier: classifier,
    Model: model,
}
