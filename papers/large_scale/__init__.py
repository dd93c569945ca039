"""Large Scale Bayes Point Machines: samples of version space (Figure 1), rejection (Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator

from papers.base import Context, Experiment, Result
from papers.large_scale import samples, versions, virtual
from papers.large_scale.findings import findings
from papers.large_scale.problem import pose


def parts(context: Context) -> Iterator[Result]:
    """Samples of version space, and the machines of all digits."""
    with context.part("loading the data"):
        problem = pose(context)
    yield versions.run(context, problem)
    yield samples.run(context, problem)
    if context.virtual:
        yield virtual.run(context, problem)


EXPERIMENT = Experiment(
    name="large-scale",
    title="Large scale Bayes point machines",
    paper="R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, NIPS 13, 2001",
    description=(
        "Ten perceptrons on permuted training sets for each digit. The largest mean output "
        "is the prediction, and its size decides which test points are rejected. With the paper's "
        "kernel, and with the same kernel normalised."
    ),
    parts=parts,
    findings=findings,
    picture="rejection",
)
