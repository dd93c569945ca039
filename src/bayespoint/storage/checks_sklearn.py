"""Checks of scikit-learn's transformers: what could be dangerous, or is simple to check.

Other invalid values in a transformer raise an exception when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from bayespoint.tools.attributes import integer, need, shaped

MOST_WORDS = 20  # of an n-gram


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


def one_job(value: ColumnTransformer | FeatureUnion) -> None:
    """No processes: scikit-learn would start as many as a file says, at every prediction."""
    need(value.n_jobs in (None, 1), f"its n_jobs is {value.n_jobs!r:.40}: set n_jobs=None")


def columns(value: ColumnTransformer) -> None:
    """Named transformers."""
    one_job(value)
    for name, one, _ in [*value.transformers, *vars(value).get("transformers_", ())]:
        step(name, one)


def union(value: FeatureUnion) -> None:
    """Named transformers."""
    one_job(value)
    for name, one in value.transformer_list:
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
        need(
            given == getattr(plain, name), f"its {name} is {given!r:.40}: only the default is safe"
        )
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


TRANSFORMERS: dict[type, Callable[[Any], object]] = {
    Pipeline: pipeline,
    ColumnTransformer: columns,
    FeatureUnion: union,
    FrozenEstimator: frozen,
    OneHotEncoder: one_hot,
    FeatureHasher: feature_hashing,
    HashingVectorizer: hashing,
}
