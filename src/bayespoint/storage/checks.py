"""Consistency checks of objects, before saving and after loading.

Checksums detect damage. These checks are for files with correct checksums and invalid content:
inconsistent shapes would cause an error elsewhere or, where compiled code of SciPy trusts its
indices, a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from bayespoint.classifier.attributes import FACTS, FittedAttributes
from bayespoint.classifier.calibration import LOG_TEMPERATURES
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import DECISIONS
from bayespoint.engines import get_engine
from bayespoint.exceptions import held_warnings, one_line
from bayespoint.spaces import BasisSpace, DualSpace, StackedSpace
from bayespoint.storage.declared import declared, evaluated, fits
from bayespoint.tools.attributes import ContentError, finite, integer, need, optional, shaped

MOST_WORDS = 20  # of an n-gram
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
    need(value.decision in DECISIONS, "its decision is unknown")
    if "model_" not in vars(value):
        return
    get_engine(value.engine)  # an error if there is none of this name
    model = value.model_
    n_columns = count_columns(model)
    need(value.n_features_in_ == n_columns, "its model has another number of features")
    names = vars(value).get("feature_names_in_")
    fine = names is None or names.shape == (n_columns,)
    need(fine, "its feature names have the wrong shape")


def model(value: Model) -> None:
    """Check a model, and that it can predict."""
    space, coding, n_features = value.space, value.coding, value.n_features
    need(isinstance(space, SPACES), "its space is not a space")
    need(value.decision in DECISIONS, "its decision is unknown")
    integer(n_features, 1)
    integer(value.seed, 0)
    check_facts(value)
    check_run(value)
    if value.columns is not None:
        shaped(value.columns, "iu", "m")
        within = value.columns.min() >= 0 and value.columns.max() < n_features
        need(within, "its columns are out of range")
    if value.scaling is not None:
        finite(value.scaling.mean, "d", d=n_features)
    if value.table is not None:
        need(value.table.n_features == n_features, "its table has other features")
    if value.losses is not None:
        finite(value.losses, "k", k=len(LOG_TEMPERATURES) + 1)
    if value.weights is not None:  # they confirm the number of features
        shaped(value.weights[0], "f", "td", t=coding.n_tasks, d=n_features)
    need(n_features <= TRIAL or space.kernel.is_linear, f"it claims {n_features} features")
    trial(value, np.zeros((1, n_features)))


def count_columns(value: Model) -> int:
    """Columns of the rows that a classifier takes, before categories become features."""
    return value.n_features if value.table is None else len(value.table.fill)


def check_facts(value: Model) -> None:
    """Check what else a fit has found: attributes of the classifier, of their declared types."""
    facts, n_classes = value.facts, len(value.coding.classes)
    for name, one in facts.items():
        need(name in FACT_TYPES, f"it has the unknown fact {name!r:.80}")
        need(fits(one, FACT_TYPES[name]), f"its {name} is of type {type(one).__name__}")
    if (scores := facts.get("label_scores")) is not None:
        finite(scores, "nk", k=2)
        is_class = (scores[:, 1] >= 0) & (scores[:, 1] < n_classes)
        need(is_class.all(), "it has scores of unknown classes")
    integer(facts.get("n_groups", 2), 2)
    need(facts.get("expected_scores", SCORES).keys() == SCORES.keys(), "its scores are unknown")
    if (relevance := facts.get("feature_relevance")) is not None:
        finite(relevance, "d", d=count_columns(value))
    for name, one in facts.get("chosen_params", {}).items():
        is_parameter = name in PARAMETERS and fits(one, PARAMETERS[name])
        need(is_parameter, f"the parameter {name!r:.80} that it has chosen is invalid")
    get_engine(facts.get("chosen_params", {}).get("engine", "auto"))


def check_run(value: Model) -> None:
    """Check that there are measures, changes and evidence of each task, if there are any."""
    run, evidence = value.run, value.posterior.log_evidence
    n_tasks = len(value.coding.task_names)
    for name, measured in run.measures.items():
        fine = measured.ndim in (1, 2) and len(measured) == n_tasks
        need(fine, f"its measures {name!r:.80} are not those of {n_tasks} tasks")
    need(len(run.history) in (0, n_tasks), f"its history is not that of {n_tasks} tasks")
    optional(evidence, "t", t=n_tasks)


def trial(value: Model, X: np.ndarray) -> None:
    """Predict one point, and check the number of answers.

    Nothing here may change the warnings of the process: other threads may load models as well.
    """
    posterior, n_tasks = value.posterior, value.coding.n_tasks
    with held_warnings(), np.errstate(all="ignore"):
        Z = value.transform(X)
        answers = [posterior.decision(Z, value.decision), *posterior.latent(Z)]
        shares = value.coding.probabilities(*posterior.log_probability(answers[0], value.decision))
    fine = shares.shape == (1, len(value.classes))
    fine = fine and all(one.shape == (1, n_tasks) for one in answers[1:])
    need(fine, "it does not predict its classes")
    need(not any(np.isnan(one).any() for one in (*answers, shares)), "it predicts NaN")


# Transformers of scikit-learn: what could be dangerous, or is simple to check. Other invalid values
# in a transformer raise an exception when it is used.


def step(name: Any, value: Any) -> None:
    """A named step is an estimator, "passthrough", "drop" or None."""
    need(isinstance(name, str), "a step has no name")
    is_word = value is None or (isinstance(value, str) and value in ("passthrough", "drop"))
    need(is_word or hasattr(value, "get_params"), f"step {name!r} is not an estimator")


def pipeline(value: Pipeline) -> None:
    """Named steps, and no cache folder, whose files scikit-learn would unpickle."""
    need(value.memory is None, "its memory is a folder of pickles: set memory=None")
    need(isinstance(value.steps, list) and len(value.steps) > 0, "it has no steps")
    for name, one in value.steps:
        step(name, one)


def several(value: ColumnTransformer | FeatureUnion) -> None:
    """Named transformers, and no processes: scikit-learn would start as many as a file says."""
    need(value.n_jobs in (None, 1), f"its n_jobs is {value.n_jobs!r:.40}: set n_jobs=None")
    named = value.transformer_list if isinstance(value, FeatureUnion) else value.transformers
    for name, one, *_ in [*named, *vars(value).get("transformers_", ())]:
        step(name, one)


def one_hot(value: OneHotEncoder) -> None:
    """All columns of categories exist; SciPy would write outside its memory otherwise."""
    state = vars(value)
    n_columns = state.get("_n_features_outs")
    if n_columns is None:  # not fitted
        return
    n = len(n_columns)
    need(isinstance(n_columns, list) and len(value.categories_) == n, "its columns are invalid")
    nothing = [None] * n
    is_grouped = state.get("_infrequent_enabled", False)
    rare: Any = state["_infrequent_indices"] if is_grouped else nothing
    groups: Any = state["_default_to_infrequent_mappings"] if is_grouped else nothing
    dropped: Any = state.get("_drop_idx_after_grouping")
    dropped = nothing if dropped is None else dropped
    need(len(rare) == len(groups) == len(dropped) == n, "its groups are invalid")
    for i, categories in enumerate(value.categories_):
        n_groups = ordered(categories)
        if rare[i] is not None:
            indices(rare[i], n_groups)
            shaped(groups[i], "iu", "c", c=n_groups)
            n_groups -= len(rare[i]) - 1
            indices(groups[i], n_groups)
        else:
            need(groups[i] is None, "its groups are invalid")
        if dropped[i] is not None:
            integer(dropped[i], 0)
            need(dropped[i] < n_groups, "a dropped category does not exist")
        integer(n_columns[i], 0)
        need(n_columns[i] == n_groups - (dropped[i] is not None), "its columns are invalid")


def ordered(categories: Any) -> int:
    """Number of categories: strings, or numbers in ascending order followed by missing values.

    A binary search among unsorted numbers can end beyond the last of them.
    """
    (n,) = shaped(categories, "biufUO", "c").values()
    gone = [one is None or one != one for one in categories]  # NaN does not equal itself
    there = [one for one, is_gone in zip(categories, gone, strict=True) if not is_gone]
    if not all(isinstance(one, str) for one in there):
        in_order = gone == sorted(gone) and there == sorted(there)  # an error for mixed types
        need(in_order, "its categories are not sorted")
    return n


def indices(array: Any, n: int) -> None:
    """Raise an error unless these are indices below n."""
    shaped(array, "iu", "r")
    need(array.size > 0 and (array >= 0).all() and (array < n).all(), "its groups are invalid")


def hashing(value: HashingVectorizer) -> None:
    """No files to read, no patterns that take for ever, and not more memory than a model needs."""
    plain = HashingVectorizer()
    for name in ("input", "token_pattern", "tokenizer", "preprocessor", "stop_words"):
        given = getattr(value, name)
        is_safe = given == getattr(plain, name)
        need(is_safe, f"its {name} is {given!r:.40}: only the default is safe")
    need(value.analyzer in ("word", "char", "char_wb"), "its analyzer is unknown")
    integer(value.n_features, 1)
    shortest, longest = value.ngram_range
    integer(shortest, 1)
    integer(longest, shortest)
    need(longest <= MOST_WORDS, f"its ngram_range ends at {longest}: at most {MOST_WORDS} is safe")


def feature_hashing(value: FeatureHasher) -> None:
    """A width, and a kind of input that is known."""
    integer(value.n_features, 1)
    need(value.input_type in ("dict", "pair", "string"), "its input_type is unknown")


def frozen(value: FrozenEstimator) -> None:
    """It passes all else on to its estimator, without end if there is none."""
    need(hasattr(vars(value).get("estimator"), "fit"), "it has no estimator")


SPACES = (BasisSpace, DualSpace, StackedSpace)
SCORES = {"error": None, "log_loss": None}
PARAMETERS = declared(BayesPointClassifier)
ATTRIBUTES = evaluated(FittedAttributes)
FACT_TYPES = {name: ATTRIBUTES[f"{name}_"] for name in FACTS}
FACT_TYPES |= {"label_scores": NDArray[np.float64], "n_groups": int}
CHECKS: dict[type, Callable[[Any], object]] = {
    Pipeline: pipeline,
    ColumnTransformer: several,
    FeatureUnion: several,
    FrozenEstimator: frozen,
    OneHotEncoder: one_hot,
    FeatureHasher: feature_hashing,
    HashingVectorizer: hashing,
    BayesPointClassifier: classifier,
    Model: model,
}
