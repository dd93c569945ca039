"""The style of all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bayespoint.tools.extras import require

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Drawing
else:  # names for annotations: matplotlib is not imported before something is drawn
    Axes = Colormap = Drawing = Any

# M. Okabe and K. Ito, Color Universal Design, 2008: distinct for all kinds of colour vision.
BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
INK = "#222222"
N_SHADES = 49  # of a colour map; odd, for a middle colour; few, for small files

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


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save figures in the style of the library, whatever the user's settings are.

    Returns
    -------
    context manager
        The style applies within its block.

    Examples
    --------
    >>> import matplotlib
    >>> from bayespoint.tools.plots import house_style
    >>> with house_style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def axes_or_new(ax: Axes | None, what: str) -> Axes:
    """The given axes, or new ones; an error names ``what`` if matplotlib is missing."""
    require("matplotlib", "plot", what)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def new_axes(width: float = 6.8, height: float = 4.2) -> tuple[Drawing, Axes]:
    """A figure with one pair of axes, independent of pyplot.

    Parameters
    ----------
    width, height : float
        Size of the figure in inches.

    Returns
    -------
    figure, axes
        Matplotlib's figure and axes.

    Examples
    --------
    >>> from bayespoint.tools.plots import new_axes
    >>> figure, ax = new_axes(4, 3)
    >>> figure.get_size_inches()
    array([4., 3.])
    """
    figure, ((ax,),) = new_panels(1, 1, width, height)
    return figure, ax


def new_panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    shared: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Drawing, np.ndarray]:
    """A figure with a grid of axes.

    Parameters
    ----------
    rows, columns : int
        Number of rows and columns.
    width, height : float
        Size of the figure in inches.
    shared : bool, default=False
        Whether all axes share their limits; only the outer ones are then labelled.
    heights : sequence of float, optional
        Relative heights of the rows.

    Returns
    -------
    figure, axes
        The figure, and an array of axes of shape (rows, columns).

    Examples
    --------
    >>> from bayespoint.tools.plots import new_panels
    >>> figure, axes = new_panels(2, 3, 6, 4)
    >>> axes.shape
    (2, 3)
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(
        rows, columns, squeeze=False, sharex=shared, sharey=shared, height_ratios=heights
    )


def colours(*stops: str) -> Colormap:
    """A colour map that interpolates evenly between the given colours.

    Parameters
    ----------
    *stops : str
        Colours, in any form that matplotlib accepts.

    Returns
    -------
    matplotlib Colormap
        Colour map with the first colour at 0 and the last at 1.

    Examples
    --------
    >>> from matplotlib.colors import to_hex
    >>> from bayespoint.tools.plots import BLUE, colours
    >>> to_hex(colours("white", BLUE)(1.0))
    '#0072b2'
    """
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(" to ".join(stops), stops, N=N_SHADES)
