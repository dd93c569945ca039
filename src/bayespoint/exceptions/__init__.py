"""What can go wrong: errors, and warnings of results that could be better.

All of them carry their numbers as attributes and say what to do.
"""

from bayespoint.exceptions.errors import (
    CacheTooSmallError,
    DataUnavailableError,
    EmptyVersionSpaceError,
    KernelError,
    ModelFileError,
    NotEnoughMemoryError,
)
from bayespoint.exceptions.errors import in_bytes as in_bytes
from bayespoint.exceptions.errors import one_line as one_line
from bayespoint.exceptions.warnings import (
    BoundReachedWarning,
    ChainsDisagreeWarning,
    CutMarginalsWarning,
    FactorisedWarning,
    ModelVersionWarning,
    NotConvergedWarning,
    NotSeparableWarning,
    SparseInputWarning,
    StoppedEarlyWarning,
)
from bayespoint.exceptions.warnings import held_warnings as held_warnings
from bayespoint.exceptions.warnings import warn_user as warn_user

__all__ = [
    "BoundReachedWarning",
    "CacheTooSmallError",
    "ChainsDisagreeWarning",
    "CutMarginalsWarning",
    "DataUnavailableError",
    "EmptyVersionSpaceError",
    "FactorisedWarning",
    "KernelError",
    "ModelFileError",
    "ModelVersionWarning",
    "NotConvergedWarning",
    "NotEnoughMemoryError",
    "NotSeparableWarning",
    "SparseInputWarning",
    "StoppedEarlyWarning",
]
