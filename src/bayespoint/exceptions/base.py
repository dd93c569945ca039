"""The base class of errors and warnings with attributes."""

from __future__ import annotations

from typing import Any


class Attributes:
    """Sets ``args`` of an exception that is a dataclass, so that it can be pickled."""

    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())
