"""Codings: classes as tasks of an engine, and the answers of the tasks as classes.

To add a coding, write a file with a subclass of ``Coding``, and list it here, for ``CODINGS``.
Engines declare the codings that they support.
"""

from bayespoint.codings.base import (
    CODINGS,
    LARGEST,
    TEMPERATURES,
    BinaryCoding,
    Coding,
    make_coding,
)
from bayespoint.codings.cumulative import CumulativeCoding
from bayespoint.codings.one_vs_rest import JointCoding, OneVersusRest
from bayespoint.codings.ordinal import OrdinalCoding

__all__ = [
    "CODINGS",
    "LARGEST",
    "MULTI_CLASS",
    "TEMPERATURES",
    "BinaryCoding",
    "Coding",
    "CumulativeCoding",
    "JointCoding",
    "OneVersusRest",
    "OrdinalCoding",
    "make_coding",
]

for coding in (BinaryCoding, CumulativeCoding, JointCoding, OneVersusRest, OrdinalCoding):
    CODINGS[coding.name] = coding
MULTI_CLASS = tuple(name for name in CODINGS if name != BinaryCoding.name)  # of several classes
