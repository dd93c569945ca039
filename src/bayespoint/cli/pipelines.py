"""The classifier and the pipeline that options describe."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.cli.options import ENGINE_NAMES, KERNEL_NAMES, KERNELS_WITH
from bayespoint.cli.output.errors import bad_usage, check_name, did_you_mean
from bayespoint.cli.tables.columns import CATEGORY, IMAGE, MANY_CATEGORIES, NUMBER, TEXT
from bayespoint.cli.tables.pictures import pixel_names
from bayespoint.engines import get_engine

# Parameters of the classifier that have an option of their own, or no meaning for one command.
ELSEWHERE = {
    "device", "engine", "kernel", "n_jobs", "mixture", "random_state", "verbose", "warm_start",
}  # fmt: skip
WORDS = {"none": None, "null": None, "true": True, "false": False, "inf": float("inf")}
MISSING = "(missing)"
# Numbers that stand for a text. Of 20, 50, 100 and 200, the first was best with 30 and with 100
# labels of 1100 descriptions of functions in six libraries.
TOPICS = 20
WORDS_KEPT = 4096  # different words of texts; more share a place


def make_classifier(
    engine: str,
    kernel: str,
    params: Sequence[str],
    seed: int,
    jobs: int | None,
    device: str | None = None,
    ordinal: str | None = None,
) -> BayesPointClassifier:
    """The classifier; ends the command where a name is wrong."""
    check_name("engine", engine, ENGINE_NAMES)
    check_name("kernel", kernel, KERNEL_NAMES)
    machine = BayesPointClassifier(
        engine=engine, kernel=kernel, device=device, n_jobs=jobs, random_state=seed
    )
    if ordinal is not None:
        order = [name.strip() for name in ordinal.split(",")]
        whole = all(name.lstrip("-").isdigit() for name in order)
        machine.set_params(multi_class=[int(name) for name in order] if whole else order)
    known = valid_names(machine)
    for given in params:
        name, sign, value = given.partition("=")
        if not sign:
            bad_usage(f"--param needs NAME=VALUE, not {given!r}")
        if name not in known:
            names = ", ".join(name for name in known if not name.startswith("engine__"))
            hint = did_you_mean(name, known)
            owner = get_engine(engine).alias
            bad_usage(f"--param: {owner} has no parameter {name!r}.{hint} Choose from {names}")
        if kernel not in KERNELS_WITH.get(name, KERNEL_NAMES):
            able = " or ".join(KERNELS_WITH[name])
            bad_usage(f"--param {name} has no effect with --kernel {kernel}: it needs {able}")
        machine.set_params(**{known[name]: parse(value)})
    get_engine(machine.engine).check()
    return machine


def valid_names(machine: BayesPointClassifier) -> dict[str, str]:
    """Names that --param takes, and what they are called in the classifier."""
    own = {name: name for name in machine.get_params(deep=False) if name not in ELSEWHERE}
    engine = get_engine(machine.engine)
    inner = {name: f"engine__{name}" for name in engine.get_params(deep=False)}
    return {**own, **inner, **{name: name for name in inner.values()}}


def parse(text: str) -> Any:
    """A value: a number, true, false, none, a list of these; anything else is text."""
    word = text.strip()
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    try:
        return json.loads(word)
    except ValueError:
        pass
    try:
        return float(word)  # 1. and .5 and 1e-3, which JSON does not know
    except ValueError:
        return word


def make_columns(kinds: Mapping[str, str], n_topics: int = TOPICS) -> ColumnTransformer:
    """Numbers filled in and scaled, categories as columns of 0 and 1, texts as topics.

    Topics are the principal components of how often the words of a text occur in it (tf-idf).
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=MISSING),
        OneHotEncoder(handle_unknown="ignore", max_categories=MANY_CATEGORIES, sparse_output=False),
    )
    steps = {NUMBER: ("numbers", numbers), CATEGORY: ("categories", categories)}
    chosen: list[tuple[str, Any, Any]] = [
        (*steps[kind], [name for name, own in kinds.items() if own == kind])
        for kind in (NUMBER, CATEGORY)
        if kind in kinds.values()
    ]
    for name in (name for name, kind in kinds.items() if kind == TEXT):
        chosen.append((f"text {name}", make_topics(n_topics), name))
    for name in (name for name, kind in kinds.items() if kind == IMAGE):
        chosen.append((f"image {name}", StandardScaler(), pixel_names(name)))
    return ColumnTransformer(chosen)


def make_topics(n_topics: int) -> Pipeline:
    """Texts as a few numbers."""
    return make_pipeline(
        HashingVectorizer(n_features=WORDS_KEPT, alternate_sign=False, norm=None),
        TfidfTransformer(sublinear_tf=True),
        PCA(n_topics, svd_solver="arpack", random_state=0),
    )


def make_model(kinds: Mapping[str, str], machine: BayesPointClassifier) -> Pipeline:
    """Columns and classifier, one after another."""
    return Pipeline([("columns", make_columns(kinds)), ("machine", machine)])


def make_transformer(
    kinds: Mapping[str, str],
    medians: pd.Series,
    scaler: StandardScaler,
    categories: Mapping[str, Counter],
) -> ColumnTransformer:
    """The transformer that a fit in memory would have found, from totals over all rows."""
    columns = make_columns(kinds)
    columns.fit(example(kinds, {name: ranked(seen) for name, seen in categories.items()}))
    if len(medians):
        imputer, fitted = (step for _, step in columns.named_transformers_["numbers"].steps)
        imputer.statistics_ = medians.to_numpy(np.float64)
        for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
            setattr(fitted, name, getattr(scaler, name))
    return columns


def ranked(seen: Counter) -> list[str]:
    """Categories, of which more frequent ones occur more often, as short as possible.

    An encoder that takes the most frequent ones takes the same of these. Beyond those the order
    does not matter.
    """
    frequent = sorted(set(seen.values()), reverse=True)[: MANY_CATEGORIES + 1]
    times = {n: len(frequent) - place for place, n in enumerate(frequent)}
    return [word for word, n in sorted(seen.items()) for _ in range(times.get(n, 1))]


def example(
    kinds: Mapping[str, str], categories: Mapping[str, list[str]] | None = None
) -> pd.DataFrame:
    """A table with such columns: its categories, and any numbers."""
    known = categories or {}
    n = max([2, *map(len, known.values())])
    columns: dict[str, NDArray] = {}
    for name, kind in kinds.items():
        words = known.get(name, [MISSING])
        top = Counter(words).most_common(1)[0][0]  # more of it do not change the order
        of_words = np.array([*words, *[top] * (n - len(words))], dtype=object)
        columns[name] = of_words if kind == CATEGORY else np.arange(n) % 2.0
    return pd.DataFrame(columns)
