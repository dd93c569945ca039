"""Sets of labels with a guarantee, of classifiers alone or at the end of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from bayespoint.classifier import label_sets as of_model
from bayespoint.classifier.label_sets import LabelSets
from bayespoint.classifier.training_rows import machine_of
from bayespoint.tools.arrays import to_numpy
from bayespoint.tools.monitor import current_monitor, watch
from bayespoint.tools.validation import new_points


def label_sets(
    clf: Any,
    X: Any,
    *,
    coverage: float = 0.9,
    per_class: bool = False,
    calibration: tuple[Any, ArrayLike] | None = None,
    groups: tuple[ArrayLike, ArrayLike] | None = None,
    method: str = "auto",
    max_time: float | None = None,
) -> LabelSets:
    r"""Predict for each row the labels that cannot be ruled out, and say on what grounds.

    A label y of a new row is ruled out if it would be among the least probable labels: with
    :math:`s_i` the probability of the label of row i given all other rows,

    .. math:: p(y) = \frac{1 + \#\{i \le n : s_i \le s_{n+1}\}}{n + 1} \le 1 - \text{coverage} .

    If the n + 1 rows are exchangeable, and the scores treat them alike, the true label is ruled out
    with probability 1 - coverage at most. Ties count as lower, which can only make sets larger.

    * Full sets: the new row joins the training rows with each label in turn, and all n + 1 rows
      are predicted from the others. No rows are held out. Exact if everything that depends on the
      training rows treats the new row alike. With ``method="auto"`` for expectation propagation on
      at most 1 200 rows, if neither kernels nor prior scale were learned from the labels:
      milliseconds for each row and label. Exact if the kernel with its parameters and the prior
      scale are given (the default prior of a linear kernel is), and the features are not
      standardized, or the kernel is linear: then the new row takes part in the scaling. Otherwise
      approximate. With ``method="full"`` for all that was learned, such as the kernels of the
      default classifier: a fit for each row and label, exact.
    * Held-out sets, by any engine: ``calibration``. Exact.
    * Leave-one-out sets otherwise: for the default classifier, for other engines, with many rows,
      with a joint posterior of several classes, and for a model that was pickled or loaded. The
      scores are the leave-one-out or out-of-bag probabilities of the training rows, from kernels,
      weights and temperature that were learned without them where these are learned in halves.
      Approximate: a new row is predicted from one row more.

    Parameters
    ----------
    clf : BayesPointClassifier
        A fitted classifier, alone or as the last step of a pipeline. (The steps before see only
        the training rows: a scaler there makes full sets approximate.)
    X : array-like of shape (n_samples, n_features)
        New rows.
    coverage : float in (0, 1), default=0.9
        Probability that a set contains the true label, at least.
    per_class : bool, default=False
        Whether it holds for the rows of each class, instead of for all rows together.
    calibration : tuple (X, y), optional
        Rows that the classifier was not trained on.
    groups : tuple of array-likes, optional
        The groups of the training rows, or of the calibration rows, and those of X: the coverage
        then holds in each group.
    method : {"auto", "full", "left_out"}, default="auto"
        How new rows are compared with the training rows, see above. "full" raises an error where
        the training rows are not there, or have weights or groups.
    max_time : float, optional
        Seconds for full sets. The rows that are not done by then have leave-one-out sets. A
        :class:`~bayespoint.tools.monitor.Monitor` sees the progress, and can stop it as well.

    Returns
    -------
    LabelSets
        The sets, p-values, and what the guarantee rests on.

    See Also
    --------
    bayespoint.reject.SelectiveClassifier : Rejects rows with too large a risk.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, Springer 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reject import label_sets
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="rbf", gamma=0.1, multi_class="one_vs_rest")
    >>> clf = clf.set_params(engine__prior_scale=3.0).fit(X[::2], y[::2])
    >>> sets = label_sets(clf, X[[71, 133, 1]], coverage=0.95)
    >>> [labels.tolist() for labels in sets.labels]
    [[1], [1, 2], [0]]
    >>> sets.method, sets.is_exact
    ('full', True)
    """
    parts = machine_of(clf)
    classifier = parts.last
    if calibration is not None:
        calibration = (parts.transform(calibration[0]), calibration[1])
    model = classifier.model_
    options: Any = {"accepts_sparse": model.accepts_sparse, "table": model.table}
    points = new_points(classifier, to_numpy(parts.transform(X)), **options)
    how: Any = {"method": method, "max_time": max_time}
    with watch(current_monitor(classifier.verbose)):
        sets = of_model.label_sets(model, points, coverage, per_class, calibration, groups, **how)
    if parts.before is None or not sets.is_exact or sets.method != "full":
        return sets
    basis = "all rows, but the steps before the classifier depend on the training rows"
    return replace(sets, is_exact=False, basis=basis)
