"""Cost and sharpness of knapsack propagation by cross-validation, with beta at no extra cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_consistent_length

from bayespoint.classifier.attributes import unchanged_on_failure
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.selection.jobs import run_jobs
from bayespoint.tools.meta_estimators import MetaClassifier
from bayespoint.tools.pipelines import fit_weighted, split_pipeline, take
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
    >>> from bayespoint.selection import KnapsackCV
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
            data = Data.of(X, y, sample_weight, pairwise=get_tags(machine).input_tags.pairwise)
            cv = check_cv(self.cv, data.labels, classifier=True)
            folds = list(cv.split(data.points, data.labels))
            jobs = [(machine, data, C, betas, scorer, *fold) for C, fold in product(costs, folds)]
            done = run_jobs(score_fold, jobs, self.n_jobs, n_fits=len(jobs))
            # Warnings of the folds are of no use: scores are those of the classifiers as they were.
            self._record(costs, betas, [fold for fold, _ in done], len(folds))
            self.best_estimator_ = fit_one(machine, data, **self.best_params_)
            self.classes_ = self.best_estimator_.classes_
        return self

    def _inner(self) -> Any:
        inner = super()._inner()
        return BayesPointClassifier(engine=KnapsackPropagation()) if inner is None else inner

    def _machine(self) -> BaseEstimator:
        """The estimator to be cloned, checked: its last step has the engine of this class."""
        if self.estimator is None:
            return BayesPointClassifier(engine=KnapsackPropagation())
        classifier = split_pipeline(self.estimator).last
        engine = getattr(classifier, "engine", None)
        named = isinstance(engine, KnapsackPropagation) or engine == KnapsackPropagation.alias
        if isinstance(classifier, BayesPointClassifier) and named:
            return self.estimator
        raise parameter_error(self, "estimator", ALLOWED)

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

    def _record(self, costs: NDArray, betas: NDArray, done: Sequence[Fold], n_folds: int) -> None:
        """Set ``cv_results_`` and what is best."""
        n = len(betas)
        scores = np.stack([fold.scores for fold in done]).reshape(len(costs), n_folds, n)
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
        for name in ("fit_seconds", "score_seconds"):
            seconds = np.array([getattr(fold, name) for fold in done]).reshape(len(costs), n_folds)
            results[f"mean_{name.removesuffix('_seconds')}_time"] = np.repeat(
                seconds.mean(axis=1), n
            )
        self.cv_results_ = results
        order = (mean, smoothed) if self.rule == "smoothed" else (smoothed, mean)
        self.best_index_ = int(np.lexsort([-values.round(12) for values in order])[0])
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = pairs[self.best_index_]


class Data(NamedTuple):
    """Points, labels and weights that can be split into folds."""

    points: Any
    labels: NDArray
    weight: NDArray[np.float64] | None
    pairwise: bool

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: ArrayLike | None, *, pairwise: bool) -> Data:
        """Indexable data; the classifier itself raises other errors."""
        points, labels = indexable(X, np.asarray(y))
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(points, labels, weight)
        return cls(points, labels, weight, pairwise)

    def rows(self, kept: NDArray[np.int64], against: NDArray[np.int64] | None = None) -> Data:
        """Some rows; of a kernel matrix the columns that belong to ``against`` or to them."""
        points = take(self.points, kept)
        if self.pairwise:
            points = points[:, kept if against is None else against]
        weight = None if self.weight is None else self.weight[kept]
        return Data(points, self.labels[kept], weight, self.pairwise)


class Fold(NamedTuple):
    """Scores of all betas for one C and one fold."""

    scores: NDArray[np.float64]
    fit_seconds: float
    score_seconds: float


def fit_one(machine: Any, data: Data, C: float, beta: float) -> Any:
    """A clone of the machine with C and beta, fitted to the data."""
    fitted = clone(machine)
    split_pipeline(fitted).last.set_params(engine__C=C, engine__beta=beta)
    return fit_weighted(fitted, data.points, data.labels, data.weight)


def share_right(classifier: Any, points: Any, labels: NDArray) -> float:
    """Accuracy: ``classifier.score`` without its checks, which take longer."""
    return float(np.mean(classifier.predict(points) == labels))


def score_fold(
    machine: Any,
    data: Data,
    C: float,
    betas: NDArray[np.float64],
    scorer: Callable[..., float] | None,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> Fold:
    """Pass messages once, and score every beta; by the accuracy if there is no scorer."""
    start = time.perf_counter()
    fitted = fit_one(machine, data.rows(train), float(C), float(betas[0]))
    middle = time.perf_counter()
    parts, held_out = split_pipeline(fitted), data.rows(test, against=train)
    classifier = parts.last
    scored, points, score = fitted, held_out.points, scorer
    if score is None:  # beta does not matter before the last step
        scored, points, score = classifier, parts.transform(points), share_right
    model, scores = classifier.model_, []
    for beta in betas:
        classifier.model_ = replace(model, posterior=model.posterior.at(beta))
        scores.append(score(scored, points, held_out.labels))
    return Fold(np.array(scores), middle - start, time.perf_counter() - middle)
