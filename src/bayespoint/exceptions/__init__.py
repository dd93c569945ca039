"""Errors, and warnings about results that are valid but could be better.

Each carries its numbers as attributes, and its message says what to do.
"""

from bayespoint.exceptions.errors import (
    BlockError,
    BlocksChangedError,
    CacheTooSmallError,
    CheckpointError,
    ClusterError,
    DeviceError,
    EmptyVersionSpaceError,
    KernelError,
    ModelFileError,
    NotEnoughMemoryError,
    RiskNotReachedError,
)
from bayespoint.exceptions.errors import in_bytes as in_bytes
from bayespoint.exceptions.errors import one_line as one_line
from bayespoint.exceptions.issuing import held_warnings as held_warnings
from bayespoint.exceptions.issuing import warn_user as warn_user
from bayespoint.exceptions.warnings import (
    BoundReachedWarning,
    ChainsDisagreeWarning,
    CutMarginalsWarning,
    FactorisedWarning,
    ManyClassesWarning,
    ModelVersionWarning,
    NotConvergedWarning,
    NotSeparableWarning,
    SparseInputWarning,
    StoppedEarlyWarning,
)
from bayespoint.exceptions.warnings import TaskWarning as TaskWarning

__all__ = [
    "BlockError",
    "BlocksChangedError",
    "BoundReachedWarning",
    "CacheTooSmallError",
    "ChainsDisagreeWarning",
    "CheckpointError",
    "ClusterError",
    "CutMarginalsWarning",
    "DeviceError",
    "EmptyVersionSpaceError",
    "FactorisedWarning",
    "KernelError",
    "ManyClassesWarning",
    "ModelFileError",
    "ModelVersionWarning",
    "NotConvergedWarning",
    "NotEnoughMemoryError",
    "NotSeparableWarning",
    "RiskNotReachedError",
    "SparseInputWarning",
    "StoppedEarlyWarning",
]
