"""Fits that read their data a block at a time, with the same result as in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.classifier.attributes import facts_of, relevance_of
from bayespoint.classifier.calibration import expected, some_label_scores, temperature_of
from bayespoint.classifier.fitting import learn, new_seed
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem, check_weights
from bayespoint.codings import make_coding
from bayespoint.engines import (
    Engine,
    FactorisedPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
    get_engine,
)
from bayespoint.engines.gaussian.prior import priors
from bayespoint.engines.gaussian.prior_scale import with_scale
from bayespoint.engines.gaussian.sweeps import Propagation
from bayespoint.rows import Blocks, ep, from_arrays, laplace
from bayespoint.rows.arrays import ArrayBlocks
from bayespoint.rows.checkpoint import current_checkpoint
from bayespoint.rows.design import Design
from bayespoint.rows.executor import current_executor
from bayespoint.rows.fit import BlockFit
from bayespoint.rows.points import scaled_rows, stored_points
from bayespoint.rows.survey import Survey, survey
from bayespoint.spaces import DualSpace
from bayespoint.tools.arrays import check_range
from bayespoint.tools.memory import check_fits
from bayespoint.tools.monitor import Monitor, current_monitor

SAMPLE = 10_000  # rows by which a kernel chooses its gamma and its centre
KEPT = 1_000_000  # left-out probabilities that a posterior keeps; more would fill model files
MATRICES = 12  # of all pairs of weights, for a task: posterior, sums, those of blocks in work
SITE_BYTES = 40  # of a row and task: two sites, as they were and as they become, and a probability


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
    *,
    reset: bool = True,
) -> BlockProblem:
    """The problem of blocks, which are read once; their features are always new ones."""
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
    prints = None if X.in_order_only else [X.fingerprint(k) for k in range(len(X))]
    each, whole = survey(X, current_executor(parameters.n_jobs), prints)
    if prints is None:
        prints = [X.fingerprint(k) for k in range(len(X))]
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
    engine, whole = problem.engine, problem.whole
    if isinstance(engine, PermutedPerceptron):
        return fit_rows(parameters, problem, monitor)
    design = make_design(parameters, engine, whole, problem.blocks.n_features)
    before_all = priors(engine, design.space, design.n_tasks)
    engine.check_range(largest_coordinate(design, whole), before_all)
    check_memory(engine, design, int(whole.positive.sum()))
    task = BlockFit(
        problem.blocks, current_executor(parameters.n_jobs), problem.prints, design, before_all,
        used_rows(problem.each, design), monitor, current_checkpoint(),
        settings_of(engine, design),
    )  # fmt: skip
    learner = ep if isinstance(engine, Propagation) else laplace
    posterior, run, left_out, step = learner.learn(task, engine)
    temperature = 1.0
    if parameters.temperature != "auto":
        temperature = float(parameters.temperature)
    elif parameters.decision != "vote":
        temperature = temperature_of(left_out, design.coding, step)
    coding = make_coding(design.classes, temperature)
    scores = expected(left_out, coding)
    if step == 1 and sum(one.log_probability.size for one in left_out) <= KEPT:
        posterior.left_out_log_probability = np.concatenate(
            [one.log_probability for one in left_out]
        )
    model = Model(
        design.space,
        posterior,
        coding,
        run,
        problem.blocks.n_features,
        design.scaling,
        accepts_sparse=parameters.takes_sparse(engine),
        decision=parameters.decision,
        seed=new_seed(parameters),
        facts={
            "expected_scores": scores,
            "left_out_error": scores["error"].value,
            "label_scores": some_label_scores(left_out, coding),
        },
    )
    spread = whole.deviations(design.class_weight > 0)
    if spread is not None:
        spread = spread if design.scaling is None else spread / design.scaling.scale
        relevance = relevance_of(model, None, spread)
        model.facts.update({} if relevance is None else {"feature_relevance": relevance})
    design.space.forget()
    return model


def check_blocks(parameters: Parameters, blocks: Blocks) -> None:
    """Raise an error for parameters that have no meaning out of core."""
    has_kernel_rows = isinstance(get_engine(parameters.engine), PermutedPerceptron)
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
            f"all points. Got kernel={parameters.kernel!r}. Compute approximate features of every "
            "block first, for example with scikit-learn's Nystroem, or use "
            "engine='perceptron'."
        )
    if has_kernel_rows and not isinstance(blocks, ArrayBlocks):
        raise ValueError(
            "engine='perceptron' reads single rows in any order. Pass a memory-mapped array "
            "(from_arrays) or a .npy file (from_npy): other sources are read in whole blocks."
        )
    if parameters.multi_class == "joint":
        raise ValueError(
            "A fit over blocks learns each class against the rest. Got multi_class='joint': "
            "set multi_class='one_vs_rest' or 'auto'."
        )
    if not len(blocks):
        raise ValueError("There are no blocks to learn from.")


def block_engine(parameters: Parameters, whole: Survey, n_features: int) -> Engine:
    """The engine, in the form for sparse rows if blocks are sparse."""
    kind = sparse.csr_array if whole.is_sparse else np.empty
    engine = parameters.make_engine(kind((0, n_features)))
    if isinstance(engine, PermutedPerceptron):
        return engine
    if not isinstance(engine, Propagation | LaplaceApproximation):
        raise ValueError(
            "A fit over blocks needs engine='ep', 'factorised-ep', 'laplace' or 'perceptron'. Got "
            f"{type(engine).__name__}."
        )
    if getattr(engine, "decay", 1.0) != 1.0:
        raise ValueError(
            "A fit over blocks visits all rows again and again, and needs decay=1.0. Got "
            f"{engine.decay!r}: pass batches to partial_fit."
        )
    if isinstance(engine.prior_scale, str):
        engine = with_scale(engine, 1.0)
    return engine


def make_design(parameters: Parameters, engine: Engine, whole: Survey, n_features: int) -> Design:
    """The model of the rows."""
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
    kernel = parameters.make_kernel()
    empty = np.zeros((1, n_features))
    kernel = kernel.fitted(empty)
    if whole.is_sparse:
        empty = sparse.csr_array(empty)
    space = engine.space(kernel, 0.0, None).fit(empty)
    return Design(space, whole.labels, class_weight, whole.labels[is_class], scaling)


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
            "A classifier needs samples of at least two classes. Got "
            f"{'one class, ' + repr(found[0]) if found else 'no class'}, in "
            f"{int(whole.positive.sum())} samples of positive weight."
        )
    return class_weight, is_class


def fit_rows(parameters: Parameters, problem: BlockProblem, monitor: Monitor) -> Model:
    """The model of an engine that asks for kernel rows, whose points stay in their file."""
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
    monitor.tell(f"measuring {len(where)} points")
    space.points = stored_points(space.kernel, blocks, where, scaling)
    codes = np.searchsorted(whole.labels[is_class], whole.labels)[places[given]]
    of_rows = Problem(
        some, whole.labels[is_class], codes, weight, None, given,
        engine=problem.engine, scaling=scaling,
    )  # fmt: skip
    model = learn(parameters, of_rows, space, monitor, new_seed(parameters))
    model.facts.update(facts_of(model, of_rows))
    return model


def check_memory(engine: Engine, design: Design, n_rows: int) -> None:
    """Raise an error if what is kept between rounds does not fit in memory."""
    d, tasks = design.space.n_coordinates, design.n_tasks
    is_full = not isinstance(engine, FactorisedPropagation)
    has_sites = is_full and isinstance(engine, Propagation) and ep.keeps_sites(engine, n_rows, d)
    check_fits(
        tasks * (SITE_BYTES * float(n_rows) * has_sites + MATRICES * 8.0 * d**2 * is_full),
        f"A fit of {n_rows} rows, {d} weights and {tasks} task{'s' * (tasks > 1)}",
        "use engine='factorised-ep', which keeps neither sites nor matrices"
        + ", or engine='laplace', which keeps no sites" * has_sites,
    )


def used_rows(each: list[Survey], design: Design) -> list[int]:
    """Rows of positive weight of each block."""
    weight = dict(zip(design.labels.tolist(), design.class_weight, strict=True))
    return [
        int(sum(n for label, n in zip(one.labels.tolist(), one.positive, strict=True)
                if weight[label] > 0))
        for one in each
    ]  # fmt: skip


def largest_coordinate(design: Design, whole: Survey) -> float:
    """A bound on the coordinates of all rows."""
    largest = whole.largest
    if design.scaling is not None:
        largest = (largest + np.abs(design.scaling.mean)) / design.scaling.scale
    bound = float(np.max(largest, initial=1.0))
    check_range(np.array([[bound]]))
    return bound


def settings_of(engine: Engine, design: Design) -> str:
    """Parameters that decide on the rounds; more of them may follow from a checkpoint."""
    own = {name: value for name, value in engine.get_params().items() if name != "max_iter"}
    kernel = design.space.kernel
    return f"{type(engine).__name__} {own} {type(kernel).__name__} {kernel.get_params()}"
