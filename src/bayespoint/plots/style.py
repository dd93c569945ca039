"""One look for all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# M. Okabe and K. Ito, Color Universal Design, 2008: told apart by all kinds of colour vision.
BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
INK = "#222222"
N_SHADES = 49  # of a colour map, odd to have a middle: smooth to the eye, files of half the size

STYLE: Any = {
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.size": 11,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "savefig.dpi": 160,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
# The same for dark screens: light ink on nothing, so that the page shows through.
PALE = "#e4e7eb"
DARK: Any = {
    "axes.edgecolor": "#a0a9b4",
    "axes.facecolor": "none",
    "axes.labelcolor": PALE,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": PALE,
    "xtick.color": PALE,
    "ytick.color": PALE,
}


@contextmanager
def house_style(dark: bool = False) -> Iterator[None]:
    """Draw and save in the look of the house, whatever the user's settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | DARK if dark else STYLE)
        yield


def new_axes(width: float = 6.8, height: float = 4.2) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, size in inches, without the state that pyplot keeps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def new_panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    shared: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, np.ndarray]:
    """A figure with a matrix of axes, size in inches; shared axes are labelled at the rim only.

    ``heights`` are those of the rows, relative to each other.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(
        rows, columns, squeeze=False, sharex=shared, sharey=shared, height_ratios=heights
    )


def colours(*stops: str) -> Colormap:
    """A colour map that runs evenly, in steps too small to see, through the given colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(" to ".join(stops), stops, N=N_SHADES)


def paint(
    ax: Axes, values: np.ndarray, first: np.ndarray, second: np.ndarray, **options: Any
) -> AxesImage:
    """A smooth picture of a function of two coordinates: values[j, i] at (first[i], second[j])."""
    step = (first[1] - first[0]) / 2, (second[1] - second[0]) / 2
    extent = (first[0] - step[0], first[-1] + step[0], second[0] - step[1], second[-1] + step[1])
    image = ax.imshow(values, origin="lower", extent=extent, interpolation="bilinear", **options)
    ax.set_xlim(first[0], first[-1])
    ax.set_ylim(second[0], second[-1])
    ax.grid(False)
    return image
