"""What all errors and warnings with attributes share."""

from __future__ import annotations

from typing import Any


class Attributes:
    """Fields of an exception that is a dataclass, also as ``args``, from which it is unpickled."""

    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())
