"""Checks of posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint import posteriors
from bayespoint.posteriors.evidence import Evidence
from bayespoint.posteriors.sampled import TrainingMoments
from bayespoint.state import finite, integer, need, number, optional, shaped


def gaussian(value: posteriors.GaussianWeights) -> None:
    """A mean and a covariance for each task."""
    sizes = finite(value.mean, "dt")
    n_tasks = sizes["t"]
    finite(value.factor, "td" if value.factor.ndim == 2 else "tdd", **sizes)
    optional(value.log_evidence, "t", t=n_tasks)
    optional(value.left_out_log_probability, "nt", t=n_tasks)
    optional(value.left_out_error, "t", t=n_tasks)
    messages = value.messages
    if messages is not None:
        need(isinstance(messages, posteriors.Messages), "its messages are none")
        shaped(messages.rate, "f", "nt", **shaped(messages.shift, "f", "nt", t=n_tasks))
    need(isinstance(value.changes, (list, tuple)), "its changes are none")
    need(isinstance(value.endings, (list, tuple)), "its endings are none")
    integer(value.n_iter, 0)
    if isinstance(value, posteriors.GaussianPosterior):
        number(value.noise, 0)
        number(value.label_noise, 0, 0.5)


def sampled(value: posteriors.SampledPosterior) -> None:
    """Weights, and what was seen of them at the training points."""
    sizes = finite(value.weights, "dst")
    if value.support is not None:
        shaped(value.support, "iu", "d", d=sizes["d"])
        need((np.diff(value.support) > 0).all(), "its training points are not in order")
        need(sizes["d"] == 0 or value.support[0] >= 0, "a training point is negative")
    need(isinstance(value.moments, TrainingMoments), "its moments are none")
    shaped(value.moments.squares, "f", "t", t=sizes["t"])
    integer(value.n_iter, 0)
    integer(value.n_failed, 0)


def moments(value: TrainingMoments) -> None:
    """Sums over at least one sample."""
    integer(value.n_samples, 1)
    sizes = finite(value.margins, "mt")
    finite(value.squares, "t", t=sizes["t"])
    finite(value.noise, "t", t=sizes["t"])


def chains(value: posteriors.ChainPosterior) -> None:
    """Weights of all chains, and numbers for each task."""
    sizes = finite(value.weights, "dst")
    integer(value.n_chains, 1)
    integer(value.n_draws, 1)
    need(value.n_chains * value.n_draws == sizes["s"], "its chains have other lengths")
    finite(value.mean, "dt", d=sizes["d"], t=sizes["t"])
    for name in ("label_noise", "r_hat", "effective_sample_size"):
        shaped(getattr(value, name), "f", "t", t=sizes["t"])
    need((value.label_noise >= 0).all() and (value.label_noise <= 0.5).all(), "a rate of flips")
    optional(value.log_evidence, "t", t=sizes["t"])
    if value.evidence is not None:
        need(len(value.evidence) == sizes["t"], "some evidence is missing")
        need(all(isinstance(one, Evidence) for one in value.evidence), "its evidence is none")
    integer(value.n_iter, 0)


def evidence(value: Evidence) -> None:
    """A histogram for each chain and rung."""
    shaped(value.histograms, "f", "crk", **finite(value.rungs, "r"))
    number(value.n_coins, 0)


def marginal(value: posteriors.MarginalPosterior) -> None:
    """A histogram of each weight, and the training points."""
    sizes = finite(value.grids, "tdb")
    shaped(value.log_marginals, "f", "tdb", **sizes)
    number(value.beta, 0)
    Z, targets, weight = value._training
    n_points = finite(Z, "nd", d=sizes["d"])["n"]
    shaped(targets, "i", "nt", n=n_points, t=sizes["t"])
    optional(weight, "n", n=n_points)
    need(isinstance(value.changes, (list, tuple)), "its changes are none")
    integer(value.n_iter, 0)


PARTS: dict[type, Callable[[Any], object]] = {
    posteriors.GaussianPosterior: gaussian,
    posteriors.LogisticPosterior: gaussian,
    posteriors.SampledPosterior: sampled,
    posteriors.ChainPosterior: chains,
    posteriors.MarginalPosterior: marginal,
    TrainingMoments: moments,
    Evidence: evidence,
}
