"""Fitting: from a problem to a model, as the parameters say or as the data suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from bayespoint.classifier.attributes import facts_of, left_out_probabilities
from bayespoint.classifier.calibration import (
    best_temperature,
    temperature_losses,
    temperature_of_losses,
)
from bayespoint.classifier.inputs import validated
from bayespoint.classifier.kernel_choice.choice import choose
from bayespoint.classifier.model import Model
from bayespoint.classifier.parameters import Parameters
from bayespoint.classifier.problem import Problem
from bayespoint.codings import CODINGS, TEMPERATURES, Coding, OneVersusRest
from bayespoint.codings.ordinal import class_order
from bayespoint.engines import Engine, Request, Run
from bayespoint.engines.gaussian.groups import leave_groups_out
from bayespoint.exceptions import ManyClassesWarning, warn_user
from bayespoint.gpu.devices import memory_errors_in_words
from bayespoint.posteriors import MixturePosterior, Posterior, SeparatePosterior, StreamPosterior
from bayespoint.rows.executor import current_executor
from bayespoint.spaces import BasisSpace, ProcessSpace, StackedSpace
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import to_numpy
from bayespoint.tools.monitor import Monitor, watch
from bayespoint.tools.tables import supported

# For each row and pair of classes. Measured with expectation propagation on one core: 300 rows of
# 150 classes took 105 s, 1000 rows of 80 classes 87 s. The Laplace approximation took a third.
JOINT_SECONDS = 1.5e-5
PATIENCE = 60.0  # seconds of such a fit from which a warning says so
FEW_ROWS = 2000  # training rows that a model refers to, as long as it is in memory


def pose(
    classifier: Any,
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    reset: bool = True,
) -> Problem:
    """The problem of all data at once, of scaled features if that is asked for.

    With ``reset``, the classifier is told the number and the names of the features; otherwise
    they must be those that it knows.
    """
    was_sparse, X = issparse(X), parameters.dense_if_small(supported(X))
    engine = parameters.make_engine(X)
    parameters.check_device(X, engine)
    points, labels, table = validated(
        classifier,
        X,
        y,
        parameters.takes_sparse(engine),
        reset=reset,
        space=engine.device_space,
        table=None if reset else classifier.model_.table,
    )
    is_matrix = parameters.make_kernel().is_precomputed
    given = (points, labels, to_numpy(sample_weight), parameters.class_weight)
    problem = replace(Problem.pose(*given, precomputed=is_matrix), table=table)
    if was_sparse and not issparse(points):
        problem = replace(problem, was_sparse=True)
    problem = with_engine(parameters, problem, engine).grouped(groups)
    if CODINGS[problem.multi_class].is_ordered and len(problem.classes) > 2:
        problem = replace(problem, order=class_order(parameters.multi_class, y, problem.classes))
    standardize = parameters.standardize
    if not (parameters.chooses(engine) if standardize == "auto" else standardize):
        return problem
    if is_matrix or issparse(points):
        raise TypeError(
            "standardize=True needs features in a dense array: a kernel matrix has no "
            "features, and sparse ones would become dense. Set standardize=False."
        )
    scaling = Scaling.of(to_numpy(problem.points), problem.weight, problem.block)
    return replace(problem, points=scaling.transform(problem.points), scaling=scaling)


def with_engine(parameters: Parameters, problem: Problem, engine: Engine) -> Problem:
    """The problem for an engine, with its classes together or one against the rest."""
    name = parameters.coding_name(engine, len(problem.classes), problem.points.shape[1])
    return replace(problem, engine=engine, multi_class=name)


def announce(problem: Problem, monitor: Monitor) -> None:
    """Say before a fit that it takes minutes, because many classes are learned together."""
    n_classes = len(problem.classes)
    seconds = JOINT_SECONDS * len(problem.codes) * n_classes**2
    if seconds > PATIENCE and problem.order is None and len(problem.coding.task_names) == 1:
        warning = ManyClassesWarning(n_classes, seconds)
        warn_user(warning)
        # The command shows warnings at the end only.
        monitor.tell(f"{n_classes} classes together take about {warning.duration}")


def fit(
    parameters: Parameters, problem: Problem, monitor: Monitor, before: Model | None = None
) -> Model:
    """The model of a problem; ``before`` is an earlier one of the same problem to extend."""
    announce(problem, monitor)
    fingerprint = fingerprint_of(parameters, problem)
    if before is not None:
        check_extends(problem.engine, fingerprint, before)
    seed = new_seed(parameters) if before is None else before.seed
    choice = None
    if parameters.chooses(problem.engine):

        def train_one(params: dict[str, Any], rows: Problem) -> Model:
            # Trials on a part have one seed, so that the choice does not depend on the user's.
            own = seed if len(rows.codes) == len(problem.codes) else 0
            return train(*with_params(parameters, rows, params), Monitor(), own)

        with watch(monitor):
            choice = choose(parameters, problem, train_one)
        model = at_temperature(mixed(choice.mixture, choice.models, problem), choice.temperature)
        model = replace(model, run=replace(model.run, choice=choice.reasons))
    else:
        model = train(parameters, problem, monitor, seed, before)
    remarks = [] if problem.table is None else problem.table.remarks()
    if problem.was_sparse:
        remarks.append("sparse rows were made dense, to try kernels that are not linear")
        model = replace(model, accepts_sparse=True)
    model = replace(model, run=replace(model.run, choice=[*model.run.choice, *remarks]))
    facts = facts_of(model, problem, choice, parameters.temperature == "auto")
    training = None
    is_known = problem.groups is None and model.posterior.left_out_log_probability is not None
    if len(problem.codes) <= FEW_ROWS and is_known:
        training = (parameters, problem)
    return replace(model, fingerprint=fingerprint, facts=facts, training=training)


def new_seed(parameters: Parameters) -> int:
    """The seed of a fit."""
    return int(check_random_state(parameters.random_state).randint(2**31))


def fingerprint_of(parameters: Parameters, problem: Problem) -> tuple | None:
    """A few numbers that identify what a later fit must share to extend this one."""
    if not problem.engine.can_extend:
        return None
    kernel = parameters.make_kernel()
    of_kernel = (type(kernel).__name__, repr(kernel.get_params()))
    return (*problem.fingerprint, *of_kernel, parameters.ridge)


def check_extends(engine: Engine, fingerprint: tuple | None, before: Model) -> None:
    """Raise an error unless a fit can extend an earlier one."""
    if not engine.can_extend:
        raise ValueError(
            f"warm_start=True needs an engine that can extend a posterior. Got "
            f"{type(engine).__name__}, which cannot: set warm_start=False."
        )
    if fingerprint != before.fingerprint:
        raise ValueError(
            "warm_start=True needs the same data, weights, kernel and ridge as the previous "
            "fit, but some of these have changed. Set warm_start=False to start again."
        )


def with_params(
    parameters: Parameters, problem: Problem, params: dict[str, Any]
) -> tuple[Parameters, Problem]:
    """Parameters and problem of one model of a mixture, some parameters of which are given."""
    parameters = replace(parameters, mixture=None, **params)
    if "engine" in params:
        problem = replace(problem, engine=parameters.make_engine(problem.points))
    return parameters, problem


def train(
    parameters: Parameters,
    problem: Problem,
    monitor: Monitor,
    seed: int,
    before: Model | None = None,
) -> Model:
    """Train as the parameters say; ``before`` is an earlier result to extend or to update."""
    if parameters.mixture is not None:
        members = [
            train(*with_params(parameters, problem, {"temperature": 1.0} | params), monitor, seed)
            for _, params in parameters.mixture
        ]
        whole = mixed(parameters.mixture, members, problem)
        whole = replace(whole, accepts_sparse=parameters.takes_sparse(problem.engine))
        temperature = find_temperature(parameters, whole.posterior, problem, before, whole.coding)
        return at_temperature(whole, temperature)
    if not problem.engine.learns(problem.coding):
        problem = replace(problem, multi_class=OneVersusRest.name)
    is_apart = problem.coding.is_against_rest and parameters.make_kernel().is_by_class
    if is_apart and issubclass(problem.engine.space, ProcessSpace):
        return train_apart(parameters, problem, monitor, seed)
    with watch(monitor):
        space = make_space(parameters, problem, noise=noise_of(problem) if before is None else None)
    return learn(parameters, problem, space, monitor, seed, before)


def train_apart(parameters: Parameters, problem: Problem, monitor: Monitor, seed: int) -> Model:
    """A machine for each class against the rest, with a kernel and a space of its own."""
    kernel: Any = parameters.make_kernel()
    parts: list[Model] = []
    for task, term in enumerate(kernel.of_classes(len(problem.classes))):
        params = {"kernel": term, "temperature": 1.0}
        own = replace(problem, classes=np.arange(2), codes=1 * (problem.codes == task))
        parts.append(train(*with_params(parameters, own, params), monitor, seed))
        for warning in parts[-1].run.warnings:
            warning.task = task  # type: ignore[attr-defined]
    posterior = SeparatePosterior([part.posterior for part in parts])
    temperature = find_temperature(parameters, posterior, problem, None)
    return side_by_side(parts, posterior, problem.coding.at(temperature))


def learn(
    parameters: Parameters,
    problem: Problem,
    space: Any,
    monitor: Monitor,
    seed: int,
    before: Model | None = None,
) -> Model:
    """The model that the engine learns in a space."""
    engine, start = problem.engine, None if before is None else before.posterior
    posterior, run = solve(parameters, problem, space, monitor, seed, start)
    if not np.isfinite(posterior.mean).all():
        raise ValueError(
            f"The weights that {type(engine).__name__} found are not finite numbers. Scale the "
            "features, for example with StandardScaler, and use parameters nearer to the "
            "defaults."
        )
    temperature = find_temperature(parameters, posterior, problem, before)
    space = space if posterior.support is None else space.restrict(posterior.support)
    space.forget()
    n_features = problem.points.shape[1] if problem.columns is None else len(problem.given)
    model = Model(
        space,
        posterior,
        problem.coding.at(temperature),
        run,
        n_features,
        problem.scaling,
        problem.columns,
        parameters.takes_sparse(engine),
        parameters.decision,
        seed,
        table=problem.table,
    )
    return with_losses(parameters, model, problem, before)


def noise_of(problem: Problem) -> float | None:
    """The noise of labels over the prior scale, where a basis can add to it: in separate tasks."""
    return problem.engine.basis_noise if problem.coding.kind == "sign" else None


def make_space(parameters: Parameters, problem: Problem, *pivots: Any, noise: Any = None) -> Any:
    """The engine's space, fitted to the training rows; its basis may begin with pivots.

    ``noise`` is that of labels, if what a basis leaves of the rows is to add to it.
    """
    engine, kernel = problem.engine, parameters.make_kernel().fitted(problem.points)
    kind: Any = engine.space if problem.device is None else engine.device_space
    space = kind(kernel, parameters.ridge, parameters.n_components)
    if getattr(engine, "precision", "single") == "half":
        space.half = True
    if noise is not None:
        space.noise = noise
    with memory_errors_in_words(problem.device):
        return space.fit(problem.points, *pivots)


def solve(
    parameters: Parameters,
    problem: Problem,
    space: Any,
    monitor: Monitor,
    seed: int,
    start: Posterior | None = None,
) -> tuple[Posterior, Run]:
    """Run the engine, here or, if it can be, by the executor of the fit."""
    trainer = None
    if problem.engine.trains_elsewhere:
        trainer = current_executor().trainer(problem.given, problem.scaling, space)
    request = Request(
        np.random.default_rng(seed),
        monitor,
        problem.weight,
        start,
        parameters.n_jobs,
        problem.coding.kind,
        problem.device,
        trainer,
        problem.groups,
        problem.unit,
    )
    with memory_errors_in_words(problem.device):
        posterior, run = problem.engine.run(space, problem.targets, request)
    if problem.groups is not None and posterior.is_gaussian:
        leave_groups_out(posterior, space, problem.targets, problem.groups, problem.weight)
    return posterior, run


def find_temperature(
    parameters: Parameters,
    posterior: Posterior,
    problem: Problem,
    before: Model | None,
    coding: Coding | None = None,
) -> float:
    """The temperature that was given, or that of the best leave-one-out predictions.

    It is 1 where there are none, where they do not cover all rows seen, and for votes, which
    are shares of classifiers.
    """
    if parameters.temperature != "auto":
        return float(parameters.temperature)
    log_probability = posterior.left_out_log_probability
    is_stream = isinstance(posterior, StreamPosterior)  # the first rows were hardly predicted
    is_vote = parameters.decision == "vote"
    if log_probability is None or before is not None or is_stream or is_vote:
        return 1.0
    coding = coding or problem.coding
    log_odds = coding.log_odds(*coding.left_out(log_probability, problem.codes))
    log_odds = log_odds / coding.temperature
    return best_temperature(log_odds, problem.codes, problem.weight, problem.n_units)


def with_losses(
    parameters: Parameters, model: Model, problem: Problem, before: Model | None
) -> Model:
    """The same with what later batches need; after earlier ones at the temperature of all.

    A row of a batch is predicted from all earlier batches and the rest of its own. Batches
    after a fit of which only the temperature is known (in blocks) keep it.
    """
    posterior, coding = model.posterior, model.coding
    is_stream = isinstance(posterior, StreamPosterior)
    if parameters.temperature != "auto" or is_stream or parameters.decision == "vote":
        return model
    if posterior.left_out_log_probability is None or not model.space.kernel.is_linear:
        return model  # no batch comes after a fit with another kernel
    if problem.groups is not None:  # later batches have none, and keep the temperature
        return model
    answers = coding.left_out(posterior.left_out_log_probability, problem.codes)
    losses = temperature_losses(coding.log_odds(*answers), problem.codes, problem.weight)
    if before is None:
        return replace(model, losses=losses)
    temperature, total = before.coding.temperature, None
    if before.losses is not None:
        total = before.losses + losses
        temperature = temperature_of_losses(total)
    return replace(model, coding=problem.coding.at(temperature), losses=total)


def mixed(mixture: Sequence[tuple], parts: list[Model], problem: Problem) -> Model:
    """The mixture of machines that were trained on the same problem; a single one stays alone."""
    if len(parts) == 1:
        return parts[0]
    share = np.array([float(weight) for weight, _ in mixture])
    share /= share.sum()
    likelihoods = [described(part.posterior.likelihood) for part in parts]
    if len(set(likelihoods)) > 1:
        raise ValueError(
            f"The models of a mixture need the same likelihood. Got {', '.join(likelihoods)}: "
            "use one kind of engine, with the same noise and label_noise where it has them."
        )
    left_out: NDArray | None = None
    if all(part.posterior.left_out_log_probability is not None for part in parts):
        known = [left_out_probabilities(part, problem.codes) for part in parts]
        left_out = np.einsum("k,knc->nc", share, known)
        left_out = parts[0].coding.right_answers(left_out, problem.codes)
    posterior = MixturePosterior(
        share,
        [part.posterior for part in parts],
        [part.coding for part in parts],
        [len(part.posterior.mean) for part in parts],
        left_out_log_probability=left_out,
    )
    return side_by_side(parts, posterior, parts[0].coding.at(1.0), share)


def side_by_side(
    parts: list[Model], posterior: Posterior, coding: Coding, share: NDArray | None = None
) -> Model:
    """One model of several, which have learned from the same rows."""
    for part in parts:
        if isinstance(part.space, BasisSpace):
            part.space.forget_factor()
    space = StackedSpace([part.space for part in parts], share)
    run = run_of([part.run for part in parts], of_tasks=share is None)
    return replace(parts[0], space=space, posterior=posterior, coding=coding, run=run, losses=None)


def at_temperature(model: Model, temperature: float) -> Model:
    """The same, whose log-odds are divided by a temperature once more."""
    old = model.coding
    both = float(np.clip(old.temperature * temperature, *TEMPERATURES))
    return replace(model, coding=old.at(both))


def described(likelihood: Any) -> str:
    """A likelihood and its parameters, such as ProbitLikelihood(label_noise=0.0, noise=1.0)."""
    names = sorted(likelihood.parameters)  # not what it has learned
    given = ", ".join(f"{name}={getattr(likelihood, name)}" for name in names)
    return f"{type(likelihood).__name__}({given})"


def run_of(runs: list[Run], *, of_tasks: bool) -> Run:
    """Several runs as one: those of tasks one after another, else the history of the longest."""
    failed = [run for run in runs if not run.converged]
    longest = max(runs, key=attrgetter("n_iter"))
    names = longest.measures if of_tasks else ()
    return Run(
        longest.unit,
        longest.n_iter,
        failed[0].summary if failed else f"all {len(runs)} models converged",
        converged=not failed,
        remedy=failed[0].remedy if failed else "",
        history=[task for run in (runs if of_tasks else [longest]) for task in run.history],
        measures={name: np.concatenate([run.measures[name] for run in runs]) for name in names},
        warnings=[warning for run in failed for warning in run.warnings],
    )
