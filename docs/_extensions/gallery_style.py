"""The look of the house for all pictures of the gallery."""

from typing import Any

import matplotlib
from cycler import cycler

from bayespoint.plots import BLUE, GREEN, PURPLE, VERMILION
from bayespoint.plots.style import STYLE


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the look before each example."""
    own = {
        "axes.prop_cycle": cycler(color=[BLUE, VERMILION, GREEN, PURPLE]),
        "figure.constrained_layout.use": True,
        "savefig.dpi": "figure",
    }
    matplotlib.rcParams.update(STYLE | own)
