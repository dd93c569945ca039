"""scikit-learn's callbacks, where it has them (1.9 and later).

Apart from the monitors, since a command that only prints its options imports no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as calling_back
except ImportError:
    calling_back = None

    class CallbackSupport:  # type: ignore[no-redef]
        """Placeholder for releases before 1.9."""


def with_callbacks(method: Method) -> Method:
    """A fit that calls back, where scikit-learn can; a type checker sees the method as it is."""
    decorated: Method = method if calling_back is None else calling_back(method)
    return decorated
