"""All classes together on sparse rows, when the weights of contrasts are treated as independent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint import _core
from bayespoint._core.calls import Slices
from bayespoint.engines.gaussian.factorised import COLLAPSED, PROBES, solve, sparse_rows
from bayespoint.engines.gaussian.joint.gaussians import coupled
from bayespoint.engines.gaussian.joint.runs import check_start
from bayespoint.engines.gaussian.prior import GaussianPrior, priors
from bayespoint.engines.gaussian.tasks import Ending, TaskResult, run_of
from bayespoint.engines.progress import Progress
from bayespoint.engines.request import Request
from bayespoint.engines.run import Run
from bayespoint.likelihoods import ArgmaxLikelihood
from bayespoint.posteriors import JointPosterior
from bayespoint.posteriors.joint import contrasts
from bayespoint.spaces import BasisSpace, Coordinates
from bayespoint.tools.memory import check_fits


class FactorisedJointSites:
    r"""Messages from each label to each weight of its row, for all classes together.

    What all classes have in common cannot be learned from labels, and weights of classes that are
    taken as independent would never become certain of differences. So the weights are those of
    C - 1 contrasts :math:`g = H^T f`, the columns of H being Helmert's orthonormal basis of all
    vectors of sum 0. The prior of all differences is the same as with independent classes of the
    same scale. The posterior is a product of Gaussians, one for each feature and contrast.

    Parameters
    ----------
    space : Coordinates
        The training points.
    prior : list of GaussianPrior
        Of the weights of each contrast.
    codes, weight : ndarray of shape (n,)
        Class of each point, and how many copies it counts for.
    likelihood : ArgmaxLikelihood
        How classes come from outputs.
    """

    def __init__(
        self,
        space: Coordinates,
        prior: list[GaussianPrior],
        codes: NDArray[np.intp],
        weight: NDArray[np.float64],
        likelihood: ArgmaxLikelihood,
    ) -> None:
        self.H = contrasts(len(prior) + 1)
        self.Z = sparse_rows(space).rows()
        check_fits(
            8.0 * len(prior) * (2 * self.Z.nnz + 12 * space.n_coordinates),
            f"The messages of all entries to {len(prior)} contrasts of classes",
            "learn from batches with partial_fit, or set multi_class='one_vs_rest'",
        )
        self.codes, self.weight, self._noise = codes, weight, float(likelihood.noise) ** 2
        self._mean = np.stack([one.mean for one in prior], axis=1)
        self._root = np.stack([one.root for one in prior], axis=1)
        self.pull, self.precision = self._mean / self._root**2, self._root**-2.0
        self.shift, self.rate = np.zeros((2, self.Z.nnz, len(prior)))
        self.site_shift, self.site_rate = np.zeros((2, len(codes), len(self.H)))
        self._removed = np.ones(len(codes))  # copies of a site that its cavity lacks
        self._change = np.inf
        self._slices = Slices()
        self.radius = float(np.sqrt(((self.Z * self.Z) @ self._root**2).max(initial=0.0)))

    def _of(self, begin: int, end: int) -> tuple[Any, ...]:
        """Rows and classes of some points, as compiled functions take them."""
        rows = self.Z.indptr[begin : end + 1], self.Z.indices, self.Z.data
        return *rows, self.codes[begin:end]

    def sweep(self, share: float) -> float:
        """Visit all points, one after another; the largest move."""
        self._change = 0.0
        for begin, end in self._slices.of(len(self.codes)):
            own = slice(begin, end)
            moved = _core.joint_rows.sweep(
                *self._of(begin, end), self.weight[own], self._removed[own], self.shift, self.rate,
                self.pull, self.precision, self.site_shift[own], self.site_rate[own], self.H,
                self._noise, share,
            )  # fmt: skip
            self._change = float(np.maximum(self._change, moved))  # NaN stays NaN
        if np.isnan(self._change) or not (self.precision * self._root**2 < 1 / COLLAPSED).all():
            raise LinAlgError("the posterior has collapsed")
        if np.isinf(self._change):  # a site had no cavity: lack no more copies than are there
            self._removed = np.minimum(self.weight, 1.0)
        return self._change

    def moves_left(self, tol: float) -> float:
        """The largest move of the last sweep: sums of messages need no computing afresh."""
        return self._change

    def result(self) -> TaskResult:
        """The posterior of the weights (d, C - 1), from sums of messages computed anew."""
        shift, rate = self._total(self.shift), self._total(self.rate)
        before = self._mean / self._root**2
        self.pull, self.precision = before + shift, self._root**-2.0 + rate
        move = (shift - rate * self._mean) / self.precision
        log_det = -2 * np.log(self._root).sum() - np.log(self.precision).sum()
        square = np.vdot(move, before) + np.vdot(self._mean + move, shift)
        *_, constant = self._summary
        evidence = float(self.weight @ constant + 0.5 * log_det + 0.5 * square)
        mean, scale = self._mean + move, self.precision**-0.5
        return TaskResult(mean, scale, evidence, np.empty(0), self.training_error())

    def cavities(self) -> tuple[NDArray, NDArray]:
        """Means (n, C) of the outputs of each point and variances (n, C - 1) of the contrasts.

        They lack its own label.
        """
        m, v, _ = self._summary
        return m @ self.H.T, v

    def _total(self, messages: NDArray) -> NDArray[np.float64]:
        """Sums of messages to each weight, counted as often as their points."""
        weight = np.repeat(self.weight, np.diff(self.Z.indptr))
        d = len(self._mean)
        sums = [np.bincount(self.Z.indices, weight * column, d) for column in messages.T]
        return np.stack(sums, axis=1)

    def training_error(self) -> float:
        """Share of the points that the mean gets wrong."""
        outputs = self.Z @ (self.pull / self.precision) @ self.H.T
        return float((outputs.argmax(axis=1) != self.codes).mean())

    def variance_ratio(self) -> float:
        """Predictive variance over that of a full covariance, the one furthest from 1.

        The full posterior of the same messages of points to all their contrasts is asked for the
        leads of a few training points: their class before the most probable other one. (Its mean
        is the same: converged, both solve the same equation.)
        """
        Z, H, noise = self.Z, self.H, 2 * self._noise
        rate = self.site_rate.copy()
        rate[np.arange(len(rate)), self.codes] = 1 / self._noise
        rate *= self.weight[:, None]
        diagonal = self._root**-2.0
        curvature = rate @ H**2 - (rate @ H) ** 2 / rate.sum(axis=1, keepdims=True)
        scale = 1 / (diagonal + (Z * Z).T @ curvature)

        def hold(flat: NDArray) -> NDArray:
            w = flat.reshape(diagonal.shape)
            return (diagonal * w + Z.T @ (coupled(rate, Z @ w @ H.T) @ H)).reshape(flat.shape)

        ratios = [1.0]
        for i in np.linspace(0, len(self.codes) - 1, PROBES).astype(np.intp):
            row = Z[[i]].toarray()[0]
            outputs = H @ (row @ (self.pull / self.precision))
            outputs[self.codes[i]] = -np.inf
            probe = np.outer(row, H[self.codes[i]] - H[outputs.argmax()])
            solved = solve(hold, scale.reshape(-1, 1), probe.reshape(-1, 1))
            exact = max(float(np.vdot(probe, solved)), 0.0) + noise
            ratios.append((float((probe**2 / self.precision).sum()) + noise) / exact)
        return max(ratios, key=lambda ratio: abs(np.log(ratio)))

    @cached_property
    def _summary(self) -> tuple[NDArray, NDArray, NDArray]:
        """Cavities of the contrasts, and constants, when all sweeps are done."""
        parts = [
            _core.joint_rows.summary(
                *self._of(begin, end), self._removed[begin:end], self.shift, self.rate, self.pull,
                self.precision, self.site_shift[begin:end], self.site_rate[begin:end], self.H,
                self._noise,
            )
            for begin, end in self._slices.of(len(self.codes))
        ]  # fmt: skip
        m, v, constant = (np.concatenate(column) for column in zip(*parts, strict=True))
        return m, v, constant


def prior_of_contrasts(
    engine: Any, space: BasisSpace, n_classes: int, start: JointPosterior | None
) -> list[GaussianPrior]:
    """The prior of each contrast: that of the engine, or the posterior of earlier batches."""
    if start is not None:
        check_start(engine, start, ArgmaxLikelihood, space)
        mean, roots = start.mean, list(start.own)
    else:
        before = priors(engine, space, n_classes)
        mean = np.stack([one.mean for one in before], axis=1)
        roots = [before[0].root] * (n_classes - 1)
    means = (mean @ contrasts(n_classes)).T
    return [GaussianPrior(*one) for one in zip(means, roots, strict=True)]


def run_factorised(
    engine: Any,
    space: BasisSpace,
    targets: NDArray[np.int8],
    request: Request,
    likelihood: ArgmaxLikelihood,
    prior: list[GaussianPrior],
    learn: Callable[[FactorisedJointSites, Progress], Ending],
) -> tuple[JointPosterior, Run]:
    """Learn all classes together with independent weights of contrasts.

    ``prior`` is that of each contrast; ``learn`` sweeps over the sites, and returns how it ended.
    """
    n_points, n_classes = targets.shape
    codes, weight = targets.argmax(axis=1), request.weights(n_points)
    sites = FactorisedJointSites(space, prior, codes, weight, likelihood)
    with request.monitor.running(engine.max_iter, "sweeps"):
        ending = learn(sites, Progress(request.monitor))
    task = sites.result()
    evidence = task.log_evidence
    if request.start is not None and request.start.log_evidence is not None:
        evidence += float(request.start.log_evidence[0])
    posterior = JointPosterior(
        task.mean @ sites.H.T,
        np.ascontiguousarray(task.factor.T),
        np.empty((n_classes, len(task.mean), 0)),
        likelihood,
        log_evidence=np.array([evidence]),
        cavities=sites.cavities(),
    )
    return posterior, run_of([task], [ending], "sweeps", engine.tol)
