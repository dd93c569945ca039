"""Columns of a table as inputs and nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from bayespoint.spaces.columns import Columns
from bayespoint.storage.onnx.graph import Graph, Value, join

MISSING = ""  # a missing cell of text: ONNX has no other
DOMAIN, VERSION = "ai.onnx.ml", 2  # of the operator that numbers texts


def inputs(table: Columns | None, n_features: int, kind: int) -> list[Any]:
    """Descriptions of the inputs: X, or one for each column if some have no numbers."""
    if table is None or all(own.dtype.kind == "f" for own in table.levels):
        return [helper.make_tensor_value_info("X", kind, ["n", n_features])]
    kinds = dict.fromkeys(range(n_features), kind)
    for j, levels in zip(table.categories.tolist(), table.levels, strict=True):
        of_levels = {"U": TensorProto.STRING, "b": TensorProto.BOOL}
        kinds[j] = of_levels.get(levels.dtype.kind, kind)
    names = table.names or [f"x{j}" for j in range(n_features)]
    return [helper.make_tensor_value_info(name, kinds[j], ["n", 1]) for j, name in enumerate(names)]


def cells(graph: Graph, given: list[Any], table: Columns | None) -> Value:
    """All inputs as one matrix of numbers, with NaN for missing cells."""
    levels = {} if table is None else dict(zip(table.categories, table.levels, strict=True))
    columns = [Value(graph, one.name) for one in given]
    for j, one in enumerate(given):
        if one.type.tensor_type.elem_type == TensorProto.STRING:
            columns[j] = places(columns[j], levels[j])
    return join([graph.add("Cast", one, to=TensorProto.DOUBLE) for one in columns])


def places(texts: Value, levels: NDArray) -> Value:
    """The place of each text among the levels; NaN where it is missing, -1 for others."""
    known = {MISSING: np.nan} | {level: float(k) for k, level in enumerate(levels.tolist())}
    return texts.graph.add(
        "LabelEncoder",
        texts,
        domain=DOMAIN,
        keys_strings=list(known),
        values_floats=list(known.values()),
        default_float=-1.0,
    )


def features(X: Value, table: Columns, dtype: str) -> Value:
    """What :meth:`~bayespoint.spaces.columns.Columns.transform` makes of such a matrix."""
    graph, is_nan = X.graph, X.graph.add("IsNaN", X)
    lost = graph.add("Cast", is_nan, to=TensorProto.DOUBLE)
    parts = [graph.add("Where", is_nan, table.fill, X).take(table.numbers)]
    for j, levels, is_level in zip(table.categories, table.levels, table.is_level, strict=True):
        one = np.array([j])
        values = np.arange(len(levels)) if levels.dtype.kind == "U" else levels.astype(dtype)
        same = graph.add("Equal", X.take(one), values.astype(np.float64))
        block = [graph.add("Cast", same, to=TensorProto.DOUBLE)]
        block += [lost.take(one)] if is_level else []
        parts += [*block, 1.0 - join(block).sum(1)]
    sizes = [len(own) + 1 + more for own, more in zip(table.levels, table.is_level, strict=True)]
    owner = np.concatenate([table.numbers, np.repeat(table.categories, sizes)])
    in_order = join(parts[0 if len(table.numbers) else 1 :]).take(owner.argsort(kind="stable"))
    return join([in_order, lost.take(table.flags)]) if len(table.flags) else in_order
