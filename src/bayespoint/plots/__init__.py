"""Plots and their common style. Matplotlib is imported only when something is drawn."""

from bayespoint.plots.marginals import MarginalDisplay
from bayespoint.plots.style import (
    BLUE,
    GREEN,
    INK,
    PURPLE,
    VERMILION,
    colours,
    house_style,
    new_axes,
    new_panels,
    paint,
)

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "PURPLE",
    "VERMILION",
    "MarginalDisplay",
    "colours",
    "house_style",
    "new_axes",
    "new_panels",
    "paint",
]
