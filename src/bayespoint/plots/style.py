"""One look for all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Drawing
    from matplotlib.image import AxesImage
else:  # names for annotations: matplotlib is not imported before something is drawn
    Axes = Colormap = Drawing = AxesImage = Any

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
    """Draw and save in the look of the house, whatever the user's settings are.

    Parameters
    ----------
    dark : bool, default=False
        Whether to draw on a dark ground.

    Returns
    -------
    context manager
        The settings hold within its block.

    Examples
    --------
    >>> import matplotlib
    >>> from bayespoint.plots import house_style
    >>> with house_style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | DARK if dark else STYLE)
        yield


def new_axes(width: float = 6.8, height: float = 4.2) -> tuple[Drawing, Axes]:
    """A figure with one pair of axes, without the state that pyplot keeps.

    Parameters
    ----------
    width, height : float
        Its size in inches.

    Returns
    -------
    figure, axes
        Both matplotlib's.

    Examples
    --------
    >>> from bayespoint.plots import new_axes
    >>> figure, ax = new_axes(4, 3)
    >>> figure.get_size_inches()
    array([4., 3.])
    """
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
) -> tuple[Drawing, np.ndarray]:
    """A figure with a matrix of axes.

    Parameters
    ----------
    rows, columns : int
        How many there are.
    width, height : float
        Size of the figure in inches.
    shared : bool, default=False
        Whether all have the same limits; they are then labelled at the rim only.
    heights : sequence of float, optional
        Heights of the rows, relative to each other.

    Returns
    -------
    figure, axes
        The axes as an array of shape (rows, columns).

    Examples
    --------
    >>> from bayespoint.plots import new_panels
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
    """A colour map that runs evenly, in steps too small to see, through the given colours.

    Parameters
    ----------
    *stops : str
        Colours as matplotlib takes them.

    Returns
    -------
    matplotlib Colormap
        With the first colour at 0 and the last at 1.

    Examples
    --------
    >>> from matplotlib.colors import to_hex
    >>> from bayespoint.plots import BLUE, colours
    >>> to_hex(colours("white", BLUE)(1.0))
    '#0072b2'
    """
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(" to ".join(stops), stops, N=N_SHADES)


def paint(
    ax: Axes, values: np.ndarray, first: np.ndarray, second: np.ndarray, **options: Any
) -> AxesImage:
    """A smooth picture of a function of two coordinates.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    values : ndarray of shape (n_second, n_first)
        The value at (first[i], second[j]) is values[j, i].
    first, second : ndarray
        Evenly spaced coordinates.
    **options
        For matplotlib's ``imshow``.

    Returns
    -------
    matplotlib AxesImage
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.plots import new_axes, paint
    >>> x = np.linspace(0, 1, 3)
    >>> np.array(paint(new_axes()[1], np.outer(x, x), x, x).get_extent())
    array([-0.25,  1.25, -0.25,  1.25])
    """
    step = (first[1] - first[0]) / 2, (second[1] - second[0]) / 2
    extent = (first[0] - step[0], first[-1] + step[0], second[0] - step[1], second[-1] + step[1])
    image = ax.imshow(values, origin="lower", extent=extent, interpolation="bilinear", **options)
    ax.set_xlim(first[0], first[-1])
    ax.set_ylim(second[0], second[-1])
    ax.grid(False)
    return image
