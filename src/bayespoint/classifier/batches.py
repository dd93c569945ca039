"""Learning in batches, and streams of batches at the speed of a compiled loop.

A first batch takes the usual way, with all checks. The next batches of a stream, of the same kind,
change the posterior in place, and attributes that take long are computed when they are read.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bayespoint import _core
from bayespoint._core.calls import interrupts_later
from bayespoint.classifier.attributes import facts_of
from bayespoint.classifier.calibration import expected_scores, label_scores
from bayespoint.classifier.fitting import new_seed, train, with_engine
from bayespoint.classifier.inputs import validated
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters, continues_stream, parameters_of
from bayespoint.classifier.problem import Problem, known_classes
from bayespoint.engines import Engine, FactorisedPropagation, Run
from bayespoint.engines.gaussian.streams import learn_rows, safe_entry
from bayespoint.engines.gaussian.tasks import SINGLE_PASS
from bayespoint.posteriors import StreamPosterior
from bayespoint.tools.monitor import Monitor, current_monitor
from bayespoint.tools.tables import supported

FEW = 1000  # rows of a batch during which an interrupt waits: a millisecond for each rate


class Stream(NamedTuple):
    """What was checked with a batch, and holds for the next ones while no parameter changes."""

    parameters: tuple[Any, ...]
    engine: Any
    classes: list
    constant: float
    largest: float  # absolute value of an entry that needs no closer look


def learn_batch(
    classifier: Any,
    before: Model | None,
    X: Any,
    y: Any,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Model:
    """The model after one more batch; ``before`` is that of all earlier ones."""
    parameters = Parameters.of(classifier)
    check_batches(parameters, before)
    X = supported(X)
    engine, first = parameters.make_engine(X), before is None
    parameters.check_device(X, engine, batch=True)
    points, labels, table = validated(
        classifier,
        X,
        y,
        parameters.takes_sparse(engine),
        reset=first,
        table=None if before is None else before.table,
    )
    known = known_classes(None if before is None else before.classes, classes)
    problem = Problem.pose(points, labels, sample_weight, parameters.class_weight, classes=known)
    problem = with_engine(parameters, replace(problem, table=table), engine)
    scaling = None if before is None else before.scaling
    if scaling is not None:
        problem = replace(problem, points=scaling.transform(problem.points), scaling=scaling)
    elif parameters.standardize is True:
        raise ValueError(
            "partial_fit cannot standardize features: it sees one batch at a time. Set "
            "standardize=False, and scale the features with fixed numbers."
        )
    seed = new_seed(parameters) if before is None else before.seed
    model = train(parameters, problem, current_monitor(parameters.verbose), seed, before)
    model.facts.update(facts_of(model, problem, None, parameters.temperature == "auto"))
    return replace(model, stream=stream_of(classifier, engine, model))


def check_batches(parameters: Parameters, before: Model | None) -> None:
    """Raise an error for parameters that have no meaning for batches."""
    if parameters.ridge != 0:
        raise ValueError(
            f"partial_fit needs ridge=0: a ridge adds a feature for every training row. "
            f"Got ridge={parameters.ridge!r}; raise the engine's noise instead, or use fit."
        )
    if parameters.class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all labels, but partial_fit sees one batch. Pass "
            "the weights of the classes as a dict."
        )
    if before is not None and before.fact("chosen_params") is not None:
        raise ValueError(
            "partial_fit cannot update a fit whose kernel was chosen from all of its data. Set "
            "kernel='linear' before fit, or call partial_fit for the first batch, too."
        )


def stream_of(classifier: Any, engine: Engine, model: Model) -> Stream | None:
    """What need not be checked for the next batch; None if batches are no stream."""
    posterior, kernel = model.posterior, model.kernel
    is_filter = isinstance(engine, FactorisedPropagation) and engine.is_filter
    if not isinstance(posterior, StreamPosterior) or not is_filter:
        return None
    form, is_changed = kernel.linear_form, kernel.normalize or model.scaling
    if form is None or form.gamma != 1 or is_changed or classifier.class_weight is not None:
        return None
    constant = float(np.sqrt(form.coef0))
    classes = model.classes.tolist()
    return Stream(parameters_of(classifier), engine, classes, constant, safe_entry(posterior))


def learn_from_stream(
    classifier: Any,
    before: Model | None,
    X: Any,
    y: Any,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Model | None:
    """The model after a batch like the last one; None, and nothing is done, if it is unlike it."""
    is_csr = isinstance(X, (sparse.csr_array, sparse.csr_matrix)) and sample_weight is None
    if before is None or not is_csr or not continues_stream(classifier):
        return None
    # Few rows are learned at once: one block for all calls takes less time than one for each.
    with interrupts_later() if X.shape[0] <= FEW else nullcontext():
        stream, coding, began = before.stream, before.coding, time.perf_counter()
        is_other = X.shape[1] != before.n_features or "feature_names_in_" in vars(classifier)
        is_watched = type(current_monitor(classifier.verbose)) is not Monitor
        if is_other or is_watched or not is_plain(X, stream.largest):
            return None
        codes = codes_of(before.classes, y, X.shape[0])
        if codes is None:
            return None
        if not (isinstance(classes, list) and classes == stream.classes):
            known_classes(before.classes, classes)
        known: Any = before.posterior
        posterior: Any = learn_rows(stream.engine, known, X, stream.constant, coding.encode(codes))
        # What was predicted is kept here: the posterior itself may learn from the next batch.
        log_probability = posterior.left_out_log_probability

        def predicted() -> NDArray:
            return coding.probabilities(*coding.left_out(log_probability, codes))

        facts = {  # that do not know the model: it is freed without a search for cycles
            "expected_scores": lambda: expected_scores(predicted(), codes),
            "label_scores": lambda: label_scores(predicted(), codes),
            "left_out_error": lambda: expected_scores(predicted(), codes)["error"].value,
        }
        run = Run("sweeps", 1, SINGLE_PASS, seconds=time.perf_counter() - began)
        model: Model = object.__new__(Model)  # dataclasses.replace takes ten times as long
        vars(model).update(vars(before), posterior=posterior, run=run, facts=facts)
        vars(model).pop("weights", None)  # of the last batch
        return model


def codes_of(classes: NDArray, y: Any, n: int) -> NDArray[np.intp] | None:
    """Indices of the classes of labels; None if these are not plain, or unknown."""
    labels = np.asarray(y)
    if labels.shape != (n,) or labels.dtype.kind not in "biuU":
        return None
    if len(classes) == 2:
        is_yes = labels == classes[1]
        known = is_yes | (labels == classes[0])
        return is_yes.astype(np.intp) if known.all() else None
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return codes if (classes[codes] == labels).all() else None


def is_plain(X: Any, largest: float) -> bool:
    """Whether CSR rows are of float64, canonical, finite and not huge."""
    if X.dtype != np.float64 or not X.has_canonical_format:
        return False
    return _core.filters.are_within(X.data, largest)
