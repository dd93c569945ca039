"""Batches of a stream: learned from without computing anew what does not change between them."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint import _core
from bayespoint.classifier.calibration import expected_scores
from bayespoint.classifier.fitted import Fitted
from bayespoint.classifier.fitting import Trained
from bayespoint.classifier.problem import Problem, known_classes
from bayespoint.engines import Engine, Run
from bayespoint.engines.gaussian.streams import is_filter, learn_rows, safe_entry
from bayespoint.posteriors import StreamPosterior
from bayespoint.tools.monitor import Monitor, current_monitor


class Stream(NamedTuple):
    """What was checked with a batch, and holds for the next ones while no parameter changes."""

    parameters: list[Any]
    engine: Any
    constant: float
    largest: float  # absolute value of an entry that needs no closer look


@cache
def parameter_names(cls: type) -> list[str]:
    """Names of the parameters of a class of estimators."""
    return cls._get_param_names()  # type: ignore[attr-defined]


def parameters_of(classifier: Any) -> list[Any]:
    """The parameters of a classifier and of its engine."""
    cls: Any = type(classifier)
    values = [vars(classifier)[name] for name in parameter_names(cls)]
    engine = classifier.engine
    return values + list(vars(engine).values()) if isinstance(engine, Engine) else values


class Streaming(Fitted):
    """Learns from batches of sparse rows at the speed of a compiled loop.

    A first batch takes the usual way, with all checks. The next ones, of the same kind, change the
    posterior in place, and attributes that take long are computed when they are read.
    """

    not_stored = ("_deferred", "_stream")
    _stream: Stream | None = None

    def _publish(
        self, engine: Engine, problem: Problem, trained: Trained, choice: Any, seconds: float
    ) -> None:
        """Set the fitted attributes, and note what need not be checked for the next batch."""
        super()._publish(engine, problem, trained, choice, seconds)
        self._stream, posterior = None, trained.posterior
        if not isinstance(posterior, StreamPosterior) or not is_filter(engine):
            return
        form, is_changed = self.kernel_.linear_form, self.kernel_.normalize or self._scaling
        if form is not None and form.gamma == 1 and not is_changed and self.class_weight is None:
            constant = float(np.sqrt(form.coef0))
            self._stream = Stream(parameters_of(self), engine, constant, safe_entry(posterior))

    def _learn_from_stream(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> bool:
        """Learn from a batch like the last one; False, and nothing is done, if it is unlike it."""
        stream, began = self._stream, time.perf_counter()
        if stream is None or sample_weight is not None or not is_plain(X, stream.largest):
            return False
        now = parameters_of(self)
        same = len(now) == len(stream.parameters) and all(
            one is other for one, other in zip(now, stream.parameters, strict=True)
        )
        watched = type(current_monitor(self.verbose)) is not Monitor
        if not same or watched or X.shape[1] != self.n_features_in_:
            return False
        codes = self._codes(y, X.shape[0])
        if codes is None or "feature_names_in_" in vars(self):
            return False
        known_classes(self.classes_, classes)
        posterior: Any = self.posterior_
        targets = self.coding_.encode(codes)
        posterior = learn_rows(stream.engine, posterior, X, stream.constant, targets)
        self._publish_later(posterior, codes, time.perf_counter() - began)
        return True

    def _codes(self, y: Any, n: int) -> NDArray[np.intp] | None:
        """Indices of the classes of labels; None if these are not plain, or unknown."""
        labels = np.asarray(y)
        if labels.shape != (n,) or labels.dtype.kind not in "biuU":
            return None
        if len(self.classes_) == 2:
            is_yes = labels == self.classes_[1]
            known = is_yes | (labels == self.classes_[0])
            return is_yes.astype(np.intp) if known.all() else None
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        return codes if (self.classes_[codes] == labels).all() else None

    def _publish_later(
        self, posterior: StreamPosterior, codes: NDArray[np.intp], seconds: float
    ) -> None:
        """Set the fitted attributes, or let them be computed when they are read."""
        self.posterior_, self.n_iter_ = posterior, 1
        self.log_evidence_ = posterior.log_evidence
        self.run_ = Run("sweeps", 1, "a single pass, as asked", seconds=seconds)
        self._drop_attributes_of_some_fits(keep=("log_evidence_",))
        log_probability: Any = posterior.left_out_log_probability
        self.defer(
            coef_=lambda: self._weights()[0],
            intercept_=lambda: self._weights()[1],
            expected_scores_=lambda: expected_scores(
                self.coding_.probabilities(*self.coding_.left_out(log_probability, codes)), codes
            ),
            left_out_error_=lambda: self.expected_scores_["error"].value,
        )


def is_plain(X: Any, largest: float) -> bool:
    """Whether X is CSR rows of float64, canonical, finite and not huge."""
    if not isinstance(X, (sparse.csr_array, sparse.csr_matrix)) or X.dtype != np.float64:
        return False
    if not X.has_canonical_format:
        return False
    return _core.filters.are_within(X.data, largest)
