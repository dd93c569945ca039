"""Spaces of weight vectors.

:class:`DualSpace`: w = sum_i alpha_i phi(x_i), kernel rows on demand. :class:`BasisSpace`: an
orthonormal basis of the span of the training points, so that f = Z w and w ~ N(0, I).
:class:`ProcessSpace` adds what lies outside the span, :class:`PrincipalSpace` turns the basis into
principal axes. :class:`StackedSpace` puts several side by side. ``DeviceSpace`` is the dual space
on a GPU.
"""

from bayespoint.spaces.basis import BasisSpace, ProcessSpace
from bayespoint.spaces.coordinates import Coordinates
from bayespoint.spaces.dual import DeviceSpace as DeviceSpace
from bayespoint.spaces.dual import DualSpace
from bayespoint.spaces.principal import PrincipalSpace
from bayespoint.spaces.rows import RowCache
from bayespoint.spaces.stacked import StackedSpace

__all__ = [
    "BasisSpace",
    "Coordinates",
    "DualSpace",
    "PrincipalSpace",
    "ProcessSpace",
    "RowCache",
    "StackedSpace",
]
