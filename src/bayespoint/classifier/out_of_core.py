"""Fits that read their data a block at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.calibration import expected, temperature_of
from bayespoint.classifier.fitted import Fitted, unchanged_on_failure
from bayespoint.classifier.fitting import Trained
from bayespoint.classifier.problem import Problem, check_weights
from bayespoint.codings import make_coding
from bayespoint.engines import (
    Engine,
    ExpectationPropagation,
    LaplaceApproximation,
    PermutedPerceptron,
    get_engine,
)
from bayespoint.engines.gaussian.prior import priors
from bayespoint.engines.gaussian.prior_scale import with_scale
from bayespoint.rows import Blocks, Executor, LocalExecutor, ep, from_arrays, laplace
from bayespoint.rows.arrays import ArrayBlocks, file_array
from bayespoint.rows.checkpoint import current_checkpoint
from bayespoint.rows.design import Design
from bayespoint.rows.fit import BlockFit, Learned
from bayespoint.rows.points import scaled_rows, stored_points
from bayespoint.rows.survey import Survey, survey
from bayespoint.spaces import DualSpace
from bayespoint.spaces.basis import check_range
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.callbacks import monitor_for
from bayespoint.tools.memory import SMALL, available_memory, check_fits
from bayespoint.tools.monitor import Monitor

COPIES = 2  # of the features in float64, that a fit in memory takes at least
SAMPLE = 10_000  # rows by which a kernel chooses its gamma and its centre
KEPT = 1_000_000  # left-out probabilities that a posterior keeps; more would fill model files
MATRICES = 12  # of all pairs of weights, for a task: posterior, sums, those of blocks in work
SITE_BYTES = 40  # of a row and task: two sites, as they were and as they become, and a probability


class Extent(NamedTuple):
    """The largest absolute value of a coordinate."""

    largest: float


class OutOfCore(Fitted):
    """Fits over blocks, with the same result as in memory."""

    def _in_chunks(self, X: Any, function: Callable[[NDArray], NDArray]) -> NDArray:
        """Apply a function of transformed points, also of blocks, one after another."""
        if not isinstance(X, Blocks):
            return super()._in_chunks(X, function)
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and X.feature_names not in (None, list(names)):
            raise ValueError(
                f"The blocks have the columns {X.feature_names[:6]}, and the classifier was "
                f"fitted with {list(names[:6])}. Name the same features in the same order."
            )
        with warnings.catch_warnings():  # arrays of blocks have no names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            found = [super(OutOfCore, self)._in_chunks(block.X, function)
                     for block in X if block.X.shape[0]]  # fmt: skip
        return np.concatenate(found)

    def _is_too_large(self, X: Any) -> bool:
        """Whether an array is in a file, and a fit in memory of a linear kernel has no room."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or COPIES * X.nbytes <= SMALL:
            return False
        if file_array(X) is None or not self._kernel_is("is_linear") or self.ridge != 0:
            return False
        return COPIES * 8.0 * X.size > available_memory()

    def _fit_blocks(
        self,
        blocks: Any,
        y: Any = None,
        sample_weight: Any = None,
        executor: Executor | None = None,
    ) -> None:
        """Fit the classifier to blocks; the functions on them run in threads by default."""
        if not isinstance(blocks, Blocks):
            blocks, y, sample_weight = from_arrays(blocks, y, sample_weight), None, None
        if y is not None or sample_weight is not None:
            raise ValueError(
                "Blocks bring their labels and weights with them. Pass y and sample_weight to "
                "the function that made the blocks, such as from_arrays, and not to fit."
            )
        with unchanged_on_failure(self):
            self._check_parameters()
            began, monitor = time.perf_counter(), monitor_for(self)
            self._check_blocks(blocks)
            executor = LocalExecutor(self.n_jobs) if executor is None else executor
            prints = None
            if not blocks.in_order_only:
                prints = [blocks.fingerprint(k) for k in range(len(blocks))]
            monitor.tell(f"reading {len(blocks)} block{'s' * (len(blocks) != 1)}")
            each, whole = survey(blocks, executor, prints)
            if prints is None:
                prints = [blocks.fingerprint(k) for k in range(len(blocks))]
            engine = self._block_engine(whole, blocks.n_features)
            if isinstance(engine, PermutedPerceptron):
                self._fit_rows(engine, blocks, whole, monitor, began)
                return
            design = self._design(engine, whole, blocks.n_features)
            before = priors(engine, design.space, design.n_tasks)
            engine._check_range(Extent(largest_coordinate(design, whole)), before)
            check_memory(engine, design, int(whole.positive.sum()))
            fit = BlockFit(
                blocks, executor, prints, design, before, used_rows(each, design), monitor,
                current_checkpoint(), settings_of(engine, design),
            )  # fmt: skip
            learner = ep if isinstance(engine, ExpectationPropagation) else laplace
            learned = learner.learn(fit, engine)
            self._publish_blocks(engine, design, whole, learned, blocks, began)

    def _check_blocks(self, blocks: Blocks) -> None:
        """Raise an error for parameters that have no meaning out of core."""
        has_kernel_rows = isinstance(get_engine(self.engine), PermutedPerceptron)
        refused = {
            "device": self.device is not None,
            "mixture": self.mixture is not None,
            "warm_start": self.warm_start,
            "ridge": self.ridge != 0 and not has_kernel_rows,
        }
        for name, is_set in refused.items():
            if is_set:
                raise ValueError(
                    f"A fit over blocks needs the default of {name!r}. Got "
                    f"{name}={getattr(self, name)!r}."
                )
        if self.kernel_is_named and not self._kernel_is("is_linear") and not has_kernel_rows:
            raise ValueError(
                f"A fit over blocks needs kernel='linear': the features of other kernels depend on "
                f"all points. Got kernel={self.kernel!r}. Compute approximate features of every "
                "block first, for example with scikit-learn's Nystroem, or use "
                "engine='perceptron'."
            )
        if has_kernel_rows and not isinstance(blocks, ArrayBlocks):
            raise ValueError(
                "engine='perceptron' reads single rows in any order. Pass a memory-mapped array "
                "(from_arrays) or a .npy file (from_npy): other sources are read in whole blocks."
            )
        if self.multi_class == "joint":
            raise ValueError(
                "A fit over blocks learns each class against the rest. Got multi_class='joint': "
                "set multi_class='one_vs_rest' or 'auto'."
            )
        if not len(blocks):
            raise ValueError("There are no blocks to learn from.")

    def _block_engine(self, whole: Survey, n_features: int) -> Engine:
        """The engine, in the form for sparse rows if blocks are sparse."""
        kind = sparse.csr_array if whole.is_sparse else np.empty
        engine = self._make_engine(kind((0, n_features)))
        if isinstance(engine, PermutedPerceptron):
            return engine
        if not isinstance(engine, ExpectationPropagation | LaplaceApproximation):
            raise ValueError(
                "A fit over blocks needs engine='ep', 'laplace' or 'perceptron'. Got "
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

    def _design(self, engine: Engine, whole: Survey, n_features: int) -> Design:
        """The model of the rows."""
        class_weight, is_class = self._class_weights(whole)
        scaling = None
        if not self.kernel_is_named if self.standardize == "auto" else self.standardize:
            if whole.is_sparse:
                if self.standardize is True:
                    raise TypeError(
                        "standardize=True needs dense blocks: sparse ones would become dense. Set "
                        "standardize=False."
                    )
            elif whole.moments is not None:
                scaling = whole.scaling(class_weight)
        kernel = self._make_kernel()
        empty = np.zeros((1, n_features))
        kernel = kernel.fitted(empty)
        if whole.is_sparse:
            empty = sparse.csr_array(empty)
        space = engine.space(kernel, 0.0, None).fit(empty)
        return Design(space, whole.labels, class_weight, whole.labels[is_class], scaling)

    def _class_weights(self, whole: Survey) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The weight of each label, and whether it has rows of positive weight."""
        class_weight = whole.class_weights(self.class_weight)
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

    def _fit_rows(
        self, engine: Engine, blocks: ArrayBlocks, whole: Survey, monitor: Monitor, began: float
    ) -> None:
        """Fit an engine that asks for kernel rows, whose points stay in their file."""
        class_weight, is_class = self._class_weights(whole)
        labels, sample_weight = blocks.labels_and_weights()
        places = np.searchsorted(whole.labels, np.asarray(labels))
        given, weight = is_class[places], None
        if self.class_weight is not None or sample_weight is not None:
            weight = class_weight[places] * (1.0 if sample_weight is None else sample_weight)
            given = weight > 0
            weight = weight[given]
        where = np.flatnonzero(given)
        scaling = whole.scaling(class_weight) if self.standardize is True else None
        some = scaled_rows(blocks, where[:: -(-len(where) // SAMPLE)], scaling)
        space = DualSpace(self._make_kernel().fitted(some), self.ridge)
        monitor.tell(f"measuring {len(where)} points")
        space.points = stored_points(space.kernel, blocks, where, scaling)
        codes = np.searchsorted(whole.labels[is_class], whole.labels)[places[given]]
        problem = Problem(some, whole.labels[is_class], codes, weight, slice(None), given)
        self._begin(blocks, scaling)
        posterior, run = self._solve(engine, problem, space, None, monitor)
        coding = make_coding(problem.classes, self._find_temperature(posterior, problem, None))
        assert posterior.support is not None
        trained = Trained(space.restrict(posterior.support), posterior, coding, run)
        self._publish(engine, problem, trained, None, time.perf_counter() - began)

    def _begin(self, blocks: Blocks, scaling: Scaling | None) -> None:
        """Set what does not depend on the result of a fit."""
        self.n_features_in_ = blocks.n_features
        self.__dict__.pop("feature_names_in_", None)
        if blocks.feature_names is not None:
            self.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        self._fingerprint = None  # no later fit can extend this posterior
        self._scaling = scaling

    def _publish_blocks(
        self,
        engine: Engine,
        design: Design,
        whole: Survey,
        learned: Learned,
        blocks: Blocks,
        began: float,
    ) -> None:
        """Set the fitted attributes."""
        posterior, run, left_out, step = learned
        temperature = 1.0
        if self.temperature != "auto":
            temperature = float(self.temperature)
        elif self.decision != "vote":
            temperature = temperature_of(left_out, design.coding, step)
        coding = make_coding(design.classes, temperature)
        self._begin(blocks, design.scaling)
        problem = stand_in(design, whole)
        trained = Trained(design.space, posterior, coding, run)
        scores = expected(left_out, coding)
        self._publish(engine, problem, trained, None, time.perf_counter() - began)
        self.expected_scores_, self.left_out_error_ = scores, scores["error"].value
        if step == 1 and sum(one.log_probability.size for one in left_out) <= KEPT:
            known = [one.log_probability for one in left_out]
            posterior.left_out_log_probability = np.concatenate(known)
        design.space.forget()


def check_memory(engine: Engine, design: Design, n_rows: int) -> None:
    """Raise an error if what is kept between rounds does not fit in memory."""
    d, tasks = design.space.n_coordinates, design.n_tasks
    is_full = getattr(engine, "covariance", "full") == "full"
    is_ep = isinstance(engine, ExpectationPropagation)
    has_sites = is_full and is_ep and ep.keeps_sites(engine, n_rows, d)
    check_fits(
        tasks * (SITE_BYTES * float(n_rows) * has_sites + MATRICES * 8.0 * d**2 * is_full),
        f"A fit of {n_rows} rows, {d} weights and {tasks} task{'s' * (tasks > 1)}",
        "use ExpectationPropagation(covariance='diagonal'), which keeps neither sites nor "
        "matrices" + ", or engine='laplace', which keeps no sites" * has_sites,
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


def stand_in(design: Design, whole: Survey) -> Problem:
    """A problem of two points, of which fits publish what they would of all rows."""
    points: Any = sparse.csr_array((2, len(whole.largest)))
    spread = whole.deviations(design.class_weight > 0)
    if spread is not None:  # two points with the standard deviations of all
        if design.scaling is not None:
            spread = spread / design.scaling.scale
        points = np.stack([-spread, spread])
    codes = np.arange(2)
    return Problem(points, design.classes, codes, None, slice(None), np.ones(2, dtype=bool))
