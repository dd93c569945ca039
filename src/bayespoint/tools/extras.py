"""Optional dependencies."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def require(library: str, extra: str, what: str) -> None:
    """Raise an error that names the extra to install, if the library is missing.

    >>> require("a_rare_library", "rare", "This example")
    Traceback (most recent call last):
        ...
    ImportError: This example needs a_rare_library: pip install "bayespoint[rare]"
    """
    if find_spec(library) is None:
        raise ImportError(f'{what} needs {library}: pip install "bayespoint[{extra}]"')


def axes_or_new(ax: Axes | None, what: str) -> Axes:
    """The given axes, or new ones; an error names ``what`` if matplotlib is missing."""
    require("matplotlib", "plot", what)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
