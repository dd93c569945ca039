"""The classifier and the pipeline that options describe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.cli import options
from bayespoint.cli.options import ENGINE_NAMES, KERNEL_NAMES, KERNELS_WITH
from bayespoint.cli.output.errors import bad_usage, check_name, did_you_mean
from bayespoint.cli.tables.columns import CATEGORY, IMAGE, pixel_names
from bayespoint.engines import get_engine
from bayespoint.spaces.columns import Columns
from bayespoint.spaces.scaling import Scaling

# Parameters of the classifier that have an option of their own, or no meaning for one command.
ELSEWHERE = {
    "categorical_features",
    "device",
    "engine",
    "kernel",
    "n_jobs",
    "mixture",
    "random_state",
    "verbose",
    "warm_start",
}
WORDS = {"none": None, "null": None, "true": True, "false": False, "inf": float("inf")}
MISSING = "(missing)"
# Numbers that stand for a text. Of 20, 50, 100 and 200, the first was best with 30 and with 100
# labels of 1100 descriptions of functions in six libraries.
TOPICS = 20
WORDS_KEPT = 4096  # different words of texts; more share a place


def make_classifier(given: options.Classifier) -> BayesPointClassifier:
    """The classifier; ends the command where a name is wrong."""
    engine, kernel = given.engine, given.kernel
    check_name("engine", engine, ENGINE_NAMES)
    check_name("kernel", kernel, KERNEL_NAMES)
    machine = BayesPointClassifier(engine=engine, kernel=kernel, random_state=given.seed)
    machine.set_params(device=given.device, n_jobs=given.jobs)
    if given.ordinal is not None:
        order = [name.strip() for name in given.ordinal.split(",")]
        whole = all(name.lstrip("-").isdigit() for name in order)
        machine.set_params(multi_class=[int(name) for name in order] if whole else order)
    known = valid_names(machine)
    for text in given.param or []:
        name, sign, value = text.partition("=")
        if not sign:
            bad_usage(f"--param needs NAME=VALUE, not {text!r}")
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
    for read in (json.loads, float):  # the second: 1. and .5, which JSON does not know
        with suppress(ValueError):
            return read(word)
    return word


def make_numbers(name: str, kind: str, n_rows: int) -> ColumnTransformer:
    """A column of texts as topics, or of pictures as scaled grey values.

    Topics are the principal components of how often the words of a text occur in it (tf-idf).
    """
    if kind == IMAGE:
        return ColumnTransformer([(f"image {name}", StandardScaler(), pixel_names(name))])
    topics = make_pipeline(
        HashingVectorizer(n_features=WORDS_KEPT, alternate_sign=False, norm=None),
        TfidfTransformer(sublinear_tf=True),
        PCA(max(1, min(TOPICS, n_rows - 1)), svd_solver="arpack", random_state=0),
    )
    return ColumnTransformer([(f"text {name}", topics, name)])


def make_model(kinds: Mapping[str, str], machine: BayesPointClassifier) -> Pipeline:
    """The columns that are used, as they are, and the classifier, with numbers scaled."""
    if machine.standardize == "auto" and machine.kernel != "precomputed":
        machine = clone(machine).set_params(standardize=True)
    return Pipeline([("columns", selected(kinds)), ("machine", machine)])


def learn_features(X: pd.DataFrame, kinds: Mapping[str, str]) -> tuple[Columns, Scaling]:
    """How columns become features, and their scales, as a fit of all rows would find them."""
    table = Columns.of(X, [place for place, kind in enumerate(kinds.values()) if kind == CATEGORY])
    return table, Scaling.of(table.transform(X), block=table.block)


def of_columns(
    machine: BayesPointClassifier, kinds: Mapping[str, str], table: Columns, scaling: Scaling
) -> Pipeline:
    """The model of a table, from a classifier of its scaled features."""
    kept = selected(kinds).fit(pd.DataFrame({name: [0.0] for name in kinds}))
    return Pipeline([("columns", kept), ("machine", with_table(machine, table, scaling))])


def of_groups(groups: Any) -> dict[str, Any]:
    """What the fit of a model takes beside rows and labels."""
    return {} if groups is None else {"machine__groups": groups}


def with_table(
    machine: BayesPointClassifier, table: Columns, scaling: Scaling | None = None
) -> BayesPointClassifier:
    """A classifier of features as one of the columns that they were made of.

    ``scaling`` is that of the features before the classifier has scaled them itself.
    """
    whole, model = copy(machine), machine.model_
    facts, own = dict(model.facts), model.scaling
    relevance = facts.get("feature_relevance")
    relevance = relevance() if callable(relevance) else relevance
    if relevance is not None and len(relevance) == model.n_features:
        facts["feature_relevance"] = np.bincount(table.owner, relevance)
    if scaling is not None and own is not None:
        scaling = Scaling(scaling.mean + scaling.scale * own.mean, scaling.scale * own.scale)
    whole.model_ = replace(model, table=table, scaling=scaling or own, facts=facts)
    whole.n_features_in_ = len(table.fill)
    if table.names is not None:
        whole.feature_names_in_ = np.array(table.names, dtype=object)
    return whole


def selected(kinds: Mapping[str, str]) -> ColumnTransformer:
    """Some columns of a table, in their order."""
    kept = ColumnTransformer(
        [("columns", "passthrough", list(kinds))], verbose_feature_names_out=False
    )
    return kept.set_output(transform="pandas")
