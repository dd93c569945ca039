"""Plots that several experiments draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


def paint(
    ax: Axes, values: np.ndarray, first: np.ndarray, second: np.ndarray, **options: Any
) -> AxesImage:
    """Draw a function of two coordinates as a smooth image.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    values : ndarray of shape (n_second, n_first)
        The value at (first[i], second[j]) is values[j, i].
    first, second : ndarray
        Evenly spaced coordinates.
    **options
        Passed to matplotlib's ``imshow``.

    Returns
    -------
    matplotlib AxesImage
        The image.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.plots import new_axes
    >>> from papers.plots import paint
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
