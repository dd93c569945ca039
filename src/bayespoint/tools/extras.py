"""Optional dependencies."""

from __future__ import annotations

from importlib.util import find_spec


def require(library: str, extra: str, what: str) -> None:
    """Raise an error that names the extra to install, if the library is missing.

    >>> require("a_rare_library", "rare", "This example")
    Traceback (most recent call last):
        ...
    ImportError: This example needs a_rare_library: pip install "bayespoint[rare]"
    """
    if find_spec(library) is None:
        raise ImportError(f'{what} needs {library}: pip install "bayespoint[{extra}]"')
