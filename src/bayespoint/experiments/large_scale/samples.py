"""Fit one machine, and see what its samples are worth: alone, the first n together, all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier import BayesPointClassifier
from bayespoint.datasets import Split
from bayespoint.experiments.base import Context
from bayespoint.reject import RejectionCurve, rejection_curve


@dataclass(frozen=True)
class SampleErrors:
    """Errors of a sampled machine on a test set.

    Attributes
    ----------
    name : str
        Which machine.
    curve : RejectionCurve
        Of the Bayes point of all N samples, by its largest output.
    first : ndarray of shape (N,)
        Error of the Bayes point of the first 1, ..., N samples.
    alone : ndarray of shape (N,)
        Error of each sample alone.
    n_support, n_epochs : int
        Training points with a coefficient, and most passes through the data.
    """

    name: str
    curve: RejectionCurve
    first: NDArray[np.float64]
    alone: NDArray[np.float64]
    n_support: int
    n_epochs: int


def sample_errors(
    name: str, machine: BayesPointClassifier, split: Split, context: Context
) -> SampleErrors:
    """Fit the machine and test it; all numbers come from one fit and one pass over the test set.

    Sample n is made from the n-th permutation whatever N is, so that the first n samples of this
    machine are the machine that a fit with ``n_samples=n`` gives.
    """
    with context.part(f"{name}, fit"):
        machine.fit(split.X_train, split.y_train)
    with context.part(f"{name}, test"):
        outputs = machine.sample_outputs(split.X_test)
    n_samples = outputs.shape[1]
    means = outputs.cumsum(axis=1) / np.arange(1, n_samples + 1)[:, None]
    return SampleErrors(
        name=name,
        curve=rejection_curve(split.y_test, means[:, -1], classes=machine.classes_),
        first=error_rates(machine, means, split.y_test),
        alone=error_rates(machine, outputs, split.y_test),
        n_support=len(machine.posterior_.mean),
        n_epochs=machine.n_iter_,
    )


def error_rates(
    machine: BayesPointClassifier, outputs: NDArray, labels: NDArray
) -> NDArray[np.float64]:
    """Share of wrong answers of each of the classifiers along axis 1 of ``outputs``."""
    answers = machine.classes_[outputs.argmax(axis=2)]
    return (answers != labels[:, None]).mean(axis=0)
