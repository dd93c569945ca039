"""From a model to the tree of its manifest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint.storage.arrays import axis_order, is_plain, to_bytes, triangle_of
from bayespoint.storage.checks import check
from bayespoint.storage.declared import check_declared, is_cached
from bayespoint.storage.registry import DEPTH, NAMES, SINGLE, TYPE_NAMES
from bayespoint.tools.attributes import ContentError, need

CALLBACKS = "_skl_callbacks"  # of scikit-learn; they are not part of the model


class Encoder:
    """Turns values into JSON; arrays are stored apart, and shared objects stay shared.

    Parameters
    ----------
    put : callable
        Takes the bytes of an array and returns its name in the file.
    """

    def __init__(self, put: Callable[[memoryview], str]) -> None:
        self._put = put
        self._done: dict[int, dict[str, Any]] = {}  # by id(): arrays, references to objects
        self._kept: list[Any] = []  # keeps objects alive, so that no id() is used twice
        self._open: list[int] = []
        self._n_objects = 0

    def encode(self, value: Any, place: str, depth: int = 0) -> Any:
        """The JSON of a value; ``place`` is its position in the model, for messages."""
        need(depth <= DEPTH, f"{place} is nested more than {DEPTH} deep")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if isinstance(value, np.generic):
            return self._scalar(value, place)
        if type(value) in NAMES:
            return self._object(value, place, depth)
        if type(value) in (list, tuple):
            items = [
                self.encode(item, f"{place}[{label(index, item)}]", depth + 1)
                for index, item in enumerate(value)
            ]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            return {"dict": [self._pair(*pair, place, depth + 1) for pair in value.items()]}
        if type(value) is slice:
            ends = (value.start, value.stop, value.step)
            return {"slice": [self.encode(end, place, depth + 1) for end in ends]}
        if isinstance(value, np.dtype) and (is_plain(value) or value.kind == "O"):
            return {"dtype": value.str}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"type": TYPE_NAMES[value]}
        raise ContentError(refusal(value, place))

    def _pair(self, key: Any, value: Any, place: str, depth: int) -> list:
        name = self._item(key, f"a key of {place}", depth)
        return [name, self.encode(value, f"{place}[{key!r}]", depth)]

    def _array(self, array: np.ndarray, place: str) -> dict[str, Any]:
        if id(array) in self._done:
            return self._done[id(array)]
        if type(array) not in (np.ndarray, np.memmap):
            raise ContentError(refusal(array, place))
        if array.dtype.kind == "O":
            items = [self._item(item, f"an entry of {place}") for item in array.ravel()]
            return {"objects": items, "shape": list(array.shape)}
        need(is_plain(array.dtype), f"{place} is an array of {array.dtype}: {ALLOWED_ARRAYS}")
        order = axis_order(array)
        turned = array.transpose(order)
        triangle = triangle_of(turned)
        node: dict[str, Any] = {"array": self._put(to_bytes(turned, triangle))}
        if order != list(range(array.ndim)):
            node["axes"] = order
        if triangle is not None:
            node["triangle"] = triangle
        if not array.flags.writeable and type(array) is np.ndarray:
            node["readonly"] = True
        self._keep(array, node)
        return node

    def _item(self, item: Any, place: str, depth: int = 0) -> Any:
        if not isinstance(item, SINGLE):
            raise ContentError(refusal(item, place))
        return self.encode(item, place, depth)

    def _scalar(self, value: np.generic, place: str) -> dict[str, Any]:
        if not is_plain(value.dtype):
            raise ContentError(refusal(value, place))
        code = "U" if value.dtype.kind == "U" else value.dtype.str
        return {"scalar": code, "value": self.encode(value.item(), place)}

    def _object(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        if id(value) in self._done:
            return self._done[id(value)]
        need(id(value) not in self._open, f"{place} contains itself")
        self._open.append(id(value))
        parts = state_of(value)
        state = {
            name: self.encode(part, f"{place}.{name}", depth + 1) for name, part in parts.items()
        }
        self._open.pop()
        check_declared(type(value), parts, place)  # after its parts, whose errors are more precise
        check(value, place)
        number = self._n_objects
        self._n_objects += 1
        self._keep(value, {"same": number})
        return {"object": NAMES[type(value)], "number": number, "state": state}

    def _keep(self, value: Any, node: dict[str, Any]) -> None:
        self._done[id(value)] = node
        self._kept.append(value)


def state_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, without cached properties."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    if hasattr(type(value), "fetch"):  # a FrozenEstimator asks what it holds
        value.fetch()  # what is computed when it is first read
    left_out = {CALLBACKS, *getattr(type(value), "not_stored", ())}
    return {
        name: part
        for name, part in vars(value).items()
        if name not in left_out and not is_cached(type(value), name)
    }


def label(index: int, item: Any) -> str:
    """The label of a list item in messages: the name of a pipeline step, else the index."""
    is_named = isinstance(item, tuple) and len(item) > 1 and isinstance(item[0], str)
    return repr(item[0]) if is_named else str(index)


ALLOWED_ARRAYS = (
    "a model file can contain arrays of bool, integers, floats of up to 64 bits, strings, and "
    "objects that are numbers, strings or None. Convert it before fitting"
)


def refusal(value: Any, place: str) -> str:
    """Why a value cannot be saved, and what to do instead."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    if hasattr(value, "best_estimator_"):
        remedy = "Save its best_estimator_"
    elif isinstance(value, (np.random.RandomState, np.random.Generator)):
        remedy = "Use an int as random_state"
    elif callable(value) and not hasattr(value, "fit"):
        remedy = (
            "A model file contains no code: use a named option (kernel='rbf', prior='l2'), compute "
            "it outside of the model, or save this model with joblib, whose files must be loaded "
            "from trusted sources only"
        )
    else:
        listed = ", ".join(sorted(cls.__name__ for cls, name in NAMES.items() if "sklearn" in name))
        remedy = (
            "Replace it, or save this model with joblib, whose files must be loaded from trusted "
            "sources only. Allowed are numbers, strings, arrays, classifiers of this library and, "
            f"of scikit-learn, {listed}"
        )
    shown = " ".join(repr(value).split())
    return f"{place} is {shown:.80}, of type {kind}, which cannot be saved. {remedy}"
