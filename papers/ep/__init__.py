"""Bayesian classification by message passing: the pictures of the lecture slides, and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from papers.base import Context, Experiment, Result
from papers.ep import bumps, digits, two_weights
from papers.ep.findings import findings
from papers.ep.methods import METHODS


def parts(context: Context) -> Iterator[Result]:
    """Two weights, the plane, and the digits."""
    with context.part("loading the data"):
        words, pairs = digits.load_pairs(context)
    methods = ", ".join(f"{method.name} ({method.model} likelihood)" for method in METHODS)
    yield Result(
        {
            "methods": f"{methods}; steps are sweeps through the data for EP, Newton's for Laplace",
            "model": "weights from N(0, τ² I); the noise β of the probit likelihood is 1",
        }
    )
    yield two_weights.run(context)
    yield bumps.run(context)
    yield digits.run(context, words, pairs)


EXPERIMENT = Experiment(
    name="ep",
    title="Bayesian classification by message passing",
    paper=(
        "R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian "
        "Classification, lecture slides"
    ),
    description=(
        "Expectation propagation computes a Gaussian posterior over the weights of the probit "
        "model. The slides show it for two weights, for 225 features in the plane and for pairs of "
        "digits, as pictures without numbers. Here are the pictures with measurements, compared "
        "with Laplace's approximation and, for two weights, with the exact posterior."
    ),
    parts=parts,
    findings=findings,
    picture="two-weights",
)
