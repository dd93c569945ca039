"""Whether the parts of an object fit together: the same questions before saving and after loading.

Checksums find damage. These checks are for files whose checksums are right and whose content is
nonsense all the same: shapes that do not agree would end in an error far away, or, where SciPy's
compiled code trusts its indices, in a crash.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from bayespoint.classifier import BayesPointClassifier
from bayespoint.engines import Engine
from bayespoint.exceptions import one_line
from bayespoint.posteriors import Posterior
from bayespoint.reject import RejectionCurve, SelectiveClassifier
from bayespoint.reject.scores import SCORES
from bayespoint.spaces import BasisSpace, DualSpace
from bayespoint.storage.checks_parts import PARTS, integer, need, shaped
from bayespoint.storage.content import ContentError

TRIAL = 10_000_000  # features at most: a point for the trial prediction then takes 80 MB


def check(value: Any, place: str) -> None:
    """Raise a ContentError if the attributes of an object of a known class make no sense."""
    try:
        CHECKS.get(type(value), bool)(value)
    except ContentError as error:
        raise ContentError(f"{place} makes no sense: {error}") from error
    except Exception as error:
        raise ContentError(f"{place} makes no sense: {one_line(error):.200}") from error


def machine(value: BayesPointClassifier) -> None:
    """A classifier predicts a point at the origin."""
    need(isinstance(value.engine, (str, Engine)), "its engine is none")
    if "posterior_" not in vars(value):
        return
    posterior, space, n_features = value.posterior_, value._space, value.n_features_in_
    need(isinstance(posterior, Posterior), "its posterior is none")
    need(isinstance(space, (BasisSpace, DualSpace)), "its space is none")
    need(value.decision in ("bayes_point", "vote"), "its decision is unknown")
    need(type(value._accepts_sparse) is bool, "whether it takes sparse input is not said")
    integer(n_features, 1)
    integer(value.n_iter_, 0)
    (n_classes,) = shaped(value.classes_, "biufUO", "c").values()
    need(n_classes >= 2, "it has fewer than two classes")
    n_tasks = 1 if n_classes == 2 else n_classes
    if value.kernel == "linear":
        shaped(value.coef_, "f", "td", t=n_tasks, d=n_features)
        shaped(value.intercept_, "f", "t", t=n_tasks)
    names = vars(value).get("feature_names_in_")
    need(names is None or names.shape == (n_features,), "its features have other names")
    columns = value._columns
    if isinstance(columns, slice):
        need(columns == slice(None), "its columns are unknown")
    else:
        shaped(columns, "iu", "m")
        need(columns.min() >= 0 and columns.max() < n_features, "its columns are unknown")
    # Of a linear machine, the coefficients in the file have proved the number.
    need(n_features <= TRIAL or value.kernel == "linear", f"it has {n_features} features")
    trial(value, np.zeros((1, n_features)), n_tasks)


def trial(value: BayesPointClassifier, X: np.ndarray, n_tasks: int) -> None:
    """Posterior and space answer for a point, with the right number of answers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        points = X if isinstance(value._columns, slice) else X[:, value._columns]
        Z = value._space.transform(points)
        posterior = value.posterior_
        answers = [posterior.decision(Z, value.decision), *posterior.latent(Z)]
    need(all(one.shape == (1, n_tasks) for one in answers), "it does not answer for its classes")


def selective(value: SelectiveClassifier) -> None:
    """A fitted one has a threshold, classes and a label for the rest."""
    if "estimator_" not in vars(value):
        return
    need(hasattr(value.estimator_, "predict"), "its classifier is none")
    need(value.confidence in SCORES, "its confidence is unknown")
    need(isinstance(value.threshold_, (float, np.floating)), "its threshold is no number")
    shaped(value.classes_, "biufUO", "c")
    label = value.reject_label_
    need(label is None or np.isscalar(label), "its reject label is none")


def curve(value: RejectionCurve) -> None:
    """Three arrays of one length."""
    sizes = shaped(value.rate, "f", "n")
    shaped(value.error, "f", "n", **sizes)
    shaped(value.threshold, "f", "n", **sizes)
    need(isinstance(value.aurc, (float, np.floating)), "its AURC is no number")
    integer(value.n_samples, 1)


def pipeline(value: Pipeline) -> None:
    """Named steps, and no folder to cache in: scikit-learn would unpickle what it finds there."""
    need(value.memory is None, "its memory is a folder of pickles: set memory=None")
    need(isinstance(value.steps, list) and len(value.steps) > 0, "it has no steps")
    for name, step in value.steps:
        need(isinstance(name, str), "a step has no name")
        plain = step is None or step == "passthrough"
        need(plain or hasattr(step, "get_params"), f"step {name!r} is no estimator")


def columns(value: ColumnTransformer) -> None:
    """Named transformers of columns."""
    for name, step, _ in [*value.transformers, *vars(value).get("transformers_", ())]:
        need(isinstance(name, str), "a transformer has no name")
        plain = isinstance(step, str) and step in ("passthrough", "drop")
        need(plain or hasattr(step, "get_params"), f"{name!r} is no estimator")


def union(value: FeatureUnion) -> None:
    """Named transformers."""
    for name, step in value.transformer_list:
        need(isinstance(name, str), "a transformer has no name")
        plain = isinstance(step, str) and step in ("passthrough", "drop")
        need(plain or hasattr(step, "get_params"), f"{name!r} is no estimator")


def one_hot(value: OneHotEncoder) -> None:
    """No category may get a column that is not there: SciPy would write beside its memory."""
    state = vars(value)
    n_columns = state.get("_n_features_outs")
    if n_columns is None:
        return
    n = len(n_columns)
    need(isinstance(n_columns, list) and len(value.categories_) == n, "its columns are unknown")
    is_grouped = state.get("_infrequent_enabled", False)
    rare: Any = value._infrequent_indices if is_grouped else [None] * n
    groups: Any = value._default_to_infrequent_mappings if is_grouped else [None] * n
    dropped = state.get("_drop_idx_after_grouping")
    dropped = [None] * n if dropped is None else dropped
    need(len(rare) == len(groups) == len(dropped) == n, "its groups are unknown")
    for i, categories in enumerate(value.categories_):
        (n_groups,) = shaped(categories, "biufUO", "c").values()
        if rare[i] is not None:
            (n_rare,) = shaped(rare[i], "iu", "r").values()
            need(n_rare > 0 and (rare[i] >= 0).all() and (rare[i] < n_groups).all(), "its groups")
            shaped(groups[i], "iu", "c", c=n_groups)
            n_groups -= n_rare - 1
            need((groups[i] >= 0).all() and (groups[i] < n_groups).all(), "its groups are unknown")
        else:
            need(groups[i] is None, "its groups are unknown")
        if dropped[i] is not None:
            integer(dropped[i], 0)
            need(dropped[i] < n_groups, "a dropped category is unknown")
        integer(n_columns[i], 0)
        need(n_columns[i] == n_groups - (dropped[i] is not None), "its columns are unknown")


CHECKS: dict[type, Callable[[Any], object]] = {
    **PARTS,
    BayesPointClassifier: machine,
    SelectiveClassifier: selective,
    RejectionCurve: curve,
    Pipeline: pipeline,
    ColumnTransformer: columns,
    FeatureUnion: union,
    OneHotEncoder: one_hot,
}
