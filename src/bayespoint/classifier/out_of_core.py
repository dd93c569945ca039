"""Fits that read their data a block at a time, with the same result as in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.classifier import calibration
from bayespoint.classifier.attributes import facts_of, linear_relevance
from bayespoint.classifier.fitting import learn, new_seed
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem, check_weights
from bayespoint.codings import Coding
from bayespoint.engines import Engine, Request, get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.engines.gaussian.blocks.rounds import checksum
from bayespoint.engines.gaussian.blocks.rows import BlockRows, Design, LeftOut
from bayespoint.rows import Blocks, from_arrays
from bayespoint.rows.arrays import ArrayBlocks, scaled_rows, stored_points
from bayespoint.rows.checkpoint import current_checkpoint
from bayespoint.rows.executor import current_executor, fingerprint
from bayespoint.rows.survey import Survey, survey
from bayespoint.spaces import DualSpace
from bayespoint.tools.arrays import check_range
from bayespoint.tools.monitor import Monitor, current_monitor

SAMPLE = 10_000  # rows by which a kernel chooses its gamma and its centre
CHUNK = 65_536  # rows of which probabilities are computed at a time
KEPT = 1_000_000  # left-out probabilities that a posterior keeps; more would fill model files


@dataclass(frozen=True)
class BlockProblem:
    """Blocks of training rows, and what a first reading of them has found.

    Attributes
    ----------
    blocks : Blocks
        The rows, their labels and weights.
    prints : list of tuple
        Fingerprints of the blocks.
    each, whole : list of Survey, Survey
        What was found in each block, and in all together.
    engine : Engine
        What is to learn from them.
    """

    blocks: Any
    prints: list[tuple]
    each: list[Survey]
    whole: Survey
    engine: Engine


def pose(
    classifier: Any,
    parameters: Parameters,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    reset: bool = True,
) -> BlockProblem:
    """The problem of blocks, which are read once; their features are always new ones."""
    if groups is not None:
        raise ValueError(
            "groups need all rows in memory, and cannot be used out of core. Pass the rows as an "
            "array, or some of the groups only."
        )
    if not isinstance(X, Blocks):
        X, y, sample_weight = from_arrays(X, y, sample_weight), None, None
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Blocks bring their labels and weights with them. Pass y and sample_weight to "
            "the function that made the blocks, such as from_arrays, and not to fit."
        )
    check_blocks(parameters, X)
    monitor = current_monitor(parameters.verbose)
    monitor.tell(f"reading {len(X)} block{'s' * (len(X) != 1)}")
    prints = None if X.in_order_only else [fingerprint(X, k) for k in range(len(X))]
    each, whole = survey(X, current_executor(parameters.n_jobs), prints)
    if prints is None:
        prints = [fingerprint(X, k) for k in range(len(X))]
    engine = block_engine(parameters, whole, X.n_features)
    classifier.n_features_in_ = X.n_features
    vars(classifier).pop("feature_names_in_", None)
    if X.feature_names is not None:
        classifier.feature_names_in_ = np.array(X.feature_names, dtype=object)
    return BlockProblem(X, prints, each, whole, engine)


def fit(
    parameters: Parameters, problem: BlockProblem, monitor: Monitor, before: Model | None = None
) -> Model:
    """The model of blocks; ``before`` is None, since no fit over blocks can be extended."""
    engine: Any = problem.engine
    whole, blocks = problem.whole, problem.blocks
    if not engine.learns_blocks:
        return fit_rows(parameters, problem, monitor)
    rows = make_rows(parameters, problem)
    design, left_out = rows.design, rows.left_out
    posterior, run = engine.run_blocks(rows, Request(monitor=monitor, kind=design.coding.kind))
    is_whole, temperature, n_learned = rows.thinning.step == 1, 1.0, 0.0
    if parameters.temperature != "auto":
        temperature = float(parameters.temperature)
    elif parameters.decision != "vote":
        unit = design.class_weight[np.searchsorted(design.labels, design.classes)]
        sums = [(one.weight.sum(), one.weight @ (unit / unit.max())[one.codes]) for one in left_out]
        total, squares = np.sum(sums, axis=0) / unit.max()
        n_units = float(rows.thinning.step * total**2 / squares)  # as those of a Problem
        temperature = temperature_of(left_out, design.coding, n_units)
        n_learned = calibration.trusted(n_units)
    coding = design.coding.at(temperature)
    scores = calibration.expected_scores_of_parts(chunks(left_out, coding), n_learned)
    if is_whole and sum(one.log_probability.size for one in left_out) <= KEPT:
        posterior.left_out_log_probability = np.concatenate([one[0] for one in left_out])
    facts = {"expected_scores": scores, "left_out_error": scores["error"].value}
    facts["label_scores"] = some_label_scores(left_out, coding)
    model = Model(
        design.space,
        posterior,
        coding,
        run,
        blocks.n_features,
        design.scaling,
        accepts_sparse=parameters.takes_sparse(engine),
        decision=parameters.decision,
        seed=new_seed(parameters),
        facts=facts,
    )
    spread = whole.deviations(design.class_weight > 0)
    if spread is not None:
        spread = spread if design.scaling is None else spread / design.scaling.scale
        relevance = linear_relevance(replace(model, scaling=None), spread)
        model.facts.update({} if relevance is None else {"feature_relevance": relevance})
    design.space.forget()
    return model


def check_blocks(parameters: Parameters, blocks: Blocks) -> None:
    """Raise an error for parameters that have no meaning out of core."""
    has_kernel_rows = get_engine(parameters.engine).trains_elsewhere
    refused = {
        "device": parameters.device is not None,
        "mixture": parameters.mixture is not None,
        "warm_start": parameters.warm_start,
        "ridge": parameters.ridge != 0 and not has_kernel_rows,
    }
    for name, is_set in refused.items():
        if is_set:
            raise ValueError(
                f"A fit over blocks needs the default of {name!r}. Got "
                f"{name}={getattr(parameters, name)!r}."
            )
    if parameters.kernel_is_named and not parameters.kernel_is_linear and not has_kernel_rows:
        raise ValueError(
            f"A fit over blocks needs kernel='linear': the features of other kernels depend on "
            f"all rows. Got kernel={parameters.kernel!r}. Compute approximate features of every "
            "block first, for example with scikit-learn's Nystroem, or use "
            "engine='perceptron'."
        )
    if has_kernel_rows and not isinstance(blocks, ArrayBlocks):
        raise ValueError(
            "engine='perceptron' reads single rows in any order. Pass a memory-mapped array "
            "(from_arrays) or a .npy file (from_npy): other sources are read in whole blocks."
        )
    if parameters.multi_class not in ("auto", "one_vs_rest"):
        raise ValueError(
            "A fit over blocks learns each class against the rest. Got "
            f"multi_class={parameters.multi_class!r}: set multi_class='one_vs_rest' or 'auto'."
        )
    if not len(blocks):
        raise ValueError("There are no blocks to learn from.")


def block_engine(parameters: Parameters, whole: Survey, n_features: int) -> Engine:
    """The engine, in the form for sparse rows if blocks are sparse."""
    kind = sparse.csr_array if whole.is_sparse else np.empty
    engine: Any = parameters.make_engine(kind((0, n_features)))
    if engine.trains_elsewhere:
        return engine
    if not engine.learns_blocks:
        able = sorted(n for n, one in ENGINES.items() if one.learns_blocks or one.trains_elsewhere)
        raise ValueError(
            f"A fit over blocks needs one of the engines {able}. Got {type(engine).__name__}."
        )
    if getattr(engine, "decay", 1.0) != 1.0:
        raise ValueError(
            "A fit over blocks visits all rows again and again, and needs decay=1.0. Got "
            f"{engine.decay!r}: pass batches to partial_fit."
        )
    return engine


def make_rows(parameters: Parameters, problem: BlockProblem) -> BlockRows:
    """The rows as the engine takes them: in coordinates of a linear kernel, scaled if asked for."""
    blocks, whole = problem.blocks, problem.whole
    class_weight, is_class = class_weights(parameters, whole)
    scaling, standardize = None, parameters.standardize
    if not parameters.kernel_is_named if standardize == "auto" else standardize:
        if whole.is_sparse:
            if standardize is True:
                raise TypeError(
                    "standardize=True needs dense blocks: sparse ones would become dense. Set "
                    "standardize=False."
                )
        elif whole.moments is not None:
            scaling = whole.scaling(class_weight)
    empty = np.zeros((1, blocks.n_features))
    kernel = parameters.make_kernel().fitted(empty)
    points = sparse.csr_array(empty) if whole.is_sparse else empty
    space = problem.engine.space(kernel, 0.0, None).fit(points)
    design = Design(space, whole.labels, class_weight, whole.labels[is_class], scaling)
    executor = current_executor(parameters.n_jobs)

    def reduce(function: Any, arguments: Any, shared: Any) -> tuple[list[Any], Any]:
        return executor.run(function, blocks, arguments, shared, problem.prints)

    sizes = used_rows(problem.each, design)
    of_model = [whole.labels, class_weight]
    of_model += [] if scaling is None else [scaling.mean, scaling.scale]
    identity = {
        "division into blocks": sizes if len(sizes) < 9 else checksum(sizes),
        "data": checksum(problem.prints),
        "scaling or set of classes": checksum([one.tolist() for one in of_model]),
    }
    largest = largest_coordinate(design, whole)
    return BlockRows(design, sizes, largest, reduce, identity, current_checkpoint())


def class_weights(
    parameters: Parameters, whole: Survey
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The weight of each label, and whether it has rows of positive weight."""
    class_weight = whole.class_weights(parameters.class_weight)
    check_weights("Class weights", class_weight)
    is_class = (class_weight > 0) & (whole.positive > 0)
    if is_class.sum() < 2:
        found = whole.labels[is_class].tolist()
        raise ValueError(
            "A classifier needs rows of at least two classes. Got "
            f"{'one class, ' + repr(found[0]) if found else 'no class'}, in "
            f"{int(whole.positive.sum())} rows of positive weight."
        )
    return class_weight, is_class


