"""Cost and sharpness of knapsack propagation by cross-validation, with beta at no extra cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_validate

from bayespoint.classifier.attributes import unchanged_on_failure
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.selection.jobs import run_jobs
from bayespoint.tools.meta_estimators import MetaClassifier
from bayespoint.tools.pipelines import fit_weighted, split_pipeline
from bayespoint.tools.validation import check_choice, parameter_error

COSTS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)
ALLOWED = "a BayesPointClassifier with engine='knapsack', a pipeline that ends in one, or None"
RULES = ("smoothed", "best")


@dataclass(eq=False, repr=False)
class KnapsackCV(MetaClassifier):
    """Bayes point machine by knapsacks whose C and beta are chosen by cross-validation.

    Messages are passed once for each C and fold. Every beta is then read off the max-marginals
    (section 4 of the paper: exponentiation commutes with maximisation), so that a grid of C and
    beta costs as much as one of C alone. The chosen pair is fitted to all data.

    The best mean score of many pairs is mostly luck. What is compared is therefore the mean over
    each pair and its neighbours on the grid.

    Parameters
    ----------
    estimator : BayesPointClassifier, Pipeline or None, default=None
        A classifier with the engine ``KnapsackPropagation``, or a pipeline that ends in one, such
        as ``make_pipeline(StandardScaler(), BayesPointClassifier(engine="knapsack"))``: then each
        fold is standardised by its own training part. None is the classifier alone.
    Cs : sequence of float, default=(0.3, 1, 3, 10, 30, 100)
        Costs to try, ascending.
    betas : sequence of float, default=(0.03, 0.1, 0.3, 1, 3, 10, inf)
        Sharpnesses to try, ascending.
    rule : {"smoothed", "best"}, default="smoothed"
        Whether the pair with the best mean score of its neighbourhood is chosen, or, as in the
        paper, the pair with the best mean score.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds, as in scikit-learn; None means five stratified folds.
    scoring : str, callable or None, default=None
        The score to maximise; None means accuracy.
    n_jobs : int or None, default=None
        Folds and costs that run in parallel, as in joblib: in threads, unless
        ``joblib.parallel_config`` chooses another backend.

    Attributes
    ----------
    best_params_ : dict
        The chosen ``C`` and ``beta``. With ``rule="smoothed"`` the mean score of the pair and its
        up to eight neighbours on the grid is best; of equals the one with the best score of its
        own. With ``rule="best"`` it is the other way round.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : estimator
        Fitted to all data with these.
    cv_results_ : dict of ndarrays
        As in ``GridSearchCV``, with the mean score of the neighbours as ``smoothed_test_score``.
        Times are those of a C, shared by all its betas.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> from papers.knapsack.search import KnapsackCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X[:, :10], y, random_state=0)
    >>> machine = make_pipeline(StandardScaler(), BayesPointClassifier(engine="knapsack"))
    >>> search = KnapsackCV(machine, Cs=(1.0, 10.0), betas=(0.1, 1.0, 10.0)).fit(X_train, y_train)
    >>> search.best_params_
    {'C': 1.0, 'beta': 0.1}
    >>> print(f"{search.score(X_test, y_test):.3f}")
    0.930
    """

    estimator: BaseEstimator | None = None
    _: KW_ONLY
    Cs: Sequence[float] = COSTS
    betas: Sequence[float] = BETAS
    rule: str = "smoothed"
    cv: Any = None
    scoring: str | Callable[..., float] | None = None
    n_jobs: int | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KnapsackCV:
        """Choose C and beta, and fit the best pair to all data.

        ``sample_weight`` counts while fitting, not while scoring.
        """
        machine = self._machine()
        check_choice(self, "rule", RULES)
        costs, betas = self._axis("Cs", finite=True), self._axis("betas", finite=False)
        scorer = None if self.scoring is None else check_scoring(machine, scoring=self.scoring)
        if y is None:
            raise ValueError("KnapsackCV requires y to be passed, but the target y is None.")
        with unchanged_on_failure(self):
            labels = np.asarray(y)
            folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
            data = X, labels, sample_weight
            jobs = [(machine, data, C, betas, scorer, fold) for C, fold in product(costs, folds)]
            done = run_jobs(score_fold, jobs, self.n_jobs, n_fits=len(jobs))
            # Warnings of the folds are of no use: scores are those of the classifiers as they were.
            self._record(costs, betas, [scores for scores, _ in done], len(folds))
            self.best_estimator_ = fit_weighted(with_values(machine, **self.best_params_), *data)
            self.classes_ = self.best_estimator_.classes_
        return self

    def _inner(self) -> Any:
        inner = super()._inner()
        return BayesPointClassifier(engine=KnapsackPropagation()) if inner is None else inner

    def _machine(self) -> BaseEstimator:
        """The estimator to be cloned, checked: its last step has the engine of this class."""
        machine = self._inner() if self.estimator is None else self.estimator
        classifier = split_pipeline(machine).last
        engine = getattr(classifier, "engine", None)
        named = isinstance(engine, KnapsackPropagation) or engine == KnapsackPropagation.alias
        if not isinstance(classifier, BayesPointClassifier) or not named:
            raise parameter_error(self, "estimator", ALLOWED)
        return machine

    def _axis(self, name: str, *, finite: bool) -> NDArray[np.float64]:
        values = np.asarray(getattr(self, name), dtype=object)
        try:
            axis = values.astype(np.float64)
        except (TypeError, ValueError):
            axis = np.array([])
        valid = axis.ndim == 1 and len(axis) and (axis > 0).all() and (np.diff(axis) > 0).all()
        if not valid or (finite and not np.isfinite(axis).all()):
            words = "" if finite else ", inf included"
            raise parameter_error(self, name, f"ascending positive numbers{words}")
        return axis

    def _record(self, costs: NDArray, betas: NDArray, done: list[Any], n_folds: int) -> None:
        """Set ``cv_results_`` and what is best."""
        n = len(betas)
        scores = np.array([[each[f"test_{k}"] for k in range(n)] for each in done])
        scores = scores.reshape(len(costs), n_folds, n)
        by_fold = scores.transpose(1, 0, 2).reshape(n_folds, -1)
        mean = by_fold.mean(axis=0)
        # 3 x 3 on the grid; at an edge its own row or column counts twice.
        smoothed = uniform_filter(mean.reshape(len(costs), n), size=3, mode="nearest").ravel()
        pairs = [{"C": float(C), "beta": float(beta)} for C, beta in product(costs, betas)]
        results: dict[str, Any] = {
            "params": pairs,
            "param_C": np.repeat(costs, n),
            "param_beta": np.tile(betas, len(costs)),
            "mean_test_score": mean,
            "std_test_score": by_fold.std(axis=0),
            "smoothed_test_score": smoothed,
            "rank_test_score": rankdata(-mean.round(12), method="min").astype(np.int32),
        }
        for number, own in enumerate(by_fold):
            results[f"split{number}_test_score"] = own
        for name in ("fit_time", "score_time"):
            seconds = np.reshape([each[name] for each in done], (len(costs), n_folds))
            results[f"mean_{name}"] = np.repeat(seconds.mean(axis=1), n)
        self.cv_results_ = results
        order = (mean, smoothed) if self.rule == "smoothed" else (smoothed, mean)
        self.best_index_ = int(np.lexsort([-values.round(12) for values in order])[0])
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = pairs[self.best_index_]


def with_values(machine: Any, C: float, beta: float) -> Any:
    """A clone of the machine with C and beta."""
    copy = clone(machine)
    split_pipeline(copy).last.set_params(engine__C=C, engine__beta=beta)
    return copy


def share_right(classifier: Any, points: Any, labels: NDArray) -> float:
    """Accuracy: ``classifier.score`` without its checks, which take longer."""
    return float(np.mean(classifier.predict(points) == labels))


def score_fold(
    machine: Any,
    data: tuple[Any, NDArray, ArrayLike | None],
    C: float,
    betas: NDArray[np.float64],
    scorer: Callable[..., float] | None,
    fold: tuple[NDArray, NDArray],
) -> dict[str, Any]:
    """Pass messages once, and score every beta; by the accuracy if there is no scorer.

    The result is that of ``cross_validate``, with ``test_k`` the score of beta number k.
    """
    X, y, weight = data
    params = {f"{split_pipeline(machine).prefix}sample_weight": weight}

    def score_betas(fitted: Any, points: Any, labels: NDArray) -> dict[str, float]:
        parts = split_pipeline(fitted)
        classifier, score = parts.last, scorer
        if score is None:  # beta does not matter before the last step
            fitted, points, score = classifier, parts.transform(points), share_right
        model, scores = classifier.model_, {}
        for k, beta in enumerate(betas):
            classifier.model_ = replace(model, posterior=model.posterior.at(beta))
            scores[str(k)] = score(fitted, points, labels)
        return scores

    with config_context(enable_metadata_routing=False):  # the weights are those of the classifier
        return cross_validate(
            with_values(machine, float(C), float(betas[0])),
            X,
            y,
            cv=[fold],
            scoring=score_betas,
            params=None if weight is None else params,
            error_score="raise",
        )
