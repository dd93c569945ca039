"""Expectation propagation with independent weights, in several passes or in one.

T. Graepel, J. Quinonero Candela, T. Borchert and R. Herbrich, Web-Scale Bayesian Click-Through Rate
Prediction for Sponsored Search Advertising in Microsoft's Bing Search Engine, ICML 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Progress, Request, Run
from bayespoint.engines.gaussian.blocks import messages
from bayespoint.engines.gaussian.blocks.messages import BlockMessages
from bayespoint.engines.gaussian.blocks.rows import BlockRows
from bayespoint.engines.gaussian.ep import Propagation
from bayespoint.engines.gaussian.factorised_sites import (
    FactorisedSites,
    FactorisedSweeps,
    sparse_rows,
)
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.prior_scale import run_with_best_scale
from bayespoint.engines.gaussian.streams import forgets, independent_before, run_filter, run_passes
from bayespoint.engines.gaussian.tasks import Ending, Labels, TaskResult, iterate, learn_tasks
from bayespoint.exceptions import FactorisedWarning
from bayespoint.posteriors import GaussianPosterior, StreamPosterior
from bayespoint.spaces import BasisSpace
from bayespoint.tools.validation import check_number

TOLERATED = 1.5  # predictive variances may be off by this factor


@dataclass(kw_only=True, eq=False, repr=False)
class FactorisedPropagation(Propagation):
    r"""Independent Gaussian weights of the probit model by expectation propagation.

    The model is that of :class:`ExpectationPropagation`, and the posterior is a product
    :math:`\prod_j N(w_j; \mu_j, \sigma_j^2)`: each label sends a message to each weight of its row.
    The time of a pass is proportional to the number of nonzero entries, and sparse input stays
    sparse. After several passes, a few outputs are checked, and a warning is issued if a full
    covariance would make a difference. Several classes have one task each.

    With ``max_iter=1``, it is a filter for streams: each row is visited once.

    Parameters
    ----------
    noise : float, default=1.0
        Standard deviation :math:`\beta` of the noise of outputs. 0 means hard labels, for separable
        classes. Predictions depend only on the ratio of prior and noise.
    prior_scale : "auto", float or array-like of shape (n_features,), default="auto"
        Prior standard deviation of the weights, of all or of each. "auto" is 1; with ``decay``, it
        is the scale at which outputs of the first batch have variance 1.
    label_noise : float, default=0.0
        Rate :math:`\epsilon` in [0, 0.5) at which labels are flipped, independently of the output.
        It makes the classifier robust to gross errors. Sites of labels that look flipped get a
        negative precision.
    damping : float or None, default=None
        Fraction of each step, in (0, 1]. None is 1, and less if changes have not decreased in 20
        sweeps.
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
    decay : float in (0, 1] or "auto", default=1.0
        Share of the information on a weight that is kept from one row to the next (see Notes). 1
        never forgets, and ``0.5 ** (1 / h)`` forgets half in h rows. "auto" learns at six rates in
        parallel, weights them by their evidence, and recalibrates probabilities.

    Notes
    -----
    ``partial_fit`` uses the posterior of all earlier batches as the prior of the next one. With
    ``max_iter=1``, memory does not grow, and ``posterior_`` is updated in place. ``log_evidence_``
    and ``left_out_error_`` are then those of predictions from all earlier rows.

    With ``decay`` :math:`\lambda < 1` a weight :math:`N(\mu, \sigma^2)` with the prior
    :math:`N(m, \tau^2)` becomes, before a visit g rows after its last one,

    .. math:: N(w; \mu, \sigma^2)^k\, N(w; m, \tau^2)^{1 - k}, \qquad k = \lambda^{\min(g, 100)},

    normalised to integral 1: it returns towards the prior. Weights of frequent features forget with
    time, and those of rare features with visits. With several passes, or with sample weights, the
    weights of a batch forget once, before the batch.

    References
    ----------
    T. P. Minka, Expectation Propagation for Approximate Bayesian Inference, UAI 2001.

    T. Graepel, J. Quinonero Candela, T. Borchert and R. Herbrich, Web-Scale Bayesian Click-Through
    Rate Prediction for Sponsored Search Advertising in Microsoft's Bing Search Engine, ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import FactorisedPropagation
    >>> X = csr_array(np.random.default_rng(0).random((500, 1000)) < 0.01, dtype=float)
    >>> y = X @ np.sin(np.arange(1000)) > 0
    >>> engine = FactorisedPropagation(prior_scale=0.5)
    >>> clf = BayesPointClassifier(kernel="linear", engine=engine).fit(X, y)
    >>> clf.posterior_.mean.shape, bool(clf.score(X, y) > 0.9)
    ((1001, 1), True)
    """

    alias = "factorised-ep"
    is_full = False
    visit, look = staticmethod(messages.visit), staticmethod(messages.look)
    likelihood: ClassVar[str] = "probit"
    prior_covariance: ClassVar[None] = None  # of independent weights

    decay: float | str = 1.0

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        super().check()
        check_number(self, "decay", low=0, high=1, closed="right", also=("auto",))

    @property
    def accepts_sparse(self) -> bool:
        """Rows are always sparse here."""
        return True

    def keeps_rows(self, n_rows: int, n_weights: int) -> bool:
        """Of blocks, sums of messages are kept."""
        return False

    def begin_blocks(self, task: int, prior: GaussianPrior, rows: BlockRows) -> BlockMessages:
        """A task over blocks, before the first round."""
        return BlockMessages(task, prior, rows.sizes, self.damping)

    @property
    def is_filter(self) -> bool:
        """Whether each row is visited once."""
        return self.max_iter == 1 and self.damping in (None, 1)

    def run(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[GaussianPosterior | StreamPosterior, Run]:
        """Find the messages of each task; see the base class."""
        weight, start = request.sample_weight, request.start
        if self.is_filter and (weight is None or (weight == 1).all()):
            return run_filter(self, space, targets, request)
        if forgets(self) or isinstance(start, StreamPosterior):
            learn = partial(self._run_tasks, space, targets, replace(request, start=None))
            return run_passes(self, space, targets, request, learn)
        if isinstance(self.prior_scale, str):
            return run_with_best_scale(self, space, targets, request)
        before = independent_before(self, space, targets.shape[1], start)
        self.check_range(space.largest, before)
        return self._run_tasks(space, targets, request, before)

    def _run_tasks(
        self,
        space: BasisSpace,
        targets: NDArray[np.int8],
        request: Request,
        before: Sequence[GaussianPrior],
    ) -> tuple[GaussianPosterior, Run]:
        """Several passes over all rows, given what was known before."""
        n_points, n_tasks = targets.shape
        rows, ratios = sparse_rows(space), np.ones(n_tasks)
        weight, left = request.weights(n_points), request.left_out(n_points)

        def learn(task: int, progress: Progress) -> tuple[TaskResult, Ending]:
            labels = Labels(targets[:, task], weight, self.law, left)
            sites = FactorisedSites(rows, before[task], labels)
            sweeps = FactorisedSweeps(sites, self.damping)
            iterate([sweeps], self, progress.advance, sweeps.visit)
            result = sites.result()
            if self.max_iter > 1:
                ratios[task] = sites.variance_ratio()
            return result, self.ending(sweeps, result.training_error)

        posterior, run = learn_tasks(self, learn, n_tasks, self.law, request, 0)
        return posterior, replace(run, warnings=[*run.warnings, *independence_warnings(ratios)])


def independence_warnings(ratios: NDArray[np.float64]) -> list[Warning]:
    """A warning if a full covariance would give other predictions, from all tasks' ratios."""
    off = np.abs(np.log(ratios))
    n_off = int((off > np.log(TOLERATED)).sum())
    if not n_off:
        return []
    worst = int(off.argmax())
    return [FactorisedWarning(worst, n_off - 1, float(ratios[worst]))]
