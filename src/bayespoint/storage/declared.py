"""What classes declare of their objects, and whether a state keeps to it.

A class declares its attributes where Python programmers write them: by annotations in its body, and
by annotated parameters of its constructor, which become attributes of the same names. A state, on
its way into a file or out of one, may contain nothing else, and every value must have the declared
type. So a new class needs no code for this, and ``check_state`` checks only what types cannot say.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, cached_property
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from bayespoint.tools.attributes import ContentError, need

LONGEST_NAME = 100  # characters of an attribute
PACKAGE = "bayespoint"
LOWEST, HIGHEST = -(2**63), 2**64  # of declared integers: floats of larger ones may overflow
# Kinds of dtypes for a declared type of numbers: any width, any order of bytes.
DTYPE_KINDS = {np.bool_: "b", np.integer: "iu", np.floating: "f", np.str_: "U"}


def check_declared(cls: type, state: Mapping[str, Any], place: str) -> None:
    """Raise an error unless the attributes of an object are those that its class declares."""
    check_names(cls, state, place)
    hints = declared(cls)
    for name in required(cls) - state.keys():
        raise ContentError(f"{place} has no attribute {name!r}")
    for name, value in state.items():
        if name in hints and not fits(value, hints[name]):
            raise ContentError(
                f"{place} is invalid: its {name} is {' '.join(repr(value).split()):.60} of type "
                f"{type(value).__name__}, not {in_words(hints[name])}"
            )


def check_names(cls: type, names: Collection[str], place: str) -> None:
    """Raise an error unless objects of the class may have attributes with these names.

    They must be declared, and may hide neither code nor a constant of the class. Classes of
    scikit-learn declare their parameters; what a fit adds begins or ends with an underscore. Those
    that ask another object for all other attributes have only their parameters.
    """
    hints = declared(cls)
    is_closed = is_ours(cls) or "__getattr__" in vars(cls)
    for name in names:
        if len(name) > LONGEST_NAME:
            raise ContentError(f"{place} has an attribute with a name of {len(name)} characters")
        is_name = name.isidentifier() and not name.startswith("__")
        is_declared = name in hints or (not is_closed and "_" in (name[:1], name[-1:]))
        is_value = isinstance(of_class(cls, name), bool | int | float | str | tuple | None)
        is_fine = is_name and is_declared and (is_value or issubclass(cls, tuple))
        need(is_fine, f"{place} has the attribute {name!r:.80}, which is not allowed")


@cache
def declared(cls: type) -> dict[str, Any]:
    """Types of the attributes that objects of a class may have in a file, by name."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        if is_ours(base):
            hints |= evaluated(base)
    if not is_ours(cls):
        hints = dict.fromkeys(inspect.signature(cls).parameters, Any)
    left_out = getattr(cls, "not_stored", ())
    return {
        name: hint
        for name, hint in hints.items()
        if name not in left_out and not is_constant(cls, name)
    }


def is_constant(cls: type, name: str) -> bool:
    """Whether a declared attribute has its value from the class, and is no parameter of objects.

    Estimators have parameters, and fitted attributes, whose names end with an underscore.
    """
    constructors = (vars(base).get("__init__") for base in cls.__mro__[:-1])
    parameters = {
        one for init in constructors if init for one in inspect.signature(init).parameters
    }
    if is_dataclass(cls):
        parameters |= {one.name for one in fields(cls)}
    if name in parameters:
        return False
    if issubclass(cls, BaseEstimator):
        return not name.endswith("_")
    return of_class(cls, name) is not None and not issubclass(cls, tuple)


def evaluated(base: type) -> dict[str, Any]:
    """Types of the attributes that one class declares, in its constructor and in its body."""
    hints: dict[str, Any] = {}
    if "__init__" in vars(base) and not is_dataclass(base):
        parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        hints = {one.name: one.annotation for one in parameters}
    hints |= inspect.get_annotations(base)
    attributes = {name: hint for name, hint in hints.items() if "ClassVar" not in str(hint)}
    body = types.SimpleNamespace(__annotations__=attributes)
    return get_type_hints(body, vars(sys.modules[base.__module__]))


