"""Attributes that are computed, or fetched from a device, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LazyAttributes:
    """An object with attributes that are computed when they are first read.

    Pickles and model files contain the values.

    Examples
    --------
    >>> from bayespoint.tools.lazy import LazyAttributes
    >>> late = LazyAttributes()
    >>> late.defer(answer=lambda: 6 * 7)
    >>> late.answer
    42
    """

    def defer(self, **functions: Callable[[], Any]) -> None:
        """Set attributes to what the functions return when the attributes are read."""
        vars(self).setdefault("_later", {}).update(functions)

    def __getattr__(self, name: str) -> Any:
        functions = vars(self).get("_later", {})
        if name not in functions:
            return object.__getattribute__(self, name)  # its error says why it is not there
        value = vars(self)[name] = functions[name]()
        functions.pop(name, None)
        return value

    def fetch(self) -> None:
        """Compute all attributes that have not been read yet."""
        for name in list(vars(self).get("_later", {})):
            getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        self.fetch()
        return {name: value for name, value in vars(self).items() if name != "_later"}
