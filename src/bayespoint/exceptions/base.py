"""The base class of errors and warnings with attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, dataclass_transform


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class Attributes:
    """Makes exceptions dataclasses, and sets their ``args``, so that they can be pickled.

    What they say is ``text``, formatted with their attributes.
    """

    args: tuple[Any, ...]
    text = ""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False)(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        return self.text.format(self=self)