@cache
def required(cls: type) -> frozenset[str]:
    """Attributes without which there is no such object."""
    if issubclass(cls, tuple):
        return frozenset(declared(cls))
    if issubclass(cls, BaseEstimator):
        parameters = inspect.signature(cls).parameters.values()
        return frozenset(one.name for one in parameters if one.default is one.empty)
    if not is_dataclass(cls):
        return frozenset()
    every = (one for one in fields(cls) if one.init and one.name in declared(cls))
    return frozenset(one.name for one in every if one.default is MISSING)


def is_ours(cls: type) -> bool:
    """Whether a class is one of this library."""
    return cls.__module__.split(".")[0] == PACKAGE


def of_class(cls: type, name: str) -> object:
    """The class attribute of this name, without calling descriptors; None if there is none."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def is_cached(cls: type, name: str) -> bool:
    """Whether the attribute is a cached property of the class."""
    return isinstance(of_class(cls, name), cached_property)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has a declared type.

    Numbers of NumPy count as those of Python, and an int is a float, too. A file contains no
    functions, so nothing has the type of one.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and of_kind(value.dtype, *get_args(arguments[1]))
    if getattr(hint, "__module__", "").startswith("numpy._typing"):  # parts of ArrayLike
        return is_array_like(value)
    if origin is tuple and Ellipsis not in arguments:
        same = isinstance(value, tuple) and len(value) == len(arguments)
        return same and all(map(fits, value, arguments))
    if origin in (list, tuple):
        return isinstance(value, origin) and all_fit(value, arguments[0])
    if origin is Sequence:
        items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        return isinstance(items, (list, tuple)) and all_fit(items, arguments[0])
    if origin in (dict, Mapping):
        return (
            isinstance(value, dict)
            and all_fit(value.keys(), arguments[0])
            and all_fit(value.values(), arguments[1])
        )
    return is_of_type(value, hint)


def is_of_type(value: Any, cls: Any) -> bool:
    """Whether a value is of a class."""
    if cls is None or cls is type(None):
        return value is None
    if cls is bool:
        return isinstance(value, (bool, np.bool_))
    if cls is int or (cls is float and isinstance(value, int)):
        return isinstance(value, (int, np.integer)) and LOWEST <= int(value) < HIGHEST
    if cls is float:
        return isinstance(value, (float, np.integer, np.floating))
    return isinstance(cls, type) and isinstance(value, cls)


def all_fit(values: Iterable[Any], hint: Any) -> bool:
    """Whether all values have a declared type."""
    return all(fits(value, hint) for value in values)


def of_kind(dtype: np.dtype, declared_type: Any) -> bool:
    """Whether a dtype is of the declared kind: float32 where float64 is declared."""
    if declared_type is Any or isinstance(declared_type, TypeVar):
        return True
    kinds = (kind for parent, kind in DTYPE_KINDS.items() if issubclass(declared_type, parent))
    return dtype.kind in next(kinds)


def is_array_like(value: Any) -> bool:
    """Whether a value is a number, an array, or nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return all(is_array_like(one) for one in value)
    return isinstance(value, (np.ndarray, np.generic, bool, int, float, str))


def in_words(hint: Any) -> str:
    """A declared type in messages."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(in_words(one) for one in arguments))
    if origin is np.ndarray or getattr(hint, "__module__", "").startswith("numpy._typing"):
        return "an array"
    if hint is type(None):
        return "None"
    if origin is not None:
        kinds = [in_words(one) for one in arguments if one is not Ellipsis]
        return f"{origin.__name__.lower()} of {' and '.join(kinds)}"
    return getattr(hint, "__name__", str(hint))
