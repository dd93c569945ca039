"""Figure 1 of the kernel Gibbs sampler: its samples beside the exact posterior on the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.posteriors.diagnostics import effective_sample_size
from bayespoint.tools.plots import BLUE, INK, VERMILION, Drawing, colours, new_panels
from papers.base import Column, Context, Figure, Result, Row, Table, rounded
from papers.gibbs.sphere import draw_set, from_angles
from papers.plots import paint

SIZES = (10, 1000)  # points of the paper's figure ...
NOISE = 0.2  # ... and their flip rate
THETA = float(np.log((1 - NOISE) / NOISE))
GRID = 121  # points along each axis of the map
STEPS = 300  # along each axis of the integrals, which are then exact to 2 in 1000
REACH = 8.0  # standard deviations around the Bayes point that integrals cover


def run(context: Context) -> Result:
    """Few points, and many."""
    with context.part("posterior on the sphere"):
        runs = [solve_posterior(m, context.seed) for m in SIZES]
    return Result({}, [posterior_table(runs)], [posterior_figure(runs)])


class SpherePosterior(NamedTuple):
    """The posterior of m points: on a map, by integration, and by samples."""

    m: int
    log_posterior: NDArray[np.float64]
    n_errors: float  # expected, by integration
    bayes_point: NDArray[np.float64]  # by integration
    draws: NDArray[np.float64]  # (n_chains, n_draws, 3)
    sampled_errors: NDArray[np.float64]  # (n_chains, n_draws)


def solve_posterior(m: int, seed: int) -> SpherePosterior:
    """Draw points on the sphere, integrate their posterior, and sample it."""
    X, y = draw_set("uniform", m, NOISE, np.random.default_rng((seed, m)))
    engine = GibbsSampler(label_noise=NOISE, n_samples=2000, thin=30)
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=seed
    ).fit(X, y)
    chains: Any = clf.posterior_
    draws = chains.to_dict()["weights"][..., 0]
    n_errors, mean = integrate(X, y, draws.reshape(-1, 3))
    sampled = count_errors(draws, X, y).astype(float)
    return SpherePosterior(m, log_posterior(X, y), n_errors, mean, draws, sampled)


def count_errors(W: NDArray, X: NDArray, y: NDArray) -> NDArray[np.int64]:
    """Points on the wrong side of each w."""
    return (y * (W @ X.T) <= 0).sum(axis=-1)


def log_posterior(X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Log posterior over longitude (columns) and latitude (rows), its largest being 0."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, GRID)
    longitude = np.linspace(0, 2 * np.pi, GRID)
    W = from_angles(*np.broadcast_arrays(np.pi / 2 - latitude[:, None], longitude))
    n_errors = count_errors(W, X, y)
    return -THETA * (n_errors - n_errors.min())


def integrate(X: NDArray, y: NDArray, draws: NDArray) -> tuple[float, NDArray[np.float64]]:
    """Expected number of errors and mean of w, on rings around the mean direction of some draws.

    The draws say only where the mass is, so that many points do not need a finer grid.
    """
    centre = draws.mean(axis=0)
    centre /= np.linalg.norm(centre)
    spread = np.sqrt(np.mean(np.arccos(np.clip(draws @ centre, -1, 1)) ** 2))
    widest = min(np.pi, REACH * spread)
    polar = (np.arange(STEPS) + 0.5) * widest / STEPS
    azimuth = (np.arange(STEPS) + 0.5) * 2 * np.pi / STEPS
    axes = np.linalg.svd(centre[None])[2][[1, 2, 0]]
    axes[2] = centre
    W = from_angles(*np.broadcast_arrays(polar[:, None], azimuth)) @ axes
    n_errors = np.stack([count_errors(ring, X, y) for ring in W])
    mass = np.exp(-THETA * (n_errors - n_errors.min())) * np.sin(polar)[:, None]
    mass /= mass.sum()
    return float((mass * n_errors).sum()), np.einsum("pa,pai->i", mass, W)


def angles(W: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude and latitude of unit vectors, in degrees."""
    longitude = np.degrees(np.arctan2(W[:, 1], W[:, 0])) % 360
    return longitude, np.degrees(np.arcsin(np.clip(W[:, 2], -1, 1)))


def posterior_table(runs: Sequence[SpherePosterior]) -> Table:
    """Integrals beside sampled means."""
    rows = []
    for run in runs:
        mean = run.draws.mean(axis=(0, 1))
        cosine = mean @ run.bayes_point / np.linalg.norm(mean) / np.linalg.norm(run.bayes_point)
        size = float(effective_sample_size(run.sampled_errors[..., None])[0])
        error = run.sampled_errors.std() / np.sqrt(size)
        sampled = run.sampled_errors.mean()
        far = abs(sampled - run.n_errors) / error
        verdict = "agrees" if far < 3 else f"{far:.1f} standard errors apart"
        degrees = float(np.degrees(np.arccos(min(cosine, 1.0))))
        values = [run.n_errors, sampled, degrees]
        rows.append(Row(f"m = {run.m}", values, verdict, [None, error, None]))
    columns = [Column("errors, exact"), Column("errors, sampled"), Column("angle, degrees")]
    caption = (
        "Expected number of training errors of a posterior sample, by integration over the sphere "
        "and by the sampler, and the angle between the two Bayes points. The paper shows the "
        "posterior without samples."
    )
    return Table("Figure 1: exact and sampled posterior", caption, columns, rows)


def posterior_figure(posteriors: Sequence[SpherePosterior]) -> Figure:
    """Figure 1: the log posterior on the sphere, for few points and for many, and samples of it."""
    longitude = np.linspace(0, 360, GRID)
    latitude = np.linspace(-90, 90, GRID)

    def draw() -> Drawing:
        drawing, axes = new_panels(2, len(posteriors), 9.2, 5.6)
        for (exact, sampled), run in zip(axes.T, posteriors, strict=True):
            image = paint(
                exact,
                run.log_posterior,
                longitude,
                latitude,
                cmap=colours("white", BLUE, INK).reversed(),
                aspect="auto",
            )
            drawing.colorbar(image, ax=exact)
            exact.set_title(f"m = {run.m}")
            east, north = angles(run.draws.reshape(-1, 3))
            sampled.plot(east, north, ".", color=VERMILION, markersize=2, alpha=0.4)
            sampled.set(xlim=(0, 360), ylim=(-90, 90), xlabel="longitude")
            drawing.colorbar(image, ax=sampled).ax.set_visible(False)  # keep both as wide
        axes[0, 0].set_ylabel("latitude, exact")
        axes[1, 0].set_ylabel("latitude, sampled")
        return drawing

    data = {
        "longitude": rounded(longitude, 1),
        "latitude": rounded(latitude, 1),
        "log_posterior": {str(run.m): rounded(run.log_posterior, 2) for run in posteriors},
    }
    caption = (
        "Log posterior of the weight vector, up to a constant, with 20 % label noise: piecewise "
        "constant, with several peaks for few points and one for many. Below, draws of the "
        "sampler. The true weights are at longitude 180, latitude 0."
    )
    return Figure("gibbs-posterior", "Figure 1: the posterior on the sphere", caption, data, draw)
