"""The one estimator: a Bayes point machine in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from bayespoint.callbacks import CallbackSupport, monitor_for, with_callbacks
from bayespoint.engines import Engine, PermutedPerceptron, get_engine
from bayespoint.exceptions import check_choice, check_flag, check_number
from bayespoint.kernels import NAMES, make_kernel
from bayespoint.posteriors import Posterior
from bayespoint.problem import Problem

CHUNK = 8192  # points transformed at a time while predicting
KERNEL_PARAMETERS = ("kernel", "degree", "gamma", "coef0", "normalize", "fit_intercept")


class BayesPointClassifier(ClassifierMixin, CallbackSupport, BaseEstimator):
    r"""Classifier that averages over all classifiers the data allow.

    A classifier is a weight vector :math:`w`, with output
    :math:`f(x) = \langle w, \phi(x) \rangle`; an ``engine`` finds its distribution given the
    data, and the mean of that distribution, the *Bayes point*, classifies. Several classes are
    told apart one against the rest, all in one run of the engine.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        Inner product of the features :math:`\phi`. ``poly`` is
        :math:`(\gamma x \cdot x' + c_0)^d`, ``rbf`` is :math:`\exp(-\gamma |x - x'|^2)`. A
        callable takes two arrays of points and returns the matrix of all pairs.
    degree : int, default=3
        Degree :math:`d` of ``poly``.
    gamma : {"scale", "auto"} or float, default="scale"
        :math:`\gamma` of ``poly`` and ``rbf``; "scale" is 1 / (n_features Var X), "auto" is
        1 / n_features.
    coef0 : float, default=1.0
        :math:`c_0 \ge 0` of ``poly``.
    normalize : bool, default=False
        Use :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}` instead of :math:`k(x, x')`.
    ridge : float, "mean" or None, default=None
        :math:`\lambda` of :math:`k_\lambda(x, x') = k(x, x') + \lambda [x = x']`, the slack that
        lets every training point be wrong at a price. "mean" is the mean of k(x, x). None is 0,
        no slack, for an engine that you name, and "mean" for the default engine.
    engine : Engine, str or None, default=None
        The algorithm, or its alias. None is ``PermutedPerceptron()``.
    decision : {"bayes_point", "vote"}, default="bayes_point"
        Whether ``predict`` and all probabilities follow the mean of the weights or the majority
        of the classifiers (which is Bayes' optimal decision, but is itself no linear classifier).
    fit_intercept : bool, default=True
        Add a constant feature to the linear kernel. Other kernels ignore it: ``poly`` has one
        through ``coef0``.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into ``sample_weight``.
    warm_start : bool, default=False
        Let ``fit`` add samples to the posterior of the last fit on the same data, up to the
        engine's ``n_samples``, instead of starting anew. Four and then six more equal ten at once.
    n_jobs : int or None, default=None
        Threads for the parts that run side by side, beyond those that BLAS uses anyway. Results do
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the engine. Used in ``fit`` alone.
    verbose : int, default=0
        Write progress to standard error. For bars or a stop button see ``bayespoint.monitor`` and,
        from scikit-learn 1.9 on, ``set_callbacks``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    posterior_ : Posterior
        The distribution over weights, of one task for two classes, else of one for each class.
    coef_, intercept_ : ndarray of shape (n_tasks, n_features) and (n_tasks,)
        The Bayes point, if the kernel is linear: ``X @ coef_.T + intercept_`` has the sign of the
        decisions. (Those of samples are cosines, so it is divided by the length of x, or of (x, 1)
        with an intercept; those of a Gaussian posterior by the standard deviation of the output.)
    log_evidence_ : ndarray of shape (n_tasks,)
        log p(y), if the engine knows it.
    n_iter_ : int
        Iterations of the engine: most passes through the data.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    bayespoint.reject.SelectiveClassifier : Refuses to answer where the machine is not sure.

    References
    ----------
    R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, NIPS 13, 2001.

    R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = make_pipeline(StandardScaler(), BayesPointClassifier(random_state=0))
    >>> print(f"{clf.fit(X_train, y_train).score(X_test, y_test):.3f}")
    0.958
    >>> clf.predict_proba(X_test[1:3]).round(2)
    array([[0.03, 0.97],
           [0.  , 1.  ]])
    """

    def __init__(
        self,
        *,
        kernel: str | Callable[[NDArray, NDArray], NDArray] = "linear",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        normalize: bool = False,
        ridge: float | str | None = None,
        engine: Engine | str | None = None,
        decision: str = "bayes_point",
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.normalize = normalize
        self.ridge = ridge
        self.engine = engine
        self.decision = decision
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BayesPointClassifier:
        """Find the posterior of the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, float32 or float64 (computed in the same precision). With
            ``kernel="precomputed"``: the kernel matrix, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels of any type, of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; points of weight 0 are left out. What other weights mean, and whether they are
            allowed, is the engine's matter.

        Returns
        -------
        self : BayesPointClassifier
        """
        self._check_parameters()
        engine = PermutedPerceptron() if self.engine is None else get_engine(self.engine)
        engine.check()
        points, labels = validate_data(
            self, X, y, dtype=(np.float64, np.float32), order="C", reset=not self._extends
        )
        problem = Problem.pose(
            points,
            labels,
            sample_weight,
            self.class_weight,
            precomputed=isinstance(self.kernel, str) and self.kernel == "precomputed",
        )
        start = self._start(engine, problem)
        self.classes_, self._columns = problem.classes, problem.columns
        kernel = self._make_kernel(problem.points)
        space = engine.space(kernel, self._ridge()).fit(problem.points)
        posterior = engine.run(
            space,
            problem.targets,
            rng=np.random.default_rng(self._seed),
            monitor=monitor_for(self),
            sample_weight=problem.weight,
            start=start,
            n_jobs=self.n_jobs,
        )
        self._publish(space, posterior)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores that order points by how surely they belong to a class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for ``classes_[1]``. Several: the largest decides.
        """
        scores = self._in_chunks(X, lambda Z: self.posterior_.decision(Z, self.decision))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """Labels of new points."""
        scores = self.decision_function(X)
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes.astype(np.intp)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        r"""Probabilities of the classes, in the order of ``classes_``.

        The posterior gives the probability :math:`q_y` of "yes" for each class against the rest
        (two classes: of the second). Exactly one of several answers can be "yes", so
        :math:`p_y \propto q_y \prod_{z \ne y} (1 - q_z) \propto q_y / (1 - q_y)`.
        """
        scores = self.decision_function(X)
        decision = scores[:, None] if scores.ndim == 1 else scores
        return class_probabilities(*self.posterior_.log_probability(decision, self.decision))

    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of the posterior's classifiers that say yes to each class, one against the rest."""
        votes = self._in_chunks(X, lambda Z: self.posterior_.votes(Z))
        share = (1 + votes) / 2
        return np.hstack([1 - share, share]) if len(self.classes_) == 2 else share

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Mean and variance over the posterior of the outputs f(x).

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of the one task of two classes, or of each class against the rest.
        """
        both = self._in_chunks(X, lambda Z: np.stack(self.posterior_.latent(Z), axis=1))
        both = both[:, :, 0] if len(self.classes_) == 2 else both
        return both[:, 0], both[:, 1]

    @available_if(lambda self: hasattr(self.posterior_, "outputs"))
    def sample_outputs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs f_n(x) of every sample of the posterior, if it is known by samples.

        Returns
        -------
        ndarray of shape (n_points, n_samples, n_tasks)
            One task for two classes, else one for each class against the rest.
        """
        posterior: Any = self.posterior_
        return self._in_chunks(X, posterior.outputs)

    def sample_proba(
        self,
        X: ArrayLike,
        n_samples: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Class probabilities of single classifiers drawn from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            New points.
        n_samples : int, default=10
            Number of classifiers to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Returns
        -------
        ndarray of shape (n_samples, n_points, n_classes)
            What each of them says; certain (0 or 1) if the model knows no label noise.
        """
        check_is_fitted(self)
        if not n_samples >= 1 or n_samples % 1:
            raise ValueError(
                f"n_samples must be an int in the range [1, inf). Got {n_samples!r} instead."
            )
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        drawn = self.posterior_.draw(int(n_samples), rng)
        shape = (-1, *drawn.shape[1:])
        flat = drawn.reshape(len(drawn), -1)
        outputs = self._in_chunks(X, lambda Z: Z @ flat.astype(Z.dtype, copy=False)).reshape(shape)
        probabilities = class_probabilities(*self.posterior_.log_likelihood(outputs))
        return np.moveaxis(probabilities, 1, 0)

    def _check_parameters(self) -> None:
        if not callable(self.kernel):
            check_choice(self, "kernel", NAMES, "or a callable")
        check_number(self, "degree", integer=True, low=1)
        if not isinstance(self.gamma, str) or self.gamma not in ("scale", "auto"):
            check_number(self, "gamma", low=0, closed=False, words="'scale', 'auto' or ")
        check_number(self, "coef0", low=0)
        if self.ridge is not None and not (isinstance(self.ridge, str) and self.ridge == "mean"):
            check_number(self, "ridge", low=0, words="None, 'mean' or ")
        for name in ("normalize", "fit_intercept", "warm_start"):
            check_flag(self, name)
        check_choice(self, "decision", ("bayes_point", "vote"))
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice(self, "class_weight", ("balanced",), "or a dict or None")

    def _make_kernel(self, X: NDArray) -> Any:
        return make_kernel(X=X, **{name: getattr(self, name) for name in KERNEL_PARAMETERS})

    def _ridge(self) -> float | str:
        if self.ridge is None:
            return "mean" if self.engine is None else 0.0
        return self.ridge

    @property
    def _extends(self) -> bool:
        """Whether a fit would add to the one before."""
        return self.warm_start and hasattr(self, "posterior_")

    def _start(self, engine: Engine, problem: Problem) -> Posterior | None:
        """The posterior to extend, if there is one and it may be."""
        kernel = [repr(getattr(self, name)) for name in KERNEL_PARAMETERS]
        fingerprint = (*problem.fingerprint, *kernel, self._ridge())
        if not self._extends:
            self.__dict__.pop("posterior_", None)  # if this run fails, none is left to be extended
            self._fingerprint = fingerprint
            self._seed = int(check_random_state(self.random_state).randint(2**31))
            return None
        if not engine.can_extend:
            raise ValueError(
                f"warm_start=True needs an engine that can add to a posterior. Got "
                f"{type(engine).__name__}, which cannot: set warm_start=False."
            )
        if fingerprint != self._fingerprint:
            raise ValueError(
                "warm_start=True needs the data, the weights, the kernel and the ridge of the fit "
                "before, and something of these has changed. Set warm_start=False to start anew."
            )
        return self.posterior_

    def _publish(self, space: Any, posterior: Posterior) -> None:
        """Set the fitted attributes."""
        self.posterior_ = posterior
        self.n_iter_ = posterior.n_iter
        self._space = space if posterior.support is None else space.restrict(posterior.support)
        for name in ("coef_", "intercept_", "log_evidence_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if posterior.log_evidence is not None:
            self.log_evidence_ = posterior.log_evidence
        if self.kernel == "linear":
            weights = self._space.primal(posterior.mean).T
            self.coef_ = weights[:, : self.n_features_in_]
            self.intercept_ = weights[:, -1] if self.fit_intercept else np.zeros(len(weights))

    def _in_chunks(self, X: ArrayLike, function: Callable[[NDArray], NDArray]) -> NDArray:
        """Apply a function of transformed points, some points at a time."""
        check_is_fitted(self)
        points: NDArray = validate_data(
            self, X, dtype=(np.float64, np.float32), order="C", reset=False
        )
        points = points[:, self._columns]
        chunks = [points[begin : begin + CHUNK] for begin in range(0, len(points), CHUNK)]
        return np.concatenate(
            [function(self._space.transform(chunk)) for chunk in chunks], dtype=np.float64
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def class_probabilities(log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
    """p_y from log q_y and log (1 - q_y) along the last axis; one task means two classes."""
    if log_yes.shape[-1] == 1:
        return np.exp(np.concatenate([log_no, log_yes], axis=-1))
    return softmax(log_yes - log_no, axis=-1)
