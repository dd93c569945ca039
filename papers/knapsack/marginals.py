"""Max-marginals of one set: Figure 1 e-g of the knapsack paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.preprocessing import scale

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.posteriors import MarginalPosterior
from bayespoint.tools.plots import BLUE, INK, VERMILION, Axes, Drawing, new_panels
from papers.base import Context, Figure, Result, rounded
from papers.knapsack.splits import DataSet


def run(context: Context, sets: Sequence[DataSet]) -> Result:
    """Max-marginals of one set, all of it: liver, or the first."""
    data = next((data for data in sets if data.name == "liver"), sets[0])
    with context.part("marginals"):
        engine = KnapsackPropagation(C=10.0, beta=1.0)
        machine = BayesPointClassifier(kernel="linear", engine=engine)
        posterior = machine.fit(scale(data.X), data.y).posterior_
    assert isinstance(posterior, MarginalPosterior)
    return Result(figures=[marginals_figure(data.name, posterior)])


def draw_marginal(ax: Axes, posterior: MarginalPosterior, d: int) -> None:
    """The max-marginal of weight d, its mean as a line and its mode as a cross."""
    density = np.exp(np.maximum(posterior.beta * posterior.log_marginals[0, d], -700.0))
    shown = density > 1e-3
    ax.plot(posterior.grids[0, d, shown], density[shown], color=INK)
    ax.axvline(posterior.mean[d, 0], color=BLUE, label=f"mean, beta = {posterior.beta:g}")
    mode = posterior.mode[d, 0]
    ax.plot(mode, 1.0, "x", color=VERMILION, markersize=9, label="mode", clip_on=False)
    ax.set_ylim(bottom=0)
    ax.set_title(f"weight of x{d}")


def marginals_figure(name: str, posterior: MarginalPosterior) -> Figure:
    """Figure 1 e-g: the three most skewed max-marginals."""
    skew = np.abs(posterior.skew[:, 0])
    features = np.argsort(-skew, kind="stable")[:3].tolist()

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(features), 9.6, 3.0)
        for ax, d in zip(axes[0], features, strict=True):
            draw_marginal(ax, posterior, d)
        axes[0, 0].set_ylabel("max-marginal")
        axes[0, 0].legend(fontsize="small")
        return drawing

    data = {
        "weights": features,
        "grids": rounded(posterior.grids[0, features]),
        "log_marginals": rounded(np.maximum(posterior.log_marginals[0, features], -1e3)),
        "means": rounded(posterior.mean[features, 0]),
        "modes": rounded(posterior.mode[features, 0]),
        "skews": rounded(posterior.skew[features, 0]),
    }
    caption = (
        f"The three most skewed max-marginals of the set {name}, C = 10, β = 1, each with its mean "
        "and its mode."
    )
    return Figure("marginals", "Figure 1 e-g: max-marginals", caption, data, draw)
