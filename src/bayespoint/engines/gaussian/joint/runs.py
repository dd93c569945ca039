"""Runs of Gaussian engines on several classes together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint.engines.base import Progress, Request, Run
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, OutputJoint, WeightJoint
from bayespoint.engines.gaussian.joint.sites import without
from bayespoint.engines.gaussian.prior import (
    DependentPrior,
    GaussianPrior,
    IndependentPrior,
    check_same_weights,
    priors,
)
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.engines.gaussian.tasks import Labels, Span, TaskResult, run_of
from bayespoint.likelihoods import JointLikelihood
from bayespoint.posteriors import JointPosterior
from bayespoint.spaces import BasisSpace
from bayespoint.tools.memory import check_fits
from bayespoint.tools.threads import useful_threads


class Place(NamedTuple):
    """Where the weights of all classes are learned."""

    gaussian: JointGaussian
    span: Span
    priors: list[GaussianPrior]

    def lift(self, mean: NDArray, own: NDArray, shared: NDArray) -> tuple:
        """A result in the coordinates of the space; the prior remains outside the span."""
        Q = self.span.basis
        if Q is None:
            return mean, own, shared
        prior = self.priors[0]
        move = Q @ (mean - self.gaussian.prior.mean)
        before = np.stack([one.mean for one in self.priors], axis=1)
        return (
            before + prior.rooted(move),
            np.stack([self.span.lift_factor(part, prior) for part in own]),
            np.stack([prior.rooted(Q @ part) for part in shared]),
        )


def place(
    engine: Any, space: BasisSpace, n_classes: int, start: Any, kind: type[JointLikelihood]
) -> Place:
    """The prior of all classes, by weights or by outputs, whichever takes fewer operations."""
    n, d = space.n_points, space.n_coordinates
    if start is not None:
        check_start(engine, start, kind, space)
    by_weights = n_classes**3 * d**3 + 2 * n_classes**2 * n * d**2
    is_cheaper = d <= n + 1 and by_weights < 4 * n_classes * n**3
    if start is not None or space.device is not None or is_cheaper:
        check_size(3 * (n_classes * d) ** 2, n_classes)
        if start is not None:
            return Place(WeightJoint(space, DependentPrior(start)), Span(space), [])
        before = priors(engine, space, n_classes)
        return Place(WeightJoint(space, IndependentPrior(before)), Span(space), before)
    check_size(n_classes * (3 * n * n + d * d + d * min(n, d)), n_classes)
    before = priors(engine, space, n_classes)
    span = Span(space, before[0].root if d > n + 1 else None)
    prior = IndependentPrior([span.project(one) for one in before])
    return Place(OutputJoint(span.space, prior), span, before)


def check_size(numbers: float, n_classes: int) -> None:
    """Refuse a posterior that memory cannot hold."""
    check_fits(
        8.0 * numbers,
        f"One posterior of {n_classes} classes",
        "set multi_class='one_vs_rest', or a smaller n_components for a basis of fewer rows",
    )


def check_start(engine: Any, start: Any, kind: type[JointLikelihood], space: BasisSpace) -> None:
    """Raise an error unless a run can go on from a posterior."""
    if not isinstance(start, JointPosterior) or not isinstance(start.likelihood, kind):
        raise ValueError(
            f"{type(engine).__name__} with several classes together can go on from its own "
            f"posterior only. The last fit left a {type(start).__name__} with a "
            f"{type(start.likelihood).__name__}: fit anew, or keep multi_class as it was."
        )
    check_same_weights(start, space)


def lost(n_classes: int) -> ValueError:
    """What to say where rounding errors leave no posterior."""
    return ValueError(
        f"One posterior of {n_classes} classes is lost in rounding errors: the prior is too wide "
        "for these features. Set a smaller prior_scale, scale the features, or set "
        "multi_class='one_vs_rest'."
    )


def run_jointly(
    engine: Any,
    space: BasisSpace,
    targets: NDArray[np.int8],
    request: Request,
    likelihood: JointLikelihood,
) -> tuple[JointPosterior, Run]:
    """Learn all classes together, by the engine's ``learn_jointly``."""
    n_points, n_classes = targets.shape
    codes = targets.argmax(axis=1)
    weight, left = request.weights(n_points), request.left_out(n_points)
    labels = Labels(codes, weight, likelihood, left)
    try:
        where = place(engine, space, n_classes, request.start, type(likelihood))
        gaussian = where.gaussian
        search = Rounds(gaussian, engine.joint_sites(labels, gaussian), request.messages)
        with useful_threads(gaussian.width**2):
            with request.monitor.running(engine.max_iter, engine.unit):
                search.run(engine, Progress(request.monitor))
            u, f, messages = search.end()
            mean, own, shared = where.lift(gaussian.prior.mean + u, *gaussian.factors())
            evidence = search.sites.log_evidence(gaussian, u, f)
            cavity, S = without(f, gaussian.moments(), messages, left / weight)
    except LinAlgError as error:
        raise lost(n_classes) from error
    if request.start is not None and request.start.log_evidence is not None:
        evidence += float(request.start.log_evidence[0])
    cavities = cavity, S + gaussian.common[:, None, None]
    posterior = JointPosterior(
        mean,
        own,
        shared,
        likelihood,
        log_evidence=np.array([evidence]),
        cavities=cavities,
        messages=messages,
    )
    training_error = float((f.argmax(axis=1) != codes).mean())
    task = TaskResult(mean, own, evidence, np.empty(0), training_error)
    return posterior, run_of(engine, [task], [engine.ending(search, task.training_error)])
