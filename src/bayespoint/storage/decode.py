"""From the tree of a manifest back to the model."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bayespoint.storage.arrays import DTYPE, from_bytes, is_plain
from bayespoint.storage.checks import check
from bayespoint.storage.declared import check_declared, check_names
from bayespoint.storage.registry import CLASSES, DEPTH, OBJECTS, SINGLE, TYPES
from bayespoint.tools.attributes import ContentError, need

NOT_FINITE = {"nan", "inf", "-inf"}


class Decoder:
    """Builds values of known types from JSON.

    Objects are created without their constructor, get their attributes, and are then checked.
    Nothing in the tree is imported or called.

    Parameters
    ----------
    get : callable
        Takes the name of an array in the file and returns its bytes.
    most_bytes : float, optional
        Most bytes of all arrays, each counted as often as it is used: every use is checked.

    Attributes
    ----------
    libraries : set of str
        Top-level packages of all classes in the tree.
    """

    def __init__(self, get: Callable[[str], bytes], most_bytes: float = np.inf) -> None:
        self._get = get
        self._arrays: dict[str, tuple[Any, np.ndarray]] = {}
        self._objects: dict[int, Any] = {}
        self._n_objects = 0
        self._n_bytes = 0  # of arrays, each time that they are used
        self._most_bytes = most_bytes
        self.libraries: set[str] = set()
        # First key of a node -> the other keys it may have, and its reader.
        self._readers: dict[str, tuple[set[str], Callable[[dict, str, int], Any]]] = {
            "float": (set(), self._float),
            "tuple": (set(), lambda node, *at: tuple(self._items(node["tuple"], *at))),
            "dict": (set(), self._dict),
            "slice": (set(), self._slice),
            "dtype": (set(), self._dtype),
            "type": (set(), self._type),
            "scalar": ({"value"}, self._scalar),
            "array": ({"axes", "readonly", "triangle"}, self._array),
            "objects": ({"shape"}, self._object_array),
            "object": ({"number", "state"}, self._object),
            "same": (set(), self._same),
        }

    def decode(self, node: Any, place: str, depth: int = 0) -> Any:
        """The value of a node; ``place`` is its position in the model, for messages."""
        need(depth <= DEPTH, f"{place} is nested more than {DEPTH} deep")
        if node is None or isinstance(node, (bool, int, float, str)):
            need(not isinstance(node, float) or math.isfinite(node), f"{place} is not finite")
            return node
        if isinstance(node, list):
            return self._items(node, place, depth)
        mark = next(iter(node), "")
        if mark in self._readers:
            extra, read = self._readers[mark]
            if node.keys() <= {mark, *extra}:
                return read(node, place, depth)
        raise ContentError(f"{place} has the unknown keys {list(node)[:5]}")

    def _items(self, nodes: Any, place: str, depth: int) -> list:
        need(isinstance(nodes, list), f"{place} must be a list")
        return [self.decode(node, f"{place}[{i}]", depth + 1) for i, node in enumerate(nodes)]

    def _dict(self, node: dict, place: str, depth: int) -> dict:
        pairs = self._items(node["dict"], place, depth)
        values = dict(pairs)
        need(len(values) == len(pairs), f"{place} has a key twice")
        return values

    def _float(self, node: dict, place: str, depth: int) -> float:
        need(node["float"] in NOT_FINITE, f"{place} is not a number")
        return float(node["float"])

    def _slice(self, node: dict, place: str, depth: int) -> slice:
        start, stop, step = self._items(node["slice"], place, depth)
        return slice(start, stop, step)

    def _dtype(self, node: dict, place: str, depth: int) -> np.dtype:
        name = node["dtype"]
        need(re.fullmatch(DTYPE, str(name)) is not None, f"{place} is not a dtype")
        dtype = np.dtype(name)
        allowed = is_plain(dtype) or dtype.kind == "O"
        need(allowed, f"{place} is the dtype {dtype}, which is not allowed")
        return dtype

    def _type(self, node: dict, place: str, depth: int) -> type:
        if node["type"] not in TYPES:
            raise ContentError(f"{place} is the type {node['type']!r:.80}, which is not allowed")
        return TYPES[node["type"]]

    def _scalar(self, node: dict, place: str, depth: int) -> np.generic:
        value = self.decode(node["value"], place, depth + 1)
        if node["scalar"] == "U":
            return np.str_(value)
        dtype = self._dtype({"dtype": node["scalar"]}, place, depth)
        if dtype.kind not in "biuf" or not isinstance(value, (bool, int, float)):
            raise ContentError(f"{place} is not a number")
        with np.errstate(over="ignore"):  # what does not fit is not equal
            scalar = dtype.type(value)
        again = scalar.item()
        is_same = type(again) is type(value) and (again == value or again != again)
        need(is_same, f"{place} is {value!r}, not of type {dtype}")
        return scalar

    def _array(self, node: dict, place: str, depth: int) -> np.ndarray:
        name, axes, triangle = node["array"], node.get("axes"), node.get("triangle")
        readonly = node.get("readonly", False)
        need(type(readonly) is bool, f"{place} says {readonly!r:.40} of being read-only")
        layout = (axes, triangle, readonly)
        if name in self._arrays:
            known, array = self._arrays[name]
            need(known == layout, f"{place} uses the array {name!r} in another layout")
        else:
            try:
                array = from_bytes(self._get(name), axes, triangle)
            except ContentError as error:
                raise ContentError(f"{place} cannot be read: {error}") from error
            array.flags.writeable = not readonly
            self._arrays[name] = layout, array
        self._n_bytes += array.nbytes
        if self._n_bytes > self._most_bytes:
            raise ContentError(f"{place} uses an array once more, and arrays are used too often")
        return array

    def _object_array(self, node: dict, place: str, depth: int) -> np.ndarray:
        values = self._items(node["objects"], place, depth)
        if not all(isinstance(value, SINGLE) for value in values):
            raise ContentError(f"{place} contains other things than numbers, strings and None")
        shape = node["shape"]
        fits = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        need(fits and math.prod(shape) == len(values), f"{place} has the wrong shape {shape!r:.40}")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def _same(self, node: dict, place: str, depth: int) -> Any:
        is_known = node["same"] in self._objects
        need(is_known, f"{place} refers to an object that does not exist")
        return self._objects[node["same"]]

    def _object(self, node: dict, place: str, depth: int) -> Any:
        name, number, nodes = node["object"], node["number"], node["state"]
        cls = CLASSES.get(name)
        if cls is None:
            raise ContentError(f"{place} is of class {name!r:.80}, which is not allowed")
        if type(number) is not int or number in self._objects:
            raise ContentError(f"{place} has the number {number!r:.80}, which is invalid or in use")
        self._n_objects += 1
        need(self._n_objects <= OBJECTS, f"it contains more than {OBJECTS} objects")
        check_names(cls, nodes, place)  # before the values, whose places contain these names
        state = {
            attribute: self.decode(part, f"{place}.{attribute}", depth + 1)
            for attribute, part in nodes.items()
        }
        check_declared(cls, state, place)
        value = build(cls, state)
        check(value, place)
        self._objects[number] = value
        self.libraries.add(name.split(".")[0])
        return value


def build(cls: Any, state: dict[str, Any]) -> Any:
    """An object of the class with these attributes."""
    if issubclass(cls, tuple):
        return cls(**state)
    value = cls.__new__(cls)
    for name, default in defaults(cls).items():
        state.setdefault(name, default)  # a parameter newer than the file
    vars(value).update(state)
    return value


@cache
def defaults(cls: type) -> dict[str, Any]:
    """Defaults of an estimator's parameters."""
    if not hasattr(cls, "get_params"):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}
