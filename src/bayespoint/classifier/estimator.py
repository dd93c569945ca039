"""The classifier: a Bayes point machine with scikit-learn's interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier import fitting, out_of_core
from bayespoint.classifier.attributes import (
    ATTRIBUTES,
    FittedAttributes,
    attribute,
    unchanged_on_failure,
    warn_of,
)
from bayespoint.classifier.batches import learn_batch, learn_from_stream
from bayespoint.classifier.inputs import is_out_of_core, points_elsewhere
from bayespoint.classifier.label_sets import predict_set
from bayespoint.classifier.model import Model, Seed
from bayespoint.classifier.parameters import (
    ALWAYS_DENSE,
    Declared,
    NamedEngine,
    Parameters,
    can_update,
    input_tags,
)
from bayespoint.rows import Blocks
from bayespoint.tools import callbacks
from bayespoint.tools.arrays import like
from bayespoint.tools.monitor import current_monitor, monitor_for, watch
from bayespoint.tools.validation import new_points

P = ParamSpec("P")
R = TypeVar("R")


def answer(
    method: Callable[Concatenate[Model, Any, P], R],
) -> Callable[Concatenate[Any, ArrayLike | Blocks, P], R]:
    """A method of models as one of classifiers: rows are checked, and answers lie where X is."""

    @wraps(method)
    def of_classifier(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        model = self.model_
        if model.decision != self.decision:  # it was set after the fit
            model = replace(model, decision=self.decision)
            vars(model)["quick"] = self.model_.quick  # it does not depend on the decision
        if not isinstance(X, np.ndarray) or self.device is not None:
            return like(X, method(model, points_elsewhere(self, X), *args, **kwargs))
        points = new_points(self, X, accepts_sparse=model.accepts_sparse, table=model.table)
        return method(model, points, *args, **kwargs)

    return of_classifier


def watched(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of classifiers that shows its progress, as ``verbose`` says."""

    @wraps(method)
    def of_classifier(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with watch(current_monitor(self.verbose)):
            return method(self, *args, **kwargs)

    return of_classifier


def has_samples(classifier: Any) -> bool:
    """Whether the posterior of a classifier consists of samples."""
    return classifier.model_.posterior.n_samples is not None


@dataclass(kw_only=True, eq=False, repr=False)
class BayesPointClassifier(
    FittedAttributes, ClassifierMixin, callbacks.CallbackSupport, NamedEngine, Declared
):
    r"""Bayes point machine: predicts with the mean of all classifiers that fit the data.

    A classifier is a weight vector :math:`w` with output :math:`f(x) = \langle w, \phi(x) \rangle`.
    An ``engine`` computes the posterior distribution of :math:`w` given the training data. The mean
    of this distribution, the *Bayes point*, makes the predictions.

    Without arguments, kernels, their parameters and temperatures are learned from the training
    data, and the result is a mixture of a few models (see Notes). Parameters that you set are kept.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        Inner product of the features :math:`\phi`: "auto", "linear", "poly", "rbf", "matern32",
        "matern52", "exponential", "additive" or "precomputed". ``poly`` is :math:`(\gamma x \cdot
        x' + c_0)^d`, ``rbf`` is :math:`\exp(-\gamma |x - x'|^2)`, and ``matern32`` and ``matern52``
        are less smooth (:class:`~bayespoint.kernels.MaternKernel`). ``exponential`` is
        :math:`\exp(-\gamma \sum_j |x_j - x'_j|)`, rough along the axes, and ``additive`` gives sums
        of functions of single features (:class:`~bayespoint.kernels.AdditiveKernel`). A
        :class:`~bayespoint.kernels.Kernel` object, such as ``RadialKernel() + PolynomialKernel()``,
        has its own parameters, and ``degree``, ``gamma``, ``coef0`` and ``fit_intercept`` do not
        apply. A callable takes two arrays of rows and returns the matrix of all pairs. "auto" tries
        several kernels, with ``engine="ep"`` or ``"laplace"`` on dense features; otherwise it is
        "linear".
    standardize : bool or "auto", default="auto"
        Scale all features to mean 0 and variance 1. "auto" does so if several kernels are tried.
    degree : int, default=3
        Degree :math:`d` of ``poly``.
    gamma : {"auto", "scale", "features"}, float or array of shape (n_features,), default="auto"
        :math:`\gamma` of all kernels but ``linear``; for ``rbf`` and Matern optionally one per
        feature. "scale" is 1 / (n_features Var X), "features" is 1 / n_features. "auto" is "scale"
        if the kernel is named.
    coef0 : float, default=1.0
        :math:`c_0 \ge 0` of ``poly``.
    normalize : bool, default=False
        Use :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}` instead of :math:`k(x, x')`.
    ridge : float or "mean", default=0.0
        :math:`\lambda` of :math:`k_\lambda(x, x') = k(x, x') + \lambda [x = x']`. It allows
        training errors at a cost, like the slack of a support vector machine. "mean" is the mean of
        k(x, x). Engines with a noise model, such as the default, do not need it.
    n_components : int, "auto" or None, default="auto"
        Largest number M of training rows in the basis of a kernel that is not linear. The weights
        are in the span of these rows, chosen by a pivoted Cholesky decomposition. A fit takes
        :math:`n M^2` operations and memory for :math:`2 n M` numbers, instead of :math:`n^3` and
        :math:`6 n^2`, and predictions need only the M rows. The result is exact if M reaches the
        rank of the kernel matrix. None uses all rows. "auto" uses all of up to 2 000 rows, and of
        more M = min(1 000, :math:`\sqrt{4 \cdot 10^9 / n}`), at least 100. Needs ``ridge=0`` (with
        "auto", a ridge means all rows). ``engine="perceptron"`` has no basis and ignores it.
    engine : Engine or str, default="auto"
        The algorithm, or its alias: ``"ep"`` is ``ExpectationPropagation()``, as is "auto".
    temperature : float or "auto", default="auto"
        Divides the log-odds of the classes: above 1, probabilities are less certain. "auto" is the
        temperature of the best leave-one-out predictions, nearer to 1 for few rows. It is 1 for
        votes, and if the engine has no such predictions. ``partial_fit`` learns it from all
        batches: each row is predicted from earlier batches and the rest of its own. A mixture has a
        single temperature.
    mixture : list of (float, dict), optional
        Weights and parameters of several models, whose posteriors are mixed. Parameters that are
        not in the dict are those of the classifier, except for a temperature of 1.
    decision : {"bayes_point", "vote", "median"}, default="bayes_point"
        Whether predictions and probabilities are those of the mean weights, or of the majority vote
        of the classifiers (the Bayes-optimal decision). "median" is for ordered classes.
    multi_class : str or list of labels, default="auto"
        "joint": several classes have one posterior, and the label is the class of the largest noisy
        output (engines "ep" and "laplace"). "one_vs_rest": one posterior for each class. "ordinal":
        ordered classes have one output, with thresholds between them (same engines). "cumulative":
        ordered classes have a task "above it or not" for each class but the highest (all engines
        but "perceptron"). The order is that of numbers or of pandas' ordered categories; a list of
        all labels, lowest first, stands for "ordinal" with this order.
    fit_intercept : bool, default=True
        Add a constant feature to ``kernel="linear"``, and to the kernels of "auto". Others ignore
        it; ``poly`` has a constant through ``coef0``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply ``sample_weight``.
    warm_start : bool, default=False
        Whether ``fit`` adds samples to the posterior of the previous fit on the same data, up to
        the engine's ``n_samples``, instead of starting again. Fitting 4 samples and then 6 more
        gives the same result as fitting 10.
    device : None, "cpu", "cuda", "cuda:1" or "auto", default=None
        Where to compute; "auto" is a GPU if there is one. None follows X: the CPU, or the GPU of a
        torch tensor or CuPy array. Fitted attributes are NumPy arrays; predictions have the type of
        X. Needs ``pip install "bayespoint[gpu]"`` and a named kernel.
    max_time : float, optional
        Seconds for the choice of kernels; ``run_.choice`` names those that were not tried.
    n_jobs : int or None, default=None
        Number of threads for independent parts of a fit, in addition to those of BLAS. Results do
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the engine. Equal seeds give equal results.
    verbose : int, default=0
        Write progress to standard error; see also ``tools.monitor`` and ``set_callbacks``.
    categorical_features : "from_dtype", array-like of bool, int or str, or None
        Columns of X that are categories (:doc:`/how-to/tables`): those of a data frame whose type
        is category, text or bool (the default), or a mask, indices or names.

    Attributes
    ----------
    model_ : Model
        The fitted model, from which the other attributes are read.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coding_ : Coding
        How the classes are reduced to tasks.
    posterior_ : Posterior
        The distribution over the weights of each task.
    coef_, intercept_ : ndarray of shape (n_tasks, n_features) and (n_tasks,)
        The Bayes point, if the kernel is linear: ``X @ coef_.T + intercept_`` are the outputs.
    run_ : Run
        Whether the fit converged, and what to do if not; ``run_.choice`` lists what was tried.
    chosen_params_ : dict
        Parameters of the same fit, if kernels were tried:
        ``BayesPointClassifier(**chosen_params_)``.
    expected_scores_ : dict of str to Estimate
        Expected ``"error"`` and ``"log_loss"`` on new data, from left-out training rows, with 95 %
        intervals. With clean labels and a wide prior, that of the log-loss is often too low.
    feature_relevance_ : ndarray of shape (n_features,)
        How much worse predictions become if the values of a column are permuted; the sum is 1.
    log_evidence_ : ndarray of shape (n_tasks,)
        Log evidence log p(y), if the engine computes it.
    left_out_error_ : float
        Leave-one-out error of the classifier, if it is known.
    oob_decision_function_, oob_score_ : ndarray, float
        With ``PermutedPerceptron``: ``decision_function`` of the training rows by classifiers that
        have not learned from them (NaN if there are none), and its accuracy.
    n_iter_ : int
        Largest number of iterations of a task.
    kernel_ : Kernel
        The fitted kernel.

    Notes
    -----
    ``kernel="auto"`` tries linear, Gaussian, rough and additive kernels (:doc:`/defaults`). The
    evidence determines scales and widths, leave-one-out predictions weights and a temperature.

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
    0.0211 (0.0072 to 0.0476)
    >>> print(f"{1 - clf.score(X_test, y_test):.4f}")  # of 143 rows: 7
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

    @callbacks.with_callbacks
    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> BayesPointClassifier:
        """Fit the classifier: compute the posterior of the weights.

        Parameters
        ----------
        X : array-like, data frame, tensor or sparse array of shape (n_samples, n_features)
            Training rows, float32 or float64, with NaN where a number is missing, or a data frame
            with numbers and categories. With ``kernel="precomputed"``: the kernel matrix, of shape
            (n_samples, n_samples). Sparse input needs a linear kernel. If kernels are tried, small
            input becomes dense, and large input stays sparse, with a warning. X may also be
            :class:`~bayespoint.rows.Blocks`, which contain labels and weights. With a linear
            kernel, a memory-mapped array that is too large for memory is read in blocks.
        y : array-like of shape (n_samples,)
            Labels of any type, of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights; rows of weight 0 are ignored. The engine defines the meaning of other
            weights, and whether it supports them.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one patient (:doc:`/how-to/groups`): what is
            learned from leave-one-out predictions then comes from those without a row's group.

        Returns
        -------
        self : BayesPointClassifier
        """
        began = time.perf_counter()
        with unchanged_on_failure(self), watch(current_monitor(self.verbose)):
            parameters, monitor = Parameters.of(self), monitor_for(self)
            before = vars(self).get("model_") if self.warm_start else None
            way = out_of_core if is_out_of_core(parameters, X) else fitting
            data = X, y, sample_weight, groups
            problem = way.pose(self, parameters, *data, reset=before is None)
            self._publish(way.fit(parameters, problem, monitor, before), began)
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
        training rows. For these, compute approximate features, for example with ``Nystroem``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the batch.
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
        began, before = time.perf_counter(), vars(self).get("model_")
        model = learn_from_stream(self, before, X, y, classes, sample_weight)
        if model is not None:
            self.model_ = model
            return self
        with unchanged_on_failure(self):
            self._publish(learn_batch(self, before, X, y, classes, sample_weight), began)
        return self

    decision_function = answer(Model.decision_function)
    predict = answer(Model.predict)
    predict_proba = answer(Model.predict_proba)
    predict_log_proba = answer(Model.predict_log_proba)
    predict_set = watched(answer(predict_set))
    vote_shares = answer(Model.vote_shares)
    class_shares = answer(Model.class_shares)
    latent_mean_and_variance = answer(Model.latent_mean_and_variance)
    draw_outputs = answer(Model.draw_outputs)
    sample_proba = answer(Model.sample_proba)
    sample_outputs = available_if(has_samples)(answer(Model.sample_outputs))

    def draw_weights(self, n_samples: int = 10, random_state: Seed = None) -> NDArray:  # noqa: D102
        check_is_fitted(self)
        return self.model_.draw_weights(n_samples, random_state)

    draw_weights.__doc__ = Model.draw_weights.__doc__

    def _publish(self, model: Model, began: float) -> None:
        """Show what a fit has learned, and warn."""
        run = replace(model.run, seconds=time.perf_counter() - began)
        self.model_ = replace(model, run=run)
        self.model_.quick  # noqa: B018 - computed now, not with the first prediction
        warn_of(model)

    def __getattr__(self, name: str) -> Any:
        if name not in ATTRIBUTES or "model_" not in vars(self):
            return object.__getattribute__(self, name)  # its error says why it is not there
        return attribute(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in ATTRIBUTES if hasattr(self, name))]

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        if not isinstance(self.kernel, str) or self.kernel not in ALWAYS_DENSE:
            tags.input_tags.pairwise, tags.input_tags.sparse = input_tags(self)
        return tags

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it what was chosen."""
        diagram = super()._html_repr()
        if not hasattr(self, "chosen_params_"):
            return diagram
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.run_.choice)
        summary = "<summary>Chosen automatically</summary>"
        return f"{diagram}<details>{summary}<ul>{lines}</ul></details>"
