"""Bayesian classification by message passing: the pictures of the lecture slides, and numbers."""

from __future__ import annotations

from bayespoint.experiments.base import Context, Experiment, Result
from bayespoint.experiments.ep import bumps, two_weights
from bayespoint.experiments.ep.bumps_figure import bumps_figure
from bayespoint.experiments.ep.digits import VARIANCES, digits_table, load_pairs, solve_digits
from bayespoint.experiments.ep.digits_figures import scales_figure, weights_figure
from bayespoint.experiments.ep.methods import METHODS
from bayespoint.experiments.ep.two_weights_figure import two_weights_figure


def run(context: Context) -> Result:
    """Two weights, the plane, and the digits."""
    with context.part("loading the data"):
        digits_words, pairs = load_pairs(context)
    with context.part("two weights"):
        learned = two_weights.learn(context.seed)
    with context.part("the plane"):
        data = bumps.draw_data(context.seed)
        bumps_runs = bumps.solve_bumps(data)
        planes = [
            bumps_figure(bumps_runs, data, features, context.seed) for features in bumps.FEATURES
        ]
    with context.part("digits"):
        digits_runs, weights = solve_digits(context, pairs)
    return Result(
        setting=setting(digits_words, context.seed),
        tables=[
            two_weights.two_weights_table(learned),
            *(bumps.bumps_table(n, bumps_runs) for n in bumps.SIZES),
            *(digits_table(pair, digits_runs) for pair in pairs),
        ],
        figures=[
            two_weights_figure(learned),
            weights_figure(weights),
            *planes,
            scales_figure(digits_runs),
        ],
    )


def setting(digits_words: str, seed: int) -> dict[str, str]:
    """Data, parameters and methods of the three parts, in words."""
    flipped = f"{100 * bumps.FLIPPED:.0f} %"
    methods = ", ".join(f"{method.name} ({method.model} likelihood)" for method in METHODS)
    return {
        "methods": f"{methods}; steps are sweeps through the data for EP, Newton's for Laplace",
        "model": "weights from N(0, τ² I); the noise β of the probit likelihood is 1",
        "two weights": (
            f"points from N(0, I) in the plane, labels of the probit model with the weights "
            f"{two_weights.TRUE_WEIGHTS.tolist()}, τ = {two_weights.PRIOR_SCALE:g}, no "
            f"intercept, seed {seed}; the slides do not give their data"
        ),
        "the plane": (
            f"225 Gaussians on a 5 x 5 grid over [-1, 1]² at 9 widths from {bumps.WIDTHS[0]:g} "
            f"to {bumps.WIDTHS[-1]:g}, τ = {bumps.PRIOR_SCALE:g}, no intercept; labels "
            f"sign(sin 3 x1 - 1.2 x2 + 0.2), {flipped} of them flipped, seed {seed}; the slides do "
            "not give their data"
        ),
        "digits": f"{digits_words}; with an intercept, τ² from {VARIANCES[0]:g} to "
        f"{VARIANCES[-1]:g}",
    }


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
    run=run,
)
