"""The prior scale of the largest evidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayespoint.engines.base import Request, Run
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient, has_gradient
from bayespoint.engines.gaussian.groups import in_turn
from bayespoint.posteriors import GaussianPosterior
from bayespoint.spaces import BasisSpace, Coordinates
from bayespoint.tools.maximize import climb

ENOUGH = 1000  # points to compare scales on; fewer of several classes, which all tell of the scale
OF_CLASS = 5  # points of each class that are few: tasks without a positive point say little
FEW = 4  # times as few say where to begin
FEWEST = 20  # points, where there are fewer groups
ROUGH = {"tol": 1e-3, "max_iter": 50}  # while scales are compared
# Derivative of the evidence by the logarithm of the scale at which the search ends; of all classes
# together the evidence is flat where the scale is wide, and runs take longer there.
FLAT, FLAT_OF_ALL = 0.1, 1.0
NARROW, WIDE = 1e-3, 1e3  # bounds of the scale


class Part(Coordinates):
    """Some of the training points, in coordinates that have no names."""

    is_linear = names_features = has_intercept = False


def run_with_best_scale(
    engine: Any, space: BasisSpace, targets: NDArray[np.int8], request: Request
) -> tuple[GaussianPosterior, Run]:
    """Run an engine with the prior scale that the labels make most probable.

    One scale for all tasks, by the sum of their log evidences, on at most 1 000 of the points, and
    fewer of several classes. Of groups it is one point each: the evidence takes points for
    independent, and copies would need a scale at which all of them are right.
    Weights of linear features have the scale 1, unless all classes are learned together, as have
    those of runs whose gradient is not known.

    Parameters
    ----------
    engine : ExpectationPropagation or LaplaceApproximation
        With ``prior_scale="auto"``.
    space, targets, request
        Arguments of its ``run``.

    Returns
    -------
    posterior, run
        As of ``run``; the scale is in ``run.measures``.
    """
    scale = 1.0
    given = engine.prior_mean, engine.prior_covariance, engine.intercept_scale
    is_plain = request.start is None and all(one is None for one in given)
    is_joint = request.kind == "class"
    # The scale of all classes together, or of thresholds, says how far apart classes are.
    learns = is_joint or engine.likelihood_of(request.kind).learns
    if (learns or not space.is_linear) and is_plain and has_gradient(engine):
        scale = best_scale(engine, space, targets, request)
    posterior, run = with_scale(engine, scale).run(space, targets, request)
    n_runs = 1 if is_joint else targets.shape[1]
    measures = {**run.measures, "prior_scale": np.full(n_runs, scale)}
    return posterior, replace(run, measures=measures)


def best_scale(
    engine: Any, space: BasisSpace, targets: NDArray[np.int8], request: Request
) -> float:
    """The prior scale of the largest evidence."""
    n_tasks, is_joint = targets.shape[1], request.kind == "class"
    enough = int(ENOUGH / n_tasks**0.6)
    if enough < OF_CLASS * n_tasks and not is_joint:  # which takes a few times the operations
        enough = ENOUGH
    rows = np.arange(space.n_points)
    if request.groups is not None:
        rows = in_turn(request.groups)[: max(request.groups.max() + 1, FEWEST)]
    sizes = [enough // FEW, enough] if len(rows) > enough // FEW else [enough]
    log_scale, bounds = np.zeros(1), (np.log([NARROW]), np.log([WIDE]))
    flat = FLAT_OF_ALL if is_joint else FLAT
    for size in sizes:
        some = rows[:: -(-len(rows) // size)]
        weight = None if request.sample_weight is None else request.sample_weight[some]
        on_part = Request(sample_weight=weight, n_jobs=request.n_jobs, kind=request.kind)
        evidence = partial(evidence_of, engine, Part(space.rows(some)), targets[some], on_part)
        log_scale = climb(evidence, log_scale, *bounds, slope=flat, max_calls=20).x
    return float(np.exp(log_scale[0]))


def evidence_of(
    engine: Any, part: Part, targets: NDArray[np.int8], request: Request, log_scale: NDArray
) -> tuple[float, NDArray[np.float64]]:
    """The evidence of a scale for some of the points, and its derivative."""
    tried = with_scale(engine, float(np.exp(log_scale[0]))).set_params(**ROUGH)
    posterior, _ = tried.run(part, targets, request)
    known = part, part.rows(), targets, posterior, ("prior_scale",), request.sample_weight
    slope = evidence_gradient(tried, *known)
    return float(posterior.log_evidence.sum()), np.array([slope["prior_scale"]])


def with_scale(engine: Any, scale: float) -> Any:
    """A copy of the engine with a known prior scale."""
    return clone(engine).set_params(prior_scale=scale)


def as_run(engine: Any, run: Run) -> Any:
    """The engine with the prior scale that a run of it has found."""
    found = run.measures.get("prior_scale")
    return engine if found is None else with_scale(engine, float(found[0]))
