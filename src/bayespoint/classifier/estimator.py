"""The classifier: a Bayes point machine with scikit-learn's interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from bayespoint.classifier.batches import Streaming
from bayespoint.classifier.fitted import unchanged_on_failure
from bayespoint.classifier.fitting import at_temperature, mixed
from bayespoint.classifier.inputs import validated
from bayespoint.classifier.out_of_core import OutOfCore
from bayespoint.classifier.parameters import can_update
from bayespoint.classifier.problem import Problem, known_classes
from bayespoint.engines import Engine
from bayespoint.gpu.arrays import scaled, to_numpy
from bayespoint.kernels import Kernel
from bayespoint.rows import Blocks
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.callbacks import CallbackSupport, monitor_for, with_callbacks
from bayespoint.tools.monitor import current_monitor


class BayesPointClassifier(ClassifierMixin, CallbackSupport, Streaming, OutOfCore):
    r"""Bayes point machine: predicts with the mean of all classifiers that fit the data.

    A classifier is a weight vector :math:`w` with output :math:`f(x) = \langle w, \phi(x) \rangle`.
    An ``engine`` computes the posterior distribution of :math:`w` given the training data. The mean
    of this distribution, the *Bayes point*, is the classifier that predicts.

    Without arguments, kernels, their parameters and temperatures are learned from the training
    data, and the result is a mixture of a few machines (see Notes). What is named stays as it is.

    Parameters
    ----------
    kernel : {"auto", "linear", "poly", "rbf", "matern32", "matern52", "precomputed"}, Kernel or \
            callable, default="auto"
        Inner product of the features :math:`\phi`. ``poly`` is
        :math:`(\gamma x \cdot x' + c_0)^d`, ``rbf`` is :math:`\exp(-\gamma |x - x'|^2)`, and
        ``matern32`` and ``matern52`` are less smooth
        (:class:`~bayespoint.kernels.MaternKernel`). A
        :class:`~bayespoint.kernels.Kernel` object, such as ``RadialKernel() + PolynomialKernel()``,
        holds its parameters itself: ``degree``, ``gamma``, ``coef0`` and ``fit_intercept`` do not
        apply. A callable takes two arrays of points and returns the matrix of all pairs. "auto"
        tries several, with ``engine="ep"`` or ``"laplace"`` on dense features; otherwise it is
        "linear".
    standardize : bool or "auto", default="auto"
        Scale all features to mean 0 and variance 1; "auto" does so if kernels are tried.
    degree : int, default=3
        Degree :math:`d` of ``poly``.
    gamma : {"auto", "scale", "features"}, float or array of shape (n_features,), default="auto"
        :math:`\gamma` of all but ``linear``; for ``rbf`` and Matern also one for each feature. "scale" is
        1 / (n_features Var X), "features" is 1 / n_features. "auto" is "scale" if the kernel is
        named.
    coef0 : float, default=1.0
        :math:`c_0 \ge 0` of ``poly``.
    normalize : bool, default=False
        Use :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}` instead of :math:`k(x, x')`.
    ridge : float or "mean", default=0.0
        :math:`\lambda` of :math:`k_\lambda(x, x') = k(x, x') + \lambda [x = x']`. It permits
        training errors at a price, like the slack of a support vector machine. "mean" is the mean
        of k(x, x). Engines with a noise model, such as the default, do not need it.
    n_components : int, "auto" or None, default="auto"
        Most training points in the basis of a kernel that is not linear, M. The weights are those
        of the span of M points, chosen by a pivoted Cholesky decomposition. A fit takes
        :math:`n M^2` operations and memory for :math:`2 n M` numbers, instead of :math:`n^3` and
        :math:`6 n^2`, and predictions need only the M points. The result is exact if M reaches the
        rank of the kernel matrix. None takes all points. "auto" takes all of at most 2 000 points,
        and M = min(1 000, 10^8 / n), at least 100, of more. Needs ``ridge=0`` (with "auto", a ridge
        means all points). ``engine="perceptron"`` has no basis and ignores it.
    engine : Engine or str, default="auto"
        The algorithm, or its alias: ``"ep"`` is ``ExpectationPropagation()``, as is "auto".
    temperature : float or "auto", default="auto"
        Divides the log-odds of the classes: above 1 probabilities are less certain. "auto" is the
        temperature of the best leave-one-out predictions, nearer to 1 for few points; 1 if the
        engine has no leave-one-out predictions, and for votes. ``partial_fit`` learns it from all
        batches, each point predicted from the earlier batches and the rest of its own. A mixture
        has one temperature as a whole.
    mixture : list of (float, dict), optional
        Weights and parameters of several machines, whose posteriors are mixed. Parameters that are
        not in the dict are those of the classifier, but for a temperature of 1.
    decision : {"bayes_point", "vote"}, default="bayes_point"
        Whether predictions and probabilities follow the mean of the weights or the majority vote of
        the classifiers. The vote is the Bayes-optimal decision, but not itself a linear classifier.
    multi_class : {"auto", "joint", "one_vs_rest"}, default="auto"
        Whether several classes have one posterior, in which the label is the class of the largest
        noisy output (engines "ep" and "laplace"), or one each against the rest.
    fit_intercept : bool, default=True
        Add a constant feature to ``kernel="linear"``, and to the kernels of "auto". Others ignore
        it; ``poly`` has a constant through ``coef0``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply ``sample_weight``.
    warm_start : bool, default=False
        Whether ``fit`` adds samples to the posterior of the previous fit on the same data, up to
        the engine's ``n_samples``, instead of starting again. Fitting 4 samples and then 6 more
        gives the same result as fitting 10.
    device : None, "cpu", "cuda", "cuda:1" or "auto", default=None
        Where to work; "auto" is a GPU if there is one. None follows X: the CPU, or the GPU on which
        a torch tensor or CuPy array lies. Fitted attributes are NumPy arrays, predictions are
        arrays of the kind of X. Needs ``pip install "bayespoint[gpu]"`` and a named kernel.
    max_time : float, optional
        Seconds for the choice of kernels; ``run_.choice`` names those that were not tried in time.
    n_jobs : int or None, default=None
        Number of threads for independent parts of a fit, in addition to those of BLAS. Results do
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the engine. Equal seeds give equal results.
    verbose : int, default=0
        Write progress to standard error; see also ``tools.monitor`` and ``set_callbacks``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coding_ : Coding
        How the classes are reduced to tasks.
    posterior_ : Posterior
        The distribution over the weights of each task.
    coef_, intercept_ : ndarray of shape (n_tasks, n_features) and (n_tasks,)
        The Bayes point, if the kernel is linear: ``X @ coef_.T + intercept_`` are the outputs.
    run_ : Run
        How the fit went: iterations, whether it converged, and what to do if not. ``run_.choice``
        says what was tried and chosen.
    chosen_params_ : dict
        Parameters that give the same fit when typed, if kernels were tried:
        ``BayesPointClassifier(**chosen_params_)``.
    expected_scores_ : dict of str to Estimate
        ``"error"`` and ``"log_loss"`` to be expected on new data, with 95 % intervals, from
        predictions of training points that do not know their label.
    feature_relevance_ : ndarray of shape (n_features,)
        Share of each feature in the squared slopes of linear and Gaussian kernels and their sums.
    log_evidence_ : ndarray of shape (n_tasks,)
        Log evidence log p(y), if the engine computes it.
    left_out_error_ : float
        Leave-one-out error of the classifier, if it is known.
    oob_decision_function_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``decision_function`` of the training points by classifiers that have not learned from them,
        if the engine computes it (``PermutedPerceptron``). NaN where there is no such classifier.
    oob_score_ : float
        Accuracy of ``oob_decision_function_``.
    n_iter_ : int
        Largest number of iterations of a task.
    kernel_ : Kernel
        The fitted kernel.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    ``kernel="auto"`` considers a linear kernel, a Gaussian one, the sum of a Gaussian, a linear and
    a constant kernel, and, with at least five points for each feature, the same sum with a width
    for each feature. Scales and widths maximise the evidence of each half of the points (of at most
    500; scales are learned from all of up to 200). Each kernel is trained on all points, in a basis
    of at most 500. Leave-one-out predictions of the *other* half set weights and the temperature.

    See Also
    --------
    bayespoint.reject.SelectiveClassifier : Rejects points where the classifier is uncertain.

    References
    ----------
    R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, NIPS 13, 2001.

    R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = BayesPointClassifier(random_state=0).fit(X_train, y_train)
    >>> print(clf.expected_scores_["error"])  # on new data, with its interval
    0.0164 (0.00663 to 0.0336)
    >>> print(f"{1 - clf.score(X_test, y_test):.4f}")  # of 143 points: 7
    0.0490
    >>> clf.predict_proba(X_test[1:3]).round(2)
    array([[0.01, 0.99],
           [0.  , 1.  ]])

    Learning in batches, with a linear kernel:

    >>> online, scaler = BayesPointClassifier(), StandardScaler().fit(X_train)
    >>> for batch in range(3):
    ...     part = slice(142 * batch, 142 * (batch + 1))
    ...     points = scaler.transform(X_train[part])
    ...     _ = online.partial_fit(points, y_train[part], classes=[0, 1])
    >>> print(f"{online.score(scaler.transform(X_test), y_test):.3f}")
    0.951
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel | Callable[[NDArray, NDArray], NDArray] = "auto",
        standardize: bool | str = "auto",
        degree: int = 3,
        gamma: ArrayLike | str = "auto",
        coef0: float = 1.0,
        normalize: bool = False,
        ridge: float | str = 0.0,
        n_components: int | str | None = "auto",
        engine: Engine | str = "auto",
        temperature: float | str = "auto",
        mixture: Sequence[tuple[float, dict[str, Any]]] | None = None,
        decision: str = "bayes_point",
        multi_class: str = "auto",
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        device: str | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.standardize = standardize
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.normalize = normalize
        self.ridge = ridge
        self.n_components = n_components
        self.engine = engine
        self.temperature = temperature
        self.mixture = mixture
        self.decision = decision
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.device = device
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BayesPointClassifier:
        """Fit the classifier: compute the posterior of the weights.

        Parameters
        ----------
        X : array-like, tensor or sparse array of shape (n_samples, n_features)
            Training points, float32 or float64. With ``kernel="precomputed"``: the kernel matrix,
            of shape (n_samples, n_samples). Sparse input needs a linear kernel and an engine that
            supports it, and is never made dense. If the engine is given by name, such as ``"ep"``,
            a form of it that supports sparse rows is chosen, with a warning. Or
            :class:`~bayespoint.rows.Blocks`, which are read a block at a time, and bring labels
            and weights with them; a memory-mapped array that is too large for memory is read so,
            too, with a linear kernel.
        y : array-like of shape (n_samples,)
            Labels of any type, of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights; points of weight 0 are ignored. The engine defines the meaning of other
            weights, and whether it supports them.

        Returns
        -------
        self : BayesPointClassifier
        """
        if isinstance(X, Blocks) or self._is_too_large(X):
            self._fit_blocks(X, y, sample_weight)
            return self
        with unchanged_on_failure(self):
            self._check_parameters()
            began, monitor = time.perf_counter(), monitor_for(self)
            engine = self._make_engine(X)
            self._check_device(X, engine)
            problem = self._pose(X, y, sample_weight, engine, reset=not self._extends)
            start = self._start(engine, problem)
            choice = self._choose(problem, engine, monitor) if self._chooses(engine) else None
            if choice is None:
                trained = self._train(problem, monitor, start)
            else:
                whole = mixed(choice.mixture, choice.trained, problem)
                trained = at_temperature(whole, choice.temperature)
            self._publish(engine, problem, trained, choice, time.perf_counter() - began)
        return self

    @available_if(can_update)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BayesPointClassifier:
        """Learn from one more batch, with the posterior of all earlier batches as prior.

        Each batch is used once. One call with all data is the same as ``fit``, and many small
        batches come close to it. After ``fit``, the posterior of that fit is the prior of the first
        batch. ``log_evidence_`` is the sum over the batches, each given those before it.

        Only for ``kernel="linear"`` without a ridge: the features of other kernels depend on all
        training points. For these, compute approximate features, for example with ``Nystroem``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the batch.
        y : array-like of shape (n_samples,)
            Labels of the batch, which need not contain all classes.
        classes : array-like of shape (n_classes,), optional
            Classes of all batches. Required in the first call, unless ``fit`` was called before.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, as in ``fit``.

        Returns
        -------
        self : BayesPointClassifier
        """
        began = time.perf_counter()
        if self._learn_from_stream(X, y, classes, sample_weight):
            return self
        self._check_parameters()
        if self.ridge != 0:
            raise ValueError(
                f"partial_fit needs ridge=0: a ridge adds a feature for every training point. "
                f"Got ridge={self.ridge!r}; raise the engine's noise instead, or use fit."
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels, but partial_fit sees one batch. Pass "
                "the weights of the classes as a dict."
            )
        if hasattr(self, "chosen_params_"):
            raise ValueError(
                "partial_fit cannot update a fit whose kernel was chosen from all of its data. Set "
                "kernel='linear' before fit, or call partial_fit for the first batch, too."
            )
        first = not hasattr(self, "posterior_")
        with unchanged_on_failure(self):
            engine = self._make_engine(X)
            self._check_device(X, engine, batch=True)
            points, labels = validated(self, X, y, self._takes_sparse(engine), reset=first)
            known = known_classes(None if first else self.classes_, classes)
            problem = Problem.pose(points, labels, sample_weight, self.class_weight, classes=known)
            problem = self._with_coding(problem, engine)
            if first:
                self._seed = int(check_random_state(self.random_state).randint(2**31))
            if self.standardize is True:
                raise ValueError(
                    "partial_fit cannot standardize features: it sees one batch at a time. Set "
                    "standardize=False, and scale the features with fixed numbers."
                )
            self._scaling = None
            self._fingerprint = None  # no later fit can extend this posterior
            start, monitor = None if first else self.posterior_, current_monitor(self.verbose)
            trained = self._train(problem, monitor, start)
            self._publish(engine, problem, trained, None, time.perf_counter() - began)
        return self

    def _pose(
        self, X: Any, y: Any, sample_weight: Any, engine: Engine, *, reset: bool = True
    ) -> Problem:
        """The problem of all data at once, of scaled features if that is asked for."""
        points, labels = validated(
            self, X, y, self._takes_sparse(engine), reset=reset, space=engine.device_space
        )
        is_matrix = self._make_kernel().is_precomputed
        given = (points, labels, to_numpy(sample_weight), self.class_weight)
        problem = self._with_coding(Problem.pose(*given, precomputed=is_matrix), engine)
        self._scaling = None
        if self._chooses(engine) if self.standardize == "auto" else self.standardize:
            if is_matrix or issparse(points):
                raise TypeError(
                    "standardize=True needs features in a dense array: a kernel matrix has no "
                    "features, and sparse ones would become dense. Set standardize=False."
                )
            self._scaling = Scaling.of(to_numpy(problem.points), problem.weight)
            problem = replace(problem, points=scaled(self._scaling, problem.points))
        return problem
