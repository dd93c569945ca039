"""Choice of parameters by the evidence, as a scikit-learn search."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from bayespoint.classifier.attributes import unchanged_on_failure
from bayespoint.engines import get_engine
from bayespoint.exceptions import BoundReachedWarning, warn_user
from bayespoint.kernels import positive_parameters
from bayespoint.selection import objective
from bayespoint.selection.jobs import run_jobs
from bayespoint.selection.objective import Data, Evaluation
from bayespoint.tools.meta_estimators import MetaClassifier
from bayespoint.tools.pipelines import fit_weighted
from bayespoint.tools.validation import check_flag, check_number, parameter_error

# Parameters of engines that may be any positive number, at least in an interval.
SCALES = ("prior_scale", "intercept_scale", "noise", "label_noise")
OF_ENGINES = tuple(f"engine__{name}" for name in SCALES)


@dataclass(eq=False, repr=False)
class EvidenceSearch(MetaClassifier):
    r"""Search for the parameters under which the labels were most probable.

    The evidence :math:`p(y | X, \theta) = \int p(y | X, w, \theta)\, p(w | \theta)\, dw` is the
    probability of the labels before they are seen. A prior that is too narrow cannot explain them,
    and a prior that is too wide gives all labellings a small probability. The evidence is largest
    in between. No data are held out, and each choice takes one fit instead of one for each fold.
    Several classes have one evidence, or the sum over their one-against-the-rest tasks.

    Parameters
    ----------
    estimator : BayesPointClassifier or Pipeline
        The classifier, or a pipeline that ends with one, with an engine that computes the evidence.
    param_grid : dict or list of dicts, optional
        Values to try, all combinations, as in ``GridSearchCV``.
    param_bounds : dict of str to (low, high), optional
        Positive parameters of the classifier, each between its bounds, such as
        ``{"engine__prior_scale": (0.01, 100), "gamma": (1e-3, 10)}``. L-BFGS-B searches over their
        logarithms. With ``ExpectationPropagation`` with a full covariance and
        ``LaplaceApproximation``, the gradient is exact for ``gamma``, ``coef0``, ``ridge``, the
        weights and other positive parameters of a kernel instance (``kernel__weights__0``), and the
        engine's ``prior_scale``, ``intercept_scale``, ``noise`` and ``label_noise``. Otherwise,
        and if a kernel has no derivative, it is estimated by finite differences, unless the
        evidence is itself estimated from random draws. With a grid, one search is run for each of
        its combinations. A ``BoundReachedWarning`` is issued if the evidence increases beyond a
        bound.
    refit : bool, default=True
        Fit the estimator with the best parameters, so that the search can predict.
    n_starts : int, default=1
        Number of starts of each continuous search: the first from the estimator's parameters (the
        geometric mean of the bounds, if they are not numbers), the others from random points.
    tol : float, default=1e-2
        A search ends when all derivatives of the log evidence, with respect to the logarithms of
        the parameters inside their bounds, are at most ``tol``. The remaining gain is then far
        below 1, and even a difference of 1 hardly favours a model.
    max_iter : int, default=50
        Largest number of steps of a search, after which it ends with a ``ConvergenceWarning``.
    n_jobs : int or None, default=None
        Number of searches (combinations of the grid, times starts) that run in parallel, as in
        joblib: in threads, unless ``joblib.parallel_config`` chooses another backend.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.
    verbose : int, default=0
        Write progress to standard error; see ``bayespoint.tools.monitor``.

    Attributes
    ----------
    best_params_ : dict
        The parameters with the largest evidence.
    best_score_ : float
        Their log evidence, summed over the tasks.
    best_index_ : int
        Their row in ``cv_results_``.
    best_estimator_ : estimator
        The estimator fitted with them, if ``refit``.
    refit_time_ : float
        Seconds of this fit.
    cv_results_ : dict of arrays
        One row for each evaluation, for a DataFrame: ``params``, ``param_*``, ``log_evidence``,
        ``rank``, ``fit_time``, ``converged`` and ``message`` (what went wrong). Fits that have not
        converged rank behind all that have.
    n_iter_ : int
        Largest number of steps of a continuous search; 1 if there is none.
    classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    The evidence compares models of the same data: kernels, scales, noise. It cannot compare steps
    of a pipeline that transform the inputs, or that use the labels.

    Each engine approximates the evidence of its model. Expectation propagation is much more
    accurate than Laplace's approximation.

    The evidence depends only on the ratio of prior scale and noise: search over one of the two.

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
    >>> from bayespoint.selection import EvidenceSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> machine = make_pipeline(StandardScaler(), BayesPointClassifier(kernel="linear"))
    >>> bounds = {"bayespointclassifier__engine__prior_scale": (0.01, 100)}
    >>> search = EvidenceSearch(machine, param_bounds=bounds).fit(X_train, y_train)
    >>> {name.split("__")[-1]: round(value, 2) for name, value in search.best_params_.items()}
    {'prior_scale': 0.89}
    >>> print(f"{search.best_score_:.2f} after {len(search.cv_results_['rank'])} fits")
    -43.49 after 4 fits
    >>> print(f"{search.score(X_test, y_test):.3f}")
    0.951
    """

    estimator: Any
    param_grid: Mapping[str, Sequence] | Sequence[Mapping[str, Sequence]] | None = None
    _: KW_ONLY
    param_bounds: Mapping[str, tuple[float, float]] | None = None
    refit: bool = True
    n_starts: int = 1
    tol: float = 1e-2
    max_iter: int = 50
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> EvidenceSearch:
        """Search, and fit the estimator with the best parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, in any form that the estimator accepts.
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
        data = Data(X, y, sample_weight)
        with unchanged_on_failure(self):
            evaluations = self._search(data, choices, bounds)
            self.cv_results_ = as_table(evaluations)
            self.best_index_ = int(self.cv_results_["rank"].argmin())
            best = evaluations[self.best_index_]
            warn_of_failures(evaluations, best)
            warn_of_bounds(best, bounds, self.tol)
            self.best_params_, self.best_score_ = best.params, best.log_evidence
            self._refit(data)
        return self

    @property
    def classes_(self) -> NDArray:
        """The labels, sorted."""
        self._check_method("classes_")
        return self.best_estimator_.classes_

    def _check_method(self, name: str) -> None:
        if not self.refit:
            raise AttributeError(
                f"This EvidenceSearch has refit=False: {name} is there only with refit=True. "
                "Fit an estimator with best_params_ yourself, or refit."
            )
        super()._check_method(name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_" if self.refit else "best_params_")

    def _refit(self, data: Data) -> None:
        """Fit the estimator with the best parameters, if ``refit``."""
        for name in ("best_estimator_", "refit_time_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if not self.refit:
            return
        start = time.perf_counter()
        estimator = objective.with_params(self.estimator, self.best_params_)
        self.best_estimator_ = fit_weighted(estimator, *data)
        self.refit_time_ = time.perf_counter() - start

    def _choices(self, bounds: dict[str, tuple[float, float]]) -> list[objective.Search]:
        """Every combination of the grid with every start."""
        grid = [{}] if self.param_grid is None else list(ParameterGrid(self.param_grid))
        check_names(self, grid, bounds)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        choices = []
        for params in grid:
            choices.append(objective.Search(params))
            if bounds:
                more = rng.uniform(size=(self.n_starts - 1, len(bounds)))
                choices += [objective.Search(params, start) for start in more]
        return choices

    def _search(
        self, data: Data, choices: list[objective.Search], bounds: dict[str, tuple[float, float]]
    ) -> list[Evaluation]:
        jobs = [
            (self.estimator, data, choice, bounds, self.tol, self.max_iter) for choice in choices
        ]
        n_fits = len(jobs) * (self.max_iter if bounds else 1)
        done = run_jobs(objective.search, jobs, self.n_jobs, n_fits=n_fits, verbose=self.verbose)
        self.n_iter_ = max(found.n_steps for found, _ in done)
        for reason in {found.ended_by for found, _ in done} - {""}:
            warn_user(ConvergenceWarning(f"A search had not converged when {reason}."))
        held = {str(warning): warning for _, warnings in done for warning in warnings}
        for warning in held.values():
            warn_user(warning)
        return [evaluation for found, _ in done for evaluation in found.evaluations]


def as_table(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Columns as in ``cv_results_``; a parameter is masked where it was not set."""
    n = len(evaluations)
    table: dict[str, Any] = {"fit_time": np.array([each.fit_time for each in evaluations])}
    for name in dict.fromkeys(name for each in evaluations for name in each.params):
        given = np.array([name in each.params for each in evaluations])
        values = np.empty(n, dtype=object)
        for i in np.flatnonzero(given).tolist():  # one by one: a value may be an array
            values[i] = evaluations[i].params[name]
        if all(isinstance(v, Real) and not isinstance(v, bool) for v in values[given]):
            values[~given] = 0
            values = np.array(values.tolist())
        table[f"param_{name}"] = np.ma.MaskedArray(values, mask=~given)
    table["params"] = [each.params for each in evaluations]
    table["log_evidence"] = np.array([each.log_evidence for each in evaluations])
    table["converged"] = np.array([each.converged for each in evaluations])
    table["message"] = np.array([each.message for each in evaluations], dtype=object)
    table["rank"] = ranks(table["log_evidence"], table["converged"])
    return table


def ranks(log_evidence: NDArray[np.float64], converged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Places from 1 on: first those that converged, then the others, at the end failures (NaN)."""
    loss = np.where(np.isnan(log_evidence), np.inf, -log_evidence)
    order = np.column_stack([~converged, loss])
    _, place, n_equal = np.unique(order, axis=0, return_inverse=True, return_counts=True)
    return (np.cumsum(n_equal) - n_equal + 1)[place.ravel()]


def warn_of_failures(evaluations: Sequence[Evaluation], best: Evaluation) -> None:
    """Raise an error if all fits failed; warn of those that did, and if none converged."""
    messages = dict.fromkeys(each.message for each in evaluations if np.isnan(each.log_evidence))
    n_failed = sum(np.isnan(each.log_evidence) for each in evaluations)
    reasons = "\n".join(f"- {message}" for message in messages)
    if n_failed == len(evaluations):
        raise ValueError(f"All {n_failed} fits of EvidenceSearch failed:\n{reasons}")
    if n_failed:
        text = f"{n_failed} of {len(evaluations)} fits of EvidenceSearch failed and were left out"
        warn_user(FitFailedWarning(f"{text}:\n{reasons}"))
    if not best.converged:
        text = "None of the fits of EvidenceSearch converged. The best said"
        warn_user(ConvergenceWarning(f"{text}: {best.message}"))


def warn_of_bounds(best: Evaluation, bounds: Mapping[str, tuple[float, float]], tol: float) -> None:
    """Warn of parameters at a bound beyond which the log evidence grows by more than ``tol``."""
    reached = [
        name
        for name, slope in best.slopes.items()
        # An array of widths or scales at its bounds has switched features off.
        if np.ndim(slope) == 0
        and abs(slope) > tol
        and best.params[name] == bounds[name][int(slope > 0)]
    ]
    if reached:
        values = tuple(best.params[name] for name in reached)
        warn_user(BoundReachedWarning(tuple(reached), tuple(bounds[n] for n in reached), values))


def check_parameters(owner: Any) -> None:
    """Raise an error for a constructor parameter that is not allowed."""
    if owner.param_grid is None and not owner.param_bounds:
        raise ValueError(
            "EvidenceSearch has nothing to search: set param_grid, param_bounds, or both."
        )
    grid = owner.param_grid
    if grid is not None and (not isinstance(grid, (Mapping, Sequence)) or len(grid) == 0):
        raise parameter_error(owner, "param_grid", "None, or a dict or list of dicts, not empty")
    check_flag(owner, "refit")
    check_number(owner, "n_starts", low=1, integer=True)
    check_number(owner, "tol", low=0, closed="neither")
    check_number(owner, "max_iter", low=1, integer=True)


def check_bounds(owner: Any) -> dict[str, tuple[float, float]]:
    """The bounds of each parameter, or an error unless 0 < low < high < infinity."""
    if owner.param_bounds is None:
        return {}
    if not isinstance(owner.param_bounds, Mapping):
        raise parameter_error(owner, "param_bounds", "None or a dict of names and (low, high)")
    bounds = {}
    for name, pair in owner.param_bounds.items():
        is_pair = isinstance(pair, (Sequence, np.ndarray)) and len(pair) == 2
        is_pair = is_pair and all(isinstance(value, Real) for value in pair)
        if not is_pair or not 0 < pair[0] < pair[1] < np.inf:
            raise ValueError(
                f"The 'param_bounds' of {name!r} must be a pair (low, high) with 0 < low < high "
                f"< inf, since logarithms are searched. Got {pair!r} instead."
            )
        bounds[name] = float(pair[0]), float(pair[1])
    return bounds


def check_names(owner: Any, grid: list[dict[str, Any]], bounds: Mapping[str, Any]) -> None:
    """Raise an error for names that the estimator does not have, or that cannot be bounded.

    Nor may all kernels of the search ignore a bounded parameter.
    """
    kernel, used = objective.split(owner.estimator).last.kernel, set()
    for params in grid:
        chosen = objective.with_params(owner.estimator, params)
        _, classifier, prefix = objective.split(chosen)
        get_engine(classifier.engine)  # raises an error for an unknown name
        known, allowed = chosen.get_params(), numbers(classifier, prefix)
        for name in bounds:
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} in param_bounds: the estimator has no such "
                    f"parameter. Names of its classifier are {', '.join(allowed)}."
                )
            if name in params:
                raise ValueError(f"{name!r} is in param_grid and in param_bounds: search it once.")
            if name not in allowed:
                raise ValueError(
                    f"{name!r} cannot be searched between bounds: only positive numbers of the "
                    f"classifier can, {', '.join(allowed)}. Use param_grid."
                )
        used |= {f"{prefix}{name}" for name in positive_parameters(classifier.kernel)}
    for name in bounds:
        is_of_kernel = not name.removeprefix(prefix).startswith(("ridge", "engine__"))
        if is_of_kernel and name not in used:
            raise ValueError(
                f"{name!r} in param_bounds has no effect with kernel={kernel!r}. Name a "
                "kernel that has this parameter: gamma is one of 'rbf' and 'poly', coef0 of 'poly'."
            )


def numbers(classifier: Any, prefix: str) -> list[str]:
    """Names of the parameters that may be any positive number, as the estimator spells them."""
    of_engine = [name for name in OF_ENGINES if name in classifier.get_params()]
    return [f"{prefix}{name}" for name in [*objective.searchable(classifier.kernel), *of_engine]]
