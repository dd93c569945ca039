"""Values as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value for JSON: no arrays or objects, and null for NaN and infinity.

    >>> import numpy as np
    >>> plain({"share": np.array([0.5, np.nan]), 1: (True, "a")})
    {'share': [0.5, None], '1': [True, 'a']}
    """
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
