"""Checks of posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint import posteriors
from bayespoint.coding import BinaryCoding, Coding, OneVersusRest
from bayespoint.engines import Run
from bayespoint.likelihoods import Likelihood, ProbitLikelihood
from bayespoint.posteriors.sampled import TrainingMoments
from bayespoint.state import finite, integer, need, number, optional, shaped


def gaussian(value: posteriors.GaussianPosterior) -> None:
    """A mean and a covariance for each task."""
    sizes = finite(value.mean, "dt")
    n_tasks = sizes["t"]
    finite(value.factor, "td" if value.factor.ndim == 2 else "tdd", **sizes)
    optional(value.log_evidence, "t", t=n_tasks)
    optional(value.left_out_log_probability, "nt", t=n_tasks)
    need(isinstance(value.likelihood, Likelihood), "its likelihood is none")
    messages = value.messages
    if messages is not None:
        need(isinstance(messages, posteriors.Messages), "its messages are none")
        shaped(messages.rate, "f", "nt", **shaped(messages.shift, "f", "nt", t=n_tasks))


def probit(value: ProbitLikelihood) -> None:
    """A noise and a rate of flips, one for all tasks or for each."""
    for numbers, high in ((value.noise, np.inf), (value.label_noise, 0.5)):
        if isinstance(numbers, np.ndarray):
            finite(numbers, "t")
            need((numbers >= 0).all() and (numbers <= high).all(), "a noise is out of range")
        else:
            number(numbers, 0, high)


def run(value: Run) -> None:
    """Numbers and words."""
    integer(value.n_iter, 0)
    need(type(value.converged) in (bool, np.bool_), "whether it converged is not said")
    for words in (value.unit, value.summary, value.remedy):
        need(isinstance(words, str), "its words are none")
    need(isinstance(value.history, (list, tuple)), "its history is none")
    need(isinstance(value.measures, dict), "its measures are none")


def coding(value: Coding) -> None:
    """At least two classes."""
    (n_classes,) = shaped(value.classes, "biufUO", "c").values()
    need(n_classes >= 2, "it has fewer than two classes")
    need(n_classes == 2 or not isinstance(value, BinaryCoding), "it has more than two classes")


def sampled(value: posteriors.SampledPosterior) -> None:
    """Weights, and what was seen of them at the training points."""
    sizes = finite(value.weights, "dst")
    if value.support is not None:
        shaped(value.support, "iu", "d", d=sizes["d"])
        need((np.diff(value.support) > 0).all(), "its training points are not in order")
        need(sizes["d"] == 0 or value.support[0] >= 0, "a training point is negative")
    need(isinstance(value.moments, TrainingMoments), "its moments are none")
    shaped(value.moments.squares, "f", "t", t=sizes["t"])


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
    need(isinstance(value.likelihood, ProbitLikelihood), "its likelihood is none")
    shaped(value.label_noise, "f", "t", t=sizes["t"])
    optional(value.log_evidence, "t", t=sizes["t"])
    if value.evidence is not None:
        need(len(value.evidence) == sizes["t"], "some evidence is missing")
        are_known = all(isinstance(one, posteriors.FlipEvidence) for one in value.evidence)
        need(are_known, "its evidence is none")


def evidence(value: posteriors.FlipEvidence) -> None:
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


PARTS: dict[type, Callable[[Any], object]] = {
    posteriors.GaussianPosterior: gaussian,
    posteriors.SampledPosterior: sampled,
    posteriors.ChainPosterior: chains,
    posteriors.MarginalPosterior: marginal,
    TrainingMoments: moments,
    posteriors.FlipEvidence: evidence,
    ProbitLikelihood: probit,
    Run: run,
    BinaryCoding: coding,
    OneVersusRest: coding,
}
