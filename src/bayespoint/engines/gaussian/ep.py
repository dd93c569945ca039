"""Expectation propagation, by rounds or by the sweeps of the slides.

R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
(lecture slides).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bayespoint.engines.base import ENGINES, Engine, Progress, Request, Run
from bayespoint.engines.gaussian.blocks import descent
from bayespoint.engines.gaussian.blocks.rounds import BlockRounds
from bayespoint.engines.gaussian.blocks.rows import BlockRows
from bayespoint.engines.gaussian.gaussians import WeightGaussian, make_gaussian
from bayespoint.engines.gaussian.joint.runs import run_jointly
from bayespoint.engines.gaussian.joint.sites import MatchedClasses
from bayespoint.engines.gaussian.prior import LARGE, SMALL, GaussianPrior, check_prior, known_before
from bayespoint.engines.gaussian.prior_scale import run_with_best_scale
from bayespoint.engines.gaussian.rounds import Rounds, Search, Sweeps
from bayespoint.engines.gaussian.sites import MatchedSites
from bayespoint.engines.gaussian.tasks import (
    COLLAPSE,
    STALLED,
    Ending,
    Labels,
    TaskResult,
    begin_at,
    learn_tasks,
    spans,
)
from bayespoint.likelihoods import make_likelihood
from bayespoint.likelihoods.base import Kind, find_likelihood, names_with
from bayespoint.posteriors import Messages
from bayespoint.spaces import BasisSpace, Coordinates, ProcessSpace
from bayespoint.tools.validation import check_choice, check_number, parameter_error

# Noise, as a share of the outputs before any label, that is enough for any labels: 1e-5 converged
# in 300 of 300 cases (15 data sets, 10 kernels), and a third in 420 of 420 with flipped labels.
SOFT, FLIPS = 1e-4, 1 / 3
# Shares of the outputs' deviation that noise has, before there is none, and moves that are enough.
SOFTER = ((1e-2, 1e-2), (1e-4, 1e-6))


class GaussianEngine(Engine):
    """What engines of Gaussian posteriors share: the prior, and the way from points to tasks.

    Such an engine has ``learn``, which searches for the posterior of one task, ``joint_sites``, the
    messages of all classes together, ``begin_blocks`` for a task over blocks of rows, ``ending``,
    how a search ended, ``check_range``, and ``likelihood``, the name of its likelihoods.
    """

    space = ProcessSpace
    can_update = learns_blocks = is_full = True
    visit: ClassVar[Any] = staticmethod(descent.visit)  # what runs on blocks of rows in a round
    look: ClassVar[Any] = staticmethod(descent.look)  # and at the end
    is_at_mode: ClassVar[bool] = False  # so that its evidence also changes with the mode

    @property
    def law(self) -> Any:
        """How labels of one task come from its outputs."""
        return self.likelihood_of("sign")

    def likelihood_of(self: Any, kind: Kind) -> Any:
        """How labels of a kind come from outputs."""
        return make_likelihood(self.likelihood, kind, **vars(self))

    def why_not(self: Any, kind: Kind) -> str | None:
        """The likelihood may have no form for labels of a kind."""
        if find_likelihood(self.likelihood, kind) is None:
            return (
                f"likelihood={self.likelihood!r} is made for two classes, or one against the rest"
            )
        return Engine.why_not(self, kind)

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_choice(self, "likelihood", names_with(self.needs))
        check_number(self, "tol", low=0, closed="neither")
        check_number(self, "max_iter", low=1, integer=True)
        check_prior(self)

    def run(
        self: Any, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[Any, Run]:
        """Find the posterior of each task, or of all classes together; see the base class."""
        if isinstance(self.prior_scale, str):
            return run_with_best_scale(self, space, targets, request)
        likelihood = self.likelihood_of(request.kind)
        if request.kind == "class":
            return run_jointly(self, space, targets, request, likelihood)
        n_points, n_tasks = targets.shape
        before = known_before(self, space, n_tasks, request.start)
        self.check_range(space.largest, before)
        in_span = spans(space, before)
        weight, left = request.weights(n_points), request.left_out(n_points)

        def learn(task: int, progress: Progress) -> tuple[TaskResult, Ending]:
            span, prior = in_span[task], before[task]
            labels = Labels(targets[:, task], weight, likelihood, left)
            start = begin_at(request.messages, task, n_points)
            search = self.learn(span.space, span.project(prior), labels, start, progress)
            result = span.lift(search.result(), prior)
            return result, self.ending(search, result.training_error)

        return learn_tasks(self, learn, n_tasks, likelihood, request, space.n_coordinates**2)

    def run_blocks(self, rows: BlockRows, request: Request) -> tuple[Any, Run]:
        """Find the posterior of each task from rows in blocks; see the base class."""
        return BlockRounds(self, rows, request).run()


@dataclass(kw_only=True, eq=False, repr=False)
class Propagation(GaussianEngine):
    """What engines of expectation propagation share: the probit model, its prior, and sweeps."""

    needs = ("site",)
    unit = "sweeps"

    noise: float = 1.0
    prior_scale: float | ArrayLike | str = "auto"
    label_noise: float = 0.0
    damping: float | None = None
    tol: float = 1e-6
    max_iter: int = 200
    prior_mean: ArrayLike | None = None
    intercept_scale: float | None = None

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "noise", low=0)
        check_number(self, "label_noise", low=0, high=0.5)
        check_number(self, "damping", low=0, high=1, closed="right", also=(None,))
        super().check()

    def check_range(self, feature: float, before: list[GaussianPrior]) -> None:
        """Refuse numbers whose squares overflow; ``feature`` is the largest coordinate."""
        scale = max(float(np.abs(prior.root).max()) for prior in before)
        mean = max(float(np.abs(prior.mean).max(initial=0.0)) for prior in before)
        narrow = min(float(prior.scales.min(initial=1.0)) for prior in before)
        if max(float(self.noise), feature, (mean + scale) * max(feature, 1), mean / narrow) > LARGE:
            raise ValueError(
                f"{type(self).__name__} works with squares, which overflow for "
                f"noise={self.noise:g}, prior scales from {narrow:g} to {scale:g}, prior means up "
                f"to {mean:g} and features up to {feature:g}. Scale the features, and take noise "
                f"and prior nearer to 1."
            )

    def ending(self, search: Any, training_error: float) -> Ending:
        """How the search of a task ended, and what to do if it did not converge."""
        remedy = self._remedy(search.reason, training_error, search.radius)
        return Ending(search.changes, search.reason, remedy)

    def _remedy(self, reason: str, training_error: float, radius: float) -> str:
        """What to do about a task that did not converge, whose outputs have the scale radius."""
        if self.label_noise > 0 and self.noise < FLIPS * radius:
            return (
                f"set noise to {FLIPS * radius:.2g} or more, or prior_scale as many times smaller: "
                f"label_noise allows several explanations of the labels where outputs vary more"
            )
        if training_error > 0 and self.noise < SOFT * radius:
            return (
                f"set noise to {SOFT * radius:.2g} or more, these classes cannot be separated "
                f"without mistakes"
            )
        if reason == COLLAPSE:
            return "set a larger noise, or a smaller prior_scale"
        return "raise max_iter, set damping=0.5, or set a larger noise"


@dataclass(kw_only=True, eq=False, repr=False)
class ExpectationPropagation(Propagation):
    r"""Gaussian posterior of the probit model by expectation propagation.

    The model is :math:`w \sim N(m, \Sigma_0)`, :math:`f(x) = w \cdot \phi(x)` and
    :math:`p(y | x, w) = \epsilon + (1 - 2 \epsilon) \Phi(y f(x) / \beta)`. Each label is replaced
    by a Gaussian site :math:`\exp(a_i y_i f_i - b_i f_i^2 / 2)`. The cavity of a label is the
    product of the prior and all other sites. A site is chosen such that :math:`f_i` has the same
    mean and variance as with the cavity and the true label. The results are a Gaussian
    :math:`N(\mu, \Sigma)`, an estimate of the evidence log p(labels), and leave-one-out
    predictions, which follow from the cavities.

    Parameters
    ----------
    noise : float, default=1.0
        Standard deviation :math:`\beta` of the noise of outputs. 0 means hard labels, for separable
        classes (outputs then have at least 1e-12 of the prior's variance, so that rounding decides
        no tie). Predictions depend only on the ratio of prior and noise.
    prior_scale : "auto", float or array-like of shape (n_features,), default="auto"
        Prior standard deviation of the weights, of all or of each. "auto" is the scale with the
        largest evidence, found on at most 1 000 points, one for all classes; with linear features
        it is 1.
    label_noise : float, default=0.0
        Rate :math:`\epsilon` in [0, 0.5) at which labels are flipped, independently of the output.
        It makes the classifier robust to gross errors. Sites of labels that look flipped get a
        negative precision.
    damping : float or None, default=None
        Fraction of each step, in (0, 1]. None is 1, and less if changes do not decrease.
    tol : float, default=1e-6
        The run ends when no site would change by more: :math:`|\Delta a_i| s_i` and
        :math:`|\Delta b_i| s_i^2`, with :math:`s_i^2` the cavity's variance plus :math:`\beta^2`.
    max_iter : int, default=200
        Sweeps after which a run that has not converged ends, with a ``NotConvergedWarning``. 1 is a
        single pass (assumed-density filtering), which does not warn.
    prior_mean : array-like of shape (n_features,) or (n_tasks, n_features), optional
        Prior mean :math:`m` of the weights; 0 by default.
    intercept_scale : float, optional
        Prior standard deviation of the intercept. By default it is that of all weights if that is
        one number, and 1 otherwise. Arrays may also cover the intercept, as their last entry.
    likelihood : {"probit", "student"}, default="probit"
        How labels come from outputs. "student" has noise of Student's t distribution instead of
        Gaussian noise (:class:`~bayespoint.likelihoods.StudentLikelihood`), so that gross errors
        of labels pull little; two classes, or one class against the rest.
    schedule : {"rounds", "sequential"}, default="rounds"
        "rounds" changes all sites together (see the notes). "sequential" changes one after another,
        which is the algorithm of the slides. Both converge to the same point. Runs that do not get
        on in rounds go on in sequential sweeps.
    prior_covariance : array-like of shape (n_features, n_features), optional
        :math:`\Sigma_0`, instead of ``prior_scale``.

    See Also
    --------
    FactorisedPropagation : The same with independent weights, for sparse rows and streams.

    Notes
    -----
    A row of weight k counts as k copies: its site enters the posterior k times, and its cavity
    leaves out one of them. With a small weight and a surprising label, one whole copy cannot always
    be left out. The cavity then leaves out only the weight that is there, which is less exact.

    A round fixes the variances of the cavities. The means that agree with all labels then maximise
    a function that is concave without ``label_noise``: the likelihood, smoothed by the cavities,
    times the prior. Newton's method finds them in a few products with the training points. Then the
    posterior is computed, whose variances are those of the next cavities. With n points and d
    coordinates this takes :math:`2 n d^2` operations, in float32 while sites still move far, and
    with about as many coordinates as points :math:`n^3`. Five to ten rounds are usual. The run ends
    when the posterior, computed in float64, would change no site.

    ``max_iter=1`` is a single sequential sweep.

    Without ``label_noise``, runs converge for any prior scale and any labels, if the noise is at
    least 1e-5 of the spread of the outputs. With it, there may be no fixed point if outputs vary
    much more than the noise. A warning then names a sufficient noise.

    ``partial_fit`` uses the posterior of all earlier batches as the prior of the next one.

    References
    ----------
    R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
    (lecture slides).

    T. P. Minka, Expectation Propagation for Approximate Bayesian Inference, UAI 2001.

    M. Opper and O. Winther, Expectation Consistent Approximate Inference, JMLR 6, 2005, and
    M. Seeger and H. Nickisch, Fast Convergent Algorithms for Expectation Propagation Approximate
    Bayesian Inference, AISTATS 2011: rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import ExpectationPropagation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    >>> engine = ExpectationPropagation(prior_scale=0.5)
    >>> clf = BayesPointClassifier(kernel="linear", engine=engine)
    >>> print(f"{clf.fit(X_train, y_train).score(X_test, y_test):.3f}")
    0.972
    >>> print(f"{clf.log_evidence_[0]:.2f}, {clf.left_out_error_:.3f}")
    -45.00, 0.019
    """

    alias = "ep"
    device_space = ProcessSpace
    leaves_groups_out = True
    kinds = ("sign", "class", "interval")
    has_evidence_gradient = True

    likelihood: str = "probit"
    schedule: str = "rounds"
    prior_covariance: ArrayLike | None = None

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_choice(self, "schedule", ("rounds", "sequential"))
        super().check()
        if self.schedule == "sequential" and self.law.code is None:
            rest = f"'rounds' with likelihood={self.likelihood!r}, which has no compiled loop"
            raise parameter_error(self, "schedule", rest)

    @property
    def basis_noise(self) -> float | None:  # type: ignore[override]
        """The noise of outputs over their prior scale, if both are known and there is some."""
        has_noise = self.noise > 0 and self.law.has_gaussian_noise
        if has_noise and isinstance(self.prior_scale, (int, float)):
            return float(self.noise / self.prior_scale)
        return None

    def for_sparse(self) -> Engine | None:
        """The same with independent weights; None with a prior in which they are not.

        None also with a likelihood that it has not.
        """
        sparse, known = ENGINES["factorised-ep"](), self.get_params()
        if self.prior_covariance is not None or self.likelihood != sparse.likelihood:
            return None
        return sparse.set_params(
            **{name: known[name] for name in sparse.get_params() if name in known}
        )

    def keeps_rows(self, n_rows: int, n_weights: int) -> bool:
        """Whether the sites of all rows in blocks are kept between rounds.

        Sites that can have a negative precision are, and sites with a large share of the posterior.
        """
        return not self.law.is_log_concave or n_rows < descent.MANY * n_weights

    def begin_blocks(
        self, task: int, prior: GaussianPrior, rows: BlockRows
    ) -> descent.BlockDescent:
        """A task over blocks, before the first round."""
        keeps = self.keeps_rows(rows.n_points, rows.design.space.n_coordinates)
        share = self.damping or 1.0
        return descent.BlockDescent(
            task, prior, rows.sizes, has_cavities=True, keeps_rows=keeps, share=share
        )

    def learn(
        self,
        space: Coordinates,
        prior: GaussianPrior,
        labels: Labels,
        start: Messages | None,
        progress: Progress,
    ) -> Search:
        """Find the sites of one task; see the base class."""
        is_compiled = labels.likelihood.code is not None
        if is_compiled and (self.schedule == "sequential" or self.max_iter == 1):
            whole = WeightGaussian(space, prior)
            search: Search = Sweeps(whole, MatchedSites(labels, whole), self.damping)
            search.run(self, progress)
        else:
            is_positive = labels.likelihood.is_log_concave
            gaussian = make_gaussian(space, prior, rates_are_positive=is_positive)
            rounds = Rounds(gaussian, MatchedSites(labels, gaussian, self.damping or 1.0), start)
            if labels.likelihood.noise == 0:
                self.harden(rounds, progress)
            rounds.run(self, progress)
            if not gaussian.is_of_weights and rounds.reason != STALLED:
                rounds = rounds.in_weights(self, progress)
            search = rounds
        if is_compiled and search.reason == STALLED:
            search = Sweeps.instead_of(search, self.damping)
            search.run(self, progress)
        while search.sites.likelihood.learns and not search.reason and search.adapt(self.tol):
            search.end_early(self, should_stop=False)
            search.run(self, progress)
        return search

    def harden(self, search: Search, progress: Progress) -> None:
        """Let rounds without noise begin where those with less and less noise end.

        Without noise, an output whose mean is on the wrong side of 0 agrees with no site.
        """
        hard = search.sites.likelihood
        for share, tol in SOFTER:
            search.sites.likelihood = hard.with_noise(share * search.sites.radius)
            search.run(clone(self).set_params(tol=max(tol, self.tol)), progress)
            if search.reason:
                break
            search.go_on_anew()
        search.sites.likelihood = hard

    def joint_sites(self, labels: Labels, gaussian: Any) -> MatchedClasses:
        """The sites of all classes together."""
        return MatchedClasses(labels, gaussian, self.damping or 1.0)

    def why_not(self, kind: Kind) -> str | None:
        """Flips mix all classes, and hard labels and single passes have no joint form here."""
        if kind == "sign" or super().why_not(kind) is not None:
            return super().why_not(kind)
        if self.label_noise > 0:
            return f"label_noise={self.label_noise:g} mixes the outputs of all classes"
        noise = float(self.noise)  # of single precision it cannot be compared with LARGE
        if noise == 0:
            return "noise=0 leaves no noise to integrate over"
        if noise < SMALL:
            return f"the square of noise={noise:g} vanishes"
        if noise > LARGE:
            return f"the square of noise={noise:g} overflows"
        if self.max_iter == 1:
            return "max_iter=1 is a single pass through separate tasks"
        return None
