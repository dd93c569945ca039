"""Convergence of Markov chains: diagnostics, limits and remedies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Run
from bayespoint.exceptions import ChainsDisagreeWarning, StoppedEarlyWarning
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import ChainPosterior, FlipEvidence
from bayespoint.posteriors.diagnostics import effective_sample_size, r_hat
from bayespoint.spaces import BasisSpace
from bayespoint.tools.validation import check_number, parameter_error

AGREE = 1.05  # R-hat up to which chains agree, and target_ess may end a run
DISAGREE = 1.1  # R-hat above which a warning is due; independent chains of 100 draws stay below
ENOUGH_SAMPLES = 100  # independent ones, from which a second digit of a probability has meaning
MONITORED = 100  # training points whose outputs tell whether chains agree
LEAST = -1e300  # log-probability, so that differences stay finite
SHORT = 1_000_000  # outputs that are sorted at once, between two chances to interrupt


class Task(NamedTuple):
    """The results of one task."""

    draws: NDArray[np.float64]  # (n_chains, n_draws, n_coordinates)
    mean: NDArray[np.float64]
    label_noise: float
    r_hat: float
    effective_sample_size: float
    n_steps: int
    evidence: FlipEvidence | None = None


def check_sizes(engine: Any) -> None:
    """Raise a ValueError for numbers of chains or samples that are not allowed."""
    for name in ("n_chains", "n_samples"):
        check_number(engine, name, low=1, integer=True)
    if engine.n_samples < engine.n_chains:
        raise parameter_error(engine, "n_samples", f"at least n_chains={engine.n_chains}")


def agreement(draws: NDArray, normals: NDArray) -> tuple[float, float]:
    """Largest R-hat and smallest effective sample size of the outputs at some training points."""
    some = normals[:: -(-len(normals) // MONITORED)]
    outputs = draws @ some.T
    parts = np.array_split(outputs, min(len(some), -(-outputs.size // SHORT)), axis=2)
    return (
        float(np.max([np.max(r_hat(part)) for part in parts])),
        float(np.min([np.min(effective_sample_size(part)) for part in parts])),
    )


def gather(
    tasks: list[Task], space: BasisSpace, targets: NDArray[np.int8], copies: NDArray[np.float64]
) -> ChainPosterior:
    """The posterior of all tasks; ``copies`` of each label are taken out by leave-one-out."""
    n_draws = min(task.draws.shape[1] for task in tasks)  # a stopped run ends with fewer
    draws = np.stack([task.draws[:, :n_draws] for task in tasks], axis=3)
    mean = np.stack([task.mean for task in tasks], axis=1)
    if space.n_coordinates == 1:  # the second one was there for the circles only
        draws = np.sign(draws[:, :, :1])
        mean = draws.mean(axis=(0, 1))
    evidence = [task.evidence for task in tasks if task.evidence is not None]
    label_noise = np.array([task.label_noise for task in tasks])
    noise, left_out = np.zeros(len(tasks)), np.empty(targets.shape)
    for number, q in enumerate(label_noise):
        weights = draws[..., number].reshape(-1, space.n_coordinates).T
        private = space.private_outputs(weights)
        noise[number] = np.sqrt(np.square(private).mean())
        likelihood = ProbitLikelihood(noise[number], q)
        left = np.where(q > 0, copies, 1.0)  # without flips copies change nothing
        for own, rows in space.parts():
            left_out[own, number] = left_out_log_probability(
                targets[own, [number]] * (rows @ weights - private[own]), likelihood, left[own]
            )
    is_possible = (noise > 0) | (label_noise > 0)  # else no sample is wrong at any point
    return ChainPosterior(
        draws,
        label_noise,
        mean,
        evidence or None,
        noise=noise,
        left_out_log_probability=left_out if is_possible.all() else None,
    )


def left_out_log_probability(
    margins: NDArray[np.float64], likelihood: ProbitLikelihood, copies: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log p(label | all other labels) of some points, from margins y f_n (n_points, N).

    A sample w of the posterior given all labels counts 1 / p(y_i | w) without a copy of the i-th.
    """
    log_p = np.maximum(likelihood.log_likelihood(margins)[0], LEAST)
    weight = np.exp(copies[:, None] * (log_p.min(axis=1, keepdims=True) - log_p))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = (weight * margins).sum(axis=1)
    variance = (weight * (margins - mean[:, None]) ** 2).sum(axis=1)
    score = likelihood.predictive(mean, variance + mean**2 / margins.shape[1])
    return likelihood.log_predictive(score)[0]


def chain_run(
    tasks: list[Task], posterior: ChainPosterior, n_draws: int, target: float | None, remedy: str
) -> Run:
    """The run of the chains of all tasks.

    ``n_draws`` of each chain were requested, with an effective sample size of ``target`` or more.
    """
    n_steps = max(task.n_steps for task in tasks)
    measures = {
        name: np.array([float(getattr(task, name)) for task in tasks])
        for name in ("r_hat", "effective_sample_size", "label_noise")
    }
    measures["chain_cosine"] = chain_cosines(posterior)
    warnings: list[Warning] = []
    bad = [t for t, task in enumerate(tasks) if is_bad(task, target)]
    if bad:
        worst = max(bad, key=lambda t: tasks[t].r_hat)
        task, others = tasks[worst], len(bad) - 1
        numbers = task.r_hat, task.effective_sample_size, target, task.n_steps
        warnings.append(ChainsDisagreeWarning(worst, others, *numbers, remedy))
    spread, size = np.max(measures["r_hat"]), np.min(measures["effective_sample_size"])
    if np.isnan(spread):
        words = "the chains are too short for a diagnosis"
    elif bad:
        words = "the chains disagree"
    elif spread > AGREE or size < ENOUGH_SAMPLES:
        words = "the chains nearly agree"
    else:
        words, remedy = "the chains agree", ""
    summary = f"{words}: R-hat {spread:.2f}, effective sample size {size:.0f}"
    if posterior.n_draws < n_draws:
        remedy, n_chains = "fit again to have them all", posterior.n_chains
        early = StoppedEarlyWarning(
            posterior.n_draws * n_chains, n_draws * n_chains, "the monitor", remedy
        )
        summary = f"{early.summary}; {summary}"
        warnings.append(early)
    return Run(
        "steps", n_steps, summary, not warnings, remedy, measures=measures, warnings=warnings
    )


def is_bad(task: Task, target: float | None) -> bool:
    """Whether chains disagree, or the effective sample size is too small."""
    short = target is not None and not task.effective_sample_size >= target
    return task.r_hat > DISAGREE or short


def chain_cosines(posterior: ChainPosterior) -> NDArray[np.float64]:
    """Cosines of the mean of each chain with the mean of all, shape (n_tasks, n_chains)."""
    means = posterior.to_dict()["weights"].mean(axis=1)  # chain, coordinate, task
    centre = means.mean(axis=0)
    lengths = np.linalg.norm(means, axis=1) * np.linalg.norm(centre, axis=0)
    products = (means * centre).sum(axis=1)
    return np.divide(products, lengths, out=np.ones_like(products), where=lengths > 0).T
