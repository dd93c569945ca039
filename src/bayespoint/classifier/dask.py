"""The classifier of dask arrays and data frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.parameters import Declared, NamedEngine, Parameters
from bayespoint.engines import get_engine
from bayespoint.engines.base import ENGINES
from bayespoint.rows.dask.cluster import Cluster, DaskExecutor
from bayespoint.rows.dask.collections import as_blocks, lazily
from bayespoint.rows.dask.perceptrons import PerceptronExecutor
from bayespoint.rows.executor import executed_by
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.stability import unstable

if TYPE_CHECKING:
    from dask.array import Array
    from distributed import Client

# Engines that sum over blocks, and one that trains its samples on workers.
ABLE = sorted(name for name, one in ENGINES.items() if one.learns_blocks or one.trains_elsewhere)


@unstable("Parameters may follow changes of Dask.")
@dataclass(kw_only=True, eq=False, repr=False)
class DaskBayesPointClassifier(ClassifierMixin, NamedEngine, Declared):
    r"""Bayes point machine that is trained on a Dask cluster.

    Learns from dask arrays, dask data frames, or files that workers read. Expectation propagation
    and Laplace's approximation go through the blocks of rows in rounds, in which workers send sums
    to the process that asks. Permuted perceptrons are one task for each permutation.

    For a given division into blocks, type of processor and BLAS, results are the same bits for any
    number of workers, and after the loss of one. They are those of
    :class:`~bayespoint.BayesPointClassifier` with the same blocks, and of perceptrons with the
    same seed.

    Parameters
    ----------
    kernel : {"auto", "linear", "poly", "rbf"}, Kernel or callable, default="auto"
        As in :class:`~bayespoint.BayesPointClassifier`; "auto" is linear. Kernels that are not
        linear need ``engine="perceptron"``.
    standardize, degree, gamma, coef0, normalize, ridge
        As in :class:`~bayespoint.BayesPointClassifier`.
    engine : {"auto", "ep", "factorised-ep", "laplace", "perceptron"} or Engine, default="auto"
        The algorithm; "auto" is ``ExpectationPropagation()``.
    temperature, decision, multi_class, fit_intercept, class_weight, random_state, verbose
        As in :class:`~bayespoint.BayesPointClassifier`.
    client : distributed.Client or None, default=None
        The connection to the cluster; None is the client of this process.

    Attributes
    ----------
    classes_, coef_, posterior_, run_, expected_scores_, ...
        All fitted attributes of :class:`~bayespoint.BayesPointClassifier`.

    See Also
    --------
    bayespoint.rows.from_parquet : Fits without Dask, a block at a time.
    bayespoint.rows.checkpoints : Lets a fit continue after a crash.

    Notes
    -----
    A perceptron needs all rows: a worker must have room for them, and for kernel rows (0.3 of its
    memory limit). The other engines need room for a few blocks.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bayespoint.classifier.dask import DaskBayesPointClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     clf = DaskBayesPointClassifier(client=client).fit(X, y)
    ...     probabilities = clf.predict_proba(X)
    ...     print(probabilities.chunks)
    ...     print(f"{clf.score(X, y):.3f}")
    ((100, 100, 100, 100, 100, 69), (2,))
    0.989
    >>> clf.to_local()
    BayesPointClassifier()
    """

    # Parameters of the local classifier that have no meaning here.
    mixture: ClassVar = None  # type: ignore[misc]
    device: ClassVar = None  # type: ignore[misc]
    max_time: ClassVar = None  # type: ignore[misc]
    n_jobs: ClassVar = None  # type: ignore[misc]
    warm_start: ClassVar = False  # type: ignore[misc]
    n_components: ClassVar = "auto"  # type: ignore[misc]
    categorical_features: ClassVar = "from_dtype"  # type: ignore[misc]

    client: Client | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskBayesPointClassifier:
        """Fit the classifier; returns when the cluster has done its work.

        Parameters
        ----------
        X : dask array, dask data frame, path, Blocks or array-like
            Training rows. Blocks of a dask collection stay in the memory of workers. Files
            (.parquet, .csv, .npy, or a folder of .parquet files) and
            :class:`~bayespoint.rows.Blocks` are read by workers, block by block in every round;
            all workers must be able to read them. Other arrays are divided, and sent to the
            cluster.
        y : dask array, dask series, array-like of shape (n_samples,), or str
            Labels; with a .parquet or .csv file the name of their column; None for Blocks, which
            have labels.
        sample_weight : dask array, dask series, array-like of shape (n_samples,), or str, optional
            Sample weights, in the same form.

        Returns
        -------
        self : DaskBayesPointClassifier
        """
        local = BayesPointClassifier(**self._params())
        engine, kernel = get_engine(self.engine), Parameters.of(self).make_kernel()
        engine.check()
        if not (engine.learns_blocks or engine.trains_elsewhere):
            raise ValueError(
                f"{type(engine).__name__} does not run on a cluster. Use one of the engines "
                f"{ABLE}, or BayesPointClassifier."
            )
        if kernel.is_precomputed:
            raise ValueError(
                "kernel='precomputed' needs the whole matrix in one place. Name another kernel, or "
                "use BayesPointClassifier."
            )
        cluster = Cluster(self.client, current_monitor(self.verbose))
        blocks = as_blocks(cluster, X, y, sample_weight)
        executor, data = DaskExecutor(cluster), (blocks,)
        if engine.trains_elsewhere:  # which visits single rows in any order
            executor = PerceptronExecutor(cluster, blocks)
            data = cluster.results([executor.rows])[0]
        with executed_by(executor):
            local.fit(*data)
        if blocks.feature_names is not None:
            local.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
        self._local = local
        return self

    def predict(self, X: Any) -> Array:
        """Labels of rows, as a lazy dask array."""
        check_is_fitted(self)
        return lazily(self._local, "predict", X, self.classes_[:0])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, as a lazy dask array of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        return lazily(self._local, "predict_proba", X, np.empty((0, len(self.classes_))))

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes, as a lazy dask array."""
        check_is_fitted(self)
        shape = (0,) if len(self.classes_) == 2 else (0, len(self.classes_))
        return lazily(self._local, "decision_function", X, np.empty(shape))

    def to_local(self) -> BayesPointClassifier:
        """The fitted classifier as an ordinary one, which needs no Dask."""
        check_is_fitted(self)
        return self._local

    def _params(self) -> dict[str, Any]:
        """Parameters of the local classifier."""
        params = self.get_params(deep=False)
        params.pop("client")
        return params

    def __getattr__(self, name: str) -> Any:
        local = vars(self).get("_local")
        if local is not None and name.endswith("_") and not name.startswith("_"):
            return getattr(local, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "_local" in vars(self)

    def __sklearn_clone__(self) -> DaskBayesPointClassifier:
        params = {name: clone(value, safe=False) for name, value in self._params().items()}
        return type(self)(client=self.client, **params)  # a connection is not copied

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}
