"""Consistency checks of objects, before saving and after loading.

Checksums detect damage. These checks are for files with correct checksums and invalid content:
inconsistent shapes would cause an error elsewhere or, where compiled code of SciPy trusts its
indices, a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint.classifier.calibration import LOG_TEMPERATURES
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.codings import Coding
from bayespoint.engines import Engine, Run
from bayespoint.exceptions import held_warnings, one_line
from bayespoint.posteriors import Posterior
from bayespoint.spaces import BasisSpace, DualSpace, StackedSpace
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
    if "posterior_" not in vars(value):
        return
    posterior, space, n_features = value.posterior_, value._space, value.n_features_in_
    need(isinstance(posterior, Posterior), "its posterior is not a Posterior")
    need(isinstance(space, SPACES), "its space is not a space")
    need(value.decision in ("bayes_point", "vote"), "its decision is unknown")
    need(type(value._accepts_sparse) is bool, "_accepts_sparse is not a bool")
    integer(n_features, 1)
    integer(value.n_iter_, 0)
    need(isinstance(value.run_, Run), "its run is not a Run")
    need(isinstance(value.coding_, Coding), "its coding is not a Coding")
    need(np.array_equal(value.classes_, value.coding_.classes), "its coding has different classes")
    n_tasks = value.coding_.n_tasks
    if space.kernel.is_linear:
        shaped(value.coef_, "f", "td", t=n_tasks, d=n_features)
        shaped(value.intercept_, "f", "t", t=n_tasks)
    names = vars(value).get("feature_names_in_")
    need(names is None or names.shape == (n_features,), "its feature names have the wrong shape")
    columns = value._columns
    if isinstance(columns, slice):
        need(columns == slice(None), "its columns are out of range")
    else:
        shaped(columns, "iu", "m")
        need(columns.min() >= 0 and columns.max() < n_features, "its columns are out of range")
    scaling = value._scaling
    if scaling is not None:
        need(isinstance(scaling, Scaling), "its scaling is not a Scaling")
        finite(scaling.mean, "d", d=n_features)
    if value._temperature_losses is not None:
        finite(value._temperature_losses, "k", k=len(LOG_TEMPERATURES) + 1)
    # The coefficients of a linear classifier have confirmed the number of features.
    need(n_features <= TRIAL or space.kernel.is_linear, f"it claims {n_features} features")
    trial(value, np.zeros((1, n_features)), n_tasks)


def trial(value: BayesPointClassifier, X: np.ndarray, n_tasks: int) -> None:
    """Predict one point, and check the number of answers.

    Nothing here may change the warnings of the process: other threads may load models as well.
    """
    with held_warnings(), np.errstate(all="ignore"):
        points = X if isinstance(value._columns, slice) else X[:, value._columns]
        Z = value._space.transform(points)
        posterior = value.posterior_
        answers = [posterior.decision(Z, value.decision), *posterior.latent(Z)]
    need(all(one.shape == (1, n_tasks) for one in answers), "it does not predict its classes")
    need(not any(np.isnan(one).any() for one in answers), "it predicts NaN")


SPACES = (BasisSpace, DualSpace, StackedSpace)
CHECKS: dict[type, Callable[[Any], object]] = {
    **TRANSFORMERS,
    BayesPointClassifier: classifier,
}
