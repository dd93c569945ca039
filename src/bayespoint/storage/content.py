"""What both sides, writing and reading, agree on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from bayespoint.state import ContentError

DEPTH = 100  # of nested values at most; a pipeline in a pipeline has about 20
SINGLE = (bool, int, float, str, type(None), np.generic)  # what entries of object arrays may be


def check_names(cls: type, names: Iterable[str], place: str) -> None:
    """Raise an error unless these may be attributes of an object of the class.

    No attribute may hide code of the class: only new names, and those with a plain default.
    """
    for name in names:
        default = of_class(cls, name)
        is_fine = name.isidentifier() and not name.startswith("__")
        if not is_fine or not isinstance(default, (bool, int, float, str, tuple, type(None))):
            raise ContentError(f"{place} has the attribute {name!r:.80}, which is not allowed")


def is_cached(cls: type, name: str) -> bool:
    """Whether objects of the class compute the attribute themselves, and keep it."""
    return isinstance(of_class(cls, name), cached_property)


def of_class(cls: type, name: str) -> object:
    """What a class has under a name, as it stands there; None if nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
