"""Optional dependencies."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any


def require(library: str, extra: str, what: str) -> None:
    """Raise an error that names the extra to install, if the library is missing.

    >>> require("a_rare_library", "rare", "This example")
    Traceback (most recent call last):
        ...
    ImportError: This example needs a_rare_library: pip install "bayespoint[rare]"
    """
    if find_spec(library) is None:
        raise ImportError(f'{what} needs {library}: pip install "bayespoint[{extra}]"')


def in_pandas(rows: Any) -> Any:
    """A data frame of another library as one of pandas; arrays and frames of pandas themselves."""
    if not hasattr(rows, "columns") or hasattr(rows, "iloc"):
        return rows
    require("pandas", "cli", f"A report on a {type(rows).__name__} of another library")
    import pandas as pd

    return pd.DataFrame({name: rows[name].to_list() for name in rows.columns})
