"""The kernel Gibbs sampler: its figures, and what its paper proposes to use it for."""

from __future__ import annotations

from bayespoint.experiments.base import Context, Experiment, Result
from bayespoint.experiments.gibbs import curves, plane, posterior, sphere, votes
from bayespoint.experiments.gibbs.figures import (
    curves_figure,
    diversity_figure,
    evidence_figure,
    posterior_figure,
    sphere_figure,
)

THIN = {"quick": 1000, "full": 10_000}  # moves between samples in the plane ...
EVIDENCE_THIN = {"quick": 20, "full": 100}  # ... and for the evidence, which makes many more


def run(context: Context) -> Result:
    """The sphere, the plane, votes, and active learning."""
    seed, mode = context.seed, context.mode

    with context.part("sphere"):
        n_sets = sphere.N_SETS[mode]
        posteriors = [posterior.solve_posterior(m, seed) for m in posterior.SIZES]
        spheres = [
            sphere.solve_sphere(convention, n_sets, seed) for convention in sphere.CONVENTIONS
        ]
    with context.part("plane"):
        X, y = plane.draw_data(seed)
        diversity = plane.solve_diversity(X, y, THIN[mode], seed)
        evidence = plane.solve_evidence(X, y, EVIDENCE_THIN[mode], seed)
    with context.part("votes"):
        shares = votes.solve_votes(votes.N_SETS[mode], seed)
    with context.part("active learning"):
        learned = curves.solve_curves(
            curves.N_SETS[mode], curves.N_LABELS[mode], curves.THIN[mode], seed
        )
    return Result(
        setting=setting(seed),
        tables=[
            posterior.posterior_table(posteriors),
            plane.diversity_table(diversity),
            sphere.sphere_table(spheres),
            votes.votes_table(shares),
            curves.curves_table(learned),
            plane.evidence_table(evidence),
        ],
        figures=[
            posterior_figure(posteriors),
            diversity_figure(diversity, X, y),
            sphere_figure(spheres),
            curves_figure(learned),
            evidence_figure(evidence),
        ],
    )


def setting(seed: int) -> dict[str, str]:
    """Data and parameters, in words."""
    return {
        "sphere": "; ".join(f"{name}: {text}" for name, text in sphere.CONVENTIONS.items()),
        "plane": (
            f"{2 * plane.SIZE} points from two Gaussians, kernel exp(-|x - x'|² / 2 width²); "
            "the paper does not give its data"
        ),
        "seed": str(seed),
    }


EXPERIMENT = Experiment(
    name="gibbs",
    title="The kernel Gibbs sampler",
    paper="T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, NIPS 13, 2001",
    description=(
        "Samples of the posterior under label noise: their diversity, Bayes point and SVM on noisy "
        "labels, rejection by vote, active learning, and evidence."
    ),
    run=run,
)
