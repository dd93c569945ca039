"""The style of all figures in the gallery."""

from typing import Any

import matplotlib
from cycler import cycler

from bayespoint.tools.plots import BLUE, GREEN, PURPLE, STYLE, VERMILION


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the look before each example."""
    gallery = {
        "axes.prop_cycle": cycler(color=[BLUE, VERMILION, GREEN, PURPLE]),
        "figure.constrained_layout.use": True,
        "savefig.dpi": "figure",
    }
    matplotlib.rcParams.update(STYLE | gallery)
