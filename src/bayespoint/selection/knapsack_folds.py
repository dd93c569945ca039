"""Folds of data, on which messages are passed once and read with every beta."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_consistent_length

from bayespoint.tools.pipelines import split_pipeline


class Data(NamedTuple):
    """Points, labels and weights that can be cut into folds."""

    points: Any
    labels: NDArray
    weight: NDArray[np.float64] | None
    pairwise: bool

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: ArrayLike | None, *, pairwise: bool) -> Data:
        """What the user gave, indexable; other errors are the classifier's to raise."""
        points, labels = indexable(X, np.asarray(y))
        if isinstance(points, (list, tuple)):
            points = np.asarray(points)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(points, labels, weight)
        return cls(points, labels, weight, pairwise)

    def rows(self, kept: NDArray[np.int64], against: NDArray[np.int64] | None = None) -> Data:
        """Some rows; of a kernel matrix the columns that belong to ``against`` or to them."""
        points = self.points.iloc[kept] if hasattr(self.points, "iloc") else self.points[kept]
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
    _, classifier, prefix = split_pipeline(fitted)
    classifier.set_params(engine__C=C, engine__beta=beta)
    if data.weight is None:
        return fitted.fit(data.points, data.labels)
    return fitted.fit(data.points, data.labels, **{f"{prefix}sample_weight": data.weight})


def share_right(classifier: Any, points: Any, labels: NDArray) -> float:
    """Share of right answers: ``classifier.score`` without its checks, which take longer."""
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
    """Pass messages once, and score every beta; without a scorer by the share of right answers."""
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
