"""Formulas as nodes of an ONNX graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from scipy.special import erfcx

DEGREE = 20  # of the polynomial in log_ndtr: good to 1e-13
FARTHEST = 1e100  # standard deviations; their squares are finite


class Graph:
    """Nodes and constants of points with so many features."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, op: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Value:
        """Add a node; inputs are values, or arrays, which become constants."""
        names = [one.name if isinstance(one, Value) else self.constant(one) for one in inputs]
        output = output or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [output], **attributes))
        return Value(self, output)

    def constant(self, values: Any) -> str:
        """Name of a new constant."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values) if np.ndim(values) else np.asarray(values)
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def operator(name: str, *, swapped: bool = False) -> Callable[[Value, Any], Value]:
    """A method that adds an operator of two inputs, the value first unless they are swapped."""

    def method(self: Value, other: Any) -> Value:
        both = self, number(other)
        return self.graph.add(name, *(both[::-1] if swapped else both))

    return method


def function(name: str) -> Callable[[Value], Value]:
    """A method that adds a function of the value."""
    return lambda self: self.graph.add(name, self)


class Value:
    """The output of a node, with the operators of an array of float64."""

    __array_ufunc__ = None  # NumPy arrays leave sums and products to the value

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_namespace__(self) -> Any:
        return sys.modules[__name__]  # `exp`, `sqrt` and others, for formulas of any array

    __add__ = __radd__ = operator("Add")
    __sub__, __rsub__ = operator("Sub"), operator("Sub", swapped=True)
    __mul__ = __rmul__ = operator("Mul")
    __truediv__, __rtruediv__ = operator("Div"), operator("Div", swapped=True)
    __matmul__, __pow__ = operator("MatMul"), operator("Pow")
    __neg__, __abs__ = function("Neg"), function("Abs")
    exp, log, sqrt, sign = map(function, ("Exp", "Log", "Sqrt", "Sign"))
    at_least, at_most = operator("Max"), operator("Min")  # of the value and a bound

    def is_positive(self) -> Value:
        """1 where the value is positive, else 0."""
        return self.sign().at_least(0.0)

    def sum(self, axis: int, *, keep: bool = True) -> Value:
        """Sums along an axis, which is kept with one entry or dropped."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=int(keep))

    def largest(self) -> Value:
        """The largest entry of each row."""
        return self.graph.add("ReduceMax", self, axes=[1])

    def beside(self, other: Value) -> Value:
        """The columns of another value after these."""
        return join([self, other])

    def argmax(self) -> Value:
        """The column of the largest entry of each row."""
        return self.graph.add("ArgMax", self, axis=1, keepdims=0)

    def as_integers(self) -> Value:
        """The same numbers as 64-bit integers."""
        return self.graph.add("Cast", self, to=TensorProto.INT64)

    def log_logistic(self) -> Value:
        """Logarithm of 1 / (1 + exp(-x))."""
        return self.at_most(0.0) - ((-abs(self)).exp() + 1.0).log()

    def log_ndtr(self) -> Value:
        r"""Logarithm of the standard normal distribution function, in both tails.

        With :math:`z = |x| / \sqrt 2` and :math:`t = 2 / (2 + z)`, the logarithm of the smaller
        tail is :math:`\log(t / 2) - z^2 + P(2 t - 1)`, where P is a polynomial. (ONNX has erf, but
        1 - erf rounds to 0 in the tail, and a temperature divides its logarithm.)
        """
        z = (abs(self) * np.sqrt(0.5)).at_most(FARTHEST)
        t = 2.0 / (z + 2.0)
        powers = (t * 2.0 - 1.0).reshape(0, -1, 1) ** np.arange(DEGREE + 1.0)
        tail = (powers * tail_polynomial()).sum(2, keep=False) - z * z + (t * 0.5).log()
        positive = self.is_positive()
        return positive * (1.0 - tail.exp()).log() + (1.0 - positive) * tail

    def columns(self, begin: int, end: int) -> Value:
        """Some of the columns of a matrix."""
        return self.graph.add("Slice", self, np.array([begin]), np.array([end]), np.array([1]))

    def take(self, columns: NDArray, axis: int = 1) -> Value:
        """These columns of a matrix, in this order."""
        return self.graph.add("Gather", self, columns.astype(np.int64), axis=1)

    def reshape(self, *shape: int) -> Value:
        """The same numbers in another shape; 0 keeps the size of an axis."""
        return self.graph.add("Reshape", self, np.array(shape))


def exp(x: Value, out: Any = None) -> Value:
    """The exponential; nodes are never overwritten."""
    return x.exp()


def log(x: Value) -> Value:
    """The natural logarithm."""
    return x.log()


def clip(x: Value, low: float, high: float | None) -> Value:
    """The value, or a bound that it exceeds."""
    return x.at_least(low) if high is None else x.at_most(high).at_least(low)


def concatenate(parts: list[Value], axis: int) -> Value:
    """Values next to each other; there is no other axis."""
    return join(parts)


def sqrt(x: Value) -> Value:
    """The square root."""
    return x.sqrt()


def number(value: Any) -> Any:
    """Numbers as float64 arrays; values as they are."""
    return value if isinstance(value, Value) else np.asarray(value, dtype=np.float64)


def join(parts: list[Value]) -> Value:
    """Values next to each other, as the columns of one."""
    return parts[0].graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


@cache
def tail_polynomial() -> NDArray[np.float64]:
    """Coefficients of P(u) = log(erfcx(2 / t - 2) / t) with t = (1 + u) / 2, for -1 < u <= 1."""
    found = Chebyshev.interpolate(lambda u: np.log(erfcx(4 / (u + 1) - 2) * 2 / (u + 1)), DEGREE)
    return np.asarray(found.convert(kind=Polynomial).coef, dtype=np.float64)
