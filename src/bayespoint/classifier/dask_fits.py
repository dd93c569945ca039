"""The local classifier, its work done on a cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from distributed import Future

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.problem import Problem
from bayespoint.engines import Engine, PermutedPerceptron, Request, Run, get_engine
from bayespoint.posteriors import Posterior
from bayespoint.rows import Blocks, Executor
from bayespoint.rows.dask.cluster import Cluster
from bayespoint.rows.dask.executor import DaskExecutor
from bayespoint.rows.dask.perceptrons import ClusterTrainer, Points, all_rows
from bayespoint.spaces import DualSpace
from bayespoint.tools.monitor import Monitor


class OnCluster(BayesPointClassifier):
    """A classifier whose perceptrons and blocks are worked on by a cluster.

    The process that asks poses the problem, and joins what workers send.
    """

    _cluster: Cluster
    _rows: Future  # of the points, labels and weights of all blocks

    def _fit_blocks(
        self,
        blocks: Blocks,
        y: Any = None,
        sample_weight: Any = None,
        executor: Executor | None = None,
    ) -> None:
        super()._fit_blocks(blocks, y, sample_weight, executor or DaskExecutor(self._cluster))

    def _solve(
        self, engine: Engine, problem: Problem, space: Any, start: Any, monitor: Monitor
    ) -> tuple[Posterior, Run]:
        unfitted = DualSpace(space.kernel, space.ridge, space.n_components)
        points = Points(problem.given, self._scaling, unfitted)
        request = Request(
            rng=np.random.default_rng(self._seed),
            monitor=monitor,
            sample_weight=problem.weight,
            trainer=partial(ClusterTrainer, self._cluster, self._rows, points),
        )
        return engine.run(space, problem.targets, request)


def fit_on_cluster(params: dict[str, Any], cluster: Cluster, blocks: Blocks) -> Any:
    """The local classifier with these parameters, fitted on a cluster."""
    trained = OnCluster(**params)
    trained._cluster = cluster
    if isinstance(get_engine(trained.engine), PermutedPerceptron):
        trained._rows = all_rows(cluster, blocks)
        trained.fit(*cluster.results([trained._rows])[0])
        del trained._rows
    else:
        trained.fit(blocks)
    del trained._cluster
    local: Any = BayesPointClassifier(**params)
    vars(local).update(vars(trained))
    if blocks.feature_names is not None:
        local.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
    return local
