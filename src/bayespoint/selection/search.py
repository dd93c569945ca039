"""Parameters chosen by the evidence, in the manner of scikit-learn's searches."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayespoint.monitor import Monitor, current_monitor, watch
from bayespoint.selection.ascent import Search, search
from bayespoint.selection.checks import check_bounds, check_names, check_parameters
from bayespoint.selection.measure import Evaluation, Problem, split, with_params
from bayespoint.selection.results import as_table


def _estimator_has(method: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        if not self.refit:
            raise AttributeError(
                f"This EvidenceSearch has refit=False: {method} is there only with refit=True. "
                "Fit an estimator with best_params_ yourself, or refit."
            )
        # The error of the attribute itself says what is missing.
        getattr(getattr(self, "best_estimator_", self.estimator), method)
        return True

    return check


class EvidenceSearch(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Search for the parameters under which the labels were most probable.

    The evidence :math:`p(y | X, \theta) = \int p(y | X, w, \theta)\, p(w | \theta)\, dw` is how
    probable the labels are before they are seen. A prior too narrow cannot explain them, one too
    wide explains everything and so nothing in particular: the largest evidence lies between. No
    data are held out and each choice costs one fit, where cross-validation costs as many as there
    are folds. Several classes add up the log evidence of their one-against-the-rest tasks.

    Parameters
    ----------
    estimator : BayesPointClassifier or Pipeline
        The classifier, or a pipeline that ends with one, with an engine that knows the evidence.
    param_grid : dict or list of dicts, optional
        Values to try, all combinations, as in ``GridSearchCV``.
    param_bounds : dict of str to (low, high), optional
        Positive parameters of the classifier, each between its bounds, such as
        ``{"engine__prior_scale": (0.01, 100), "gamma": (1e-3, 10)}``. Their logarithms are searched
        by L-BFGS-B, with the exact gradient for ``gamma``, ``coef0``, ``ridge`` and the engine's
        ``prior_scale``, ``intercept_scale``, ``noise`` and ``label_noise``, if the engine is
        ``ExpectationPropagation`` with a full covariance; else with differences of further fits.
        With a grid as well: a search for each of its combinations.
    refit : bool, default=True
        Fit the estimator with the best parameters, so that the search itself can predict.
    n_starts : int, default=1
        Where each continuous search starts: first from the estimator's own parameters (the
        geometric mean of the bounds, where they are no numbers), then from random points.
    tol : float, default=1e-3
        A search ends when the log evidence has no derivative, with respect to the logarithm of a
        parameter inside its bounds, that is larger.
    max_iter : int, default=50
        Steps of each search, after which it ends with a ``ConvergenceWarning``.
    n_jobs : int or None, default=None
        Searches (combinations of the grid, times starts) that run in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.
    verbose : int, default=0
        Write progress to standard error; see ``bayespoint.monitor``.

    Attributes
    ----------
    best_params_ : dict
        The parameters of the largest evidence.
    best_score_ : float
        Their log evidence, summed over the tasks.
    best_index_ : int
        Their row in ``cv_results_``.
    best_estimator_ : estimator
        The estimator fitted with them, if ``refit``.
    refit_time_ : float
        Seconds that this took.
    cv_results_ : dict of arrays
        One row for each evaluation, to be put into a DataFrame: ``params``, ``param_*``,
        ``log_evidence``, ``rank``, ``fit_time``, ``converged`` and ``message``, what went wrong.
        A fit that has not converged ranks behind all that have.
    classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    The evidence compares models of the same data: kernels, scales, noise. It does not see what a
    step of a pipeline does to the inputs, or chooses by looking at the labels.

    Only the ratio of prior scale and noise matters to it: search over one of the two.

    References
    ----------
    D. MacKay, Bayesian Interpolation, Neural Computation 4(3), 1992.

    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, chapter 5, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import ExpectationPropagation
    >>> from bayespoint.selection import EvidenceSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> machine = make_pipeline(
    ...     StandardScaler(), BayesPointClassifier(kernel="rbf", engine=ExpectationPropagation())
    ... )
    >>> bounds = {
    ...     "bayespointclassifier__engine__prior_scale": (0.1, 100),
    ...     "bayespointclassifier__gamma": (1e-4, 1),
    ... }
    >>> search = EvidenceSearch(machine, param_bounds=bounds).fit(X_train, y_train)
    >>> print(f"{search.best_score_:.2f} after {len(search.cv_results_['rank'])} fits")
    -46.95 after 13 fits
    >>> print(f"{search.score(X_test, y_test):.3f}")
    0.972
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence] | Sequence[Mapping[str, Sequence]] | None = None,
        *,
        param_bounds: Mapping[str, tuple[float, float]] | None = None,
        refit: bool = True,
        n_starts: int = 1,
        tol: float = 1e-3,
        max_iter: int = 50,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.param_bounds = param_bounds
        self.refit = refit
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> EvidenceSearch:
        """Search, and fit the estimator with what was found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, in whatever form the estimator takes them.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for the classifier alone.

        Returns
        -------
        self : EvidenceSearch
        """
        check_parameters(self)
        bounds = check_bounds(self)
        choices = self._choices(bounds)
        problem = Problem(X, y, sample_weight)
        evaluations = self._search(problem, choices, bounds)
        self.cv_results_ = as_table(evaluations)
        self.best_index_ = int(self.cv_results_["rank"].argmin())
        best = evaluations[self.best_index_]
        tell(evaluations, best)
        self.best_params_, self.best_score_ = best.params, best.log_evidence
        if self.refit:
            start = time.perf_counter()
            estimator = with_params(self.estimator, best.params)
            weight = {}
            if sample_weight is not None:
                weight[f"{split(estimator)[2]}sample_weight"] = sample_weight
            self.best_estimator_ = estimator.fit(X, y, **weight)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _choices(self, bounds: dict[str, tuple[float, float]]) -> list[Search]:
        """Every combination of the grid with every start."""
        grid = [{}] if self.param_grid is None else list(ParameterGrid(self.param_grid))
        for params in grid:
            check_names(self, params, bounds)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        choices = []
        for params in grid:
            choices.append(Search(params))
            if bounds:
                more = rng.uniform(size=(self.n_starts - 1, len(bounds)))
                choices += [Search(params, start) for start in more]
        return choices

    def _search(
        self, problem: Problem, choices: list[Search], bounds: dict[str, tuple[float, float]]
    ) -> list[Evaluation]:
        monitor = current_monitor(self.verbose)
        total = len(choices) * (self.max_iter if bounds else 1)
        with monitor.running(total, "fits"), watch(CountFits(monitor, total)):
            found = Parallel(n_jobs=self.n_jobs)(
                delayed(search)(self.estimator, problem, choice, bounds, self.tol, self.max_iter)
                for choice in choices
            )
            monitor.update(total)
        if not all(ended for _, ended in found):
            warnings.warn(
                f"A search was still climbing after max_iter={self.max_iter} steps. Raise "
                "max_iter, or tol, or set narrower bounds.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return [evaluation for evaluations, _ in found for evaluation in evaluations]

    @property
    def classes_(self) -> NDArray:
        """The labels, sorted."""
        _estimator_has("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        check_is_fitted(self)
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray:
        """Their names, if they have any."""
        check_is_fitted(self)
        return self.best_estimator_.feature_names_in_

    @available_if(_estimator_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray:
        """Labels, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_estimator_has("vote_shares"))
    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Vote shares, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.vote_shares(X)

    @available_if(_estimator_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the best estimator (the evidence is ``best_score_``)."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_" if self.refit else "best_params_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.non_deterministic = inner.non_deterministic
        return tags


class CountFits(Monitor):
    """Tells another monitor how many fits have ended, and hands its wish to stop on."""

    def __init__(self, monitor: Monitor, total: int) -> None:
        self._monitor, self._total, self._done = monitor, total, 0

    def end(self) -> None:
        """Count a fit; steps of a search can take more than one."""
        self._done += 1
        self._monitor.update(min(self._done, self._total))

    def should_stop(self) -> bool:
        """Whether the other one wants to stop."""
        return self._monitor.should_stop()


def tell(evaluations: list[Evaluation], best: Evaluation) -> None:
    """Raise an error if all fits failed; warn of those that did, and if none converged."""
    messages = dict.fromkeys(each.message for each in evaluations if np.isnan(each.log_evidence))
    n_failed = sum(np.isnan(each.log_evidence) for each in evaluations)
    reasons = "\n".join(f"- {message}" for message in messages)
    if n_failed == len(evaluations):
        raise ValueError(f"All {n_failed} fits of EvidenceSearch failed:\n{reasons}")
    if n_failed:
        warnings.warn(
            f"{n_failed} of {len(evaluations)} fits of EvidenceSearch failed and were left "
            f"out:\n{reasons}",
            FitFailedWarning,
            stacklevel=3,
        )
    if not best.converged:
        warnings.warn(
            f"None of the fits of EvidenceSearch converged. The best said: {best.message}",
            ConvergenceWarning,
            stacklevel=3,
        )
