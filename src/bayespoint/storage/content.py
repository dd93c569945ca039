"""Rules that writing and reading share."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from bayespoint.tools.attributes import ContentError

OBJECTS = 10_000  # most objects of a file; 1 000 columns with a pipeline each have 4 000
LONGEST_NAME = 100  # characters of an attribute
DEPTH = 100  # deepest nesting; a pipeline in a pipeline has about 20
SINGLE = (bool, int, float, str, type(None), np.generic)  # allowed entries of object arrays


def check_names(cls: type, names: Iterable[str], place: str) -> None:
    """Raise an error unless objects of the class may have these attributes.

    No attribute may hide code or a constant (``ClassVar``) of the class: only new names, and names
    with a plain default.
    """
    fields = getattr(cls, "_fields", ())  # of a NamedTuple, which takes no other names
    for name in names:
        if name in fields:
            continue
        if len(name) > LONGEST_NAME:
            raise ContentError(f"{place} has an attribute with a name of {len(name)} characters")
        default = of_class(cls, name)
        is_fine = name.isidentifier() and not name.startswith("__")
        is_fine = is_fine and not is_constant(cls, name)
        if not is_fine or not isinstance(default, (bool, int, float, str, tuple, type(None))):
            raise ContentError(f"{place} has the attribute {name!r:.80}, which is not allowed")


def is_constant(cls: type, name: str) -> bool:
    """Whether the attribute is declared as one of the class, the same for all objects."""
    declared = (inspect.get_annotations(base).get(name, "") for base in cls.__mro__)
    return any(str(kind).startswith("ClassVar") for kind in declared)


def is_cached(cls: type, name: str) -> bool:
    """Whether the attribute is a cached property of the class."""
    return isinstance(of_class(cls, name), cached_property)


def of_class(cls: type, name: str) -> object:
    """The class attribute of this name, without calling descriptors; None if there is none."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
