"""Codings: classes as tasks of an engine, and the answers of the tasks as classes.

To add a coding, write a file with a subclass of ``Coding``, and list it in ``CODINGS``. Engines
declare the codings that they support.
"""

from __future__ import annotations

from numpy.typing import NDArray

from bayespoint.codings.base import LARGEST, TEMPERATURES, BinaryCoding, Coding
from bayespoint.codings.one_vs_rest import JointCoding, OneVersusRest
from bayespoint.codings.ordinal import OrdinalCoding

__all__ = [
    "CODINGS", "LARGEST", "MULTI_CLASS", "TEMPERATURES", "BinaryCoding", "Coding", "JointCoding",
    "OneVersusRest", "OrdinalCoding",
    "make_coding",
]  # fmt: skip

CODINGS: dict[str, type[Coding]] = {
    coding.name: coding for coding in (BinaryCoding, JointCoding, OneVersusRest, OrdinalCoding)
}
MULTI_CLASS = tuple(name for name in CODINGS if name != BinaryCoding.name)  # of several classes


def make_coding(
    classes: NDArray,
    temperature: float = 1.0,
    *,
    name: str = OneVersusRest.name,
    order: NDArray | None = None,
) -> Coding:
    """The coding of these classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature : float, default=1.0
        Divides the log-odds of the classes.
    name : {"one_vs_rest", "joint", "ordinal"}, default="one_vs_rest"
        How more than two classes are learned.
    order : ndarray of shape (n_classes,), optional
        Indices of ordered classes from the lowest to the highest, if that is not their own order.

    Returns
    -------
    Coding
        Binary for two classes; for more, the named one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.codings import make_coding
    >>> make_coding(np.array([0, 1])).n_tasks
    1
    >>> make_coding(np.array([0, 1, 2]), name="joint").task_names
    ['all classes']
    """
    if len(classes) == 2:
        return BinaryCoding(classes, temperature)
    return CODINGS[name](classes, temperature, *(() if order is None else (order,)))
