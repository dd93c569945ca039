"""Posteriors and codings as nodes of an ONNX graph."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bayespoint import posteriors
from bayespoint.codings import Coding
from bayespoint.likelihoods.base import HARD
from bayespoint.posteriors.base import TIE
from bayespoint.posteriors.log_odds import FARTHEST, FIRST
from bayespoint.posteriors.marginal import CERTAIN
from bayespoint.storage.onnx.graph import Value, join
from bayespoint.tools.numbers import EPSILON, TINY

SMALLEST = np.nextafter(0.0, 1.0)


class Answers(NamedTuple):
    """Decision, and logarithms of p(yes) and p(no), of each task: (n, n_tasks)."""

    decision: Value
    log_yes: Value
    log_no: Value


def probabilities(coding: Coding, answers: Answers) -> Value:
    """Probabilities of the classes."""
    return answers.decision.graph.add("Softmax", log_odds(coding, answers), axis=-1)


def log_odds(coding: Coding, answers: Answers) -> Value:
    """Scores of the classes, over the temperature."""
    return coding.log_odds(answers.log_yes, answers.log_no) / coding.temperature


@singledispatch
def answers(posterior: posteriors.Posterior, space: Any, X: Value, rule: str) -> Answers:
    """Logarithms of p(yes) and p(no) of each task."""
    raise ValueError(
        f"to_onnx cannot write a {type(posterior).__name__}. Use one of the engines of bayespoint."
    )


@answers.register
def _(posterior: posteriors.JointPosterior, space: Any, X: Value, rule: str) -> Answers:
    raise ValueError(
        "to_onnx cannot write several classes with one posterior: their probabilities are "
        "integrals over orthants, for which ONNX has no operator. Fit the classifier with "
        "multi_class='one_vs_rest'."
    )


@answers.register
def _(posterior: posteriors.GaussianPosterior, space: Any, X: Value, rule: str) -> Answers:
    Z = space.onnx_coordinates(X)
    mean = Z @ posterior.mean
    if posterior.is_diagonal:
        variance = (Z * Z) @ np.square(posterior.factor.T)
    else:
        spreads = [Z @ factor for factor in posterior.factor]
        variance = join([(spread * spread).sum(1) for spread in spreads])
    likelihood = posterior.likelihood if rule != "vote" else posterior.likelihood.silent
    if likelihood is None:
        return normal_answers(mean / variance.at_least(TINY).sqrt())
    return Answers(*likelihood.onnx_predictive(mean, variance))


@answers.register
def _(posterior: posteriors.StreamPosterior, space: Any, X: Value, rule: str) -> Answers:
    if posterior.is_gaussian:
        return answers.dispatch(posteriors.GaussianPosterior)(posterior, space, X, rule)
    raise ValueError(
        "to_onnx cannot write decay='auto', whose mixed scores need the inverse of Phi, for which "
        "ONNX has no operator. Fit the classifier with one decay."
    )


@answers.register
def _(posterior: posteriors.SampledPosterior, space: Any, X: Value, rule: str) -> Answers:
    Z = space.onnx_coordinates(X)
    if rule == "bayes_point":
        odds = posterior.log_odds
        outputs = Z @ posterior.mean
        scores = outputs @ odds.matrix.T + odds.offset
        is_one = len(odds.offset) == 1 and (odds.follows or odds.random_share > 0)
        if is_one:  # two classes: log-odds 0 and s
            outputs, scores = (-outputs).beside(outputs), (scores * 0.0).beside(scores)
        if odds.follows:
            scores = following(outputs, scores)
        if odds.random_share:
            random = odds.random_share / max(2, len(odds.offset))
            p = scores.graph.add("Softmax", scores, axis=-1)
            scores = (p * (1 - odds.random_share) + random).log()
        return logistic_answers(scores.columns(1, 2) - scores.columns(0, 1) if is_one else scores)
    outputs = sample_outputs(posterior, Z)
    n = posterior.n_samples
    small = outputs.at_least(-1.0).at_most(1.0) / n
    return vote_shares((signs(posterior, outputs, Z) + small).sum(1, keep=False) / n, n)


@answers.register
def _(posterior: posteriors.ChainPosterior, space: Any, X: Value, rule: str) -> Answers:
    Z, n = space.onnx_coordinates(X), posterior.n_samples
    outputs, centre = sample_outputs(posterior, Z), Z @ posterior.mean
    apart = outputs - outputs.sum(1) / n
    variance = (apart * apart).sum(1, keep=False) / n + centre * centre / n
    score = centre / (variance + np.square(posterior.likelihood.noise)).at_least(SMALLEST).sqrt()
    answers = normal_answers(score)
    if rule == "vote":
        votes = signs(posterior, outputs, Z).sum(1, keep=False) / n
        answers = vote_shares(votes + score / n**1.5, n)
    decision, *both = answers
    return Answers(decision, *map(posterior.likelihood.onnx_flipped, both))


@answers.register
def _(posterior: posteriors.MarginalPosterior, space: Any, X: Value, rule: str) -> Answers:
    Z = space.onnx_coordinates(X)
    mean = Z @ posterior.mean
    if rule == "bayes_point":
        return normal_answers(mean / posterior.scale)
    spread = ((Z * Z) @ posterior.variance).sqrt()
    return normal_answers(mean / spread.at_least(CERTAIN * posterior.scale + TINY))


@answers.register
def _(posterior: posteriors.MixturePosterior, space: Any, X: Value, rule: str) -> Answers:
    members = zip(posterior.members, posterior.codings, space.spaces, strict=True)
    shares = [
        probabilities(coding, answers(member, own, X, rule)) for member, coding, own in members
    ]
    mixed = [share * weight for share, weight in zip(shares, posterior.weights, strict=True)]
    log_p = sum(mixed[1:], mixed[0]).at_least(TINY).log()
    return logistic_answers(posterior.codings[0].onnx_decision(log_p))


@answers.register
def _(posterior: posteriors.SeparatePosterior, space: Any, X: Value, rule: str) -> Answers:
    members = zip(posterior.members, space.spaces, strict=True)
    tasks = [answers(member, own, X, rule) for member, own in members]
    return Answers(*(join(list(one)) for one in zip(*tasks, strict=True)))


def sample_outputs(posterior: Any, Z: Value) -> Value:
    """f_n(x) of every sample, (n, n_samples, n_tasks)."""
    weights = posterior.weights
    return (Z @ weights.reshape(len(weights), -1)).reshape(0, *weights.shape[1:])


def signs(posterior: Any, outputs: Value, Z: Value) -> Value:
    """Signs of outputs, 0 where these are no larger than rounding errors: see ``Samples.signs``."""
    weights = TIE * EPSILON * abs(posterior.weights.astype(np.float64))
    size = (abs(Z) @ weights.reshape(len(weights), -1)).reshape(0, *weights.shape[1:])
    return outputs.sign() * (abs(outputs) - size).is_positive()


def following(outputs: Value, scores: Value) -> Value:
    """Log-odds in the order of the outputs: see the function in ``posteriors/log_odds.py``."""
    leads = 1.0 - (outputs.largest() - outputs).is_positive()
    own = (scores * leads).sum(1)
    above = 1.0 - (own - scores).is_positive()
    sizes = (scores - own).at_most(FARTHEST).exp() * above
    pooled = own + (sizes.sum(1) / above.sum(1)).log()
    return scores * (1.0 - above) + pooled * above + leads * FIRST


def normal_answers(score: Value) -> Answers:
    """Logarithms of Phi(score) and Phi(-score)."""
    return Answers(score, score.log_ndtr(), (-score).log_ndtr())


def logistic_answers(score: Value) -> Answers:
    """Logarithms of sigma(score) and sigma(-score)."""
    return Answers(score, score.log_logistic(), (-score).log_logistic())


def vote_shares(votes: Value, n_samples: int) -> Answers:
    """Logarithms of the smoothed shares of yes and no."""
    n_yes = (votes + 1.0) * (n_samples / 2)
    share = ((n_yes + 0.5) / (n_samples + 1)).at_least(HARD).at_most(1 - HARD)
    return Answers(votes, share.log(), (1.0 - share).log())