def fit_rows(parameters: Parameters, problem: BlockProblem, monitor: Monitor) -> Model:
    """The model of an engine that asks for kernel rows; the training rows stay in their file."""
    blocks, whole = problem.blocks, problem.whole
    class_weight, is_class = class_weights(parameters, whole)
    labels, sample_weight = blocks.labels_and_weights()
    places = np.searchsorted(whole.labels, np.asarray(labels))
    given, weight = is_class[places], None
    if parameters.class_weight is not None or sample_weight is not None:
        weight = class_weight[places] * (1.0 if sample_weight is None else sample_weight)
        given = weight > 0
        weight = weight[given]
    where = np.flatnonzero(given)
    scaling = whole.scaling(class_weight) if parameters.standardize is True else None
    some = scaled_rows(blocks, where[:: -(-len(where) // SAMPLE)], scaling)
    space = DualSpace(parameters.make_kernel().fitted(some), parameters.ridge)
    monitor.tell(f"measuring {len(where)} rows")
    space.points = stored_points(space.kernel, blocks, where, scaling)
    codes = np.searchsorted(whole.labels[is_class], whole.labels)[places[given]]
    of_rows = Problem(
        some,
        whole.labels[is_class],
        codes,
        weight,
        None,
        given,
        engine=problem.engine,
        scaling=scaling,
    )
    model = learn(parameters, of_rows, space, monitor, new_seed(parameters))
    model.facts.update(facts_of(model, of_rows))
    return model


def used_rows(each: list[Survey], design: Design) -> list[int]:
    """Rows of positive weight of each block."""
    weight = dict(zip(design.labels.tolist(), design.class_weight, strict=True))
    return [
        int(
            sum(
                n
                for label, n in zip(one.labels.tolist(), one.positive, strict=True)
                if weight[label] > 0
            )
        )
        for one in each
    ]


def largest_coordinate(design: Design, whole: Survey) -> float:
    """A bound on the coordinates of all rows."""
    largest = whole.largest
    if design.scaling is not None:
        largest = (largest + np.abs(design.scaling.mean)) / design.scaling.scale
    bound = float(np.max(largest, initial=1.0))
    check_range(np.array([[bound]]))
    return bound


def temperature_of(left_out: Sequence[LeftOut], coding: Coding, n_units: float) -> float:
    """The temperature of the best left-out predictions, from as many rows as in memory."""
    log_probability, codes, weight = some_of(left_out, calibration.MOST_TEMPERATURE_POINTS)
    log_odds = coding.log_odds(*coding.left_out(log_probability, codes))
    return calibration.best_temperature(log_odds, codes, weight, n_units)


def some_of(left_out: Sequence[LeftOut], most: int) -> LeftOut:
    """At most so many rows of all, at equal distances whatever the blocks."""
    step, before, some = -(-sum(len(one.codes) for one in left_out) // most), 0, []
    for one in left_out:
        some.append(one.thinned(slice(-before % step, None, step)))
        before += len(one.codes)
    return LeftOut(*(np.concatenate(parts) for parts in zip(*some, strict=True)))


def some_label_scores(left_out: Sequence[LeftOut], coding: Coding) -> NDArray[np.float32]:
    """The :func:`label_scores` of some rows of all blocks."""
    log_probability, codes, _ = some_of(left_out, calibration.MOST_SCORES)
    return calibration.label_scores(
        coding.probabilities(*coding.left_out(log_probability, codes)), codes
    )


def chunks(
    left_out: Sequence[LeftOut], coding: Coding
) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Left-out probabilities of the classes, codes and copies, some rows at a time."""
    heaviest = max(one.weight.max(initial=0.0) for one in left_out)
    for one in left_out:
        for begin in range(0, len(one.codes), CHUNK):
            own = slice(begin, begin + CHUNK)
            codes = one.codes[own].astype(np.intp)
            answers = coding.left_out(one.log_probability[own], codes)
            yield coding.probabilities(*answers), codes, one.weight[own] / heaviest
