"""The Bayes point by linear knapsack problems.

B. Potetz, Estimating the Bayes Point Using Linear Knapsack Problems, ICML 2011. Equations are
numbered as there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Engine, Progress, Request, Run
from bayespoint.engines.knapsack.beliefs import Beliefs
from bayespoint.engines.knapsack.priors import PRIORS, get_prior
from bayespoint.exceptions import StoppedEarlyWarning
from bayespoint.posteriors import MarginalPosterior
from bayespoint.spaces import BasisSpace, PrincipalSpace
from bayespoint.tools.memory import check_fits
from bayespoint.tools.threads import in_parallel
from bayespoint.tools.validation import check_choice, check_number

PLAIN_DAMPING = 0.3  # undamped, ordinary belief propagation often oscillates
NEW_SHARE = 0.02  # of the running mean; 0.01 to 0.05 differ little on ten data sets
FEWEST_BINS = 8
LARGEST = 1e140  # features times the widest weights, and sums of many of them, are far from 1.8e308


@dataclass(kw_only=True, eq=False, repr=False)
class KnapsackPropagation(Engine):
    r"""Max-marginals of the weights under the 0-1 loss, by max-product belief propagation.

    The model is the paper's Eq. 5, with the sign of its indicator corrected by Eq. 3-4:

    .. math:: \log P(w | Z) = -\beta C \sum_i [y_i f(x_i) < 1] + \beta \sum_d \log p(w_d)

    A training point costs C if its margin is below 1, by any amount, so that outliers count no more
    than other errors. Messages (Eq. 9 to 12) are functions on adaptive grids, not Gaussians. Each
    is the solution of a multiple-choice knapsack problem with divisible items (Eq. 14 to 20). The
    Bayes point is the mean of each weight over its max-marginal (Eq. 13). It lies between the mean
    and the mode of the posterior.

    Parameters
    ----------
    C : float, default=10.0
        Cost of a training point with a margin below 1. Divided by C, the model has unit costs and a
        prior of variance C: with a small C, weights are short.
    beta : float, default=1.0
        Sharpness of the max-marginals: their mean is taken over :math:`\exp(\beta b_d(w))`, and
        ``inf`` means their modes. It is applied after all messages are passed, so that one run
        gives results for any beta: ``posterior_.means(betas)``, ``posterior_.at(beta)``. Grids
        cover beliefs down to max(20, 4 C) below their peaks. If beta is below 5 over this depth,
        the ends of the grids matter. For C up to 5, weights are too long by 1 % with beta = 0.2, by
        a tenth with 0.1 and by half with 0.03, and their standard deviations are too small by 2, 13
        and 43 %. Their direction, and thus predicted labels, hardly change (cosines of 0.98 to 1).
    prior : {"l2", "l1", "l0"} or callable, default="l2"
        Log prior of a weight: :math:`-w^2 / 2`; :math:`-|w|`, as in LASSO;
        :math:`-w^2 / 2 - [w \ne 0]`, with a spike of half width 0.05 instead of 0; or a function
        of an array of weights that returns their log densities, of the same shape, -inf where a
        weight is impossible. The intercept has the same prior as the other weights.
    n_iter : int, default=50
        Passes along all edges. 50, as in the paper, are enough; messages need not converge.
    bins : int, default=64
        Bins of a grid, at least 8. Memory is 8 n d ``bins`` bytes for n points and d weights.
    schedule : {"averaged", "heskes", "plain"}, default="averaged"
        "plain" is ordinary belief propagation. The others use a running mean of its beliefs. Each
        pass updates a share of this mean: 1 / n with n points in Heskes' double loop, as in the
        paper, and at least 0.02 in "averaged". All have the same fixed points, but on real data
        none converges, and the mean is the better classifier. With 1 / n and many points, 50 passes
        stay close to the start. With 1 500 points in 30 dimensions, a tenth of them mislabelled,
        the error on new points is 4 % by default, and 8 to 16 % with Heskes' schedule.
    damping : float or None, default=None
        Fraction of each step, in (0, 1], for messages. None is 0.3 (plain) or 1.
    max_rank : int, default=500
        Largest number of weights; more raise an error, before time and memory run out.

    Notes
    -----
    Scale features to unit variance first (``StandardScaler``), as in the paper. The prior has a
    fixed scale, and margins are in units of :math:`f = w \cdot x`, so that a feature in other units
    has another prior.

    Kernels work through the coordinates Z of a :class:`~bayespoint.spaces.PrincipalSpace`. The
    paper's Eq. 8 has coefficients :math:`\alpha` with :math:`w = \sum_j \alpha_j y_j \phi(x_j)`;
    its quadratic form is :math:`|w|^2` and its outputs are those of w. In an orthonormal basis of
    the points' span both read :math:`\sum_d w_d^2` and :math:`Z w`, a linear change of variables
    with constant Jacobian: the posterior is the same, and its prior becomes separable, as messages
    need it. The max-marginals are those of the basis' coordinates; another basis has others.

    A sample of weight k >= 1 counts as k copies, and the messages are exactly those of k copies
    (with the linear kernel; others have another basis where points are repeated). One of weight
    k < 1 costs k C. Both agree with Eq. 5, where k copies of a point cost k C together.

    A pass takes about n d ``bins`` operations, d times fewer than in the paper, because the items
    of all incoming messages are merged once for all outgoing ones.

    A message that is not concave is replaced by its concave envelope. (Dynamic programming over
    concave regions, section 4 of the paper, takes 30 to 50 times as long, and does not predict
    better on the paper's data sets.) For one point, or points without common features, beliefs are
    the exact max-marginals up to the bins. Otherwise they are not exact, but their means have
    nearly the right direction.

    The defaults of C, beta and ``schedule`` have the smallest mean error on ten data sets
    (``benchmarks/knapsack_defaults.py``). It is about as small as with C and beta chosen by
    five-fold cross-validation. On noisy data with few features, a grid search over both is better.
    In Heskes' schedule, beliefs shrink with the number of points, so that other values of C and
    beta are needed.

    References
    ----------
    B. Potetz, Estimating the Bayes Point Using Linear Knapsack Problems, ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import KnapsackPropagation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    >>> clf = BayesPointClassifier(engine=KnapsackPropagation())
    >>> print(f"{clf.fit(X_train, y_train).score(X_test, y_test):.3f}")
    0.972
    >>> clf.posterior_.means([0.3, 1.0, float("inf")]).shape
    (3, 31, 1)
    """

    alias = "knapsack"
    space = PrincipalSpace
    weights_are_copies = False  # where the kernel is not linear copies turn the basis

    C: float = 10.0
    beta: float = 1.0
    prior: str | Callable[[NDArray], NDArray] = "l2"
    n_iter: int = 50
    bins: int = 64
    schedule: str = "averaged"
    damping: float | None = None
    max_rank: int = 500

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "C", low=0, closed="neither")
        check_number(self, "beta", low=0, closed="right")  # inf means the modes
        if not callable(self.prior):
            check_choice(self, "prior", tuple(PRIORS), "or a callable")
        check_number(self, "n_iter", low=1, integer=True)
        check_number(self, "bins", low=FEWEST_BINS, integer=True)
        check_choice(self, "schedule", tuple(self._gammas(1.0)))
        check_number(self, "damping", low=0, high=1, closed="right", also=(None,))
        check_number(self, "max_rank", low=1, integer=True)

    def run(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[MarginalPosterior, Run]:
        """Pass messages in each task; see the base class."""
        Z = space.rows().astype(np.float64, copy=False)
        self._check_size(Z)
        n_tasks = targets.shape[1]
        weight = request.weights(len(Z))
        progress = Progress(request.monitor)

        def learn(task: int) -> tuple[NDArray, NDArray, list[float]]:
            beliefs = self._beliefs(Z * targets[:, task, None], weight)
            changes = self._iterate(beliefs, progress)
            values = beliefs.log_beliefs()
            return beliefs.grid, values - values.max(axis=1, keepdims=True), changes

        with request.monitor.running(n_tasks * self.n_iter, "passes"):
            learned = in_parallel(learn, range(n_tasks), request.n_jobs, 8.0 * Z.size * self.bins)
        grids, log_beliefs, changes = zip(*learned, strict=True)
        posterior = MarginalPosterior(
            np.stack(grids), np.stack(log_beliefs), float(self.beta), Z, targets, weight
        )
        return posterior, self._how_it_went(list(changes))

    def _how_it_went(self, changes: list[list[float]]) -> Run:
        """The run; only a monitor can end it before all passes are made."""
        n_iter, fewest = max(map(len, changes)), min(map(len, changes))
        if fewest == self.n_iter:
            return Run("passes", n_iter, f"{n_iter} passes, as asked", history=changes)
        early = StoppedEarlyWarning(
            fewest, self.n_iter, "the monitor", "fit again to make them all", "passes"
        )
        return Run("passes", n_iter, early.summary, False, early.remedy, changes, warnings=[early])

    def _beliefs(self, x: NDArray[np.float64], weight: NDArray[np.float64]) -> Beliefs:
        copies = np.maximum(weight, 1.0)
        return Beliefs(
            x,
            float(self.C) * np.minimum(weight, 1.0),
            copies,
            get_prior(self.prior),
            gamma=self._gammas(copies.sum())[self.schedule],
            damping=float(self.damping or (PLAIN_DAMPING if self.schedule == "plain" else 1.0)),
            bins=self.bins,
        )

    def _gammas(self, n_factors: float) -> dict[str, float]:
        """Share of the newest beliefs in the running mean, for each schedule."""
        heskes = float(1 / n_factors)
        return {"averaged": max(heskes, NEW_SHARE), "heskes": heskes, "plain": 1.0}

    def _iterate(self, beliefs: Beliefs, progress: Progress) -> list[float]:
        """Pass messages; what changed in each pass. A run that is stopped has fewer of them."""
        changes: list[float] = []
        while len(changes) < self.n_iter:
            changes.append(beliefs.step())
            if progress.advance():
                break
        return changes

    def _check_size(self, Z: NDArray[np.float64]) -> None:
        check_fits(
            8.0 * Z.size * self.bins,
            f"A message from each of {len(Z)} rows to each of {Z.shape[1]} weights, in "
            f"{self.bins} bins,",
            "take fewer rows or features, or lower bins",
        )
        rank, largest = Z.shape[1], float(np.abs(Z).max())
        if largest > LARGEST:
            raise ValueError(
                f"KnapsackPropagation adds features times weights, which overflows for features up "
                f"to {largest:g}. Scale the features to unit variance."
            )
        if rank > self.max_rank:
            raise ValueError(
                f"KnapsackPropagation passes messages to every weight, and here are {rank}, more "
                f"than max_rank={self.max_rank}. Take fewer features "
                "(n_components of the classifier bounds those of a kernel), or raise max_rank."
            )
