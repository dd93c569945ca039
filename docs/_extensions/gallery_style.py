"""The look of the house for all pictures of the gallery."""

from typing import Any

import matplotlib

from bayespoint.plots.style import STYLE


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the look before each example."""
    layout = {"figure.constrained_layout.use": True, "savefig.dpi": "figure"}
    matplotlib.rcParams.update(STYLE | layout)
