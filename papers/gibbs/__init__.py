"""The kernel Gibbs sampler: its figures, and what its paper proposes to use it for."""

from __future__ import annotations

from collections.abc import Iterator

from papers.base import Context, Experiment, Result
from papers.gibbs import curves, plane, posterior, sphere, votes
from papers.gibbs.findings import findings


def parts(context: Context) -> Iterator[Result]:
    """The sphere, the plane, votes, and active learning."""
    for part in (posterior, plane, sphere, votes, curves):
        yield part.run(context)
    yield Result({"seed": str(context.seed)})


EXPERIMENT = Experiment(
    name="gibbs",
    title="The kernel Gibbs sampler",
    paper="T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, NIPS 13, 2001",
    description=(
        "Samples of the posterior under label noise: their diversity, Bayes point and SVM on noisy "
        "labels, rejection by vote, active learning, and evidence."
    ),
    parts=parts,
    findings=findings,
    picture="gibbs-noise",
)
